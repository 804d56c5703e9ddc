// Draws the charts of the report into the places that the page has for them.

import type { Rows } from "./base";
import { CHARTS } from "./charts";
import type { Chart } from "./charts";
import { pageData } from "./data";
import type { PageData, RunData } from "./data";
import { init } from "./echarts";
import type { ECharts, EChartsCoreOption } from "./echarts";
import { METRIC_CHARTS } from "./metrics";
import { OBSERVED_CHARTS } from "./observed";
import { OVERLAY_CHARTS } from "./overlay";
import { currentTheme, setUpTheme } from "./theme";

const KINDS: Record<string, Chart> = { ...CHARTS, ...OVERLAY_CHARTS, ...METRIC_CHARTS, ...OBSERVED_CHARTS };

/** Width that charts are drawn with on paper, in pixels: A4 between its margins. */
const PRINT_WIDTH = 680;

/** A chart in its place. */
interface Placed {
  place: HTMLElement;
  chart: Chart;
  run: RunData;
  of: number;
  /** Absent until it is drawn for the first time. */
  drawn?: ECharts;
}

function start(page: PageData): void {
  const placed: Placed[] = [];
  const draw = (p: Placed, width: number) => {
    // A chart in a closed fold has no width; it is drawn when the fold opens.
    if (width === 0) return;
    const height = p.chart.height?.(page, p.run, width) ?? 300;
    p.place.style.height = `${height}px`;
    p.drawn ??= init(p.place, null, { renderer: "svg", width, height });
    p.drawn.resize({ width, height });
    p.drawn.setOption(p.chart.option(page, p.run, p.of, { theme: currentTheme(), width }) as EChartsCoreOption, true);
  };
  const drawAll = () => placed.forEach((p) => draw(p, p.place.clientWidth));
  setUpTheme(drawAll);

  for (const place of document.querySelectorAll<HTMLElement>(".chart")) {
    const chart = KINDS[place.dataset.chart ?? ""];
    const run = page.runs[Number(place.dataset.run)];
    if (!chart || !run) continue;
    const of = Number(place.dataset.of);
    place.textContent = "";
    const p: Placed = { place, chart, run, of };
    placed.push(p);
    draw(p, place.clientWidth);
    place.after(tableOf(() => chart.rows(page, run, of), place.getAttribute("aria-label") ?? ""));
  }

  let width = document.documentElement.clientWidth;
  new ResizeObserver(() => {
    // Height changes (an opened table) do not concern the charts.
    if (document.documentElement.clientWidth === width) return;
    width = document.documentElement.clientWidth;
    drawAll();
  }).observe(document.documentElement);

  // Such an event does not bubble, but the document sees it on its way down.
  addEventListener(
    "toggle",
    ({ target }) => placed.filter((p) => target instanceof Node && target.contains(p.place)).forEach((p) => draw(p, p.place.clientWidth)),
    true,
  );

  // Paper is light, and as wide as it is.
  const root = document.documentElement;
  let before: string | undefined;
  addEventListener("beforeprint", () => {
    before = root.dataset.theme;
    root.dataset.theme = "light";
    placed.filter((p) => p.place.clientWidth > 0).forEach((p) => draw(p, p.chart === CHARTS.frequency || p.chart === CHARTS.think ? PRINT_WIDTH / 2 - 10 : PRINT_WIDTH));
  });
  addEventListener("afterprint", () => {
    if (before === undefined) delete root.dataset.theme;
    else root.dataset.theme = before;
    drawAll();
  });
}

/** The data of a chart as a table, made when it is opened: a long series has many rows. */
function tableOf(rows: () => Rows, label: string): HTMLElement {
  const details = document.createElement("details");
  details.className = "data";
  const summary = document.createElement("summary");
  summary.textContent = "Data as a table";
  details.append(summary);
  details.addEventListener(
    "toggle",
    () => {
      const { head, body } = rows();
      const table = document.createElement("table");
      const line = (cells: string[], name: "th" | "td") => {
        const row = document.createElement("tr");
        for (const [i, text] of cells.entries()) {
          const cell = document.createElement(i === 0 ? "th" : name);
          if (name === "th") cell.scope = "col";
          else if (i === 0) cell.scope = "row";
          cell.className = "n";
          cell.textContent = text;
          row.append(cell);
        }
        return row;
      };
      table.createTHead().append(line(head, "th"));
      table.createTBody().append(...body.map((cells) => line(cells, "td")));
      const frame = document.createElement("div");
      frame.className = "scroll tall";
      frame.tabIndex = 0;
      frame.setAttribute("role", "region");
      frame.setAttribute("aria-label", label);
      frame.append(table);
      details.append(frame);
    },
    { once: true },
  );
  return details;
}

const page = pageData();
if (page) start(page);
