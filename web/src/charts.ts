// The charts of one run.

import { axis, base, grid, layout, tooltip, xAxis, xOf, yAxis, yOf } from "./base";
import type { Frame, Item, Part, Rows } from "./base";
import type { Clock, Frequency, PageData, RunData, SeriesData, TypeData } from "./data";
import { escape, mark, number, percentile } from "./format";
import { runLines } from "./marks";

/** How a kind of chart is drawn, and what it says as a table. */
export interface Chart {
  option(page: PageData, run: RunData, of: number, frame: Frame): Part;
  rows(page: PageData, run: RunData, of: number): Rows;
  /** Height in pixels at a width; 300 if absent. */
  height?(page: PageData, run: RunData, width: number): number;
}

export type Values = (number | null)[];

/**
 * A point in the middle of the seconds that it stands for, from the second `from` on. The first and the last reach to
 * the edges of theirs, so that the line is as long as the time that was measured.
 */
export function points(series: Clock, values: Values, from = -Infinity): [number, number | null][] {
  const half = series.step_s / 2;
  const middles = series.second
    .map((s, i): [number, number | null] => [s + half, values[i] ?? null])
    .filter(([middle]) => middle >= from);
  const first = middles[0];
  const last = middles[middles.length - 1];
  return first && last ? [[first[0] - half, first[1]], ...middles, [last[0] + half, last[1]]] : [];
}

/** The first of the seconds that the point at `x` stands for. */
export function secondAt(series: Clock, x: number): number {
  const first = series.second[0] ?? 0;
  const last = series.second[series.second.length - 1] ?? 0;
  return Math.min(last, first + Math.floor((x - first) / series.step_s) * series.step_s);
}

/** Ends of the time axis: all of the series, and nothing beyond. */
export function timeRange(series: Clock[]): [number, number] {
  const from = Math.min(0, ...series.map((s) => s.second[0] ?? 0));
  const to = Math.max(1, ...series.map((s) => (s.second[s.second.length - 1] ?? 0) + s.step_s));
  return [from, to];
}

export function timeAxis(frame: Frame, [min, max]: [number, number]): Part {
  return xAxis(frame, "seconds from the start of the window", { min, max });
}

/** The warm-up and every other phase in grey, and the outages in red, behind the lines. */
function background(run: RunData, { theme, width }: Frame): Part {
  const areas: Part[][] = [];
  const first = run.series.second[0] ?? 0;
  if (first < 0) {
    areas.push([
      {
        xAxis: first,
        itemStyle: { color: theme.shade },
        // A narrow shade has no room for its name; the text above the chart explains it.
        label: { show: (-first / (run.measured_s - first)) * width > 70 },
        name: "warm-up",
      },
      { xAxis: 0 },
    ]);
  }
  run.phases.forEach(({ name, from_s, to_s }, i) => {
    areas.push([
      {
        xAxis: from_s,
        itemStyle: { color: i % 2 === 1 ? theme.shade : "transparent" },
        label: { show: ((to_s - from_s) / (run.measured_s - first)) * width > 20 + 7 * name.length },
        name,
      },
      { xAxis: to_s },
    ]);
  });
  for (const [from, to] of run.outages) {
    areas.push([{ xAxis: from, itemStyle: { color: theme.badShade }, name: "outage" }, { xAxis: to }]);
  }
  return { silent: true, data: areas, label: { color: theme.faint, fontSize: 11, position: "insideTop", distance: 4 } };
}

/** What is drawn behind and over the lines of a chart over time; it belongs to its first series. */
export function behind(page: PageData, run: RunData, frame: Frame, range = timeRange([run.series])): Part {
  return { markArea: background(run, frame), markLine: runLines(page, run, range, frame) };
}

export function timeTooltip(frame: Frame, series: Clock, unit: string): Part {
  const { step_s } = series;
  const heading = (items: Item[]) => {
    const first = secondAt(series, xOf(items));
    return step_s === 1 ? `second ${first}` : `seconds ${first} to ${first + step_s - 1}`;
  };
  return tooltip(frame, heading, yOf, unit);
}

/** Every type that occurs at all, with its place in the palette. */
function presentTypes(s: SeriesData): { name: string; index: number; values: number[] }[] {
  return s.types
    .map((values, index) => ({ name: s.names[index] ?? "", index, values }))
    .filter((t) => t.values.some((v) => v > 0));
}

