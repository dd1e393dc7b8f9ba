// The picture: lays the canvases out, and draws the film at the clock's moment. Reads, and changes nothing
// but the page. The still parts are kept as layers and repainted only when they change.

class Picture {
  resize() {
    this.width = this.root.clientWidth;
    this.T = readTheme(this.root);
    const W = clamp(this.width - 26, 320, 1060),
      narrow = W < 600,
      side = narrow ? W : Math.min(278, Math.max(248, W * 0.3));
    const p = this.film.ranks,
      sw = narrow ? W : W - side - 18,
      sh = p <= 2 ? 292 : p <= 8 ? 304 : p <= 16 ? 344 : 320;
    this.root.classList.toggle("cp-narrow", narrow);
    this.side.style.width = `${side}px`;
    this.g = places(this.film, this.view, sw, sh);
    const th = 36 + clamp(p * 16, 34, p <= 16 ? 224 : 150);
    this.ctx = {
      stage: this.fit(this.stage, sw, sh),
      time: this.fit(this.time, W, th),
      matrix: this.fit(this.matrix, 118, 118),
      sum: this.fit(this.sum, Math.min(150, side - 118 - 10), 118),
    };
    this.scrub.style.marginLeft = "54px";
    this.scrub.style.width = `${W - 54}px`;
    this.scrub.max = this.clock.end;
    this.layers = {};
    this.written = null;
    this.show();
  }

  fit(canvas, w, h) {
    const d = devicePixelRatio || 1,
      ctx = canvas.getContext("2d");
    Object.assign(canvas, { width: Math.round(w * d), height: Math.round(h * d) });
    Object.assign(canvas.style, { width: `${w}px`, height: `${h}px` });
    ctx.setTransform(d, 0, 0, d, 0, 0);
    return Object.assign(ctx, { W: w, H: h });
  }

  layer(name, key, paint, touch) {
    // the still part, repainted only when its key changes; `touch` may bring it up to date otherwise
    const main = this.ctx[name],
      known = this.layers[name];
    if (known?.key !== key) {
      const canvas = known?.canvas ?? document.createElement("canvas");
      paint(this.fit(canvas, main.W, main.H));
      this.layers[name] = { key, canvas };
    } else touch?.(known.canvas.getContext("2d"));
    main.clearRect(0, 0, main.W, main.H);
    main.drawImage(this.layers[name].canvas, 0, 0, main.W, main.H);
    return main;
  }

  selected() {
    // pointed at; else what the followed rank sends, or receives
    const {
      film,
      axis,
      clock: { t, end },
    } = this;
    if (this.hover?.m) return this.hover.m;
    if (t <= 0 || (t >= end && !film.stuck) || !film.messages.length) return null;
    const moving = this.moving,
      own = moving.filter(m => m.source === film.focus),
      to = moving.filter(m => m.dest === film.focus);
    if (moving.length)
      return (
        own[0] ?? to.reduce((a, b) => (a && film.lands(a, axis) <= film.lands(b, axis) ? a : b), null) ?? moving[0]
      );
    const past = film.messages.filter(m => film.lands(m, axis) <= t),
      last = past.reduce((at, m) => Math.max(at, film.lands(m, axis)), -1);
    const latest = past.filter(m => film.lands(m, axis) === last);
    return latest.find(m => m.source === film.focus) ?? latest.find(m => m.dest === film.focus) ?? latest[0] ?? null;
  }

  show() {
    const { film, axis, clock } = this,
      { t } = clock;
    this.moving = t > 0 && (t < clock.end || film.stuck) ? film.moving(axis, t) : [];
    const m = this.selected(),
      held = film.holds(axis, t),
      step = film.stepAt(axis, t);
    this.counts = film.count(axis, t);
    this.showStage(m, held, t);
    this.showTimeline(m, step, t);
    this.showPanels(m);
    this.showWords(m, step, held, t);
    if (!clock.moving) {
      this.keep("t", t);
      this.keep("playing", false);
    } else this.keep("playing", clock.playing);
  }

  get over() {
    return this.film.stuck && this.clock.t >= this.film.axis(this.axis).steps[this.film.steps] && this.clock.t > 0;
  }

  showStage(m, { state, version }, t) {
    const { film, g, T, clock, axis } = this,
      bad = film.raw.verdict?.ok === false,
      final = t >= clock.end && bad && !film.stuck;
    const paint = c => {
      paintRanks(c, T, film, g, state, { final, focus: film.focus, ring: this.ring && !film.stuck });
      this.shown = state.slice();
    };
    const touch = g.slots ? null : c => repaintTones(c, T, film, g, state, this.shown);
    const ctx = this.layer("stage", [g.slots && version, final, film.focus].join(), paint, touch);
    this.flights = [];
    const wrong = bad ? film.messages[film.raw.verdict.message] : null;
    for (const x of this.moving)
      if (x !== m) this.flights.push(drawFlight(ctx, T, film, g, x, progress(film, x, axis, t), { bad: x === wrong }));
    if (m && this.moving.includes(m))
      this.flights.push(
        drawFlight(ctx, T, film, g, m, progress(film, m, axis, t), { strong: m !== wrong, bad: m === wrong }),
      );
    else if (m && this.hover?.m)
      stroke(
        ctx,
        T.select,
        1.6,
        Array.from({ length: 21 }, (_, i) => {
          const q = g.path(m).at(i / 20);
          return [q.x, q.y];
        }),
        { dash: [5, 4] },
      );
    const glow = axis === "step" ? 0.14 : clock.end * 0.02;
    if (t < clock.end)
      for (const x of film.messages) {
        const late = t - film.lands(x, axis);
        if (late >= 0 && late < glow) drawLanding(ctx, T, g, x, 1 - late / glow);
      }
    if (this.over) drawWaits(ctx, T, film, g, film.focus);
    if (
      g.kind === "cards" &&
      this.view === "ring" &&
      film.ranks > 4 &&
      (this.over ? film.raw.cycle.length : this.ring && film.raw.sums)
    )
      drawMiddle(ctx, T, film, g, film.tally(axis, t), this.over);
  }

