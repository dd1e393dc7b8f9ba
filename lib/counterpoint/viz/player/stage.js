// The ranks with what they hold: the still part of the stage.

function paintRanks(ctx, T, film, g, state, { final, focus, ring }) {
  if (g.kind === "polar") paintPolarLabels(ctx, T, film, g, focus);
  else if (g.tree) paintBranches(ctx, T, film, g);
  else if (g.view === "ring" && ring) paintRingArrows(ctx, T, film, g);
  for (let rank = 0; rank < film.ranks; rank++) {
    if (g.kind !== "polar") paintName(ctx, T, film, g, rank, rank === focus);
    for (let c = 0; c < film.cells; c++) {
      const vector = film.vector(state[rank * film.cells + c]),
        at = g.cell(rank, c);
      if (!g.slots) {
        drawTone(ctx, T, at, vector);
        continue;
      }
      const shown = final && film.raw.sums;
      drawChunk(ctx, T, at.x - at.w / 2, at.y - at.h / 2, at.w, at.h, vector, { final: shown, flat: g.flat });
      if (g.numbers) paintNumber(ctx, T, film, c, at, vector);
    }
    if (!film.cells) {
      const card = g.card?.(rank);
      if (card) box(ctx, T.rule, 0.75, card.x, card.y, card.w, card.h);
    } else if (!g.slots && g.card) {
      const card = g.card(rank);
      box(ctx, T.rule, 0.5, card.x, card.y, card.w, card.h);
    }
  }
  if (g.kind === "polar") {
    const a = g.angle(focus);
    arrow(ctx, T.select, g.cx + (g.R + 1) * Math.cos(a), g.cy + (g.R + 1) * Math.sin(a), a + Math.PI, 8);
  }
}

// Where cells are tones: only those that have changed since they were `shown`.
function repaintTones(ctx, T, film, g, state, shown) {
  for (let i = 0; i < state.length; i++) {
    if (state[i] === shown[i]) continue;
    shown[i] = state[i];
    drawTone(ctx, T, g.cell(Math.floor(i / film.cells), i % film.cells), film.vector(state[i]));
  }
}

function paintNumber(ctx, T, film, cell, at, vector) {
  const whole = vector?.kind === "complete",
    twice = vector?.kind === "twice";
  const color = twice ? T.error : whole ? T.ink : T.muted;
  write(ctx, T, film.cellName(cell), at.x, at.y + at.h / 2 + 8, {
    size: 9,
    align: "center",
    bold: whole || twice,
    color,
  });
}

function paintName(ctx, T, film, g, rank, on) {
  const card = g.card(rank),
    wide = card.w >= 46,
    style = { bold: on, color: on ? T.select : T.ink };
  if (g.kind === "columns" || card.w < 20) {
    const every = card.w >= 13 ? 1 : card.w >= 7 ? 4 : 8;
    if (rank % every && !on) return;
    if (on || Math.abs(rank - film.focus) > (every > 1 ? 1 : 0)) {
      write(ctx, T, rank, card.x + card.w / 2, card.y + (g.tree ? -7 : card.h + 9), {
        ...style,
        size: 9.5,
        align: "center",
      });
    }
    if (g.slots) {
      ctx.fillStyle = rankColor(rank, film.ranks);
      ctx.fillRect(card.x, card.y + card.h + 1.5, card.w, 2.5);
    }
    return;
  }
  if (g.slots) {
    ctx.fillStyle = rankColor(rank, film.ranks);
    ctx.fillRect(card.x, card.y - 13, 8, 8);
  }
  write(ctx, T, wide ? `rank ${rank}` : rank, card.x + 12, card.y - 8.5, style);
}

function paintBranches(ctx, T, film, g) {
  g.tree.forEach((up, rank) => {
    if (up < 0) return;
    const a = g.card(up),
      b = g.card(rank),
      label = g.slots ? 18 : 14;
    stroke(
      ctx,
      T.rule,
      1,
      [
        [a.x + a.w / 2, a.y + a.h + (g.numbers ? 15 : 3)],
        [b.x + b.w / 2, b.y - label],
      ],
      { dash: film.raw.tree_found ? [] : [3, 3] },
    );
  });
}

function paintRingArrows(ctx, T, film, g) {
  const way = film.messages[0] ? (film.messages[0].dest - film.messages[0].source + film.ranks) % film.ranks : 1;
  for (let rank = 0; rank < film.ranks; rank++) {
    const next = (rank + way) % film.ranks;
    if (film.ranks < 5) continue;
    const [a, b] = rim(g, rank, next);
    if (Math.hypot(b[0] - a[0], b[1] - a[1]) < 14) continue;
    stroke(ctx, T.rule, 1, [a, b]);
    const angle = Math.atan2(b[1] - a[1], b[0] - a[0]),
      mid = [(a[0] + b[0]) / 2 + 4 * Math.cos(angle), (a[1] + b[1]) / 2 + 4 * Math.sin(angle)];
    arrow(ctx, T.rule, ...mid, angle, 8);
  }
}

function rim(g, from, to) {
  // the straight line between two cards, without the cards
  const block = r => {
    const k = g.card(r);
    return { x: k.x + k.w / 2, y: k.y + k.h / 2 - 1, w: k.w / 2 + 7, h: k.h / 2 + 18 };
  };
  const A = block(from),
    B = block(to);
  const edge = (P, Q) => {
    const dx = Q.x - P.x,
      dy = Q.y - P.y,
      s = Math.min(P.w / Math.abs(dx || 1e-9), P.h / Math.abs(dy || 1e-9), 0.45);
    return [P.x + dx * s, P.y + dy * s];
  };
  return [edge(A, B), edge(B, A)];
}

function paintPolarLabels(ctx, T, film, g, focus) {
  const step = film.ranks > 40 ? 8 : 4;
  for (let r = 0; r < film.ranks; r += step) {
    const a = g.angle(r),
      q = g.R + 13;
    write(ctx, T, r, g.cx + q * Math.cos(a), g.cy + q * Math.sin(a), {
      size: 10,
      align: "center",
      bold: r === focus,
      color: T.muted,
    });
  }
  if (g.inner > 0.5 * g.R && film.cells > 1) return;
  const words = film.cells > 1 ? ["spoke: rank", "ring: chunk", "0 outside"] : ["one sector", "for each rank"];
  words.forEach((line, i) =>
    write(ctx, T, line, g.cx, g.cy + 14 * (i - (words.length - 1) / 2), { size: 10, align: "center", color: T.muted }),
  );
}