export function seriesRows(s: Clock, columns: [string, Values][]): Rows {
  return {
    head: ["second", ...columns.map(([name]) => name)],
    body: s.second.map((second, i) => [
      String(second),
      ...columns.map(([, values]) => {
        const v = values[i];
        return v === null || v === undefined ? "–" : number(v);
      }),
    ]),
  };
}

const throughput: Chart = {
  option(page, run, _of, frame) {
    const types = presentTypes(run.series);
    return {
      ...base(frame),
      ...layout(frame, types.map((t) => t.name)),
      tooltip: timeTooltip(frame, run.series, "/s"),
      xAxis: timeAxis(frame, timeRange([run.series])),
      yAxis: yAxis(frame, "per second", { min: 0 }),
      series: types.map((t, i) => ({
        name: t.name,
        type: "line",
        stack: "all",
        data: points(run.series, t.values),
        symbol: "none",
        lineStyle: { width: 1 },
        areaStyle: { opacity: 0.75 },
        color: frame.theme.series[t.index],
        emphasis: { disabled: true },
        ...(i === 0 ? behind(page, run, frame) : {}),
      })),
    };
  },
  rows: (_page, run) => seriesRows(run.series, presentTypes(run.series).map((t) => [`${t.name}/s`, t.values])),
};

const latencyOverTime: Chart = {
  option(page, run, _of, frame) {
    const s = run.series;
    const known = [...s.p50_ms, ...s.p99_ms].filter((v): v is number => v !== null && v > 0);
    // A linear axis as long as the median stays visible on it.
    const wide = Math.max(...known) > 25 * Math.min(...known);
    const line = (name: string, values: Values, color: string | undefined, more: Part = {}) => ({
      name,
      type: "line",
      data: points(s, wide ? values.map((v) => (v !== null && v > 0 ? v : null)) : values),
      symbol: "none",
      lineStyle: { width: 1.5 },
      color,
      emphasis: { disabled: true },
      ...more,
    });
    return {
      ...base(frame),
      ...layout(frame, ["median", "p99"]),
      tooltip: timeTooltip(frame, run.series, "ms"),
      xAxis: timeAxis(frame, timeRange([s])),
      yAxis: yAxis(frame, "ms", wide ? { type: "log", ...tightLog(known) } : { min: 0 }),
      series: [
        line("median", s.p50_ms, frame.theme.series[0], behind(page, run, frame)),
        line("p99", s.p99_ms, frame.theme.series[1]),
      ],
    };
  },
  rows: (_page, run) =>
    seriesRows(run.series, [
      ["median ms", run.series.p50_ms],
      ["p99 ms", run.series.p99_ms],
    ]),
};

function troubleColumns(s: SeriesData): [string, number[]][] {
  const all: [string, number[]][] = [
    ["aborts", s.aborts],
    ["errors", s.errors],
    ["unknown commits", s.unknown],
  ];
  return all.filter(([, values]) => values.some((v) => v > 0));
}

const trouble: Chart = {
  option(page, run, _of, frame) {
    const colours: Record<string, string> = { aborts: frame.theme.warn, errors: frame.theme.bad };
    const columns = troubleColumns(run.series);
    return {
      ...base(frame),
      ...layout(frame, columns.map(([name]) => name)),
      tooltip: timeTooltip(frame, run.series, "/s"),
      xAxis: timeAxis(frame, timeRange([run.series])),
      yAxis: yAxis(frame, "per second", { min: 0 }),
      series: columns.map(([name, values], i) => ({
        name,
        type: "line",
        step: "middle",
        data: points(run.series, values),
        symbol: "none",
        lineStyle: { width: 1.5 },
        color: colours[name] ?? frame.theme.text,
        emphasis: { disabled: true },
        ...(i === 0 ? behind(page, run, frame) : {}),
      })),
    };
  },
  rows: (_page, run) => seriesRows(run.series, troubleColumns(run.series)),
  height: () => 220,
};

