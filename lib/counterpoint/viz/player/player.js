// The player: one film, one clock, the views of it, and what the reader points at.

const SKELETON = `
  <div class="cp-head"><span class="cp-title" data-testid="title"></span><span class="cp-choice" role="group" aria-label="Time axis" data-choice="axis"></span><span class="cp-choice" role="group" aria-label="View" data-choice="view"></span></div>
  <div class="cp-verdict" data-testid="verdict"></div>
  <div class="cp-status" data-testid="status" aria-live="polite"></div>
  <div class="cp-main"><canvas class="cp-stage" data-testid="stage" role="img"></canvas><div class="cp-side">
    <table class="cp-count"><thead><tr><td></td><th scope="col">so far</th><th scope="col" class="cp-aim"></th></tr></thead><tbody></tbody></table>
    <div><div class="cp-pair"><canvas class="cp-matrix" data-testid="matrix" role="img"></canvas><canvas class="cp-sum" data-testid="sum" role="img"></canvas><div class="cp-note" data-testid="note"></div></div>
      <div class="cp-cap"></div></div>
    <div class="cp-source" data-testid="source"></div></div></div>
  <div class="cp-bar"><span class="cp-buttons">${buttonsHtml()}</span><select class="cp-speed" data-testid="speed" aria-label="Speed">${speedsHtml()}</select><span class="cp-hint">space plays · ← → step · ↑ ↓ follow another rank · point at a message · click a step</span></div>
  <input class="cp-scrub" data-testid="scrub" type="range" min="0" step="any" aria-label="Time">
  <canvas class="cp-time" data-testid="timeline" role="img"></canvas><div class="cp-legend"></div>
  <details class="cp-more" data-testid="table"><summary>As a table</summary><div class="cp-table" tabindex="0"></div></details>`;
const PARTS = ["title", "verdict", "status", "main", "stage", "side", "count", "aim", "matrix", "cap", "sum", "note", "source", "buttons", "speed", "scrub", "time", "legend", "more", "table"];

class Player {
  constructor(model, el) {
    Object.assign(this, { model, off: [], hover: null, layers: {} });
    const root = this.root = document.createElement("div");
    root.className = "cp";
    Object.assign(root, { tabIndex: 0, innerHTML: SKELETON });
    root.setAttribute("role", "group");
    root.dataset.lmSuppressShortcuts = "true";
    root.dataset.testid = "player";
    for (const part of PARTS) this[part] = root.querySelector(`.cp-${part}`);
    el.append(root);
    this.load();
    this.listen();
  }

  load() {
    const get = name => this.model.get(name), film = this.film = new Film(get("film"));
    this.clock?.stop();
    this.clock = new Clock(film, () => this.show());
    this.axis = get("axis") || "step";
    this.view = get("view") || film.raw.view;
    film.focus = clamp(get("focus") ?? 0, 0, film.ranks - 1);
    this.clock.use(this.axis);
    this.clock.t = clamp(get("t") ?? 0, 0, this.clock.end);
    this.clock.speed = get("speed") || (film.steps > 60 ? 4 : film.steps > 24 ? 2 : 1);
    this.speed.value = this.clock.speed;
    const p = film.ranks, title = film.raw.title || `${p} rank${p === 1 ? "" : "s"}`;
    this.title.textContent = title;
    this.root.setAttribute("aria-label", `Player: ${title}`);
    this.root.id = get("name") || "";
    const bad = film.raw.verdict && !film.raw.verdict.ok;
    this.verdict.hidden = !bad;
    this.verdict.innerHTML = bad ? verdictWords(film) : "";
    this.aim.textContent = film.raw.predicted ? "predicted" : film.stuck ? "" : "in all";
    this.note.textContent = film.raw.note && film.messages.length ? `Whose contributions: ${film.raw.note}.` : "";
    this.ring = film.messages.length > 0 && film.messages.every(m => [1, p - 1].includes((m.dest - m.source + p) % p)) && new Set(film.messages.map(m => (m.dest - m.source + p) % p)).size === 1;
    this.choices("view", ["ring", "row", "tree"], this.view);
    this.choices("axis", film.messages.length ? ["step", "time"] : [], this.axis);
    this.legend.innerHTML = legendItems(film);
    this.table.innerHTML = buildTable(film);
    this.resize();
  }

