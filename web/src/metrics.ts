// The charts of availability, scalability and schedulability; their numbers stand in tables of the page already.

import { base, grid, layout, tooltip, xAxis, yAxis } from "./base";
import type { Frame, Item, Part } from "./base";
import type { Chart } from "./charts";
import type { BoxData, PageData } from "./data";
import { binary, escape, number } from "./format";

/** Dots, one series for each run: lines that are not drawn. */
function dots(name: string, data: Part[], color: string | undefined, frame: Frame): Part {
  return {
    name,
    type: "line",
    data,
    symbol: "circle",
    symbolSize: 11,
    lineStyle: { width: 0 },
    color,
    label: { show: true, position: "left", color: frame.theme.text, fontSize: 11, formatter: "{b}" },
    labelLayout: { hideOverlap: true },
  };
}

const availability: Chart = {
  option(page, _run, _of, frame) {
    const runs = page.metrics.availability;
    const lowest = Math.min(0, ...runs.flatMap((run) => run.points.map((p) => p.r_e)));
    return {
      ...base(frame),
      ...layout(frame, runs.map((run) => run.name)),
      tooltip: {
        ...tooltip(frame, () => "", () => null, ""),
        trigger: "item",
        formatter: (item: Item & { name: string; value: [number, number] }) =>
          `<b>${escape(item.seriesName ?? "")}: ${escape(item.name)}</b><br>R_e ${item.value[1].toFixed(3)}, T_e ${item.value[0].toFixed(3)}`,
      },
      xAxis: xAxis(frame, "T_e: how fast it recovers", { min: 0, max: 1 }),
      yAxis: yAxis(frame, "R_e: how much it keeps", { min: Math.floor(lowest), max: 1 }),
      series: runs.map((run, i) =>
        dots(run.name, run.points.map((p) => ({ name: p.name, value: [p.t_e, p.r_e] })), frame.theme.series[i % 8], frame),
      ),
    };
  },
  rows: (page) => ({
    head: ["run", "event", "T_e", "R_e"],
    body: page.metrics.availability.flatMap((run) =>
      run.points.map((p) => [run.name, p.name, p.t_e.toFixed(3), p.r_e.toFixed(3)]),
    ),
  }),
  height: () => 340,
};

const scalability: Chart = {
  option(page, _run, _of, frame) {
    const all = page.metrics.scalability;
    return {
      ...base(frame),
      ...layout(frame, all.map((of) => of.name)),
      tooltip: tooltip(frame, (items) => `${String((items[0]?.value as [number, number] | undefined)?.[0])} nodes`, (item) => (item.value as [number, number])[1], "/s and node"),
      xAxis: xAxis(frame, "nodes", { min: 0, minInterval: 1 }),
      yAxis: yAxis(frame, "transactions per second and node", { min: 0 }),
      series: all.map((of, i) => ({
        name: of.name,
        type: "line",
        data: of.points,
        symbol: "circle",
        symbolSize: 8,
        lineStyle: { width: 2 },
        color: frame.theme.series[i % 8],
      })),
    };
  },
  rows: (page) => ({
    head: ["database", "nodes", "per second and node"],
    body: page.metrics.scalability.flatMap((of) => of.points.map(([nodes, tps]) => [of.name, String(nodes), number(tps)])),
  }),
};

const FIVE = ["least", "first quartile", "median", "third quartile", "greatest"];

/** A unit, and how much of what is counted it is. */
type Unit = [string, number];

const perSecond = (): Unit => ["per second", 1];

const sizes = (all: BoxData[]): Unit => binary(Math.max(1, ...all.map((box) => box.five[4] ?? 0)));

/** A box over the nodes for each run. */
function boxes(of: (page: PageData) => BoxData[], unitOf: (all: BoxData[]) => Unit): Chart {
  return {
    option(page, _run, _of, frame) {
      const all = of(page);
      const [unit, by] = unitOf(all);
      const { theme } = frame;
      return {
        ...base(frame),
        grid: grid(frame, { top: 34 }),
        tooltip: {
          ...tooltip(frame, () => "", () => null, ""),
          trigger: "item",
          formatter: (item: Item) => {
            const box = all[item.dataIndex];
            const lines = FIVE.map((what, i) => `${what} <b>${escape(number((box?.five[i] ?? 0) / by))}</b> ${unit}`);
            return [`<b>${escape(box?.name ?? "")}</b>`, ...lines].join("<br>");
          },
        },
        xAxis: {
          type: "category",
          data: all.map((box) => box.name),
          axisLabel: { color: theme.text, fontSize: 12, hideOverlap: true },
          axisLine: { lineStyle: { color: theme.line } },
          axisTick: { show: false },
        },
        yAxis: yAxis(frame, unit, { min: 0 }),
        series: [
          {
            type: "boxplot",
            data: all.map((box) => box.five.map((value) => value / by)),
            boxWidth: [12, 46],
            itemStyle: { color: theme.shade, borderColor: theme.series[0], borderWidth: 1.5 },
            emphasis: { disabled: true },
          },
        ],
      };
    },
    rows(page) {
      const all = of(page);
      const [unit, by] = unitOf(all);
      return {
        head: ["run", ...FIVE.map((what) => `${what}, ${unit}`)],
        body: all.map((box) => [box.name, ...box.five.map((value) => number(value / by))]),
      };
    },
  };
}

export const METRIC_CHARTS: Record<string, Chart> = {
  availability,
  scalability,
  "nodes-ops": boxes((page) => page.metrics.ops, perSecond),
  "nodes-bytes": boxes((page) => page.metrics.bytes, sizes),
};
