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
const PARTS = [
  "title",
  "verdict",
  "status",
  "main",
  "stage",
  "side",
  "count",
  "aim",
  "matrix",
  "cap",
  "sum",
  "note",
  "source",
  "buttons",
  "speed",
  "scrub",
  "time",
  "legend",
  "more",
  "table",
];

class Player extends Picture {
  constructor(model, el) {
    super();
    Object.assign(this, { model, off: [], hover: null, layers: {} });
    const root = (this.root = document.createElement("div"));
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
    const get = name => this.model.get(name),
      film = (this.film = new Film(get("film")));
    this.clock?.stop();
    this.clock = new Clock(film, () => this.show());
    this.axis = get("axis") || "step";
    this.view = get("view") || film.raw.view;
    film.focus = clamp(get("focus") ?? 0, 0, film.ranks - 1);
    this.clock.use(this.axis);
    this.clock.t = clamp(get("t") ?? 0, 0, this.clock.end);
    this.clock.speed = get("speed") || (film.steps > 60 ? 4 : film.steps > 24 ? 2 : 1);
    this.speed.value = this.clock.speed;
    const p = film.ranks,
      title = film.raw.title || `${p} rank${p === 1 ? "" : "s"}`;
    this.title.textContent = title;
    this.root.setAttribute("aria-label", `Player: ${title}`);
    this.root.id = get("element_id") || "";
    const bad = film.raw.verdict && !film.raw.verdict.ok;
    this.verdict.hidden = !bad;
    this.verdict.innerHTML = bad ? verdictWords(film) : "";
    this.aim.textContent = film.raw.predicted ? "predicted" : film.stuck ? "" : "in all";
    this.note.textContent = film.raw.note && film.messages.length ? `Whose contributions: ${film.raw.note}.` : "";
    this.ring =
      film.messages.length > 0 &&
      film.messages.every(m => [1, p - 1].includes((m.dest - m.source + p) % p)) &&
      new Set(film.messages.map(m => (m.dest - m.source + p) % p)).size === 1;
    this.choices("view", ["ring", "row", "tree"], this.view);
    this.choices("axis", film.messages.length ? ["step", "time"] : [], this.axis);
    this.legend.innerHTML = legendItems(film, this.axis);
    this.table.innerHTML = buildTable(film);
    this.resize();
  }

  choices(name, values, chosen) {
    const words = { step: "steps", time: this.film.raw.clock === "virtual" ? "virtual time" : "wall time" };
    this.root.querySelector(`[data-choice="${name}"]`).innerHTML = values
      .map(
        v =>
          `<button type="button" data-value="${v}" data-testid="${name}-${v}" aria-pressed="${v === chosen}">${words[v] ?? v}</button>`,
      )
      .join("");
  }

