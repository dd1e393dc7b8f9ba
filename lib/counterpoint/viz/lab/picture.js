// The picture: tiles appear as they were computed, in their worker's colour, and can be pointed at and dragged over.

const SIDE = 256;

function rgb(hex) {
  return [1, 3, 5].map(i => parseInt(hex.slice(i, i + 2), 16));
}

// The shades as an image: light to dark by count, the set itself darkest (or, on dark paper, the other way round).
function shadesOf(scene, dark) {
  const canvas = document.createElement("canvas"), bytes = atob(scene.shade);
  canvas.width = canvas.height = scene.size;
  const context = canvas.getContext("2d"), image = context.createImageData(scene.size, scene.size);
  const [far, near, set] = (dark ? ["#1c2733", "#b5cadb", "#05070a"] : ["#f1f3f5", "#54779c", "#18263c"]).map(rgb);
  for (let i = 0; i < bytes.length; i++) {
    const k = bytes.charCodeAt(i);
    for (let c = 0; c < 3; c++) image.data[4 * i + c] = k ? far[c] + ((near[c] - far[c]) * k) / 255 : set[c];
    image.data[4 * i + 3] = 255;
  }
  context.putImageData(image, 0, 0);
  return canvas;
}

// How dark a cost is drawn, from 0 to 1.
function heat(cost, most, dark) {
  const share = most ? Math.sqrt(cost / most) : 0;
  const [low, high] = (dark ? ["#22262c", "#ffb45e"] : ["#f6efe2", "#8a3a0c"]).map(rgb);
  return `rgb(${low.map((v, c) => Math.round(v + (high[c] - v) * share)).join(",")})`;
}

// Draw what was computed until `now`; `lab` has scene, run, shades, mode, taskAt and hot (a worker, a take, a tile).
function drawPicture(lab, now) {
  const { scene, run, mode, hot } = lab, scale = window.devicePixelRatio || 1, canvas = lab.canvas;
  if (canvas.width !== SIDE * scale) canvas.width = canvas.height = SIDE * scale;
  const context = canvas.getContext("2d"), t = SIDE / scene.grid, px = scene.size / scene.grid;
  context.setTransform(scale, 0, 0, scale, 0, 0);
  context.clearRect(0, 0, SIDE, SIDE);
  const most = Math.max(...scene.costs);
  for (const [task, worker, start, end] of run.tasks) {
    if (start >= now) continue;
    const part = end > start ? Math.min(1, (now - start) / (end - start)) : 1;
    const column = task % scene.grid, row = Math.floor(task / scene.grid), x = column * t, y = row * t;
    if (mode === "cost") {
      context.fillStyle = heat(scene.costs[task], most, lab.dark);
      context.fillRect(x, y, t, t * part);
    } else {
      context.drawImage(lab.shades, column * px, row * px, px, px * part, x, y, t, t * part);
      context.globalAlpha = mode === "owner" ? 0.72 : 0.2;
      context.fillStyle = run.colors[worker];
      context.fillRect(x, y, t, t * part);
      context.globalAlpha = 1;
    }
    if (part < 1) outline(context, x, y, t, run.colors[worker], 2);
    else if (mode === "image") takeEdges(lab, context, task, worker, t);
  }
  if (hot) fadeOthers(lab, context, t);
  if (lab.dragged) {
    const [a, b, c, d] = lab.dragged.map(v => v * SIDE);
    for (const [color, width] of [["#000", 3], ["#fff", 1.5]]) {
      context.strokeStyle = color;
      context.lineWidth = width;
      context.strokeRect(a, b, c - a, d - b);
    }
  }
}

function outline(context, x, y, side, color, width) {
  context.strokeStyle = color;
  context.lineWidth = width;
  context.strokeRect(x + width / 2, y + width / 2, side - width, side - width);
}

// Those sides of a tile beyond which lies another take's.
function takeEdges(lab, context, task, worker, t) {
  const { grid } = lab.scene, column = task % grid, row = Math.floor(task / grid), mine = lab.takeOf[task];
  const x = column * t, y = row * t, other = (inside, next) => !inside || lab.takeOf[next] !== mine;
  context.strokeStyle = lab.run.colors[worker];
  context.lineWidth = 1.5;
  context.beginPath();
  const side = (draw, x0, y0, x1, y1) => draw && (context.moveTo(x0, y0), context.lineTo(x1, y1));
  side(other(column > 0, task - 1), x + 0.75, y, x + 0.75, y + t);
  side(other(column < grid - 1, task + 1), x + t - 0.75, y, x + t - 0.75, y + t);
  side(other(row > 0, task - grid), x, y + 0.75, x + t, y + 0.75);
  side(other(row < grid - 1, task + grid), x, y + t - 0.75, x + t, y + t - 0.75);
  context.stroke();
}

function fadeOthers(lab, context, t) {
  const { hot, scene, run } = lab;
  for (const [task, worker] of run.tasks) {
    const chosen = hot.take != null ? lab.takeOf[task] === hot.take : worker === hot.worker;
    if (chosen) continue;
    context.fillStyle = lab.dark ? "rgba(17,17,17,.55)" : "rgba(255,255,255,.55)";
    context.fillRect((task % scene.grid) * t, Math.floor(task / scene.grid) * t, t, t);
  }
  if (hot.task == null) return;
  const x = (hot.task % scene.grid) * t, y = Math.floor(hot.task / scene.grid) * t;
  outline(context, x, y, t, "#000", 4);
  outline(context, x + 1, y + 1, t - 2, "#fff", 2);
}