  choices(name, values, chosen) {
    const words = { step: "steps", time: this.film.raw.clock === "virtual" ? "virtual time" : "wall time" };
    this.root.querySelector(`[data-choice="${name}"]`).innerHTML = values
      .map(v => `<button type="button" data-value="${v}" data-testid="${name}-${v}" aria-pressed="${v === chosen}">${words[v] ?? v}</button>`).join("");
  }

  listen() {
    const on = (target, type, act) => { target.addEventListener(type, act); this.off.push(() => target.removeEventListener(type, act)); };
    on(this.root, "click", e => this.clicked(e.target.closest("button")));
    on(this.root, "keydown", e => this.key(e));
    on(this.speed, "change", () => { this.clock.speed = +this.speed.value; this.keep("speed", this.clock.speed); });
    on(this.scrub, "input", () => { this.clock.stop(); this.clock.frame = 0; this.clock.seek(+this.scrub.value); });
    on(this.more, "toggle", () => this.show());
    for (const canvas of [this.stage, this.time, this.matrix]) {
      const hit = e => this.hit(canvas, e.offsetX, e.offsetY);
      on(canvas, "pointermove", e => { const found = hit(e); canvas.style.cursor = found ? "pointer" : ""; this.point(found); });
      on(canvas, "pointerleave", () => this.point(null));
      on(canvas, "click", e => this.pick(hit(e), canvas === this.time));
    }
    const size = new ResizeObserver(() => { if (this.root.clientWidth && this.root.clientWidth !== this.width) this.resize(); });
    size.observe(this.root);
    const theme = new MutationObserver(() => this.resize());
    theme.observe(document.body, { attributes: true, attributeFilter: ["data-jp-theme-light"] });
    const reload = () => this.load(), moved = () => { if (!this.saving) { this.clock.stop(); this.clock.frame = 0; this.clock.seek(this.model.get("t")); } };
    const told = () => { if (this.model.get("playing") !== this.clock.playing) this.clock.command("play"); };
    const looks = () => { if (!this.saving) { this.film.focus = clamp(this.model.get("focus"), 0, this.film.ranks - 1); this.setView(this.model.get("view") || this.view); this.setAxis(this.model.get("axis") || this.axis); } };
    for (const [event, act] of [["change:film", reload], ["change:t", moved], ["change:playing", told], ["change:focus", looks], ["change:view", looks], ["change:axis", looks]]) {
      this.model.on(event, act);
      this.off.push(() => this.model.off?.(event, act));
    }
    this.off.push(() => size.disconnect(), () => theme.disconnect(), () => this.clock.stop());
  }

  keep(name, value) {                               // into the trait, so that the notebook knows
    if (this.model.get(name) === value) return;
    this.saving = true;
    this.model.set(name, value);
    this.model.save_changes?.();
    this.saving = false;
  }

  // ---- what the reader does
  clicked(button) {
    if (!button) return;
    const { command, value } = button.dataset, choice = button.parentElement.dataset.choice;
    if (command) this.clock.command(command);
    else if (choice === "view") { this.setView(value); this.keep("view", value); }
    else if (choice === "axis") { this.setAxis(value); this.keep("axis", value); }
    else if ("go" in button.dataset) this.pick({ m: this.film.messages[this.film.raw.verdict.message] }, true);
  }

  key(e) {
    const tag = e.target.tagName, turn = { ArrowUp: -1, ArrowDown: 1 }[e.key];
    if (tag === "SELECT" || (e.key === " " && (tag === "BUTTON" || tag === "SUMMARY")) || e.target === this.table || e.ctrlKey || e.metaKey || e.altKey) return;
    if (!KEYS[e.key] && !turn) return;
    e.preventDefault();
    e.stopPropagation();
    if (turn) this.follow((this.film.focus + turn + this.film.ranks) % this.film.ranks);
    else this.clock.command(KEYS[e.key]);
  }

  follow(rank) {
    this.film.focus = rank;
    this.keep("focus", rank);
    this.show();
  }

  setView(view) {
    this.view = view;
    this.choices("view", ["ring", "row", "tree"], view);
    this.resize();
  }

