// The table: the same contents in words, for screen readers and for tests. Written only at rest.

const VECTOR_WORDS = { complete: "complete", twice: "counted too often", part: "partial", nothing: "nothing" };

function buildTable(film) {
  const head = film.raw.cells.map((_, c) => `<th scope="col">chunk ${film.cellName(c)}</th>`).join("");
  const cell = (r, c) => `<td data-testid="cell-${r}-${c}"></td>`;
  const rows = Array.from(
    { length: film.ranks },
    (_, r) => `<tr><th scope="row">rank ${r}</th>${film.raw.cells.map((_, c) => cell(r, c)).join("")}</tr>`,
  ).join("");
  return `<p data-testid="table-moving"></p><table class="cp-holds"><caption></caption><thead><tr><th scope="col">rank</th>${head}</tr></thead><tbody>${rows}</tbody></table>`;
}

function fillTable(film, root, state, words, moving) {
  root.querySelector("caption").innerHTML = words;
  root.querySelector("p").textContent = moving.length
    ? `In flight: ${moving.map(m => `${m.source} → ${m.dest} ${what(film, m)}`).join("; ")}.`
    : "Nothing is in flight.";
  const cells = root.querySelectorAll("tbody td");
  cells.forEach((td, i) => {
    const vector = film.vector(state[i]),
      text = vector ? vector.text : "?";
    if (td.dataset.holds === text) return;
    td.dataset.holds = text;
    td.dataset.state = vector?.kind ?? "unknown";
    td.textContent = vector ? `${text || "–"}` : "?";
    td.title = vector ? VECTOR_WORDS[vector.kind] : "not known";
  });
}
