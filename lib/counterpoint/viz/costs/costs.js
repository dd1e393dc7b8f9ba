// The cost explorer. Counts come from Python, exact; seconds are made of them here, for whatever link is set.

const DASH = ["", "8 4", "3 3", "8 3 2 3", "1 3"];
const WIDTH = 860, HEIGHT = 400, LEFT = 62, RIGHT = 150, TOP = 26, BOTTOM = 58, BAND = 10;
const SLIDERS = [
  ["alpha", "alpha, a message", "s", 1e-8, 1e-1],
  ["beta", "beta, a byte", "s", 1e-13, 1e-6],
  ["gamma", "gamma, a byte reduced", "s", 1e-14, 1e-7],
];

function si(value, unit, digits = 3) {
  if (!value) return `0 ${unit}`;
  const prefixes = [[1e9, "G"], [1e6, "M"], [1e3, "k"], [1, ""], [1e-3, "m"], [1e-6, "µ"], [1e-9, "n"], [1e-12, "p"], [1e-15, "f"]];
  const [scale, prefix] = prefixes.find(([least]) => value >= 0.9995 * least) ?? prefixes.at(-1);
  return `${Number((value / scale).toPrecision(digits))} ${prefix}${unit}`;
}

class Explorer {
  constructor(model, el) {
    Object.assign(this, { model, off: [] });
    this.data = model.get("data");
    const root = (this.root = document.createElement("div"));
    root.className = "ce";
    root.dataset.testid = "cost-explorer";
    root.dataset.lmSuppressShortcuts = "true";
    root.id = model.get("element_id");
    root.innerHTML = this.skeleton();
    el.append(root);
    this.svg = root.querySelector("svg");
    this.listen();
    this.draw();
  }

  skeleton() {
    const presets = Object.keys(this.data.presets).map(name => `<option>${name}</option>`).join("");
    const slider = ([name, text, , low, high]) =>
      `<label>${text}<output data-testid="${name}-value"></output><input type="range" data-testid="${name}" aria-label="${text}" min="${Math.log10(low)}" max="${Math.log10(high)}" step="0.02"></label>`;
    return `<div class="ce-controls">
      <label>link<span></span><select data-testid="preset" aria-label="link"><option value="">as the sliders say</option>${presets}</select></label>
      <label>ranks<output data-testid="p-value"></output><input type="range" data-testid="p" aria-label="ranks" min="0" max="${this.data.ranks.length - 1}" step="1"></label>
      ${SLIDERS.map(slider).join("")}</div>
      <svg viewBox="0 0 ${WIDTH} ${HEIGHT}" tabindex="0" role="img" data-testid="chart"></svg>
      <div class="ce-told" data-testid="told" aria-live="polite"></div>
      <table data-testid="table"><thead><tr><th scope="col"></th><th scope="col">time</th><th scope="col">algbw</th><th scope="col">busbw</th><th scope="col">steps</th><th scope="col">messages</th><th scope="col">busiest rank sends</th></tr></thead><tbody></tbody></table>`;
  }

  listen() {
    const on = (element, event, act) => {
      element.addEventListener(event, act);
      this.off.push(() => element.removeEventListener(event, act));
    };
    const get = name => this.root.querySelector(`[data-testid="${name}"]`);
    for (const [name, , , low] of SLIDERS)
      on(get(name), "input", e => this.set({ [name]: name === "gamma" && +e.target.value <= Math.log10(low) ? 0 : 10 ** +e.target.value }));
    on(get("p"), "input", e => this.set({ p: this.data.ranks[+e.target.value] }));
    on(get("preset"), "change", e => {
      const link = this.data.presets[e.target.value];
      if (link) this.set({ alpha: link[0], beta: link[1], gamma: link[2] });
    });
    on(this.svg, "pointermove", e => this.point(e));
    on(this.svg, "pointerdown", e => this.point(e));
    on(this.svg, "keydown", e => {
      const step = { ArrowLeft: -1, ArrowRight: 1, Home: -100, End: 100 }[e.key];
      if (!step) return;
      e.preventDefault();
      this.set({ at: this.clamp(this.model.get("at") + step) });
    });
    for (const name of ["alpha", "beta", "gamma", "p", "at"]) this.model.on(`change:${name}`, () => this.draw());
    const theme = new MutationObserver(() => this.draw());
    theme.observe(document.body, { attributes: true, attributeFilter: ["data-jp-theme-light"] });
    this.off.push(() => theme.disconnect());
  }