const contention: Chart = {
  option(page, run, _of, frame) {
    const line = (name: string, data: [number, number][], color: string | undefined, width: number): Part => ({
      name,
      type: "line",
      data,
      symbol: "none",
      lineStyle: { width },
      color,
      emphasis: { disabled: true },
    });
    const rows = run.contention;
    const range: [number, number] = [0, rows[0]?.asked.at(-1)?.[0] ?? run.measured_s];
    const names = rows.map((row, i) => row.name ?? (i === 0 ? "measured" : ""));
    return {
      ...base(frame),
      ...layout(frame, ["configured", ...names]),
      xAxis: timeAxis(frame, range),
      yAxis: yAxis(frame, "competing transactions", { min: 0 }),
      series: [
        ...rows.map((row, i) => ({
          ...line("configured", row.asked, frame.theme.faint, 4),
          ...(i === 0 ? behind(page, run, frame, range) : {}),
        })),
        ...rows.map((row, i) => line(names[i] ?? "", row.actual, frame.theme.series[i % 8], 1.5)),
      ],
    };
  },
  rows: (_page, run) => ({
    head: ["second", ...run.contention.map((row) => row.name ?? "competing")],
    body: (run.contention[0]?.actual ?? []).map(([at], i) => [
      String(Math.floor(at)),
      ...run.contention.map((row) => {
        const point = row.actual[i];
        return point ? number(point[1]) : "";
      }),
    ]),
  }),
  height: () => 240,
};

/** Bounds of a logarithmic axis: the data with a little air, not the next powers of ten. */
export function tightLog(values: number[]): Part {
  const positive = values.filter((v) => v > 0);
  if (positive.length === 0) return {};
  const nice = (v: number, up: boolean): number => {
    const power = 10 ** Math.floor(Math.log10(v));
    const steps = [1, 2, 5, 10].map((s) => s * power);
    const found = up ? steps.find((s) => s >= v * 0.999) : steps.reverse().find((s) => s <= v * 1.001);
    return found ?? v;
  };
  return { min: nice(Math.min(...positive), false), max: nice(Math.max(...positive), true) };
}

/** The axis of nines. */
export function nines(frame: Frame): Part {
  return xAxis(frame, "percentile", {
    type: "log",
    min: 1,
    max: 10000,
    axisLabel: {
      color: frame.theme.faint,
      fontSize: 12,
      formatter: (v: number) => (v === 1 ? "min" : percentile(v)),
    },
    splitLine: { show: true, lineStyle: { color: frame.theme.grid } },
  });
}

/** Lines over the nines: one per type here, one per run in the overlay. */
export function curves(lines: { name: string; curve: [number, number][]; color: string | undefined; dashed?: boolean }[], frame: Frame): Part {
  const drawn = lines.filter((l) => l.curve.length > 1);
  return {
    ...base(frame),
    ...layout(frame, drawn.map((l) => l.name)),
    tooltip: tooltip(frame, (items) => percentile(xOf(items)), yOf, "ms"),
    xAxis: nines(frame),
    yAxis: yAxis(frame, "ms", { type: "log", ...tightLog(drawn.flatMap((l) => l.curve.map(([, ms]) => ms))) }),
    series: drawn.map((l) => ({
      name: l.name,
      type: "line",
      data: l.curve.filter(([, ms]) => ms > 0),
      symbol: "none",
      lineStyle: { width: 2, type: l.dashed ? "dashed" : "solid" },
      color: l.color,
      emphasis: { disabled: true },
    })),
  };
}

/** The value of a curve at a percentile: that of the last point not above it. */
export function at(curve: [number, number][], inverse: number): string {
  const last = curve[curve.length - 1];
  if (!last || last[0] < inverse * 0.999) return "–";
  const found = curve.filter(([x]) => x <= inverse * 1.001).pop();
  return found ? number(found[1]) : "–";
}

export const NINES = [2, 10, 20, 100, 1000, 10000];

const percentiles: Chart = {
  option: (_page, run, _of, frame) =>
    curves(run.types.map((t, i) => ({ name: t.name, curve: t.curve, color: frame.theme.series[i % 8] })), frame),
  rows: (_page, run) => ({
    head: ["percentile", ...run.types.map((t) => `${t.name} ms`)],
    body: NINES.map((n) => [percentile(n), ...run.types.map((t) => at(t.curve, n))]),
  }),
  height: () => 360,
};