  showTimeline(m, { k }, t) {
    const { film, T, axis } = this,
      B = (this.B = timeBox(this.ctx.time, film, axis, film.focus));
    const ctx = this.layer("time", [axis, film.focus].join(), c => paintTimeline(c, T, film, B, film.focus)),
      { verdict } = film.raw;
    drawCursor(ctx, T, film, B, t, k);
    const pair = this.hover?.pair;
    if (pair)
      for (const x of film.messages)
        if (x.source === pair[0] && x.dest === pair[1]) markMessage(ctx, film, B, x, T.select, 1);
    if (m) markMessage(ctx, film, B, m, T.select, 2);
    const wrong = verdict?.ok === false && film.messages[verdict.message];
    if (wrong)
      flagMessage(ctx, T, film, B, wrong, verdict.kind === "twice" ? "counted twice from here" : "first wrong message");
    this.time.setAttribute("aria-label", `Timeline: ${film.ranks} ranks by ${plural(film.steps, "step")}`);
  }

  showPanels(m) {
    const { film, T, counts } = this,
      pair = this.hover?.pair ?? (m ? [m.source, m.dest] : null);
    this.cellsAt = drawMatrix(this.ctx.matrix, T, film, counts, pair);
    const amount = pair
      ? `${pair[0]} → ${pair[1]}: <b>${bytes(counts.matrix[pair[0] * film.ranks + pair[1]])}</b>`
      : counts.largest
        ? `most: ${bytes(counts.largest)}`
        : "";
    const caption = ["bytes sent", amount].filter(Boolean).join(" · ");
    if (caption !== this.caption) this.cap.innerHTML = this.caption = caption;
    this.matrix.setAttribute("aria-label", `Who sent how much to whom so far. ${this.cap.textContent}`);
    const sums = film.raw.known && m && m.state === "done" && m.carries.length;
    this.sum.hidden = !sums && !!this.note.textContent;
    drawSum(this.ctx.sum, T, film, sums ? m : null);
    this.sum.setAttribute("aria-label", sums ? `What arrives, what rank ${m.dest} had, what it now has` : "");
  }

  showWords(m, { k, done }, { state }, t) {
    const { film, clock, axis } = this,
      phase = m && film.raw.phases[m.phase],
      moment = m?.taken ?? m?.step;
    const where =
      axis === "time"
        ? `${seconds(t)} of ${seconds(film.raw.seconds)}`
        : `step ${Math.min(k + 1, film.steps)} of ${film.steps}`;
    const head = this.hover?.m ? `step ${moment}` : where;
    const words =
      this.over && !this.hover?.m
        ? stuckSentence(film, film.focus)
        : !m && (t <= 0 || !film.messages.length)
          ? opening(film)
          : !m
            ? closing(film, axis, t)
            : `<b>${head}</b> · ${phase ? `${escapeText(phase)} · ` : ""}${sentence(film, m)}`;
    this.status.setAttribute("aria-live", clock.moving ? "off" : "polite");
    if (words !== this.said) {
      this.status.innerHTML = this.said = words;
      this.status.title = this.status.textContent;
    }
    const rows = counterRows(film, this.counts);
    if (rows !== this.rows) this.count.tBodies[0].innerHTML = this.rows = rows;
    const wait = this.over && !m ? film.raw.waits.find(w => w.rank === film.focus) : null,
      line = film.line(m ?? film.messages[0] ?? {});
    const source = wait
      ? `<div class="cp-file">waits at <b>${escapeText(wait.line)}</b></div><pre><div class="on">${escapeText(wait.code)}</div></pre>`
      : sourceRows(film, line, !m ? "" : m.state === "blocked" ? "blocked at" : "sent by");
    if (source !== this.shownSource) this.source.innerHTML = this.shownSource = source;
    const play = this.buttons.querySelector('[data-command="play"]');
    play.querySelector("path").setAttribute("d", clock.playing ? ICONS.pause : ICONS.play);
    play.setAttribute("aria-pressed", clock.playing);
    this.scrub.value = t;
    this.scrub.setAttribute("aria-valuetext", this.status.textContent);
    Object.assign(this.root.dataset, {
      step: done,
      t: +t.toPrecision(9),
      end: clock.end,
      playing: clock.playing,
      axis,
      view: this.view,
      focus: film.focus,
      messages: this.counts.messages,
      bytes: this.counts.bytes_total,
      moving: this.moving.length,
    });
    const key = `${axis}:${t}`;
    if (clock.moving || this.written === key || (!this.more.open && film.ranks * film.cells > 1024)) return;
    this.written = key;
    this.root.dataset.complete = film.tally(axis, t).complete;
    fillTable(film, this.table, state, words, this.moving);
    this.stage.setAttribute(
      "aria-label",
      `${film.ranks} ranks, ${plural(film.cells, "chunk")} each. ${this.status.textContent}`,
    );
  }
}