  set(values) {
    for (const [name, value] of Object.entries(values)) this.model.set(name, value);
    this.model.save_changes();
    this.draw();
  }

  clamp(at) {
    return Math.max(0, Math.min(this.data.sizes[0].length - 1, at));
  }

  point(event) {
    const box = this.svg.getBoundingClientRect();
    const x = ((event.clientX - box.left) / box.width) * WIDTH;
    const places = this.sizes.map(n => Math.abs(this.x(n) - x));
    const at = places.indexOf(Math.min(...places));
    if (at !== this.model.get("at")) this.set({ at });
  }

  times() {
    const [alpha, beta, gamma] = ["alpha", "beta", "gamma"].map(name => this.model.get(name));
    return this.data.algorithms.map(a =>
      this.sizes.map((_, i) => a.path_latencies[this.row][i] * alpha + a.path_bytes[this.row][i] * beta + a.path_reduced[this.row][i] * gamma),
    );
  }

  draw() {
    const dark = document.body.dataset.jpThemeLight === "false" || (document.body.dataset.jpThemeLight === undefined && matchMedia("(prefers-color-scheme: dark)").matches);
    this.root.dataset.theme = dark ? "dark" : "light";
    this.row = Math.max(0, this.data.ranks.indexOf(this.model.get("p")));
    this.sizes = this.data.sizes[this.row];
    const times = this.times(), at = this.clamp(this.model.get("at"));
    const all = times.flat().filter(t => t > 0);
    this.low = Math.floor(Math.log10(Math.min(...all, 1e-3))), this.high = Math.ceil(Math.log10(Math.max(...all, 1e-9)));
    this.controls();
    this.chart(times, at);
    this.table(times, at);
  }

  x(n) {
    const [first, last] = [this.sizes[0], this.sizes.at(-1)].map(Math.log10);
    return LEFT + ((Math.log10(n) - first) / (last - first)) * (WIDTH - LEFT - RIGHT);
  }

  y(t) {
    const share = (Math.log10(Math.max(t, 1e-30)) - this.low) / Math.max(1, this.high - this.low);
    return HEIGHT - BOTTOM - Math.max(0, share) * (HEIGHT - TOP - BOTTOM);
  }

  controls() {
    const get = name => this.root.querySelector(`[data-testid="${name}"]`);
    const values = SLIDERS.map(([name]) => this.model.get(name));
    SLIDERS.forEach(([name, , unit, low], i) => {
      get(name).value = Math.log10(values[i] || low);
      get(`${name}-value`).textContent = si(values[i], unit);
    });
    get("p").value = this.row;
    get("p-value").textContent = this.data.ranks[this.row];
    const named = Object.entries(this.data.presets).find(([, link]) => link.every((v, i) => Math.abs(v - values[i]) <= 1e-9 * v));
    get("preset").value = named ? named[0] : "";
  }

  best(times, i) {
    return times.reduce((best, row, a) => (row[i] < times[best][i] ? a : best), 0);
  }

  overtakings(times) {
    const found = [];
    for (let i = 1; i < this.sizes.length; i++) {
      const old = this.best(times, i - 1), now = this.best(times, i);
      if (old === now) continue;
      const before = times[old][i - 1] - times[now][i - 1], after = times[old][i] - times[now][i];
      const share = before === after ? 0 : before / (before - after);
      found.push({ at: this.sizes[i - 1] + share * (this.sizes[i] - this.sizes[i - 1]), old, now });
    }
    return found;
  }