  listen() {
    const on = (target, type, act) => {
      target.addEventListener(type, act);
      this.off.push(() => target.removeEventListener(type, act));
    };
    on(this.root, "click", e => this.clicked(e.target.closest("button")));
    on(this.root, "keydown", e => this.key(e));
    on(this.speed, "change", () => {
      this.clock.speed = +this.speed.value;
      this.keep("speed", this.clock.speed);
    });
    on(this.scrub, "input", () => {
      this.clock.stop();
      this.clock.frame = 0;
      this.clock.seek(+this.scrub.value);
    });
    on(this.more, "toggle", () => this.show());
    for (const canvas of [this.stage, this.time, this.matrix]) {
      const hit = e => this.hit(canvas, e.offsetX, e.offsetY);
      on(canvas, "pointermove", e => {
        const found = hit(e);
        canvas.style.cursor = found ? "pointer" : "";
        this.point(found);
      });
      on(canvas, "pointerleave", () => this.point(null));
      on(canvas, "click", e => this.pick(hit(e), canvas === this.time));
    }
    const size = new ResizeObserver(() => {
      if (this.root.clientWidth && this.root.clientWidth !== this.width) this.resize();
    });
    size.observe(this.root);
    const theme = new MutationObserver(() => this.resize());
    for (const body of [document.body, outerBody()])
      if (body) theme.observe(body, { attributes: true, attributeFilter: ["data-jp-theme-light"] });
    const reload = () => this.load(),
      moved = () => {
        if (!this.saving) {
          this.clock.stop();
          this.clock.frame = 0;
          this.clock.seek(this.model.get("t"));
        }
      };
    const told = () => {
      if (this.model.get("playing") !== this.clock.playing) this.clock.command("play");
    };
    const looks = () => {
      if (!this.saving) {
        this.film.focus = clamp(this.model.get("focus"), 0, this.film.ranks - 1);
        this.setView(this.model.get("view") || this.view);
        this.setAxis(this.model.get("axis") || this.axis);
      }
    };
    for (const [event, act] of [
      ["change:film", reload],
      ["change:t", moved],
      ["change:playing", told],
      ["change:focus", looks],
      ["change:view", looks],
      ["change:axis", looks],
    ]) {
      this.model.on(event, act);
      this.off.push(() => this.model.off?.(event, act));
    }
    on(matchMedia("(prefers-color-scheme: dark)"), "change", () => this.resize());
    this.off.push(
      () => size.disconnect(),
      () => theme.disconnect(),
      () => this.clock.stop(),
    );
  }

  keep(name, value) {
    // into the trait, so that the notebook knows
    if (this.model.get(name) === value) return;
    this.saving = true;
    this.model.set(name, value);
    this.model.save_changes?.();
    this.saving = false;
  }

  // ---- what the reader does
  clicked(button) {
    if (!button) return;
    const { command, value } = button.dataset,
      choice = button.parentElement.dataset.choice;
    if (command) this.clock.command(command);
    else if (choice === "view") {
      this.setView(value);
      this.keep("view", value);
    } else if (choice === "axis") {
      this.setAxis(value);
      this.keep("axis", value);
    } else if ("go" in button.dataset) this.pick({ m: this.film.messages[this.film.raw.verdict.message] }, true);
  }

  key(e) {
    const tag = e.target.tagName,
      turn = { ArrowUp: -1, ArrowDown: 1 }[e.key];
    if (
      tag === "SELECT" ||
      (e.key === " " && (tag === "BUTTON" || tag === "SUMMARY")) ||
      e.target === this.table ||
      e.ctrlKey ||
      e.metaKey ||
      e.altKey
    )
      return;
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

  setAxis(axis) {
    // to the same moment: as many steps done
    if (axis === this.axis || !this.film.axis(axis)) return;
    const { over } = this.film.stepAt(this.axis, this.clock.t),
      whole = this.clock.t >= this.clock.end,
      steps = this.film.axis(axis).steps;
    const rest = this.film.axis(axis).rests.find(s => s >= steps[Math.min(over, steps.length - 1)]);
    const t = this.clock.t === 0 ? 0 : whole ? Infinity : (rest ?? Infinity);
    this.clock.stop();
    this.clock.frame = 0;
    this.axis = axis;
    this.choices("axis", ["step", "time"], axis);
    this.legend.innerHTML = legendItems(this.film, axis);
    this.clock.use(axis);
    this.clock.t = clamp(t, 0, this.clock.end);
    this.resize();
  }

  hit(canvas, x, y) {
    const { film } = this;
    if (canvas === this.matrix) return hitMatrix(film, this.cellsAt, this.counts, x, y);
    if (canvas === this.stage) return hitStage(film, this.g, this.flights, x, y);
    const m = hitTimeline(film, this.B, x, y);
    return m && { m };
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
    const land = this.film.lands(found.m, this.axis),
      leave = this.film.leaves(found.m, this.axis),
      { rests } = this.film.axis(this.axis);
    this.clock.seek(rests.findLast(s => s >= leave && s < land) ?? Math.min(land, this.clock.end));
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
