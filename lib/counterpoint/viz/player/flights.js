// What moves between the ranks: messages in flight, cells that have just changed, who waits for whom.

const EASE = u => (u < 0.5 ? 4 * u * u * u : 1 - Math.pow(-2 * u + 2, 3) / 2);

// How far along its path a message is: it leaves in its step, waits half-way until its receiver takes it, lands.
function progress(film, m, axis, t) {
  const leave = film.leaves(m, axis),
    land = film.lands(m, axis);
  if (m.state === "blocked") return 0;
  if (axis === "time") return land === Infinity ? 0.5 : land > leave ? clamp((t - leave) / (land - leave), 0, 1) : 1;
  if (land - leave < 1) return EASE(clamp((t - leave) / (land - leave), 0, 1));
  const out = 0.36 * EASE(clamp((t - leave) / 0.72, 0, 1));
  return land === Infinity ? out : out + (1 - 0.36) * EASE(clamp((t - (land - 0.72)) / 0.72, 0, 1));
}

function drawTrail(ctx, film, g, path, color, width, style) {
  // not over the cards: they are to be read
  ctx.save();
  if (g.card) {
    const free = new Path2D();
    free.rect(0, 0, g.W, g.H);
    for (let r = 0; r < film.ranks; r++) {
      const k = g.card(r);
      free.rect(k.x - 1, k.y - 1, k.w + 2, k.h + 2);
    }
    ctx.clip(free, "evenodd");
  }
  stroke(
    ctx,
    color,
    width,
    Array.from({ length: 25 }, (_, i) => {
      const q = path.at(i / 24);
      return [q.x, q.y];
    }),
    style,
  );
  ctx.restore();
}

function frameCells(ctx, g, rank, cells, color, width, dash) {
  if (!cells.length || g.kind === "polar") return;
  const a = g.cell(rank, cells[0]),
    b = g.cell(rank, cells.at(-1));
  const x = Math.min(a.x - a.w / 2, b.x - b.w / 2),
    y = Math.min(a.y - a.h / 2, b.y - b.h / 2);
  box(
    ctx,
    color,
    width,
    x - 2,
    y - 2,
    Math.max(a.x + a.w / 2, b.x + b.w / 2) - x + 4,
    Math.max(a.y + a.h / 2, b.y + b.h / 2) - y + 4,
    dash,
  );
}

function drawFlight(ctx, T, film, g, m, u, { strong = false, bad = false } = {}) {
  const path = g.path(m),
    at = path.at(u),
    color = bad ? T.error : strong ? T.select : T.muted;
  if (m.state === "blocked") {
    frameCells(ctx, g, m.source, m.cells, T.error, strong ? 2.6 : 1.6);
    return { m, x: at.x, y: at.y, r: 12 };
  }
  if (g.slots || strong)
    drawTrail(ctx, film, g, path, color, strong || bad ? 1.8 : 0.8, { alpha: strong || bad ? 1 : 0.6 });
  if (strong || bad) {
    frameCells(ctx, g, m.source, m.cells, color, 1.4);
    frameCells(ctx, g, m.dest, m.into, color, 1.4, [3, 3]);
  }
  if (!g.slots) {
    ctx.save();
    ctx.translate(at.x, at.y);
    ctx.rotate(at.a);
    ctx.fillStyle = color === T.muted ? T.ink : color;
    const w = at.w && g.kind === "polar" ? at.w : 7,
      h = Math.max(Math.min(at.h || 4, 9), strong ? 6 : 3);
    ctx.fillRect(-w / 2, -h / 2, w, h);
    ctx.restore();
    return { m, x: at.x, y: at.y, r: 9 };
  }
  const cells = m.cells.length || 1,
    most = g.tree ? 40 : film.cells > 1 ? 54 : 34,
    h = clamp(g.flat ? 20 : g.h * 0.72, 14, g.tree ? 26 : 38);
  const each = clamp(g.flat ? 10 : g.cw, Math.min(10, most / cells), Math.max(10, most / cells)),
    w = Math.min(most, each * cells);
  const x = at.x - w / 2,
    y = at.y - h / 2;
  ctx.fillStyle = T.bg;
  ctx.fillRect(x - 3, y - 3, w + 6, h + 6);
  for (let i = 0; i < cells; i++)
    drawChunk(
      ctx,
      T,
      x + (i * w) / cells,
      y,
      w / cells - (cells > 1 && w / cells > 4 ? 1 : 0),
      h,
      film.vector(m.carries[i] ?? -1),
      { frame: w / cells > 3 },
    );
  box(ctx, color, strong || bad ? 2 : 1, x - 2, y - 2, w + 4, h + 4);
  if (g.numbers && cells === 1)
    write(ctx, T, film.cellName(m.cells[0]), at.x, y + h + 9, {
      size: 9,
      align: "center",
      bold: strong,
      color: strong ? T.select : T.muted,
      halo: 3,
    });
  return { m, x: at.x, y: at.y, r: Math.max(w, h) / 2 + 4 };
}

