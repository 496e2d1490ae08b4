// Live plots: one small chart for each quantity, fed by rows over time, and their export as CSV.

import uPlot from "uplot";
import { byId, download, make } from "./dom.js";
import { label, number, quantities, quantity } from "./format.js";

const OFTEN = 250; // ms between two redraws
const MOST_POINTS = 1200; // of a line: more than a chart has pixels
const MOST_ROWS = 200_000; // then every second row goes
const LINES = ["--line-1", "--line-2", "--line-3", "--line-4", "--line-5", "--line-6"];

/** All rows since the start, and the charts of them. */
export class Plots {
  constructor(connection) {
    this.connection = connection;
    this.names = [];
    this.units = [];
    this.rows = [];
    this.charts = [];
    this.timer = null;
    this.scene = "berm";
    byId("csv").onclick = () => this.save();
    new ResizeObserver(() => this.resize()).observe(byId("charts"));
  }

  /** Take over rows; they are acknowledged, so that the server sends only new ones. */
  update({ version, names, units, rows, reset }) {
    if (reset) this.rows = [];
    if (names.join() !== this.names.join()) {
      this.names = names;
      this.units = units ?? names.map(() => "");
      this.build();
    }
    for (const row of rows) this.rows.push(row);
    if (this.rows.length > MOST_ROWS) this.rows = this.rows.filter((_, k) => k % 2 === 0);
    this.connection.send("plots", { seen: version });
    this.drawSoon();
  }

  build() {
    for (const { plot } of this.charts) plot.destroy();
    byId("charts").replaceChildren();
    this.charts = groups(this.names, this.units).map((group) => this.chart(group));
    byId("plots").dataset.empty = this.charts.length === 0;
    this.resize();
  }

  chart({ title, unit, columns }) {
    const box = make("figure");
    box.dataset.lines = columns.length > 1 ? "many" : "one";
    const heading = make("figcaption", {}, make("b", { textContent: title }));
    const values = make("span", { className: "values" });
    heading.append(values);
    const area = make("div", { className: "area" });
    box.append(heading, area);
    byId("charts").append(box);
    const colour = (k) => () => css(LINES[k % LINES.length]);
    const axis = {
      stroke: () => css("--muted"),
      font: "10px system-ui, sans-serif",
      grid: { stroke: () => css("--line"), width: 1 },
      ticks: { show: false },
    };
    const options = {
      width: 240,
      height: 100,
      legend: { show: false },
      cursor: { points: { size: 5 }, drag: { x: false, y: false } },
      scales: { x: { time: false } },
      padding: [6, 8, 0, 0],
      axes: [
        {
          ...axis,
          size: 18,
          space: 50,
          gap: 2,
          values: (_, ticks) => ticks.map((t) => (t ? `${number(t)} s` : "")),
        },
        { ...axis, size: 52, space: 22, gap: 3, values: (_, ticks) => quantities(ticks, unit) },
      ],
      series: [
        {},
        ...columns.map((column, k) => ({
          label: this.names[column],
          stroke: colour(k),
          width: 1.5,
          points: { show: false },
        })),
      ],
      hooks: { setCursor: [(plot) => this.legend(values, columns, unit, plot)] },
    };
    const plot = new uPlot(options, [[], ...columns.map(() => [])], area);
    return { plot, columns, unit, values, area };
  }

  /** The values under the pointer, or the last ones. */
  legend(element, columns, unit, plot) {
    const at = plot.cursor.idx ?? plot.data[0].length - 1;
    const parts = columns.map((column, k) => {
      const dot = make("i");
      dot.style.background = css(LINES[k % LINES.length]);
      const own = columns.length > 1 ? `${shortName(this.names[column])} ` : "";
      return make(
        "span",
        { title: label(this.names[column]) },
        dot,
        `${own}${quantity(plot.data[k + 1][at], unit)}`,
      );
    });
    element.replaceChildren(...parts);
  }

  drawSoon() {
    this.timer ??= setTimeout(() => {
      this.timer = null;
      this.draw();
    }, OFTEN);
  }

  draw() {
    if (byId("plots").hidden || document.hidden) return;
    const stride = Math.max(1, Math.ceil(this.rows.length / MOST_POINTS));
    const rows =
      stride === 1
        ? this.rows
        : this.rows.filter((_, k) => k % stride === 0 || k === this.rows.length - 1);
    const time = rows.map((row) => row[0]);
    for (const { plot, columns, unit, values } of this.charts) {
      plot.setData([time, ...columns.map((column) => rows.map((row) => row[column]))]);
      this.legend(values, columns, unit, plot);
    }
  }

  resize() {
    for (const { plot, area } of this.charts) {
      const { clientWidth: width, clientHeight: height } = area;
      if (width > 0 && height > 0) plot.setSize({ width, height });
    }
    this.drawSoon();
  }

  /** All rows as CSV text, one column each, units in the heading. */
  csv() {
    const heading = this.names.map((name, k) =>
      this.units[k] ? `${name} (${this.units[k]})` : name,
    );
    const quoted = heading.map((text) =>
      /[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text,
    );
    return [quoted, ...this.rows.map((row) => row.map((value) => value ?? ""))]
      .map((row) => `${row.join(",")}\n`)
      .join("");
  }

  save() {
    download(`${this.scene}-plots.csv`, new Blob([this.csv()], { type: "text/csv" }));
  }
}

/** Charts: columns that share unit and kind go together. */
function groups(names, units) {
  const made = new Map();
  names.forEach((name, column) => {
    if (column === 0) return; // time
    const kind = kindOf(name);
    const key = `${kind} ${units[column] ?? ""}`;
    if (!made.has(key))
      made.set(key, { title: label(kind), unit: units[column] ?? "", columns: [] });
    made.get(key).columns.push(column);
  });
  return [...made.values()];
}

function kindOf(name) {
  return name.replace(/ on .*/, ""); // "force on floor" and "force on blade" go together
}

function shortName(name) {
  return label(name.replace(/.* on /, ""));
}

function css(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}
