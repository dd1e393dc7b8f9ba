// Beside the stage: who sent how much to whom so far, and the sum that a message brings about.

function drawMatrix(ctx, T, film, counts, pair) {
  const p = film.ranks,
    o = 16,
    size = (ctx.W - o - 4) / p,
    whole = size * p;
  ctx.clearRect(0, 0, ctx.W, ctx.H);
  ctx.fillStyle = T.soft;
  ctx.fillRect(o, o, whole, whole);
  for (let i = 0; i < p * p; i++) {
    if (!counts.matrix[i]) continue;
    ctx.fillStyle = T.tone(0.25 + (0.75 * counts.matrix[i]) / counts.largest);
    ctx.fillRect(o + (i % p) * size, o + Math.floor(i / p) * size, Math.max(size - 0.6, 1), Math.max(size - 0.6, 1));
  }
  box(ctx, T.rule, 0.75, o, o, whole, whole);
  for (const r of new Set([0, p - 1])) {
    const at = o + (r + 0.5) * size;
    write(ctx, T, r, at, 8, { size: 9.5, align: "center", color: T.muted });
    write(ctx, T, r, 13, at, { size: 9.5, align: "right", color: T.muted });
  }
  if (p > 1) {
    write(ctx, T, "to", o + whole / 2, 8, { size: 10, align: "center", color: T.muted });
    ctx.save();
    ctx.translate(8, o + whole / 2);
    ctx.rotate(-Math.PI / 2);
    write(ctx, T, "from", 0, 0, { size: 10, align: "center", color: T.muted });
    ctx.restore();
  }
  if (!pair) return { o, size };
  const w = Math.max(size, 4);
  box(ctx, T.select, 2, o + pair[1] * size - (w - size) / 2, o + pair[0] * size - (w - size) / 2, w, w);
  return { o, size };
}

// The pair of ranks at a point of the matrix, if they have exchanged anything.
function hitMatrix(film, { o, size }, counts, x, y) {
  const i = Math.floor((y - o) / size),
    j = Math.floor((x - o) / size),
    p = film.ranks;
  return i >= 0 && j >= 0 && i < p && j < p && counts.matrix[i * p + j] ? { pair: [i, j] } : null;
}

// arriving + had = now has, for the message's first chunk; a copy crosses out what was there.
function drawSum(ctx, T, film, m) {
  ctx.clearRect(0, 0, ctx.W, ctx.H);
  const p = film.ranks,
    w = Math.min(28, ctx.W / 3 - 15),
    gap = (ctx.W - 3 * w) / 3,
    y = 17,
    h = ctx.H - y - 17;
  if (!m) return;
  const [had, now] = [film.vector(m.had[0] ?? -1), film.vector(m.now[0] ?? -1)],
    arrives = film.vector(m.carries[0] ?? -1);
  const grows = m.effect === "adds";
  const columns = [
      ["arrives", arrives],
      ["had", had],
      ["now has", now],
    ],
    signs = grows ? ["+", "="] : ["", "="];
  columns.forEach(([caption, vector], i) => {
    const x = gap / 2 + i * (w + gap),
      flawed = vector?.kind === "twice";
    write(ctx, T, caption, x + w / 2, 8, { size: 10, align: "center", color: T.muted });
    drawChunk(ctx, T, x, y, w, h, vector);
    const slot = h / p;
    if (vector && slot >= 8.5)
      vector.counts.forEach((n, r) => {
        if (n)
          write(ctx, T, n === 1 ? r : `${r} ×${n}`, x + w / 2, y + (r + 0.5) * slot + 0.5, {
            size: 8.5,
            bold: 1,
            align: "center",
            color: n === 1 ? "#111" : T.error,
          });
      });
    write(ctx, T, heldWords(vector, p), x + w / 2, y + h + 9, {
      size: 10,
      align: "center",
      bold: vector?.kind === "complete" || flawed,
      color: flawed ? T.error : T.ink,
    });
    if (i < 2) write(ctx, T, signs[i], x + w + gap / 2, y + h / 2, { size: 15, align: "center", color: T.muted });
    if (i !== 1 || grows || !vector) return;
    ctx.globalAlpha = 0.5;
    ctx.fillStyle = T.bg;
    ctx.fillRect(x - 1, y - 1, w + 2, h + 2);
    ctx.globalAlpha = 1;
    stroke(ctx, T.ink, 1.2, [
      [x - 3, y + h + 3],
      [x + w + 3, y - 3],
    ]);
  });
}

function heldWords(vector, ranks) {
  if (!vector) return "?";
  if (vector.kind === "twice") return `×${vector.counts.reduce((a, b) => Math.max(a, b), 0)}`;
  return vector.kind === "complete" && ranks > 1 ? `all ${ranks}` : `${vector.held} of ${ranks}`;
}