  setAxis(axis) {                                   // to the same moment: as many steps done
    if (axis === this.axis || !this.film.axis(axis)) return;
    const { over } = this.film.stepAt(this.axis, this.clock.t), whole = this.clock.t >= this.clock.end, steps = this.film.axis(axis).steps;
    const rest = this.film.axis(axis).rests.find(s => s >= steps[Math.min(over, steps.length - 1)]);
    const t = this.clock.t === 0 ? 0 : whole ? Infinity : rest ?? Infinity;
    this.clock.stop();
    this.clock.frame = 0;
    this.axis = axis;
    this.choices("axis", ["step", "time"], axis);
    this.clock.use(axis);
    this.clock.t = clamp(t, 0, this.clock.end);
    this.resize();
  }

  hit(canvas, x, y) {
    const { film, g } = this;
    if (canvas === this.time) { const m = hitTimeline(film, this.B, x, y); return m ? { m } : null; }
    if (canvas === this.matrix) {
      const { o, size } = this.cellsAt, i = Math.floor((y - o) / size), j = Math.floor((x - o) / size), p = film.ranks;
      return i >= 0 && j >= 0 && i < p && j < p && this.counts.matrix[i * p + j] ? { pair: [i, j] } : null;
    }
    const flight = this.flights?.findLast(q => Math.hypot(q.x - x, q.y - y) < q.r);
    if (flight) return { m: flight.m };
    if (g.kind === "polar") {
      const d = Math.hypot(x - g.cx, y - g.cy), turn = (Math.atan2(y - g.cy, x - g.cx) + Math.PI / 2) / (2 * Math.PI);
      return d > g.inner && d < g.R + 16 ? { rank: (Math.round(turn * film.ranks) + film.ranks) % film.ranks } : null;
    }
    for (let rank = 0; rank < film.ranks; rank++) {
      const k = g.card(rank);
      if (x > k.x - 3 && x < k.x + k.w + 3 && y > k.y - 16 && y < k.y + k.h + 13) return { rank };
    }
    return null;
  }

  point(found) {
    if (found?.m === this.hover?.m && String(found?.pair) === String(this.hover?.pair)) return;
    this.hover = found;
    this.show();
  }

  pick(found, go) {
    if (!found) return;
    if (found.rank != null) this.follow(found.rank);
    if (!found.m) return;
    this.film.focus = found.m.source;
    this.keep("focus", found.m.source);
    if (!go) return this.show();
    this.clock.stop();
    this.clock.frame = 0;
    const land = this.film.lands(found.m, this.axis), leave = this.film.leaves(found.m, this.axis), { rests } = this.film.axis(this.axis);
    this.clock.seek(rests.findLast(s => s >= leave && s < land) ?? Math.min(land, this.clock.end));
  }

  // ---- drawing
  resize() {
    this.width = this.root.clientWidth;
    this.T = readTheme(this.root);
    const W = clamp(this.width - 26, 320, 1060), narrow = W < 600, side = narrow ? W : Math.min(278, Math.max(248, W * 0.3));
    const p = this.film.ranks, sw = narrow ? W : W - side - 18, sh = p <= 2 ? 292 : p <= 8 ? 304 : p <= 16 ? 344 : 320;
    this.main.classList.toggle("cp-narrow", narrow);
    this.side.style.width = `${side}px`;
    this.g = places(this.film, this.view, sw, sh);
    const th = 36 + clamp(p * 16, 34, p <= 16 ? 224 : 150);
    this.ctx = { stage: this.fit(this.stage, sw, sh), time: this.fit(this.time, W, th), matrix: this.fit(this.matrix, 118, 118), sum: this.fit(this.sum, Math.min(150, side - 118 - 10), 118) };
    this.scrub.style.marginLeft = "54px";
    this.scrub.style.width = `${W - 54}px`;
    this.scrub.max = this.clock.end;
    this.layers = {};
    this.written = null;
    this.show();
  }

  fit(canvas, w, h) {
    const d = devicePixelRatio || 1, ctx = canvas.getContext("2d");
    Object.assign(canvas, { width: Math.round(w * d), height: Math.round(h * d) });
    Object.assign(canvas.style, { width: `${w}px`, height: `${h}px` });
    ctx.setTransform(d, 0, 0, d, 0, 0);
    return Object.assign(ctx, { W: w, H: h });
  }