/** A distribution of the times that `pick` takes from a type. `scale` milliseconds are one `unit`. */
const distribution = (pick: (type: TypeData) => Frequency | null, unit: string, scale: number, things: string): Chart => ({
  option(_page, run, of, frame) {
    const { theme } = frame;
    const type = run.types[of];
    const f = type && pick(type);
    if (!f) return base(frame);
    const bin = f.bin_ms / scale;
    const to = bin * f.percent.length;
    const data = f.percent.map((p, i) => [(i + 0.5) * bin, p]);
    const line = (name: string, x: number, color: string, row: number) => ({
      xAxis: x,
      label: { formatter: `${name} ${number(x)}`, color: theme.text, fontSize: 11, position: "end", distance: 3 + 13 * row },
      lineStyle: { color, type: "solid", width: 1.5 },
    });
    const marks = [line("avg", f.mean_ms / scale, theme.text, 2), line("p90", f.p90_ms / scale, theme.warn, 1)];
    // A maximum beyond the scale is told in the text above the chart.
    if (f.max_ms / scale <= to) marks.push(line("max", f.max_ms / scale, theme.bad, 0));
    return {
      ...base(frame),
      grid: grid(frame, { left: 42, right: 18, top: 48 }),
      tooltip: {
        ...tooltip(frame, () => "", yOf, "%"),
        formatter: (items: Item | Item[]) => {
          const i = (Array.isArray(items) ? items[0] : items)?.dataIndex ?? 0;
          const [low, high] = [number(i * bin), number((i + 1) * bin)];
          return `${escape(low)} to ${escape(high)} ${unit}: <b>${escape(number(f.percent[i] ?? 0))}</b> %`;
        },
      },
      xAxis: xAxis(frame, unit, { min: 0, max: to, interval: to / 4, axisLabel: { color: theme.faint, fontSize: 11, formatter: mark3 } }),
      yAxis: axis(frame, "", { axisLine: { show: false }, axisLabel: { color: theme.faint, fontSize: 11, formatter: "{value} %" }, splitNumber: 3 }),
      series: [
        {
          type: "bar",
          data,
          barWidth: "96%",
          color: theme.series[of % 8],
          emphasis: { disabled: true },
          // Without a precision the marks snap to hundredths.
          markLine: { silent: true, symbol: "none", animation: false, precision: 12, data: marks },
        },
      ],
    };
  },
  rows(_page, run, of) {
    const type = run.types[of];
    const f = type && pick(type);
    const bin = (f?.bin_ms ?? 0) / scale;
    return {
      head: [`from ${unit}`, `to ${unit}`, `% of ${things}`],
      body: (f?.percent ?? []).map((p, i) => [number(i * bin), number((i + 1) * bin), number(p)]),
    };
  },
  height: () => 234,
});

const frequency = distribution((type) => type.frequency, "ms", 1, "transactions");
const think = distribution((type) => type.think, "s", 1000, "think times");

function mark3(value: number): string {
  return value.toLocaleString("en-US", { maximumSignificantDigits: 3 });
}

const parts: Chart = {
  option(_page, run, _of, frame) {
    const { theme } = frame;
    const bar = (name: string, values: Values, color: string | undefined) => ({
      name,
      type: "bar",
      stack: "all",
      data: values,
      color,
      barMaxWidth: 22,
      emphasis: { disabled: true },
    });
    return {
      ...base(frame),
      ...layout(frame, ["waiting for a session", "service"], { left: 92 }),
      tooltip: {
        ...tooltip(frame, (items) => run.types[items[0]?.dataIndex ?? 0]?.name ?? "", yOf, "ms"),
        axisPointer: { type: "none" },
      },
      xAxis: xAxis(frame, "mean ms", { min: 0, splitLine: { show: true, lineStyle: { color: theme.grid } } }),
      yAxis: {
        type: "category",
        inverse: true,
        data: run.types.map((t) => t.name),
        axisLabel: { color: theme.text, fontSize: 12 },
        axisLine: { lineStyle: { color: theme.line } },
        axisTick: { show: false },
      },
      series: [
        bar("waiting for a session", run.types.map((t) => t.queue_mean_ms), theme.warn),
        bar("service", run.types.map((t) => t.service_mean_ms), theme.series[0]),
      ],
    };
  },
  rows: (_page, run) => ({
    head: ["type", "waiting, mean ms", "service, mean ms"],
    body: run.types.map((t) => [t.name, ...[t.queue_mean_ms, t.service_mean_ms].map((ms) => (ms === null ? "–" : number(ms)))]),
  }),
  height: (_page, run) => 92 + 34 * run.types.length,
};

export const CHARTS: Record<string, Chart> = {
  throughput,
  "latency-over-time": latencyOverTime,
  trouble,
  contention,
  percentiles,
  frequency,
  think,
  parts,
};

export { mark };