function drawLanding(ctx, T, g, m, alpha) {
  // the cells that have just changed
  ctx.globalAlpha = alpha;
  frameCells(ctx, g, m.dest, m.into, T.select, 2.2);
  ctx.globalAlpha = 1;
}

// The free middle of a ring: how far the run is, or why it is stuck.
function drawMiddle(ctx, T, film, g, tally, stuck) {
  const say = (words, y, style) => write(ctx, T, words, g.cx, g.cy + y, { align: "center", ...style });
  if (stuck) {
    const wait = film.raw.waits.find(w => w.rank === film.focus) ?? film.raw.waits[0],
      peer = film.raw.waits.find(w => w.rank === wait.peers[0]);
    say("deadlock", -20, { size: 15, bold: 1, color: T.error });
    say(`rank ${wait.rank} waits in ${wait.call}${wait.peers.length ? ` for rank ${wait.peers.join(", ")}` : ""};`, 1, {
      size: 11.5,
    });
    if (wait.peers.length === 1)
      say(
        peer
          ? `rank ${peer.rank} cannot go on: it waits in its own ${peer.call}`
          : `rank ${wait.peers[0]} has returned`,
        18,
        { size: 11.5 },
      );
    return;
  }
  const all = film.ranks * film.cells,
    w = 132,
    x = g.cx - w / 2;
  say(`${tally.complete} of ${all}`, -12, { size: 17, bold: 1 });
  say("chunks complete", 6, { size: 11, color: T.muted });
  ctx.fillStyle = T.empty;
  ctx.fillRect(x, g.cy + 18, w, 5);
  ctx.fillStyle = T.ink;
  ctx.fillRect(x, g.cy + 18, (w * tally.complete) / all, 5);
  ctx.fillStyle = T.error;
  ctx.fillRect(x + w - (w * tally.twice) / all, g.cy + 18, (w * tally.twice) / all, 5);
  if (tally.twice) say(`${tally.twice} count a rank too often`, 36, { size: 11, color: T.error });
}

function drawWaits(ctx, T, film, g, bold) {
  // who waits for whom; the cycle in full strength
  const cycle = film.raw.cycle,
    inCycle = new Set(cycle.map((r, i) => `${r}>${cycle[(i + 1) % cycle.length]}`));
  for (const wait of film.raw.waits)
    for (const peer of wait.peers.slice(0, 4)) {
      const on = !cycle.length || inCycle.has(`${wait.rank}>${peer}`);
      const [a, b] = g.card
        ? rim(g, wait.rank, peer)
        : [wait.rank, peer].map(r => {
            const q = g.middle(r);
            return [q.x, q.y];
          });
      stroke(ctx, T.error, wait.rank === bold ? 2.6 : on ? 1.7 : 1, [a, b], { dash: [5, 4], alpha: on ? 1 : 0.45 });
      arrow(ctx, T.error, ...b, Math.atan2(b[1] - a[1], b[0] - a[0]), film.ranks > 16 ? 5 : 9);
    }
}

// What stands at a point of the stage: a message in flight, or a rank.
function hitStage(film, g, flights, x, y) {
  const flight = flights?.findLast(q => Math.hypot(q.x - x, q.y - y) < q.r);
  if (flight) return { m: flight.m };
  if (g.kind === "polar") {
    const d = Math.hypot(x - g.cx, y - g.cy),
      turn = (Math.atan2(y - g.cy, x - g.cx) + Math.PI / 2) / (2 * Math.PI);
    return d > g.inner && d < g.R + 16 ? { rank: (Math.round(turn * film.ranks) + film.ranks) % film.ranks } : null;
  }
  for (let rank = 0; rank < film.ranks; rank++) {
    const k = g.card(rank);
    if (x > k.x - 3 && x < k.x + k.w + 3 && y > k.y - 16 && y < k.y + k.h + 13) return { rank };
  }
  return null;
}