  layer(name, key, paint) {                         // the still part, repainted only when its key changes
    const main = this.ctx[name], known = this.layers[name];
    if (known?.key !== key) {
      const canvas = known?.canvas ?? document.createElement("canvas");
      paint(this.fit(canvas, main.W, main.H));
      this.layers[name] = { key, canvas };
    }
    main.clearRect(0, 0, main.W, main.H);
    main.drawImage(this.layers[name].canvas, 0, 0, main.W, main.H);
    return main;
  }

  selected() {                                      // pointed at; else what the followed rank sends, or receives
    const { film, axis, clock: { t, end } } = this;
    if (this.hover?.m) return this.hover.m;
    if (t <= 0 || (t >= end && !film.stuck) || !film.messages.length) return null;
    const moving = this.moving, own = moving.filter(m => m.source === film.focus), to = moving.filter(m => m.dest === film.focus);
    if (moving.length) return own[0] ?? to.reduce((a, b) => (a && film.lands(a, axis) <= film.lands(b, axis) ? a : b), null) ?? moving[0];
    const past = film.messages.filter(m => film.lands(m, axis) <= t), last = past.reduce((at, m) => Math.max(at, film.lands(m, axis)), -1);
    const latest = past.filter(m => film.lands(m, axis) === last);
    return latest.find(m => m.source === film.focus) ?? latest.find(m => m.dest === film.focus) ?? latest[0] ?? null;
  }

  show() {
    const { film, axis, clock } = this, { t } = clock;
    this.moving = t > 0 && (t < clock.end || film.stuck) ? film.moving(axis, t) : [];
    const m = this.selected(), held = film.holds(axis, t), step = film.stepAt(axis, t);
    this.counts = film.count(axis, t);
    this.showStage(m, held, t);
    this.showTimeline(m, step, t);
    this.showPanels(m);
    this.showWords(m, step, held, t);
    if (!clock.moving) { this.keep("t", t); this.keep("playing", false); } else this.keep("playing", clock.playing);
  }

  get over() {
    return this.film.stuck && this.clock.t >= this.film.axis(this.axis).steps[this.film.steps] && this.clock.t > 0;
  }

  showStage(m, { state, version }, t) {
    const { film, g, T, clock, axis } = this, bad = film.raw.verdict?.ok === false, final = t >= clock.end && bad && !film.stuck;
    const ctx = this.layer("stage", [version, final, film.focus].join(), c => paintRanks(c, T, film, g, state, { final, focus: film.focus, used: { ring: this.ring && !film.stuck } }));
    this.flights = [];
    const wrong = bad ? film.messages[film.raw.verdict.message] : null;
    for (const x of this.moving) if (x !== m) this.flights.push(drawFlight(ctx, T, film, g, x, progress(film, x, axis, t), { bad: x === wrong }));
    if (m && this.moving.includes(m)) this.flights.push(drawFlight(ctx, T, film, g, m, progress(film, m, axis, t), { strong: m !== wrong, bad: m === wrong }));
    else if (m && this.hover?.m) stroke(ctx, T.select, 1.6, Array.from({ length: 21 }, (_, i) => { const q = g.path(m).at(i / 20); return [q.x, q.y]; }), { dash: [5, 4] });
    const glow = axis === "step" ? 0.14 : clock.end * 0.02;
    if (t < clock.end) for (const x of film.messages) { const late = t - film.lands(x, axis); if (late >= 0 && late < glow) drawLanding(ctx, T, g, x, 1 - late / glow); }
    if (this.over) drawWaits(ctx, T, film, g, film.focus);
    if (g.kind === "cards" && this.view === "ring" && film.ranks > 4 && (this.ring || this.over) && (film.raw.sums || this.over)) drawMiddle(ctx, T, film, g, film.tally(axis, t), this.over);
  }

  showTimeline(m, { k }, t) {
    const { film, T, axis } = this, B = this.B = timeBox(this.ctx.time, film, axis, film.focus);
    const ctx = this.layer("time", [axis, film.focus].join(), c => paintTimeline(c, T, film, B, film.focus)), { verdict } = film.raw;
    drawCursor(ctx, T, film, B, t, k);
    const pair = this.hover?.pair;
    if (pair) for (const x of film.messages) if (x.source === pair[0] && x.dest === pair[1]) markMessage(ctx, film, B, x, T.select, 1);
    if (m) markMessage(ctx, film, B, m, T.select, 2);
    const wrong = verdict?.ok === false && film.messages[verdict.message];
    if (wrong) flagMessage(ctx, T, film, B, wrong, verdict.kind === "twice" ? "counted twice from here" : "first wrong message");
    this.time.setAttribute("aria-label", `Timeline: ${film.ranks} ranks by ${plural(film.steps, "step")}`);
  }

