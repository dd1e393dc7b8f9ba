// The load-balance lab. Python answers every choice with a scene (picture, tiles, costs) and a run; this draws and listens.

class Lab {
  constructor(model, el) {
    Object.assign(this, { model, off: [], hot: null, mode: "image", tab: "time", fit: false, speed: 1, playing: false });
    this.id = model.get("element_id") || `lab-${Math.random().toString(36).slice(2)}`;
    const root = (this.root = document.createElement("section"));
    Object.assign(root, { className: "lab", id: this.id });
    root.dataset.testid = "balance-lab";
    root.dataset.lmSuppressShortcuts = "true";
    root.setAttribute("aria-label", "load-balance lab");
    root.innerHTML = skeleton(this);
    el.append(root);
    this.canvas = this.get("picture");
    this.svg = this.get("chart");
    this.listen();
    this.theme();
    this.refresh();
  }

  get(name) {
    return this.root.querySelector(`[data-testid="${name}"]`);
  }

  get revealed() {
    return this.model.get("reveal");
  }

  theme() {
    const probe = document.body.dataset.jpThemeLight;
    this.dark = probe ? probe === "false" : matchMedia("(prefers-color-scheme: dark)").matches;
    this.root.dataset.theme = this.dark ? "dark" : "light";
  }

  listen() {
    const on = (target, event, act) => {
      target.addEventListener(event, act);
      this.off.push(() => target.removeEventListener(event, act));
    };
    const set = values => {
      for (const [name, value] of Object.entries(values)) this.model.set(name, value);
      this.model.save_changes();
    };
    this.set = set;
    on(this.root, "change", ({ target }) => {
      const kind = target.name?.slice(this.id.length + 1);
      if (kind === "view") set({ view: target.value, window: [] });
      if (kind === "schedule") set({ schedule: target.value });
      if (kind === "mode") this.mode = target.value;
      if (kind === "tab") this.tab = target.value;
      if (target.dataset.testid === "fit") this.fit = target.checked;
      if (target.dataset.testid === "speed") this.speed = +target.value;
      this.draw();
    });
    for (const name of ["workers", "chunk"]) on(this.get(name), "input", e => set({ [name]: this.model.get("numbers")[name][+e.target.value] }));
    on(this.get("whole"), "click", () => set({ window: [] }));
    on(this.get("schedules"), "click", e => e.target.dataset.testid === "reveal" && set({ reveal: true }));
    on(this.get("play"), "click", () => this.toggle());
    on(this.get("scrub"), "input", e => {
      this.playing = false;
      this.go(+e.target.value / 1000, true);
    });
    on(this.root, "keydown", e => {
      if (e.key === " " && !e.target.closest("button, select, input, summary")) {
        e.preventDefault();
        this.toggle();
      }
    });
    on(this.svg, "keydown", e => this.step(e));
    on(this.svg, "pointermove", e => this.point(this.under(e)));
    on(this.svg, "pointerleave", () => this.point(null));
    on(this.svg, "click", e => {
      const chunk = +e.target.dataset?.chunk;
      if (chunk && !this.model.get("asleep")) set({ schedule: this.run.swept, chunk });
    });
    this.dragging(on, set);
    for (const name of ["scene", "run", "reveal", "complaint", "at"]) {
      const act = name === "at" ? () => this.playing || this.go(this.model.get("at")) : () => this.refresh();
      this.model.on(`change:${name}`, act);
      this.off.push(() => this.model.off(`change:${name}`, act));
    }
    const themes = new MutationObserver(() => {
      this.theme();
      this.refresh();
    });
    themes.observe(document.body, { attributes: true, attributeFilter: ["data-jp-theme-light"] });
    this.off.push(() => themes.disconnect());
  }

  dragging(on, set) {
    let from = null;
    const place = e => [e.offsetX, e.offsetY].map(v => Math.min(1, Math.max(0, v / SIDE)));
    on(this.canvas, "pointerdown", e => {
      if (this.model.get("asleep")) return;
      from = place(e);
      this.canvas.setPointerCapture(e.pointerId);
    });
    on(this.canvas, "pointermove", e => {
      const [x, y] = place(e);
      if (!from) return this.point(this.tileAt(x, y));
      const side = Math.max(Math.abs(x - from[0]), Math.abs(y - from[1]));
      const [x1, y1] = [from[0] + (x < from[0] ? -side : side), from[1] + (y < from[1] ? -side : side)];
      this.dragged = [Math.min(from[0], x1), Math.min(from[1], y1), Math.max(from[0], x1), Math.max(from[1], y1)];
      drawPicture(this, this.now);
    });
    on(this.canvas, "pointerup", () => {
      const part = this.dragged;
      from = this.dragged = null;
      if (part && part[2] - part[0] > 0.02) set({ window: this.within(part) });
      else drawPicture(this, this.now);
    });
    on(this.canvas, "pointerleave", () => from || this.point(null));
  }

