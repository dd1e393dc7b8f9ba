// Everything that is said: the sentence, the verdict, counters, the source line, the legend.

const escapeText = text => String(text).replace(/[&<>"']/g, c => `&#${c.charCodeAt(0)};`);
const grouped = n => n.toLocaleString("en");
const plural = (n, word) => `${grouped(n)} ${word}${n === 1 ? "" : "s"}`;

function bytes(n) {
  const units = ["B", "kB", "MB", "GB", "TB"];
  let i = 0;
  while (n >= 1000 && i < units.length - 1) {
    n /= 1000;
    i++;
  }
  return `${+n.toFixed(n < 10 ? 2 : n < 100 ? 1 : 0)} ${units[i]}`;
}

function seconds(s) {
  const [scale, unit] = s >= 1 ? [1, "s"] : s >= 1e-3 ? [1e3, "ms"] : s >= 1e-6 ? [1e6, "µs"] : [1e9, "ns"];
  return `${+(s * scale).toPrecision(3)} ${unit}`;
}

const named = (film, rank) => `<b class="cp-rank" style="--c:${rankColor(rank, film.ranks)}">rank ${rank}</b>`;

function whose(film, vector) {
  if (!vector) return "";
  const { counts } = vector,
    ids = [...counts.keys()].filter(i => counts[i]),
    more = ids.filter(i => counts[i] !== 1);
  if (!ids.length) return "nobody's";
  const list =
    ids.length === film.ranks && film.ranks > 2
      ? `all ${film.ranks} ranks`
      : ids.length === 1
        ? `rank ${ids[0]}`
        : ids.length <= 4
          ? `ranks ${ids.join(", ")}`
          : `${ids.length} ranks`;
  return more.length ? `${list}; rank ${more.slice(0, 3).join(", ")} more than once` : list;
}

function what(film, m) {
  const n = m.cells.length;
  if (!n) return m.nbytes ? bytes(m.nbytes) : "an empty chunk";
  if (n === film.cells) return film.cells > 1 ? "its whole buffer" : "its buffer";
  return n === 1
    ? `chunk ${film.cellName(m.cells[0])}`
    : `chunks ${film.cellName(m.cells[0])}–${film.cellName(m.cells.at(-1))}`;
}

function sentence(film, m) {
  const same = m.carries.every(v => v === m.carries[0]),
    held = m.carries.length ? whose(film, film.vector(m.carries[0])) : "";
  const content = held ? ` <span class="cp-soft">(${held}${same ? "" : ", …"})</span>` : "";
  const head = `${named(film, m.source)} `,
    tail = ` to ${named(film, m.dest)}`;
  if (m.state === "blocked") return `${head}is blocked: it sends ${what(film, m)}${tail}, which does not receive`;
  if (m.state === "left") return `${head}sends ${what(film, m)}${content}${tail}, which never receives it`;
  const then = { adds: "adds it to its own", replaces: "replaces its own with it" }[m.effect] ?? "stores it";
  return `${head}sends ${what(film, m)}${content}${tail}, which ${then}`;
}

function stuckSentence(film, rank) {
  const wait = film.raw.waits.find(w => w.rank === rank) ?? film.raw.waits[0];
  const whom = wait.peers.map(peer => named(film, peer)).join(", "),
    way = /^i?send$/.test(wait.call) ? "to" : /^recv/.test(wait.call) ? "from" : "for";
  return (
    `<b class="cp-bad">stuck</b> · ${named(film, wait.rank)} waits in ${escapeText(wait.call)}${whom ? ` ${way} ${whom}` : ""}` +
    (wait.line ? ` <span class="cp-soft">(${escapeText(wait.line)})</span>` : "")
  );
}

function opening(film) {
  if (!film.messages.length) return `<b>start</b> · no message is sent in this run`;
  const own = film.raw.sums ? " · each rank holds only its own contribution" : "";
  return `<b>start</b> · ${plural(film.steps, "step")}, ${plural(film.messages.length, "message")}${own}`;
}

function closing(film, axis, t) {
  const totals = film.count(axis, t),
    tally = film.tally(axis, t),
    all = film.ranks * film.cells;
  const moved = `${plural(totals.messages, "message")}, ${bytes(totals.bytes_total)} moved`;
  if (!film.raw.sums || film.ranks < 2) return `<b>end</b> · ${moved}`;
  if (tally.complete === all)
    return `<b>done</b> · all ${plural(all, "chunk")} hold the sum of all ${film.ranks} ranks · ${moved}`;
  const wrong = film.raw.verdict && !film.raw.verdict.ok,
    parts = [`${grouped(tally.complete)} of ${plural(all, "chunk")} complete`];
  if (tally.twice) parts.push(`${grouped(tally.twice)} count a rank too often`);
  if (tally.part + tally.nothing)
    parts.push(`${grouped(tally.part + tally.nothing)} ${wrong ? "miss some ranks" : "hold some ranks' sums"}`);
  return `<b class="${wrong ? "cp-bad" : ""}">end</b> · ${parts.join(", ")}`;
}

function verdictWords(film) {
  const { verdict } = film.raw,
    m = film.messages[verdict.message];
  const names = {
    deadlock: "Deadlock",
    wrong: "Wrong result",
    twice: "Counted twice",
    failed: "A rank failed",
    mismatch: "Ranks disagree",
    timeout: "Stopped",
  };
  const where = m
    ? ` ${verdict.kind === "twice" ? "From" : "First wrong message:"} step ${m.step}, rank ${m.source} → rank ${m.dest}${m.cells.length ? `, ${what(film, m)}` : ""}:`
    : verdict.why
      ? ":"
      : ".";
  const go = m ? ` <button type="button" data-go data-testid="show-wrong">show it</button>` : "";
  return `<b>${names[verdict.kind] ?? escapeText(verdict.kind)}</b>${m ? "." : ""}${where} ${escapeText(verdict.why)}${go}`;
}

const COUNTERS = [
  ["steps", "steps", grouped],
  ["messages", "messages", grouped],
  ["bytes_busiest", "bytes, busiest rank", bytes],
  ["bytes_total", "bytes, all ranks", bytes],
];

function counterRows(film, counts) {
  const { predicted } = film.raw;
  return COUNTERS.map(([key, name, format]) => {
    const over = predicted && counts[key] > predicted[key],
      aim = predicted ? format(predicted[key]) : film.stuck ? "" : format(film.raw.totals[key]);
    return `<tr><th scope="row">${name}</th><td class="${over ? "cp-bad" : ""}" data-testid="count-${key}" data-value="${counts[key]}">${format(counts[key])}</td><td>${aim}</td></tr>`;
  }).join("");
}

function sourceRows(film, line, on) {
  // `on`: what this line did, or ""
  const file = film.raw.files[line.file];
  if (!file) return `<div class="cp-file">${line.label ? `${on} <b>${escapeText(line.label)}</b>` : ""}</div>`;
  const first = clamp(line.number - 1, file.first, Math.max(file.first, file.first + file.text.length - 3));
  const part = file.text.slice(first - file.first, first - file.first + 3);
  const dent = Math.min(...part.filter(text => text.trim()).map(text => text.search(/\S/)), 40);
  const rows = part
    .map(
      (text, i) =>
        `<div class="${on && first + i === line.number ? "on" : ""}"><i>${first + i}</i>${escapeText(text.slice(dent)) || " "}</div>`,
    )
    .join("");
  return `<div class="cp-file">${on} <b>${escapeText(line.label)}</b></div><pre>${rows}</pre>`;
}

function legendItems(film, axis) {
  const kinds = film.kinds(),
    many = film.ranks > 16,
    effects = new Set(film.messages.map(m => m.effect || (m.action && "stores"))),
    spans = film.raw.idle[axis];
  return [
    [film.raw.known && !many, "slot", "one rank’s contribution"],
    [film.raw.known && many, "tone", "how many ranks are contained"],
    [film.raw.sums && kinds.has("complete") && !many, "whole", "complete"],
    [kinds.has("twice"), "twice", "counted too often"],
    [film.raw.verdict?.ok === false && film.raw.sums && !film.stuck && !many, "miss", "incomplete at the end"],
    [film.messages.length, "send", "send"],
    [effects.has("adds"), "add", "receive and add"],
    [effects.has("stores") || effects.has("replaces"), "store", "receive and store"],
    [spans.some(s => !s[5] && s[4] !== "computes"), "wait", "waits"],
    [film.stuck, "block", "blocked for good"],
  ]
    .filter(([shown]) => shown)
    .map(([, key, words]) => `<span><i class="cp-i-${key}"></i>${words}</span>`)
    .join("");
}
