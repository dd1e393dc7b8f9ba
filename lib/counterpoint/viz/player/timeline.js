// The timeline: ranks down, steps or seconds across. The followed rank's row is taller where rows are thin.

function timeBox(ctx, film, axis, focus) {
  const x0 = 62,
    y0 = 18,
    width = ctx.W - x0 - 8,
    height = ctx.H - y0 - 18,
    p = film.ranks,
    end = film.axis(axis).end;
  const even = Math.min(20, height / p),
    lens = even < 9 ? 13 : even,
    rest = p > 1 ? (Math.min(height, 20 * p) - lens) / (p - 1) : even;
  const thin = even < 9 ? rest : even;
  const top = r => y0 + r * thin + (r > focus ? lens - thin : 0),
    tall = r => (r === focus ? lens : thin);
  return {
    axis,
    x0,
    y0,
    width,
    end,
    x: t => x0 + (width * t) / end,
    top,
    tall,
    bottom: top(p - 1) + tall(p - 1),
    unit: width / end,
    even: even >= 9,
  };
}

function messageBars(B, m) {
  // {send: [x, y, w, h], take: the same or null}
  const inset = h => (h > 6 ? 1.5 : h > 3 ? 0.3 : 0),
    sh = B.tall(m.source),
    dh = B.tall(m.dest);
  if (B.axis === "step") {
    const w = B.unit * 0.38,
      pad = Math.min(2, B.unit * 0.06);
    const bar = (x, r, h) => [x, B.top(r) + inset(h), w, h - 2 * inset(h)];
    return {
      send: bar(B.x(Math.min(m.step, B.end) - 1) + pad, m.source, sh),
      take: m.taken == null ? null : bar(B.x(m.taken) - pad - w, m.dest, dh),
    };
  }
  const span = ([a, b]) => [B.x(a) + 0.5, Math.max(2, B.x(b) - B.x(a) - 1)];
  const [sx, sw] = span(m.sending),
    send = [sx, B.top(m.source) + inset(sh), sw, sh / 2 - inset(sh) - (sh > 6 ? 0.5 : 0)];
  if (!m.taking) return { send, take: null };
  const [dx, dw] = span(m.taking);
  return { send, take: [dx, B.top(m.dest) + dh / 2 + (dh > 6 ? 0.5 : 0), dw, dh / 2 - inset(dh) - (dh > 6 ? 0.5 : 0)] };
}

function paintTimeline(ctx, T, film, B, focus) {
  const p = film.ranks,
    every = B.even ? 1 : p <= 32 ? 4 : 8;
  for (let r = 0; r < p; r++) {
    const on = r === focus;
    if (!on && (r % every || (!B.even && Math.abs(B.top(r) - B.top(focus)) < 11))) continue;
    write(ctx, T, `rank ${r}`, B.x0 - 8, B.top(r) + B.tall(r) / 2 + 0.5, {
      size: 10.5,
      align: "right",
      bold: on,
      color: on ? T.select : T.ink,
    });
  }
  paintTicks(ctx, T, film, B);
  for (const span of film.raw.idle[B.axis]) paintIdle(ctx, T, B, span);
  for (const span of film.raw.idle[B.axis]) paintIdleWords(ctx, T, B, span);
  for (const m of film.messages) paintMessage(ctx, T, film, B, m);
  paintPhases(ctx, T, film, B);
}

function paintTicks(ctx, T, film, B) {
  const { steps } = film.axis(B.axis);
  let last = -Infinity;
  for (let k = 1; k < steps.length; k++) {
    const a = B.x(steps[k - 1]),
      b = B.x(steps[k]);
    if (B.unit > 12 || B.axis === "time")
      stroke(ctx, T.rule, 0.6, [
        [b, B.y0],
        [b, B.bottom],
      ]);
    if ((a + b) / 2 - last < 24) continue;
    last = (a + b) / 2;
    write(ctx, T, k, last, 8, { size: 10, align: "center", color: T.muted });
  }
  if (film.stuck && B.axis === "step")
    write(ctx, T, "stuck", (B.x(B.end - 1) + B.x(B.end)) / 2, 8, {
      size: 10,
      align: "center",
      color: T.error,
      bold: 1,
    });
}

function paintPhases(ctx, T, film, B) {
  const { step_phases: of, phases } = film.raw,
    { steps } = film.axis(B.axis);
  for (let s = 0; s < of.length; ) {
    let e = s;
    while (e < of.length && of[e] === of[s]) e++;
    const a = B.x(steps[s]) + 2,
      b = B.x(steps[e]) - 2,
      name = phases[of[s]] ?? "";
    if (name) {
      stroke(ctx, T.muted, 1, [
        [a, B.bottom + 4],
        [b, B.bottom + 4],
      ]);
      if (b - a > 5.5 * name.length)
        write(ctx, T, name, (a + b) / 2, B.bottom + 12, { size: 10.5, align: "center", color: T.muted });
    }
    s = e;
  }
  if (B.axis === "step") return;
  write(ctx, T, seconds(film.raw.seconds), B.x0 + B.width, B.bottom + 12, { size: 10, align: "right", color: T.muted });
  write(ctx, T, "0", B.x0, B.bottom + 12, { size: 10, color: T.muted });
}