  chart(times, at) {
    const parts = [], bottom = HEIGHT - BOTTOM, right = WIDTH - RIGHT;
    for (let e = this.low; e <= this.high; e++) {
      const y = this.y(10 ** e);
      parts.push(`<line class="ce-grid" x1="${LEFT}" x2="${right}" y1="${y}" y2="${y}"/><text x="${LEFT - 8}" y="${y + 4}" text-anchor="end">${si(10 ** e, "s")}</text>`);
    }
    for (const n of [100, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9].filter(n => n >= this.sizes[0] && n <= this.sizes.at(-1)))
      parts.push(`<line class="ce-grid" x1="${this.x(n)}" x2="${this.x(n)}" y1="${TOP}" y2="${bottom}"/><text x="${this.x(n)}" y="${HEIGHT - 22}" text-anchor="middle">${si(n, "B")}</text>`);
    parts.push(`<text x="${(LEFT + right) / 2}" y="${HEIGHT - 5}" text-anchor="middle">bytes on each rank</text>`);
    const marks = this.overtakings(times), edges = [this.sizes[0], ...marks.map(m => m.at), this.sizes.at(-1)];
    const winners = [this.best(times, 0), ...marks.map(m => m.now)];
    winners.forEach((a, i) => {
      const from = this.x(edges[i]), to = this.x(edges[i + 1]);
      parts.push(`<rect x="${from}" y="${bottom + 3}" width="${Math.max(0, to - from)}" height="${BAND}" fill="${COLORS[a % COLORS.length]}"><title>fastest: ${this.data.algorithms[a].name}</title></rect>`);
    });
    let last = -1e9;
    for (const mark of marks) {
      const x = this.x(mark.at), up = x - last < 60 ? TOP - 16 : TOP - 4;
      last = up === TOP - 4 ? x : -1e9;
      parts.push(`<line class="ce-over" data-testid="overtaking" x1="${x}" x2="${x}" y1="${TOP}" y2="${bottom}"/><text class="ce-mark" x="${x}" y="${up}" text-anchor="middle">${si(mark.at, "B")}</text>`);
    }
    const x = this.x(this.sizes[at]);
    parts.push(`<line class="ce-cursor" x1="${x}" x2="${x}" y1="${TOP}" y2="${bottom}"/>`);
    times.forEach((row, a) => {
      const color = COLORS[a % COLORS.length], points = row.map((t, i) => `${this.x(this.sizes[i]).toFixed(1)},${this.y(t).toFixed(1)}`).join(" ");
      parts.push(`<polyline data-testid="line-${this.data.algorithms[a].name}" points="${points}" fill="none" stroke="${color}" stroke-width="2.2" stroke-dasharray="${DASH[a % DASH.length]}"/><circle cx="${x}" cy="${this.y(row[at])}" r="3.2" fill="${color}"/>`);
    });
    const ends = times.map((row, a) => ({ a, y: this.y(row.at(-1)) })).sort((one, two) => one.y - two.y);
    ends.forEach((end, i) => (end.y = i ? Math.max(end.y, ends[i - 1].y + 14) : end.y));
    for (const { a, y } of ends) parts.push(`<text class="ce-name" x="${right + 8}" y="${y + 4}" style="fill: ${COLORS[a % COLORS.length]}">${this.data.algorithms[a].name}</text>`);
    this.svg.innerHTML = parts.join("");
    const told = marks.map(m => `${this.data.algorithms[m.now].name} overtakes ${this.data.algorithms[m.old].name} at ${si(m.at, "B")}`);
    const text = told.length ? `With ${this.data.ranks[this.row]} ranks, ${told.join("; ")}.` : `With ${this.data.ranks[this.row]} ranks, ${this.data.algorithms[winners[0]].name} is fastest at every size.`;
    this.svg.setAttribute("aria-label", `Time of one ${this.data.collective} against size. ${text} Left and right move the table's size.`);
    this.root.querySelector(".ce-told").textContent = text;
  }

  table(times, at) {
    const n = this.sizes[at], best = this.best(times, at);
    this.root.querySelector("thead th").textContent = `at ${si(n, "B", 4)}`;
    this.root.querySelector("tbody").innerHTML = this.data.algorithms
      .map((a, i) => {
        const t = times[i][at], rate = t ? n / t : 0, key = `<svg class="ce-key" viewBox="0 0 22 9" aria-hidden="true"><line x1="0" x2="22" y1="5" y2="5" stroke="${COLORS[i % COLORS.length]}" stroke-width="2.4" stroke-dasharray="${DASH[i % DASH.length]}"/></svg>`;
        const cells = [si(t, "s"), si(rate, "B/s"), si(rate * this.data.factor[this.row], "B/s"), a.steps[this.row][at].toLocaleString("en"), a.messages[this.row][at].toLocaleString("en"), si(a.bytes_busiest[this.row][at], "B")];
        return `<tr data-testid="row-${a.name}" data-fastest="${i === best}"><th scope="row">${key}${a.name}</th>${cells.map(c => `<td>${c}</td>`).join("")}</tr>`;
      })
      .join("");
  }
}

export default {
  render({ model, el }) {
    const explorer = new Explorer(model, el);
    return () => explorer.off.forEach(off => off());
  },
};
