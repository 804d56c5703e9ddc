// The charts of observed values: statistics of the server, the machine, and exporters.

import { base, layout, yAxis } from "./base";
import { behind, points, seriesRows, timeAxis, timeRange, timeTooltip } from "./charts";
import type { Chart, Values } from "./charts";
import type { ObservedChart } from "./data";
import { binary, compact } from "./format";

/** Letters of a name that is too long for a legend beside others. */
const LONG = 40;

/** A unit as the axis names it, as it follows a number, and the size by which values are divided. */
interface Unit {
  axis: string;
  short: string;
  by: number;
}

function unitOf(chart: ObservedChart): Unit {
  if (chart.unit === "bytes" || chart.unit === "bytes/s") {
    const known = chart.lines.flatMap((line) => line.values).filter((v): v is number => v !== null);
    const [name, by] = binary(known.reduce((most, v) => Math.max(most, Math.abs(v)), 1));
    return chart.unit === "bytes" ? { axis: name, short: name, by } : { axis: `${name} per second`, short: `${name}/s`, by };
  }
  const axis: Record<string, string> = { "/s": "per second", percent: "%" };
  const short: Record<string, string> = { percent: "%" };
  return { axis: axis[chart.unit] ?? chart.unit, short: short[chart.unit] ?? chart.unit, by: 1 };
}

function scaled(values: Values, by: number): Values {
  return by === 1 ? values : values.map((v) => (v === null ? null : v / by));
}

/** The names, or if one is long, their labels that differ. */
function distinct(names: string[]): string[] {
  const [first = ""] = names;
  if (names.length < 2 || names.every((name) => name.length <= LONG)) return names;
  const same = (count: number, at: (name: string, i: number) => string | undefined) => {
    let i = 0;
    while (i < count && names.every((name) => at(name, i) === at(first, i))) i += 1;
    return i;
  };
  const shortest = Math.min(...names.map((name) => name.length));
  const begin = first.slice(0, same(shortest, (name, i) => name[i]));
  // Whole parts and labels stay whole.
  const from = Math.max(begin.lastIndexOf("."), begin.lastIndexOf("{"), begin.lastIndexOf(",")) + 1;
  const end = first.slice(first.length - same(shortest - from, (name, i) => name[name.length - 1 - i]));
  const cut = end.search(/[,}]/);
  const to = cut < 0 ? 0 : end.length - cut;
  return names.map((name) => `${from > 0 ? "…" : ""}${name.slice(from, name.length - to)}${to > 0 ? "…" : ""}`);
}

const observed: Chart = {
  option(page, run, of, frame) {
    const chart = run.observed.charts[of];
    if (!chart) return base(frame);
    const unit = unitOf(chart);
    const names = distinct(chart.lines.map((line) => line.name));
    const below = chart.lines.some((line) => line.values.some((v) => v !== null && v < 0));
    return {
      ...base(frame),
      ...layout(frame, names),
      tooltip: timeTooltip(frame, run.observed, unit.short),
      xAxis: timeAxis(frame, timeRange([run.series])),
      yAxis: yAxis(frame, unit.axis, {
        ...(below ? {} : { min: 0 }),
        axisLabel: { color: frame.theme.faint, fontSize: 12, hideOverlap: true, formatter: compact },
      }),
      series: chart.lines.map((line, i) => ({
        name: names[i],
        type: "line",
        data: points(run.observed, scaled(line.values, unit.by)),
        symbol: "none",
        lineStyle: { width: 1.5 },
        color: frame.theme.series[i % 8],
        emphasis: { disabled: true },
        ...(i === 0 ? behind(page, run, frame) : {}),
      })),
    };
  },
  rows(_page, run, of) {
    const chart = run.observed.charts[of];
    if (!chart) return { head: [], body: [] };
    const unit = unitOf(chart);
    return seriesRows(run.observed, chart.lines.map((line) => [`${line.name} ${unit.short}`, scaled(line.values, unit.by)]));
  },
  height: () => 220,
};

export const OBSERVED_CHARTS: Record<string, Chart> = { observed };
