// Buttons, keys, and the playing of time. A Clock moves t; it knows nothing of pictures.

const ICONS = {
  start: "M3 3v10M13 3 5.5 8 13 13z",
  back: "M11.5 3 4 8l7.5 5z",
  play: "M4 2.5 13 8l-9 5.5z",
  pause: "M4 3h3v10H4zM9 3h3v10H9z",
  forward: "M4.5 3 12 8l-7.5 5z",
  end: "M13 3v10M3 3l7.5 5L3 13z",
};
const BUTTONS = {
  start: "To the start (Home)",
  back: "One step back (left arrow)",
  play: "Play or pause (space)",
  forward: "One step on (right arrow)",
  end: "To the end (End)",
};
const KEYS = { " ": "play", ArrowLeft: "back", ArrowRight: "forward", Home: "start", End: "end" };
const SPEEDS = [0.25, 0.5, 1, 2, 4, 8];

function buttonsHtml() {
  const icon = key => `<svg viewBox="0 0 16 16" aria-hidden="true"><path d="${ICONS[key]}"/></svg>`;
  return Object.entries(BUTTONS)
    .map(
      ([key, label]) =>
        `<button type="button" data-command="${key}" data-testid="${key}" aria-label="${label}" title="${label}">${icon(key)}</button>`,
    )
    .join("");
}

const speedsHtml = () => SPEEDS.map(s => `<option value="${s}">${s}×</option>`).join("");

// t runs from 0 to end; `rests` are where stepping stops. Playing takes 1.6 s a step at speed 1.
class Clock {
  constructor(film, show) {
    Object.assign(this, { film, show, t: 0, playing: false, goal: null, speed: 1, frame: 0 });
    this.still = matchMedia("(prefers-reduced-motion: reduce)");
  }

  use(axis) {
    const { end, rests } = this.film.axis(axis);
    Object.assign(this, { end, stops: [0, ...rests, end] });
    this.rate = end / (1.6 * Math.max(1, rests.length));
  }

  seek(t) {
    this.t = clamp(t, 0, this.end);
    this.show();
  }

  command(key) {
    if (key === "play") return this.playing ? this.pause() : this.play();
    this.playing = false;
    const here = this.goal ?? this.t,
      near = this.end * 1e-9;
    const next =
      key === "start"
        ? 0
        : key === "end"
          ? this.end
          : key === "forward"
            ? (this.stops.find(s => s > here + near) ?? this.end)
            : (this.stops.findLast(s => s < here - near) ?? 0);
    if (this.still.matches || key === "start" || key === "end") {
      this.goal = null;
      return this.seek(next);
    }
    this.goal = next;
    this.run();
  }

  play() {
    this.goal = null;
    this.playing = true;
    if (this.t >= this.end) this.t = 0;
    this.run();
  }

  pause() {
    this.playing = false;
    this.goal = null;
    this.show();
  }

  run() {
    if (this.frame) return;
    let last = performance.now(),
      held = 0;
    const step = now => {
      this.frame = 0;
      const dt = Math.min(0.1, Math.max(0, now - last) / 1000),
        rate = this.rate * this.speed;
      last = now;
      if (this.goal != null) {
        const left = this.goal - this.t,
          most = dt * 1.6 * Math.max(rate, this.rate * 1.4);
        const there = Math.abs(left) <= most,
          to = there ? this.goal : this.t + Math.sign(left) * most;
        if (there) this.goal = null;
        this.seek(to);
      } else if (this.playing && this.still.matches) {
        held += dt * this.speed;
        if (held >= 1.6) {
          held = 0;
          this.seek(this.stops.find(s => s > this.t * (1 + 1e-9)) ?? this.end);
        }
      } else if (this.playing) this.seek(this.t + dt * rate);
      if (this.playing && this.t >= this.end) this.pause();
      if (this.playing || this.goal != null) this.frame = requestAnimationFrame(step);
    };
    this.frame = requestAnimationFrame(step);
    this.show();
  }

  get moving() {
    return this.playing || this.goal != null;
  }

  stop() {
    this.playing = false;
    this.goal = null;
    cancelAnimationFrame(this.frame);
  }
}
