// The workers' time from left to right, and the sweep over chunks, both SVG.

const WIDE = 560, TALL = 292, GAP = { left: 46, right: 12, top: 36, bottom: 26 };

function told(seconds, digits = 3) {
  if (!seconds) return "0 s";
  const [scale, unit] = [[1, "s"], [1e-3, "ms"], [1e-6, "µs"], [1e-9, "ns"]].find(([least]) => seconds >= 0.9995 * least) ?? [1e-9, "ns"];
  return `${Number((seconds / scale).toPrecision(digits))} ${unit}`;
}

function ticks(most, wanted = 6) {
  const rough = most / wanted, power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map(k => k * power).find(k => k >= rough);
  return Array.from({ length: Math.floor(most / step + 1e-9) + 1 }, (_, k) => k * step);
}

// The scale is the slowest schedule's, so that runs can be compared; `fit` makes it this run's.
function scaleOf(lab) {
  const { run } = lab, spans = Object.values(run.spans);
  const far = (lab.fit || !lab.revealed ? run.measures.makespan : Math.max(...spans, run.measures.makespan)) || 1;
  const lane = (TALL - GAP.top - GAP.bottom) / run.workers;
  return {
    far, lane, bar: lane - (lane > 10 ? 3 : lane > 5 ? 1 : 0.3),
    x: seconds => GAP.left + ((WIDE - GAP.left - GAP.right) * seconds) / far,
    y: worker => GAP.top + worker * lane,
    low: TALL - GAP.bottom,
  };
}

function bars(lab, s) {
  const { run } = lab, parts = [];
  const rect = (x0, x1, worker, fill, more = "") =>
    `<rect x="${x0.toFixed(2)}" y="${s.y(worker).toFixed(2)}" width="${Math.max(x1 - x0, 0).toFixed(2)}" height="${s.bar.toFixed(2)}" fill="${fill}" ${more}/>`;
  lab.takes.forEach((take, k) => {
    const off = lab.hot && (lab.hot.take != null ? lab.hot.take !== k : lab.hot.worker !== take.worker);
    parts.push(`<g opacity="${off ? 0.3 : 1}">`);
    parts.push(rect(s.x(take.got), s.x(take.end), take.worker, run.colors[take.worker]));
    if (take.got > take.asked) parts.push(rect(s.x(take.asked), Math.max(s.x(take.got), s.x(take.asked) + 0.6), take.worker, "var(--lab-take)"));
    if (s.lane > 10) for (const [, , start] of take.tasks.slice(1)) parts.push(`<rect x="${s.x(start).toFixed(2)}" y="${s.y(take.worker)}" width=".7" height="${s.bar}" fill="var(--lab-bg)" opacity=".6"/>`);
    parts.push("</g>");
  });
  return parts.join("");
}

function steals(lab, s) {
  return lab.takes.filter(take => take.source >= 0 && take.source !== take.worker).map(({ worker, source, asked }) => {
    const x = s.x(asked), y = s.y(worker) + s.bar / 2, r = Math.min(3.5, s.lane / 2.4), from = s.y(source) + s.bar / 2;
    const shown = lab.hot ? lab.hot.worker === worker || lab.hot.worker === source : lab.run.workers <= 8;
    const line = shown ? `<line x1="${x}" x2="${x}" y1="${from}" y2="${y}" stroke="var(--lab-ink)" stroke-dasharray="2 2"/>` : "";
    return `${line}<path d="M${x - r},${y - r}L${x + r},${y}L${x - r},${y + r}Z" fill="var(--lab-bg)" stroke="var(--lab-ink)"/>`;
  }).join("");
}

function idle(lab, s) {
  const { finish, makespan } = lab.run.measures;
  return finish.map((end, worker) => {
    const x0 = s.x(end), x1 = s.x(makespan);
    const words = s.lane >= 13 && x1 - x0 > 84 ? `<text x="${x0 + 7}" y="${s.y(worker) + s.bar / 2 + 4}" class="lab-word">idle ${told(makespan - end)}</text>` : "";
    return x1 - x0 > 0.5 ? `<rect x="${x0}" y="${s.y(worker)}" width="${x1 - x0}" height="${s.bar}" fill="url(#${lab.id}-hatch)"/>${words}` : "";
  }).join("");
}