  // A part of what is shown, as a part of the view.
  within([a, b, c, d]) {
    const [left, top, right, bottom] = this.model.get("window").length === 4 ? this.model.get("window") : [0, 0, 1, 1];
    const x = v => left + v * (right - left), y = v => top + v * (bottom - top);
    return [x(a), y(b), x(c), y(d)];
  }

  refresh() {
    const { model } = this;
    this.scene = model.get("scene");
    this.run = model.get("run");
    if (this.run.tasks.length && this.run.tasks.length !== this.scene.costs.length) return; // the run is on its way
    this.takes = this.run.takes.map(([worker, source, asked, got, first, length]) => ({ worker, source, asked, got, first, length, tasks: [], end: got }));
    this.takeOf = [];
    this.takes.forEach((take, k) => {
      for (let task = take.first; task < take.first + take.length; task++) this.takeOf[task] = k;
    });
    for (const task of this.run.tasks) {
      const take = this.takes[this.takeOf[task[0]]];
      take.tasks.push(task);
      take.end = Math.max(take.end, task[3]);
    }
    this.shades = shadesOf(this.scene, this.dark);
    this.hot = null;
    this.playing = false;
    this.words();
    this.draw();
    this.go(1);
  }

  words() {
    const { model, run } = this, schedule = model.get("schedule");
    for (const name of ["workers", "chunk"]) {
      const values = model.get("numbers")[name], value = model.get(name);
      this.get(name).value = values.reduce((best, v, k) => (Math.abs(v - value) < Math.abs(values[best] - value) ? k : best), 0);
      this.get(name).setAttribute("aria-valuetext", value);
      this.get(`${name}-value`).textContent = value;
    }
    this.get("chunk-name").textContent = CHUNK_WORDS[schedule];
    if (schedule === "static") this.get("chunk-value").textContent = Math.ceil(run.tasks.length / run.workers);
    const asleep = model.get("asleep");
    for (const input of this.root.querySelectorAll(`.lab-top input, .lab-top button, .lab-schedules input`)) input.disabled = asleep;
    this.get("chunk").disabled ||= schedule === "static";
    this.get("whole").hidden = model.get("window").length !== 4;
    this.get("sentence").textContent = run.sentence;
    this.get("complaint").textContent = model.get("complaint");
    const held = this.root.querySelector(".lab-schedules").contains(document.activeElement);
    this.get("schedules").innerHTML = scheduleRows(this);
    if (held) this.get("schedules").querySelector(":checked")?.focus();
    for (const input of this.get("schedules").querySelectorAll("input")) input.disabled = asleep;
    this.get("about").textContent = this.scene.about + (asleep ? "; run the notebook to choose" : "; drag to zoom in");
    this.get("figures").innerHTML = run.figures.map(([name, value, note]) => `<div><dt>${name}</dt><dd>${value}</dd><dd class="lab-note">${note}</dd></div>`).join("");
    this.get("table").innerHTML = tableRows(this);
    this.canvas.setAttribute("aria-label", `${this.scene.costs.length} tiles of the Mandelbrot set; ${run.sentence}`);
    const view = this.root.querySelector(`[name="${this.id}-view"][value="${model.get("view")}"]`);
    if (view) view.checked = true;
  }

  draw() {
    this.svg.innerHTML = this.tab === "time" ? timelineSvg(this) : sweepSvg(this);
    this.get("read").innerHTML = this.reading();
    this.go(this.part ?? 1);
  }

  // Show the run as it stood at `part` (0 to 1) of its makespan.
  go(part, tell = false) {
    this.part = part;
    this.now = part >= 1 ? Infinity : part * this.run.measures.makespan;
    drawPicture(this, this.now);
    const x = part >= 1 ? WIDE : scaleOf(this).x(this.now), line = this.svg.querySelector('[data-part="now"]');
    this.svg.querySelector('[data-part="clip"]')?.setAttribute("width", x);
    line?.setAttribute("x1", x);
    line?.setAttribute("x2", x);
    line?.setAttribute("visibility", part >= 1 ? "hidden" : "visible");
    this.get("scrub").value = 1000 * part;
    this.get("scrub").setAttribute("aria-valuetext", told(part * this.run.measures.makespan));
    this.get("play").textContent = this.playing ? "❚❚" : "▶";
    this.get("play").setAttribute("aria-label", this.playing ? "pause" : "play");
    if (tell) this.set({ at: part });
  }

