// Where things stand: each rank's card, each chunk's cell, and the path of a message, for every view.
// All give {card(rank), cell(rank, chunk), path(message) -> {at(u)}, slots, ...}; cells by their centre.

function places(film, view, W, H) {
  const base = { view, W, H, cx: W / 2, cy: H / 2, slots: film.ranks <= 16, twoWay: film.twoWay };
  if (film.ranks > 16 && view === "ring") return polar(film, base);
  if (view === "row" && film.ranks > 8) return columns(film, base);
  if (view === "tree") return cards(film, base, treeCards(film, W, H));
  return cards(film, base, view === "row" ? rowCards(film, W, H) : ringCards(film, W, H));
}

const cellPitch = (film, room) => room / Math.max(1, film.cells);

function cardWidth(film, room, most) {
  // few chunks need no wide card
  return Math.min(room, most, Math.max(64, film.cells * 30));
}

// A rectangle clockwise: sides get few ranks, top and bottom get many. Rank 0 stands on top.
function ringCards(film, W, H) {
  const p = film.ranks,
    side = p <= 4 ? 0 : Math.max(1, Math.ceil((p - 10) / 2));
  const top = Math.ceil((p - 2 * side) / 2),
    bottom = p - 2 * side - top;
  const gap = p <= 8 ? 62 : 34,
    h = p <= 4 ? 58 : p <= 8 ? 48 : 36;
  const w =
    p === 1
      ? cardWidth(film, 300, 300)
      : cardWidth(film, (W - 16 - gap * Math.max(1, top - 1)) / Math.max(2, top), p <= 4 ? 150 : 112);
  const spanX = W - w - 16,
    spanY = H - h - 34,
    inset = side ? 0.8 : p <= 4 ? 0.62 : 1;
  const wide = n => (n > 1 ? clamp((n - 1) * (w + 130), w + 64, Math.max(w + 64, spanX * (n > 4 ? 1 : inset))) : 0);
  const across = (n, turn, y) =>
    Array.from({ length: n }, (_, i) => [turn * (n > 1 ? i / (n - 1) - 0.5 : 0) * wide(n), y]);
  const down = x => Array.from({ length: side }, (_, i) => [x, Math.sign(x) * ((i + 1) / (side + 1) - 0.5) * spanY]);
  if (p === 2)
    return {
      w,
      h,
      spots: [
        [-W / 4, 0],
        [W / 4, 0],
      ],
      lift: 2,
    };
  const all = [
    ...across(top, 1, bottom ? -spanY / 2 : 0),
    ...down(spanX / 2),
    ...across(bottom, -1, spanY / 2),
    ...down(-spanX / 2),
  ];
  const first = Math.max(0, Math.floor((top - 1) / 2));
  return { w, h, spots: all.map((_, i) => all[(i + first) % p]), lift: 2 };
}

function rowCards(film, W, H) {
  const p = film.ranks,
    w = cardWidth(film, (W - 8) / p - 10, 120),
    step = Math.min((W - 8) / p, w + 90);
  return { w, h: 58, spots: Array.from({ length: p }, (_, r) => [(r - (p - 1) / 2) * step, H / 2 - 60]), lift: 0 };
}

// A parent stands over the middle of its children; children in the order of their subtrees' sizes.
function treeCards(film, W, H) {
  const p = film.ranks,
    above = film.raw.tree,
    kids = Array.from({ length: p }, () => []),
    spot = [],
    size = Array(p).fill(1);
  above.forEach((up, r) => {
    if (up >= 0) kids[up].push(r);
  });
  let leaf = 0,
    deep = 0;
  const weigh = r => kids[r].reduce((sum, k) => sum + weigh(k), 1);
  for (let r = 0; r < p; r++) size[r] = weigh(r);
  const walk = (r, depth) => {
    deep = Math.max(deep, depth);
    kids[r].sort((a, b) => size[b] - size[a] || a - b).forEach(k => walk(k, depth + 1));
    const x = kids[r].length ? (spot[kids[r][0]][0] + spot[kids[r].at(-1)][0]) / 2 : leaf++;
    spot[r] = [x, depth];
  };
  walk(above.indexOf(-1), 0);
  const room = (W - 16) / leaf,
    w = Math.max(4, cardWidth(film, room - (p > 16 ? 3 : 14), p <= 8 ? 96 : 64)),
    [edge, between] = p > 16 ? [24, 24] : [34, 46]; // free for labels, and for a message on its way
  const h = clamp((H - edge - deep * between) / (deep + 1), 6, p > 16 ? 20 : 56);
  const y = depth => (deep ? depth / deep - 0.5 : 0) * (H - h - edge);
  return { w, h, spots: spot.map(([x, depth]) => [(x - (leaf - 1) / 2) * room, y(depth)]), lift: 2, tree: above };
}

function cards(film, g, { w, h, spots, lift, tree }) {
  const gaps = 5 * (film.buffers - 1),
    pitch = cellPitch(film, w - gaps),
    gap = pitch > 6 ? 2 : pitch > 3 ? 1 : 0;
  const shift = film.raw.cells.map(([buffer]) => 5 * buffer),
    few = shift[0] ?? 0;
  Object.assign(g, { kind: "cards", w, h, tree, cw: pitch - gap, numbers: pitch >= 9 && film.cells > 1 && g.slots });
  g.card = r => ({ x: g.cx + spots[r][0] - w / 2, y: g.cy + spots[r][1] - h / 2 + lift, w, h });
  g.cell = (r, c) => {
    const card = g.card(r);
    return {
      x: card.x + c * pitch + (gaps ? shift[c] - few : 0) + (pitch - gap) / 2,
      y: card.y + h / 2,
      w: pitch - gap,
      h,
      a: 0,
    };
  };
  g.middle = r => {
    const card = g.card(r);
    return { x: card.x + w / 2, y: card.y + h / 2 };
  };
  g.path = m => bend(film, g, from(g, m), into(g, m), m);
  return g;
}

