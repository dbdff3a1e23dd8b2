"use strict";
(() => {
  // Tables sort by a column's value, or by its text.
  for (const table of document.querySelectorAll("table")) {
    const heads = [...table.tHead.rows[0].cells];
    heads.forEach((head, index) => head.firstChild.addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") !== "descending";
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const key = (row) => {
        const cell = row.cells[index];
        return cell.dataset.v === undefined ? cell.textContent : Number(cell.dataset.v);
      };
      const rows = [...table.tBodies[0].rows].map((row) => [key(row), row]);
      rows.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0) * (down ? -1 : 1));
      table.tBodies[0].append(...rows.map(([, row]) => row));
    }));
  }
  const find = document.getElementById("find");
  const gateways = document.getElementById("gateways");
  find.addEventListener("input", () => {
    const text = find.value.toLowerCase();
    for (const row of gateways.tBodies[0].rows) {
      row.hidden = !row.textContent.toLowerCase().includes(text);
    }
  });
  // The cell under the pointer, in words.
  const source = document.getElementById("data");
  if (!source) return;
  const data = JSON.parse(source.textContent);
  const absent = new Set(data.absent);
  const pointed = document.getElementById("pointed");
  document.getElementById("maps").addEventListener("pointermove", (event) => {
    const svg = event.target.closest("svg");
    if (!svg) return;
    const box = svg.getBoundingClientRect();
    const scale = 1200 / box.width;
    const x = (event.clientX - box.left) * scale;
    const y = (event.clientY - box.top) * scale;
    const block = Math.floor(x / data.width);
    const day = Math.floor((x - block * data.width - data.left) / data.cell[0]);
    const row = Math.floor((y - data.top) / data.cell[1]);
    const at = block * data.block + row;
    if (row < 0 || row >= data.block || !data.gateways[at] || !data.days[day]) return;
    const measure = document.querySelector("[name=measure]:checked");
    const value = data.values[measure.value][at * data.days.length + day] || 0;
    const isAbsent = absent.has(at * data.days.length + day);
    const verdicts = { 0: "ok", 2: "inconclusive", 4: "violation" };
    const text = isAbsent ? "no events" : measure.value === "audit" ? verdicts[value] : value.toLocaleString("en");
    const unit = !isAbsent && ["latency", "offline", "lag"].includes(measure.value) ? " s" : "";
    pointed.textContent = `${data.gateways[at]}, ${data.days[day]}: ${measure.nextSibling.textContent}: ${text}${unit}`;
  });
})();
