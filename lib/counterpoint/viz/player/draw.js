// Pens: one chunk, hatching, text, lines and arrows on a canvas. T is the theme.

const rankColor = (rank, ranks) =>
  ranks <= RANK_COLORS.length ? RANK_COLORS[rank] : `hsl(${60 + (285 * rank) / ranks} 48% ${rank % 2 ? 54 : 62}%)`;

function readTheme(root) {
  const flag = document.body.dataset.jpThemeLight ?? outerBody()?.dataset.jpThemeLight;
  const dark = flag == null ? matchMedia("(prefers-color-scheme: dark)").matches : flag === "false";
  root.dataset.theme = dark ? "dark" : "light";
  const style = getComputedStyle(root),
    T = { dark, font: style.getPropertyValue("--cp-font").trim() || "sans-serif" };
  for (const key of ["bg", "ink", "muted", "rule", "empty", "soft", "send", "error", "select"])
    T[key] = style.getPropertyValue(`--cp-${key}`).trim();
  T.tone = share => (dark ? `hsl(205 30% ${16 + 66 * share}%)` : `hsl(212 34% ${95 - 68 * share}%)`);
  return T;
}

function outerBody() {
  // inside a saved output's frame, JupyterLab's body is outside
  try {
    return parent === window ? null : parent.document.body;
  } catch {
    return null;
  }
}

function write(ctx, T, words, x, y, { size = 10.5, bold = 0, align = "left", color = T.ink, halo = 0 } = {}) {
  ctx.font = `${bold ? 600 : 400} ${size}px ${T.font}`;
  ctx.textAlign = align;
  ctx.textBaseline = "middle";
  if (halo) {
    ctx.strokeStyle = T.bg;
    ctx.lineWidth = halo;
    ctx.lineJoin = "round";
    ctx.strokeText(words, x, y);
  }
  ctx.fillStyle = color;
  ctx.fillText(words, x, y);
}

function stroke(ctx, color, width, points, { dash = [], alpha = 1 } = {}) {
  ctx.save();
  Object.assign(ctx, { strokeStyle: color, lineWidth: width, globalAlpha: alpha });
  ctx.setLineDash(dash);
  ctx.beginPath();
  points.forEach(([x, y], i) => (i ? ctx.lineTo(x, y) : ctx.moveTo(x, y)));
  ctx.stroke();
  ctx.restore();
}

function box(ctx, color, width, x, y, w, h, dash = []) {
  ctx.setLineDash(dash);
  ctx.strokeStyle = color;
  ctx.lineWidth = width;
  ctx.strokeRect(x, y, w, h);
  ctx.setLineDash([]);
}

function hatch(ctx, color, x, y, w, h, gap = 4) {
  ctx.save();
  ctx.beginPath();
  ctx.rect(x, y, w, h);
  ctx.clip();
  ctx.strokeStyle = color;
  ctx.lineWidth = 1.1;
  ctx.beginPath();
  for (let k = -h; k < w; k += gap) {
    ctx.moveTo(x + k, y + h);
    ctx.lineTo(x + k + h, y);
  }
  ctx.stroke();
  ctx.restore();
}

function arrow(ctx, color, x, y, angle, size) {
  ctx.fillStyle = color;
  ctx.beginPath();
  ctx.moveTo(x, y);
  for (const turn of [2.65, -2.65]) ctx.lineTo(x + size * Math.cos(angle + turn), y + size * Math.sin(angle + turn));
  ctx.fill();
}

// A chunk: one slot for each contributor, rank 0 first; slots run down, or across when `flat`.
function drawChunk(ctx, T, x, y, w, h, vector, { final = false, flat = false, frame = true } = {}) {
  ctx.fillStyle = T.empty;
  ctx.fillRect(x, y, w, h);
  if (!vector) {
    if (frame) box(ctx, T.rule, 0.75, x, y, w, h);
    return;
  }
  const { counts, kind } = vector,
    n = counts.length,
    slot = (flat ? w : h) / n,
    gap = slot > 2.5 && kind !== "complete" ? 0.5 : 0;
  for (let i = 0; i < n; i++) {
    if (!counts[i]) continue;
    const at = flat ? [x + i * slot, y, slot - gap, h] : [x, y + i * slot, w, slot - gap];
    if (counts[i] === 1) {
      ctx.fillStyle = rankColor(i, n);
      ctx.fillRect(...at);
      continue;
    }
    ctx.fillStyle = T.bg;
    ctx.fillRect(...at);
    hatch(ctx, T.error, ...at, Math.max(2.5, slot / 1.6));
  }
  if (!frame) return;
  const missing = final && kind !== "complete" && kind !== "twice";
  if (kind === "twice") box(ctx, T.error, 1.8, x, y, w, h);
  else if (missing) box(ctx, T.error, 1, x, y, w, h, [2, 2]);
  else if (kind === "complete" && n > 1) box(ctx, T.ink, 1.2, x, y, w, h);
  else box(ctx, T.rule, 0.75, x, y, w, h);
}

// Too small for slots: the darker, the more ranks are contained.
function drawTone(ctx, T, cell, vector) {
  ctx.save();
  ctx.translate(cell.x, cell.y);
  ctx.rotate(cell.a ?? 0);
  ctx.fillStyle = !vector ? T.empty : vector.kind === "twice" ? T.error : T.tone(vector.held / vector.counts.length);
  ctx.fillRect(-cell.w / 2 + 0.3, -cell.h / 2, cell.w - 0.6, cell.h + 0.2);
  ctx.restore();
}