function marks(lab, s) {
  const { makespan, ideal, lower_bound: bound } = lab.run.measures, out = [];
  const line = (x, top, kind) => out.push(`<line class="${kind}" x1="${x}" x2="${x}" y1="${top}" y2="${s.low}"/>`);
  const word = (x, y, text, kind, end) => out.push(`<text class="${kind}" x="${x + (end ? -5 : 5)}" y="${y}" text-anchor="${end ? "end" : "start"}">${text}</text>`);
  const apart = s.x(bound) - s.x(ideal) > 3;
  line(s.x(ideal), 4, "lab-bound");
  if (apart) line(s.x(bound), 4, "lab-bound");
  const name = apart ? `even share ${told(ideal)}; lower bound ${told(bound)}, the longest tile` : `lower bound ${told(bound)}`;
  const right = s.x(bound) > WIDE / 2;
  word(right && !apart ? s.x(ideal) : s.x(right ? ideal : bound), 12, name, "lab-bound-word", right);
  line(s.x(makespan), 18, "lab-makespan");
  word(s.x(makespan), 28, `makespan ${told(makespan)}`, "lab-makespan-word", s.x(makespan) > WIDE - 130);
  for (const tick of ticks(s.far)) out.push(`<text class="lab-tick" x="${s.x(tick)}" y="${s.low + 15}" text-anchor="middle">${told(tick)}</text><line class="lab-rule" x1="${s.x(tick)}" x2="${s.x(tick)}" y1="${s.low}" y2="${s.low + 4}"/>`);
  const every = [1, 2, 4, 8, 16].find(k => k * s.lane >= 11);
  for (let w = 0; w < lab.run.workers; w += every) out.push(`<text class="lab-tick" x="${GAP.left - 7}" y="${s.y(w) + s.bar / 2 + 4}" text-anchor="end">${w}</text>`);
  out.push(`<text class="lab-tick" x="${GAP.left - 7}" y="28" text-anchor="end">worker</text>`);
  return out.join("");
}

function timelineSvg(lab) {
  const s = scaleOf(lab), id = lab.id;
  return `<defs><pattern id="${id}-hatch" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><rect width="6" height="6" fill="var(--lab-soft)"/><line x1="0" y1="0" x2="0" y2="6" stroke="var(--lab-rule)" stroke-width="2"/></pattern>
    <clipPath id="${id}-clip"><rect data-part="clip" x="0" y="0" width="${WIDE}" height="${TALL}"/></clipPath></defs>
    <g opacity=".16">${bars(lab, s)}</g><g clip-path="url(#${id}-clip)"><rect x="${GAP.left}" y="${GAP.top}" width="${WIDE}" height="${s.low - GAP.top}" fill="var(--lab-bg)"/>${idle(lab, s)}${bars(lab, s)}${steals(lab, s)}</g>
    ${marks(lab, s)}<line data-part="now" class="lab-now" y1="${GAP.top - 4}" y2="${s.low + 4}"/>`;
}

function sweepSvg(lab) {
  const rows = lab.run.sweep, { ideal } = lab.run.measures, low = TALL - 44;
  const best = Math.min(...rows.map(row => row[1])), top = Math.min(Math.max(...rows.map(row => row[1])), 3.2 * best) * 1.06;
  const x = k => GAP.left + 14 + ((WIDE - GAP.left - GAP.right - 40) * Math.log2(k)) / Math.log2(rows.at(-1)[0]);
  const y = v => Math.max(14, low - ((low - 20) * v) / top), out = [];
  for (const tick of ticks(top, 4)) out.push(`<line class="lab-rule" x1="${GAP.left}" x2="${WIDE - 12}" y1="${y(tick)}" y2="${y(tick)}"/><text class="lab-tick" x="${GAP.left - 6}" y="${y(tick) + 4}" text-anchor="end">${told(tick)}</text>`);
  out.push(`<line class="lab-bound" x1="${GAP.left}" x2="${WIDE - 12}" y1="${y(ideal)}" y2="${y(ideal)}"/><text class="lab-bound-word" x="${WIDE - 14}" y="${y(ideal) + 14}" text-anchor="end">even share ${told(ideal)}</text>`);
  out.push(`<polyline class="lab-curve" points="${rows.map(([k, v]) => `${x(k)},${y(v)}`).join(" ")}"/>`);
  for (const [k, v, takes] of rows) {
    const here = k === lab.model.get("chunk") && lab.run.swept === lab.model.get("schedule");
    out.push(`<circle data-chunk="${k}" class="lab-dot${here ? " lab-here" : ""}" cx="${x(k)}" cy="${y(v)}" r="${here ? 6 : 4}"><title>${k} a take: ${takes} takes, ${told(v)}</title></circle><text class="lab-tick" x="${x(k)}" y="${low + 16}" text-anchor="middle">${k}</text>`);
    if (v === best && rows.findIndex(row => row[1] === best) === rows.findIndex(row => row[0] === k) || here) out.push(`<text class="lab-word" x="${x(k)}" y="${y(v) - 11}" text-anchor="middle">${told(v)}</text>`);
  }
  out.push(`<text class="lab-tick" x="${WIDE / 2}" y="${low + 36}" text-anchor="middle">tiles at a time (${lab.model.get("names")[lab.run.swept]})</text>`);
  return out.join("");
}