  showPanels(m) {
    const { film, T, counts } = this, pair = this.hover?.pair ?? (m ? [m.source, m.dest] : null);
    this.cellsAt = drawMatrix(this.ctx.matrix, T, film, counts, pair);
    const amount = pair ? `${pair[0]} → ${pair[1]}: <b>${bytes(counts.matrix[pair[0] * film.ranks + pair[1]])}</b>` : counts.largest ? `most: ${bytes(counts.largest)}` : "&nbsp;";
    const caption = `bytes sent · ${amount}`;
    if (caption !== this.caption) this.cap.innerHTML = this.caption = caption;
    this.matrix.setAttribute("aria-label", `Who sent how much to whom so far. ${this.cap.textContent}`);
    const sums = film.raw.known && m && m.state === "done" && m.carries.length;
    this.sum.hidden = !sums && !!this.note.textContent;
    drawSum(this.ctx.sum, T, film, sums ? m : null);
    this.sum.setAttribute("aria-label", sums ? `What arrives, what rank ${m.dest} had, what it now has` : "");
  }

  showWords(m, { k, done }, { state }, t) {
    const { film, clock, axis } = this, phase = m && film.raw.phases[m.phase], moment = m?.taken ?? m?.step;
    const where = axis === "time" ? `${seconds(t)} of ${seconds(film.raw.seconds)}` : `step ${Math.min(k + 1, film.steps)} of ${film.steps}`;
    const head = this.hover?.m ? `step ${moment}` : where;
    const words = this.over && !this.hover?.m ? stuckSentence(film, film.focus) : t <= 0 && !m ? opening(film) : !m ? closing(film, axis, t)
      : `<b>${head}</b> · ${phase ? `${escapeText(phase)} · ` : ""}${sentence(film, m)}`;
    this.status.setAttribute("aria-live", clock.moving ? "off" : "polite");
    if (words !== this.said) { this.status.innerHTML = this.said = words; this.status.title = this.status.textContent; }
    const rows = counterRows(film, this.counts);
    if (rows !== this.rows) this.count.tBodies[0].innerHTML = this.rows = rows;
    const wait = this.over && !m ? film.raw.waits.find(w => w.rank === film.focus) : null, line = film.line(m ?? film.messages[0] ?? {});
    const source = wait ? `<div class="cp-file">waits at <b>${escapeText(wait.line)}</b></div><pre><div class="on">${escapeText(wait.code)}</div></pre>` : sourceRows(film, line, !m ? "" : m.state === "blocked" ? "blocked at" : "sent by");
    if (source !== this.shownSource) this.source.innerHTML = this.shownSource = source;
    const play = this.buttons.querySelector('[data-command="play"]');
    play.querySelector("path").setAttribute("d", clock.playing ? ICONS.pause : ICONS.play);
    play.setAttribute("aria-pressed", clock.playing);
    this.scrub.value = t;
    this.scrub.setAttribute("aria-valuetext", this.status.textContent);
    Object.assign(this.root.dataset, { step: done, t: +t.toPrecision(9), end: clock.end, playing: clock.playing, axis, view: this.view, focus: film.focus, messages: this.counts.messages, bytes: this.counts.bytes_total, moving: this.moving.length });
    const key = `${axis}:${t}`;
    if (clock.moving || this.written === key || (!this.more.open && film.ranks * film.cells > 1024)) return;
    this.written = key;
    this.root.dataset.complete = film.tally(axis, t).complete;
    fillTable(film, this.table, state, words, this.moving);
    this.stage.setAttribute("aria-label", `${film.ranks} ranks, ${plural(film.cells, "chunk")} each. ${this.status.textContent}`);
  }

  destroy() {
    this.off.forEach(undo => undo());
  }
}

export default {
  render({ model, el }) {
    const player = new Player(model, el);
    el.player = player;
    return () => player.destroy();
  },
};
