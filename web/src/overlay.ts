// The charts of several runs over each other.

import { base, grid, layout, tooltip, xAxis, xOf, yAxis, yOf } from "./base";
import type { Frame, Part } from "./base";
import { NINES, at, curves, points, tightLog, timeAxis, timeRange } from "./charts";
import type { Chart } from "./charts";
import type { PageData, RunData } from "./data";
import { number, percentile } from "./format";
import { eventLines } from "./marks";

/** Eight colours, then the same with dashed lines. */
function look(i: number, frame: Frame): { color: string | undefined; dashed: boolean } {
  return { color: frame.theme.series[i % 8], dashed: Math.floor(i / 8) % 2 === 1 };
}

function total(run: RunData): number[] {
  return run.series.second.map((_, i) => run.series.types.reduce((sum, values) => sum + (values[i] ?? 0), 0));
}

/** The curve of the workload's first type. */
function firstCurve(run: RunData): [number, number][] {
  return run.types[0]?.curve ?? [];
}

/** Only the window: warm-ups differ in length and count nowhere. */
function measured(run: RunData, values: (number | null)[]): (number | null)[] {
  return values.filter((_, i) => (run.series.second[i] ?? 0) >= 0);
}

function timeLines(page: PageData, frame: Frame, of: (run: RunData) => (number | null)[], unit: string, y: Part): Part {
  const range: [number, number] = [0, timeRange(page.runs.map((r) => r.series))[1]];
  return {
    ...base(frame),
    ...layout(frame, page.runs.map((r) => r.name)),
    tooltip: tooltip(frame, (items) => `second ${Math.max(0, Math.ceil(xOf(items)) - 1)}`, yOf, unit),
    xAxis: timeAxis(frame, range),
    yAxis: yAxis(frame, unit === "/s" ? "per second" : unit, y),
    series: page.runs.map((run, i) => {
      const { color, dashed } = look(i, frame);
      return {
        name: run.name,
        type: "line",
        data: points(run.series, of(run), 0),
        symbol: "none",
        lineStyle: { width: 1.5, type: dashed ? "dashed" : "solid" },
        color,
        emphasis: { disabled: true },
        markLine: i === 0 ? eventLines(page, range, frame) : undefined,
      };
    }),
  };
}

function summaryRows(page: PageData, column: string, of: (run: RunData) => string) {
  return { head: ["run", column], body: page.runs.map((run) => [run.name, of(run)]) };
}

function greatest(values: (number | null)[]): string {
  const known = values.filter((v): v is number => v !== null);
  return known.length ? number(Math.max(...known)) : "–";
}

/** A bar for each run. */
function bars(axis: string, column: string, of: (run: RunData) => number): Chart {
  return {
    option(page, _run, _of, frame) {
      const { theme } = frame;
      return {
        ...base(frame),
        grid: grid(frame, { left: frame.width < 480 ? 90 : 140, right: 76, top: 8 }),
        xAxis: xAxis(frame, axis, { min: 0, splitLine: { show: true, lineStyle: { color: theme.grid } } }),
        yAxis: {
          type: "category",
          inverse: true,
          data: page.runs.map((r) => r.name),
          axisLabel: { color: theme.text, fontSize: 12, width: frame.width < 480 ? 78 : 128, overflow: "truncate" },
          axisLine: { lineStyle: { color: theme.line } },
          axisTick: { show: false },
        },
        series: [
          {
            type: "bar",
            barMaxWidth: 22,
            data: page.runs.map((r, i) => ({ value: of(r), itemStyle: { color: look(i, frame).color } })),
            label: {
              show: true,
              position: "right",
              color: theme.text,
              fontSize: 12,
              formatter: (item: { value: number }) => number(item.value),
            },
            emphasis: { disabled: true },
          },
        ],
      };
    },
    rows: (page) => summaryRows(page, column, (r) => number(of(r))),
    height: (page) => 60 + 32 * page.runs.length,
  };
}

const nopm = bars("new orders per minute", "NOPM", (run) => run.nopm);
const tps = bars("transactions per second", "transactions/s", (run) => run.tps);

const throughput: Chart = {
  option: (page, _run, _of, frame) => timeLines(page, frame, total, "/s", { min: 0 }),
  rows: (page) => summaryRows(page, "mean per second", (r) => number(r.tps)),
};

const p99: Chart = {
  option(page, _run, _of, frame) {
    const positive = (run: RunData) => run.series.p99_ms.map((v) => (v !== null && v > 0 ? v : null));
    const all = page.runs.flatMap(positive).filter((v): v is number => v !== null);
    return timeLines(page, frame, positive, "ms", { type: "log", ...tightLog(all) });
  },
  rows: (page) =>
    summaryRows(page, "worst second's p99, ms", (r) => greatest(measured(r, r.series.p99_ms))),
};

const percentiles: Chart = {
  option: (page, _run, _of, frame) =>
    curves(page.runs.map((run, i) => ({ name: run.name, curve: firstCurve(run), ...look(i, frame) })), frame),
  rows: (page) => ({
    head: ["percentile", ...page.runs.map((r) => `${r.name} ms`)],
    body: NINES.map((n) => [percentile(n), ...page.runs.map((r) => at(firstCurve(r), n))]),
  }),
  height: () => 360,
};

export const OVERLAY_CHARTS: Record<string, Chart> = {
  "overlay-nopm": nopm,
  "overlay-tps": tps,
  "overlay-throughput": throughput,
  "overlay-p99": p99,
  "overlay-percentiles": percentiles,
};
