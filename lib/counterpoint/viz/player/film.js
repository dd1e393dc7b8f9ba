// The film, made ready to be looked up: messages as objects, contents at any moment, counts so far.
// Nothing is decided here; film.py worked everything out. An axis is "step" or "time".

const clamp = (x, low, high) => Math.max(low, Math.min(high, x));

function parseVector(text, ranks) {
  // "0-2,5x2" -> how often each rank is contained
  const counts = new Int32Array(ranks);
  for (const part of text.split(",").filter(Boolean)) {
    const [span, times] = part.split("x");
    const [first, last] = span.split("-").map(Number);
    counts.fill(Number(times ?? 1), first, (last ?? first) + 1);
  }
  return counts;
}

class Film {
  constructor(raw) {
    this.raw = raw;
    this.ranks = raw.ranks;
    this.cells = raw.cells.length;
    this.steps = raw.steps;
    this.stuck = raw.waits.length > 0;
    this.vectors = raw.vectors.map((text, i) => {
      const counts = parseVector(text, raw.ranks);
      let held = 0;
      for (const n of counts) if (n) held++;
      return { counts, held, kind: raw.vector_kinds[i], text };
    });
    const columns = raw.messages;
    this.messages = columns.id.map((_, index) => {
      const message = { index };
      for (const name of Object.keys(columns)) message[name] = columns[name][index];
      return message;
    });
    const step = new Set(this.messages.map(m => `${m.source}>${m.dest}@${m.taken}`));
    this.twoWay = new Set(
      this.messages.filter(m => step.has(`${m.dest}>${m.source}@${m.taken}`)).map(m => `${m.source}>${m.dest}`),
    );
    this.orders = {};
    this.memo = {};
  }

  axis(name) {
    return this.raw.axes[name];
  }

  vector(number) {
    // null when nobody knows
    return number >= 0 ? this.vectors[number] : null;
  }

  leaves(message, axis) {
    return message[`on_${axis}`][0];
  }

  lands(message, axis) {
    // Infinity when it never arrives
    return message[`on_${axis}`][1] ?? Infinity;
  }

  changes(axis) {
    // in the order of this axis, ties in the film's order
    const at = axis === "step" ? 0 : 1;
    this.orders[axis] ??= this.raw.changes
      .map((row, i) => ({ at: row[at], rank: row[2], cell: row[3], vector: row[4], i }))
      .sort((a, b) => a.at - b.at || a.i - b.i);
    return this.orders[axis];
  }

  holds(axis, t) {
    // vector numbers at t, ranks x cells
    let memo = this.memo[axis];
    if (!memo || memo.t > t) {
      const state = new Int32Array(this.ranks * this.cells);
      this.raw.initial.forEach((row, rank) => state.set(row, rank * this.cells));
      memo = this.memo[axis] = { next: 0, state, t: -1, version: (memo?.version ?? 0) + 1 };
    }
    const changes = this.changes(axis);
    memo.t = t;
    for (; memo.next < changes.length && changes[memo.next].at <= t; memo.next++) {
      const change = changes[memo.next];
      memo.state[change.rank * this.cells + change.cell] = change.vector;
      memo.version++;
    }
    return memo;
  }

  stepAt(axis, t) {
    // {k: index of the step under way, done: steps that are over}
    const { steps, end } = this.axis(axis);
    let k = 0;
    while (k < this.steps && steps[k + 1] <= t) k++;
    const landed = axis === "step" && t - k >= 0.86 && k < this.steps ? 1 : 0;
    return {
      k: Math.min(k, Math.max(0, this.steps - 1)),
      done: t >= end ? this.steps : Math.min(this.steps, k + landed),
      over: k,
    };
  }

  moving(axis, t) {
    return this.messages.filter(m => this.leaves(m, axis) <= t && t < this.lands(m, axis));
  }

  count(axis, t) {
    // what has arrived by t
    const { ranks } = this;
    let sum = this.counted;
    if (!sum || sum.axis !== axis || sum.t > t) {
      const order = this.messages
        .filter(m => this.lands(m, axis) < Infinity)
        .sort((a, b) => this.lands(a, axis) - this.lands(b, axis));
      sum = { axis, order, matrix: new Float64Array(ranks * ranks), sent: new Float64Array(ranks) };
      this.counted = Object.assign(sum, { messages: 0, bytes_total: 0, bytes_busiest: 0, largest: 0 });
    }
    for (; sum.messages < sum.order.length && this.lands(sum.order[sum.messages], axis) <= t; sum.messages++) {
      const m = sum.order[sum.messages],
        pair = m.source * ranks + m.dest;
      sum.bytes_total += m.nbytes;
      sum.bytes_busiest = Math.max(sum.bytes_busiest, (sum.sent[m.source] += m.nbytes));
      sum.largest = Math.max(sum.largest, (sum.matrix[pair] += m.nbytes));
    }
    return Object.assign(sum, { t, steps: this.stepAt(axis, t).done });
  }

  tally(axis, t) {
    // how many cells are complete, twice, part, nothing, unknown
    const { state } = this.holds(axis, t),
      out = { complete: 0, twice: 0, part: 0, nothing: 0, unknown: 0 };
    for (const v of state) out[this.vector(v)?.kind ?? "unknown"]++;
    return out;
  }

  kinds() {
    // every kind of content that turns up in this run
    const shown = new Set([...this.raw.initial.flat(), ...this.raw.changes.map(row => row[4])]);
    return new Set([...shown].map(v => this.vector(v)?.kind));
  }

  line(message) {
    return this.raw.lines[message.line] ?? { label: "", file: -1, number: 0 };
  }

  cellName(cell) {
    // "3", or "b3" when there are several buffers
    const [buffer] = this.raw.cells[cell];
    const first = this.raw.cells.findIndex(c => c[0] === buffer);
    return (this.buffers > 1 ? String.fromCharCode(97 + (buffer % 26)) : "") + (cell - first);
  }

  get buffers() {
    return new Set(this.raw.cells.map(c => c[0])).size;
  }
}