function paintIdle(ctx, T, B, [rank, from, to, , word, blocked]) {
  const h = B.tall(rank),
    x = B.x(from) + 1,
    w = B.x(to) - x - 1,
    inset = h > 6 ? 2 : 0.3;
  if (w < 1.5) return;
  ctx.fillStyle = word === "computes" ? T.empty : T.soft;
  ctx.fillRect(x, B.top(rank) + inset, w, h - 2 * inset);
  if (word === "computes") box(ctx, T.muted, 0.6, x, B.top(rank) + inset, w, h - 2 * inset);
  else if (h > 4 || blocked)
    hatch(ctx, blocked ? T.error : T.rule, x, B.top(rank) + inset, w, h - 2 * inset, blocked ? 5 : 6);
}

function paintIdleWords(ctx, T, B, [rank, from, to, peer, word, blocked]) {
  if (B.tall(rank) < 9) return;
  const whom = peer >= 0 ? ` ${/send/.test(word) ? "to" : "for"} rank ${peer}` : "",
    x = B.x(from) + 4,
    room = B.x(to) - x - 2;
  const long =
    word === "computes" ? "computes" : blocked ? `blocked in ${word}${whom}` : `waits${whom.replace(" to ", " for ")}`;
  ctx.font = `400 9.5px ${T.font}`;
  const words = [long, blocked ? word : `for ${peer}`].find(s => ctx.measureText(s).width < room);
  if (!words) return;
  ctx.fillStyle = T.bg;
  ctx.fillRect(x - 3, B.top(rank) + 1.5, ctx.measureText(words).width + 7, B.tall(rank) - 3);
  write(ctx, T, words, x, B.top(rank) + B.tall(rank) / 2 + 0.5, { size: 9.5, color: blocked ? T.error : T.muted });
}

function barName(film, cells) {
  // what stands in a bar: the chunk, or "all", or the first of several
  if (!cells.length) return film.cells > 1 ? "" : "all";
  return cells.length === film.cells
    ? "all"
    : cells.length > 1
      ? `${film.cellName(cells[0])}…`
      : film.cellName(cells[0]);
}

function paintMessage(ctx, T, film, B, m) {
  const { send, take } = messageBars(B, m),
    label = B.tall(m.source) >= 12 && B.axis === "step" && send[2] > 13;
  const mid = q => [q[0] + q[2] / 2, q[1] + q[3] / 2 + 0.5];
  ctx.fillStyle = T.send;
  ctx.fillRect(...send);
  if (m.state === "blocked") box(ctx, T.error, 1.2, ...send);
  if (label) write(ctx, T, barName(film, m.cells), ...mid(send), { size: 9.5, align: "center", color: T.bg });
  if (!take) return;
  if (B.even && (B.axis === "step" || send[2] > 4))
    stroke(
      ctx,
      T.muted,
      0.7,
      [
        [send[0] + send[2], mid(send)[1]],
        [take[0], mid(take)[1]],
      ],
      { alpha: 0.5 },
    );
  ctx.fillStyle = m.effect === "adds" ? T.rule : T.bg;
  ctx.fillRect(...take);
  if (B.tall(m.dest) >= 5)
    box(ctx, T.muted, 0.8, take[0] + 0.4, take[1] + 0.4, Math.max(0.5, take[2] - 0.8), Math.max(0.5, take[3] - 0.8));
  if (label && B.tall(m.dest) >= 12)
    write(ctx, T, (m.effect === "adds" ? "+" : "=") + barName(film, m.into), ...mid(take), {
      size: 9.5,
      align: "center",
    });
}

function markMessage(ctx, film, B, m, color, width) {
  const { send, take } = messageBars(B, m);
  box(ctx, color, width, ...send);
  if (!take) return;
  box(ctx, color, width, ...take);
  stroke(ctx, color, width, [
    [send[0] + send[2], send[1] + send[3] / 2],
    [take[0], take[1] + take[3] / 2],
  ]);
}

function drawCursor(ctx, T, film, B, t, k) {
  const x = B.x(t),
    right = B.x0 + B.width,
    { steps } = film.axis(B.axis);
  ctx.globalAlpha = 0.58;
  ctx.fillStyle = T.bg;
  ctx.fillRect(x, B.y0 - 2, right - x + 2, B.bottom - B.y0 + 4);
  ctx.globalAlpha = 1;
  if (t > 0 && steps.length > k + 1) {
    const middle = (B.x(steps[k]) + B.x(steps[k + 1])) / 2;
    ctx.fillStyle = T.bg;
    ctx.fillRect(middle - 16, 1, 32, 14);
    write(ctx, T, k + 1, middle, 8, { size: 11, bold: 1, align: "center" });
  }
  stroke(ctx, T.ink, 1.3, [
    [x, B.y0 - 2],
    [x, B.bottom + 2],
  ]);
}

function flagMessage(ctx, T, film, B, m, words) {
  const { send } = messageBars(B, m),
    x = send[0] + send[2] / 2;
  markMessage(ctx, film, B, m, T.error, 2);
  arrow(ctx, T.error, x, send[1] - 1, Math.PI / 2, 8);
  ctx.font = `600 10px ${T.font}`;
  const w = ctx.measureText(words).width,
    left = clamp(x - w / 2, B.x0, ctx.W - w - 4);
  ctx.fillStyle = T.bg;
  ctx.fillRect(left - 3, 1, w + 6, 13);
  write(ctx, T, words, left, 8, { size: 10, bold: 1, color: T.error });
}

function hitTimeline(film, B, x, y) {
  for (const m of film.messages) {
    const { send, take } = messageBars(B, m);
    for (const q of [send, take])
      if (q && x >= q[0] - 1 && x <= q[0] + q[2] + 1 && y >= q[1] - 1 && y <= q[1] + q[3] + 1) return m;
  }
  return null;
}