const centre = (g, rank, cells) => {
  // the middle of a run of cells, or of the card
  if (!cells.length) return g.middle(rank);
  const a = g.cell(rank, cells[0]),
    b = g.cell(rank, cells.at(-1));
  return { x: (a.x + b.x) / 2, y: (a.y + b.y) / 2 };
};
const from = (g, m) => centre(g, m.source, m.cells);
const into = (g, m) => centre(g, m.dest, m.into.length ? m.into : m.cells);

// A quadratic curve that passes, half-way, through the free space between the two cards.
function bend(film, g, A, B, m) {
  const S = g.middle(m.source),
    D = g.middle(m.dest),
    M = { x: (S.x + D.x) / 2, y: (S.y + D.y) / 2 };
  const dx = Math.abs(S.x - D.x),
    dy = Math.abs(S.y - D.y);
  if (g.view === "ring" && dx < 0.9 * g.w && dy < 3 * g.h) {
    // one above the other: pass them on the inside
    M.x += Math.sign(g.cx - M.x) * (g.w / 2 + 24);
    M.y += Math.sign(g.cy - M.y) * Math.min(film.ranks > 8 ? 14 : 26, Math.abs(g.cy - M.y));
  } else if (g.view === "ring" && dy < 8 && dx > 1.7 * g.w + 90) M.y += Math.sign(g.cy - M.y || 1) * (g.h / 2 + 34);
  else if (g.view === "tree" && dy > g.h)
    M.y = (Math.min(S.y, D.y) + Math.max(S.y, D.y) - (g.slots ? 16 : 0) + (g.numbers ? 12 : 0)) / 2;
  else if (g.view === "row") M.y -= 78 + Math.min(96, 0.18 * Math.max(0, dx - 1.5 * g.w));
  if (g.twoWay.has(`${m.dest}>${m.source}`)) {
    // messages that cross keep to their right
    const far = Math.hypot(D.x - S.x, D.y - S.y) || 1;
    M.x -= (34 * (D.y - S.y)) / far;
    M.y += (34 * (D.x - S.x)) / far;
  }
  const K = { x: 2 * M.x - (A.x + B.x) / 2, y: 2 * M.y - (A.y + B.y) / 2 };
  const mix = (a, k, b, u) => (1 - u) ** 2 * a + 2 * u * (1 - u) * k + u * u * b;
  return { at: u => ({ x: mix(A.x, K.x, B.x, u), y: mix(A.y, K.y, B.y, u), a: 0 }) };
}

// A column for each rank, a band for each chunk; slots run across.
function columns(film, g) {
  const { W, H } = g,
    p = film.ranks,
    room = (W - 12) / p,
    top = 84,
    h = H - top - 22,
    band = h / Math.max(1, film.cells),
    gap = p > 16 ? 0.6 : 4;
  Object.assign(g, { kind: "columns", w: room - gap, h, flat: true, numbers: false });
  g.card = r => ({ x: 6 + r * room, y: top, w: room - gap, h });
  g.cell = (r, c) => {
    const card = g.card(r);
    return { x: card.x + card.w / 2, y: top + (c + 0.5) * band, w: card.w, h: band - (band > 5 ? 1 : 0), a: 0 };
  };
  g.middle = r => {
    const card = g.card(r);
    return { x: card.x + card.w / 2, y: top + h / 2 };
  };
  g.path = m => {
    const A = from(g, m),
      B = into(g, m),
      far = Math.abs(A.x - B.x);
    const K = { x: (A.x + B.x) / 2, y: Math.min(A.y, B.y) - (far > 3 * room ? Math.min(150, far * 0.4) : 0) };
    return {
      at: u => ({
        x: (1 - u) ** 2 * A.x + 2 * u * (1 - u) * K.x + u * u * B.x,
        y: (1 - u) ** 2 * A.y + 2 * u * (1 - u) * K.y + u * u * B.y,
        a: 0,
      }),
    };
  };
  return g;
}

// Many ranks: a spoke for each rank, a ring for each chunk (chunk 0 outside).
function polar(film, g) {
  const p = film.ranks,
    R = g.H / 2 - 20,
    inner = R * (film.cells > 4 ? 0.42 : 0.72),
    band = (R - inner) / Math.max(1, film.cells);
  Object.assign(g, { kind: "polar", R, inner, w: 8, h: 8, numbers: false });
  g.angle = r => (2 * Math.PI * r) / p - Math.PI / 2;
  const at = (angle, c) => {
    const q = R - (c + 0.5) * band;
    return {
      x: g.cx + q * Math.cos(angle),
      y: g.cy + q * Math.sin(angle),
      w: (q * 2 * Math.PI) / p,
      h: band,
      a: angle + Math.PI / 2,
    };
  };
  g.cell = (r, c) => at(g.angle(r), c);
  g.middle = r => at(g.angle(r), (film.cells - 1) / 2);
  g.path = m => {
    const away = ((m.dest - m.source + p + p / 2) % p) - p / 2,
      c = m.cells.length ? (m.cells[0] + m.cells.at(-1)) / 2 : (film.cells - 1) / 2;
    if (Math.abs(away) <= 2) return { at: u => at(g.angle(m.source + away * u), c) };
    const A = g.middle(m.source),
      B = g.middle(m.dest);
    return {
      at: u => ({
        ...A,
        x: A.x + (B.x - A.x) * u,
        y: A.y + (B.y - A.y) * u,
        w: 7,
        h: 4,
        a: Math.atan2(B.y - A.y, B.x - A.x),
      }),
    };
  };
  return g;
}
