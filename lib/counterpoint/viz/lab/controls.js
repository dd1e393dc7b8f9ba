// What can be chosen: view, workers, chunk, schedule, what the picture shows, and the clock.

const MODES = { image: "image", owner: "owner", cost: "cost" };
const CHUNK_WORDS = { static: "tiles a worker", cyclic: "tiles a turn", dynamic: "tiles a take", guided: "fewest tiles a take", work_stealing: "tiles a take" };
const SPEEDS = { 0.5: "half speed", 1: "normal", 3: "fast" };

function choices(name, label, items, chosen) {
  const each = ([key, word]) =>
    `<label><input type="radio" name="${name}" value="${key}" ${key === chosen ? "checked" : ""}><span>${word}</span></label>`;
  return `<div class="lab-choices" role="radiogroup" aria-label="${label}">${Object.entries(items).map(each).join("")}</div>`;
}

function skeleton(lab) {
  const { id, model } = lab, numbers = model.get("numbers"), views = Object.fromEntries(model.get("views").map(v => [v, v]));
  const slider = name => `<label class="lab-slider"><span data-testid="${name}-name">${name}</span>
    <input type="range" data-testid="${name}" min="0" max="${numbers[name].length - 1}" step="1"><output data-testid="${name}-value"></output></label>`;
  return `<div class="lab-top"><div class="lab-views" data-testid="views"><span>view</span>${choices(`${id}-view`, "view", views, model.get("view"))}
      <button type="button" data-testid="whole">whole view</button></div>${slider("workers")}${slider("chunk")}</div>
    <p class="lab-sentence" data-testid="sentence" aria-live="polite"></p><p class="lab-complaint" data-testid="complaint" role="alert"></p>
    <div class="lab-body"><div class="lab-left">
      <div class="lab-schedules" role="radiogroup" aria-label="schedule" data-testid="schedules"></div>
      <div data-testid="modes">${choices(`${id}-mode`, "the picture shows", MODES, "image")}</div>
      <canvas data-testid="picture" role="img" style="width:${SIDE}px;height:${SIDE}px"></canvas>
      <div class="lab-about" data-testid="about"></div></div>
    <div class="lab-right"><div class="lab-tabs">${choices(`${id}-tab`, "chart", { time: "timeline", sweep: "sweep over chunks" }, "time")}
      <label><input type="checkbox" data-testid="fit"> fit this run</label>
      <select data-testid="speed" aria-label="speed">${Object.entries(SPEEDS).sort((a, b) => a[0] - b[0]).map(([k, word]) => `<option value="${k}" ${k === "1" ? "selected" : ""}>${word}</option>`).join("")}</select></div>
      <div class="lab-read" data-testid="read"></div>
      <svg viewBox="0 0 ${WIDE} ${TALL}" tabindex="0" role="application" data-testid="chart" aria-label="timeline; arrow keys go from take to take"></svg>
      <div class="lab-transport"><button type="button" data-testid="play" aria-label="play">▶</button>
        <input type="range" data-testid="scrub" min="0" max="1000" value="1000" aria-label="time in the run"></div>
      <dl class="lab-figures" data-testid="figures"></dl>
      <details><summary>as a table</summary><table data-testid="table"></table></details></div></div>`;
}

function scheduleRows(lab) {
  const { model, run, id } = lab, names = model.get("names"), most = Math.max(...Object.values(run.spans)) || 1;
  const chosen = model.get("schedule"), bound = (100 * run.measures.lower_bound) / most;
  const rows = Object.entries(names).map(([key, word]) => {
    const bar = lab.revealed || key === chosen
      ? `<i><b style="width:${(100 * run.spans[key]) / most}%"></b><em style="left:${bound}%"></em></i><span>${told(run.spans[key])}</span>` : "<i></i><span>?</span>";
    return `<label data-schedule="${key}" class="${key === chosen ? "lab-chosen" : ""}"><input type="radio" name="${id}-schedule" value="${key}" ${key === chosen ? "checked" : ""}><span>${word}</span>${bar}</label>`;
  });
  const more = lab.revealed ? "" : `<button type="button" data-testid="reveal">show the others' makespans</button>`;
  return rows.join("") + more;
}

function tableRows(lab) {
  const { measures, workers, tasks } = lab.run;
  const rows = Array.from({ length: workers }, (_, w) => [w, lab.takes.filter(t => t.worker === w).length, tasks.filter(t => t[1] === w).length, told(measures.busy[w]), told(measures.finish[w])]);
  return `<thead><tr>${["worker", "takes", "tiles", "busy", "ended at"].map(word => `<th scope="col">${word}</th>`).join("")}</tr></thead><tbody>${rows.map(row => `<tr>${row.map(cell => `<td>${cell}</td>`).join("")}</tr>`).join("")}</tbody>`;
}
