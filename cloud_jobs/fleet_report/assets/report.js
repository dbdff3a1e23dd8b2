"use strict";
(() => {
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];
  const element = (name) => document.getElementById(name);

  // A text that a spreadsheet would run as a formula is quoted.
  const cellOf = (value) => {
    const plain = typeof value === "string" && /^[=+\-@\t\r]/.test(value) && !/^-?\d+(\.\d+)?$/.test(value) && value !== "-";
    const text = plain ? `'${value}` : String(value ?? "");
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  const save = (name, rows) => {
    const text = rows.map((row) => row.map(cellOf).join(",")).join("\r\n") + "\r\n";
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([text], { type: "text/csv;charset=utf-8" }));
    link.download = `${name.replace(/[^\w.-]+/g, "-")}.csv`;
    link.click();
  };

  // Tables: sorted within each group by a column's value or text; saved as CSV.
  const valueOf = (cell) => (cell.dataset.v === undefined ? cell.textContent : Number(cell.dataset.v));
  const headOf = (table) => [...table.tHead.rows[0].cells].map((cell) => cell.dataset.csv || cell.textContent);
  const rowsOf = (table, lead = () => []) => [...table.tBodies].flatMap((body) =>
    [...body.rows].filter((row) => row.cells.length > 1).map((row) => [...lead(body), ...[...row.cells].map(valueOf)]));
  for (const table of all("table")) {
    const heads = [...table.tHead.rows[0].cells];
    heads.forEach((head, index) => head.firstChild.addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") !== "descending";
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      for (const body of table.tBodies) {
        const rows = [...body.rows].filter((row) => row.cells.length > 1).map((row) => [valueOf(row.cells[index]), row]);
        rows.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0) * (down ? -1 : 1));
        body.append(...rows.map(([, row]) => row));
      }
    }));
  }
  for (const button of all("[data-table]")) {
    button.addEventListener("click", () => {
      const table = element(button.dataset.table);
      const isGrouped = table.querySelector(".group") !== null;
      const lead = (body) => (isGrouped ? [body.rows[0].cells[0].firstChild.textContent.trim()] : []);
      save(button.dataset.table, [[...(isGrouped ? ["Site"] : []), ...headOf(table)], ...rowsOf(table, lead)]);
    });
  }
  const find = element("find");
  find?.addEventListener("input", () => {
    const text = find.value.toLowerCase();
    for (const row of all("#gateways tbody tr:not(.group)")) row.hidden = !row.textContent.toLowerCase().includes(text);
    for (const body of element("gateways").tBodies) body.hidden = !all("tr:not(.group)", body).some((row) => !row.hidden);
  });

  // Curves of a gateway's page.
  const source = element("curves");
  const curves = source && JSON.parse(source.textContent);
  const numbers = (text) => (text === undefined ? null : text.split(",").map((part) => (part === "" ? null : Number(part))));
  const columnsOf = (series, part) => {
    const found = Object.fromEntries(Object.entries(series[part]).map(([name, text]) => [name, numbers(text)]));
    if (found.mean && !found.minimum) found.minimum = found.maximum = found.mean;
    return found;
  };
  const SLOTS = { d: { key: "days", seconds: 86_400 }, q: { key: "quarters", seconds: 900 } };
  const timeOf = (part, index) => {
    const { key, seconds } = SLOTS[part];
    return new Date(Date.parse(curves[key][0]) + index * seconds * 1000).toISOString();
  };
  const MONTHS = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split(" ");
  const labelOf = (part, index) => {
    const time = timeOf(part, index);
    const day = `${Number(time.slice(8, 10))} ${MONTHS[Number(time.slice(5, 7)) - 1]}`;
    return part === "d" ? day : `${day} ${time.slice(11, 16)}`;
  };
  const shown = (value) => value.toLocaleString("en", Math.abs(value) < 1000 ? { maximumSignificantDigits: 4 } : { maximumFractionDigits: 1 });
  const WIDTH = 360, HEIGHT = 150, LEFT = 50, RIGHT = 8, TOP = 8, BOTTOM = 20;
  const make = (name, attributes, text) => {
    const made = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    if (text !== undefined) made.textContent = text;
    return made;
  };
  // The axis fits the data: round steps from just below the lowest to just above the highest.
  const axisOf = (low, high) => {
    const size = high - low || Math.abs(high) * 0.02 || 2;
    const middle = (low + high) / 2;
    const raw = size / 3;
    const power = 10 ** Math.floor(Math.log10(raw));
    const step = [1, 2, 5, 10].map((n) => n * power).find((n) => n >= raw);
    let from = Math.floor((high > low ? low : middle - size / 2) / step) * step;
    const to = Math.ceil((high > low ? high : middle + size / 2) / step - 1e-9) * step;
    if (low >= 0 && from < 0) from = 0;
    const ticks = [];
    for (let n = 0; from + n * step <= to + step / 2; n += 1) ticks.push(from + n * step);
    return { from, to: ticks[ticks.length - 1], ticks, digits: Math.max(0, -Math.floor(Math.log10(step) + 1e-9)) };
  };
  const draw = (figure, part) => {
    const series = curves.series[Number(figure.dataset.n)];
    const columns = columnsOf(series, part);
    const isBars = series.counter && columns.increase !== undefined;
    const line = isBars ? columns.increase : columns.mean;
    const count = curves[SLOTS[part].key][1];
    figure.hidden = !line;
    if (!line) return;
    const highs = (isBars ? line : columns.maximum).filter((v) => v !== null);
    const lows = isBars ? [0] : columns.minimum.filter((v) => v !== null);
    const axis = axisOf(Math.min(...lows), Math.max(...highs, ...(isBars ? [0] : [])));
    const step = (WIDTH - LEFT - RIGHT) / count;
    const x = (index) => LEFT + (index + 0.5) * step;
    const y = (value) => TOP + (HEIGHT - TOP - BOTTOM) * (1 - (value - axis.from) / (axis.to - axis.from));
    const title = `${series.quantity}${isBars ? (part === "d" ? " per day" : " per quarter of an hour") : ""}`;
    const caption = document.createElement("figcaption");
    const readout = document.createElement("span");
    caption.append(title, readout);
    const svg = make("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": `${title} from ${labelOf(part, 0)} to ${labelOf(part, count - 1)}` });
    for (const tick of axis.ticks) {
      svg.append(make("path", { class: "grid", d: `M${LEFT} ${y(tick).toFixed(1)}H${WIDTH - RIGHT}` }));
      svg.append(make("text", { x: LEFT - 6, y: (y(tick) + 4).toFixed(1), "text-anchor": "end" }, tick.toLocaleString("en", { minimumFractionDigits: Math.min(axis.digits, 6), maximumFractionDigits: Math.min(axis.digits, 6) })));
    }
    svg.append(make("text", { x: LEFT, y: HEIGHT - 4 }, labelOf(part, 0)));
    if (count > 1) svg.append(make("text", { x: WIDTH - RIGHT, y: HEIGHT - 4, "text-anchor": "end" }, labelOf(part, count - 1)));
    let path = "", band = "", run = [];
    const close = () => {
      // One value alone is as wide as a bar: a dot would be lost in its band.
      if (run.length === 1) path += `m${(-0.3 * step).toFixed(1)} 0h${(0.6 * step).toFixed(1)}`;
      if (run.length) {
        const wide = run.length === 1 ? [[-0.3, run[0]], [0.3, run[0]]] : run.map((index) => [0, index]);
        const corner = (values) => ([by, index]) => `${(x(index) + by * step).toFixed(1)} ${y(values[index]).toFixed(1)}`;
        band += `M${wide.map(corner(columns.maximum)).join("L")}L${wide.reverse().map(corner(columns.minimum)).join("L")}z`;
      }
      run = [];
    };
    line.forEach((value, index) => {
      if (value === null) return close();
      if (isBars) {
        path += `M${(x(index) - step * 0.4).toFixed(1)} ${y(0).toFixed(1)}V${y(value).toFixed(1)}h${(step * 0.8).toFixed(1)}V${y(0).toFixed(1)}z`;
        return undefined;
      }
      path += `${run.length ? "L" : "M"}${x(index).toFixed(1)} ${y(value).toFixed(1)}`;
      run.push(index);
      return undefined;
    });
    if (!isBars) close();
    if (band) svg.append(make("path", { class: "band", d: band }));
    svg.append(make("path", { class: isBars ? "bar c1" : "line c1", d: path }));
    const marker = make("path", { class: "at", d: "" });
    svg.append(marker);
    const unit = series.unit && ` ${series.unit}`;
    const rest = () => {
      const total = isBars ? line.reduce((sum, value) => sum + (value ?? 0), 0) : null;
      readout.textContent = isBars ? `${shown(total)}${unit} in all` : `${shown(Math.min(...lows))} to ${shown(Math.max(...highs))}${unit}`;
      marker.setAttribute("d", "");
    };
    svg.addEventListener("pointermove", (event) => {
      const box = svg.getBoundingClientRect();
      const at = Math.floor((((event.clientX - box.left) / box.width) * WIDTH - LEFT) / step);
      if (at < 0 || at >= count) return rest();
      marker.setAttribute("d", `M${x(at).toFixed(1)} ${TOP}V${HEIGHT - BOTTOM}`);
      const [low, high] = isBars ? [] : [columns.minimum[at], columns.maximum[at]];
      const range = isBars || low === high ? "" : `, ${shown(low)} to ${shown(high)}`;
      readout.textContent = `${labelOf(part, at)}: ${line[at] === null ? "no readings" : `${isBars || low === high ? "" : "mean "}${shown(line[at])}${unit}${range}`}`;
      return undefined;
    });
    svg.addEventListener("pointerleave", rest);
    rest();
    figure.replaceChildren(caption, svg);
  };
  const drawAll = () => {
    const part = document.querySelector("[name=range]:checked")?.value;
    if (part) all(".curve").forEach((figure) => draw(figure, part));
  };
  if (curves) {
    drawAll();
    for (const input of all("[name=range]")) input.addEventListener("change", drawAll);
    for (const button of all("[data-curves]")) {
      button.addEventListener("click", () => {
        const part = button.dataset.curves;
        const names = part === "d" ? ["readings", "minimum", "mean", "maximum", "increase", "missing", "repeats", "resets"] : ["minimum", "mean", "maximum", "increase"];
        const rows = [["gateway", "sensor", "name", part === "d" ? "day" : "begin", "unit", ...names]];
        for (const series of curves.series) {
          const columns = columnsOf(series, part);
          for (let at = 0; at < curves[SLOTS[part].key][1]; at += 1) {
            const values = names.map((name) => columns[name]?.[at] ?? "");
            if (values.every((value) => value === "")) continue;
            const time = timeOf(part, at);
            rows.push([curves.gateway, series.sensor, series.name, part === "d" ? time.slice(0, 10) : time.replace(".000", ""), series.unit, ...values]);
          }
        }
        save(`${curves.gateway}-${SLOTS[part].key}`, rows);
      });
    }
    for (const button of all("[data-quantities]")) {
      button.addEventListener("click", () => {
        const tables = all(".sensor table");
        const rows = tables.flatMap((table) => rowsOf(table, () => [table.closest(".sensor").querySelector("h3").textContent]));
        save(`${curves.gateway}-sensors`, [["Sensor", ...headOf(tables[0])], ...rows]);
      });
    }
  }

  // The cell of the map under the pointer, in words.
  const cells = element("data");
  if (!cells) return;
  const data = JSON.parse(cells.textContent);
  const absent = new Set(data.absent);
  const pointed = element("pointed");
  element("maps").addEventListener("pointermove", (event) => {
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