  toggle() {
    this.playing = !this.playing;
    if (this.playing && this.part >= 1) this.part = 0;
    const slowest = Math.max(...Object.values(this.run.spans)), calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
    let last = performance.now();
    const tick = now => {
      if (!this.playing || !this.root.isConnected) return;
      const wait = calm ? 500 : 0;
      if (now - last >= wait) {
        // The slowest schedule takes 6 s, the others as much less as they are faster.
        const pace = (slowest / this.run.measures.makespan) * (this.speed / 6000);
        const part = Math.min(1, this.part + (now - last) * pace);
        last = now;
        this.playing = part < 1;
        this.go(part, !this.playing);
      }
      if (this.playing) requestAnimationFrame(tick);
    };
    this.go(this.part, !this.playing);
    if (this.playing) requestAnimationFrame(tick);
  }

  tileAt(x, y) {
    const { grid } = this.scene, task = Math.min(grid - 1, Math.floor(y * grid)) * grid + Math.min(grid - 1, Math.floor(x * grid));
    const take = this.takeOf[task];
    return take == null ? null : { task, take, worker: this.takes[take].worker };
  }

  under(e) {
    if (this.tab !== "time") return null;
    const box = this.svg.getBoundingClientRect(), s = scaleOf(this), k = WIDE / box.width;
    const worker = Math.floor(((e.clientY - box.top) * k - GAP.top) / s.lane);
    if (worker < 0 || worker >= this.run.workers) return null;
    const at = (((e.clientX - box.left) * k - GAP.left) / (WIDE - GAP.left - GAP.right)) * s.far;
    const take = this.takes.findIndex(t => t.worker === worker && t.asked <= at && at < t.end);
    const task = take < 0 ? null : this.takes[take].tasks.find(t => t[2] <= at && at < t[3])?.[0];
    return { worker, take: take < 0 ? null : take, task };
  }

  step(e) {
    const move = { ArrowRight: [0, 1], ArrowLeft: [0, -1], ArrowDown: [1, 0], ArrowUp: [-1, 0] }[e.key];
    if (e.key === "Escape") this.point(null);
    if (!move || this.tab !== "time") return;
    e.preventDefault();
    const here = this.hot ?? { worker: 0, take: null }, worker = Math.max(0, Math.min(this.run.workers - 1, here.worker + move[0]));
    const mine = this.takes.map((take, k) => [take, k]).filter(([take]) => take.worker === worker).map(([, k]) => k);
    const at = here.take == null ? -1 : worker === here.worker ? mine.indexOf(here.take) : mine.findIndex(k => this.takes[k].end > this.takes[here.take].asked);
    const take = mine[Math.max(0, Math.min(mine.length - 1, at + move[1]))] ?? null;
    this.get("read").setAttribute("aria-live", "polite"); // keys are spoken, the pointer is not
    this.point({ worker, take, task: null });
  }

  point(hot) {
    if (JSON.stringify(hot) === JSON.stringify(this.hot)) return;
    this.hot = hot;
    this.draw();
  }

  reading() {
    const { hot, run } = this;
    if (this.tab === "sweep") return "Makespan by tiles at a time. Click a point to choose it.";
    if (!hot) return `<span class="lab-key" style="background:${run.colors[0]}"></span>computing <span class="lab-key lab-key-take"></span>taking tiles <span class="lab-key lab-key-idle"></span>idle`;
    if (hot.take == null) return `Worker ${hot.worker}: busy ${told(run.measures.busy[hot.worker])}, ended at ${told(run.measures.finish[hot.worker])}`;
    const t = this.takes[hot.take], from = t.source < 0 ? "" : t.source === t.worker ? "" : ` stolen from worker ${t.source},`;
    const which = t.length > 1 ? `tiles ${t.first} to ${t.first + t.length - 1}` : `tile ${t.first}`;
    const one = hot.task != null && t.length > 1 ? `; tile ${hot.task} costs ${told(this.scene.costs[hot.task])}` : "";
    return `Worker ${t.worker}: ${which},${from} from ${told(t.asked)} to ${told(t.end)}${one}`;
  }
}

function render({ model, el }) {
  const lab = new Lab(model, el);
  return () => {
    lab.playing = false;
    for (const undo of lab.off) undo();
  };
}
export default { render };
