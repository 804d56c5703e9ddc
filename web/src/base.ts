// What all charts have in common: fonts, axes, legend, tooltip.

import { escape, mark, number, shorten } from "./format";
import type { Theme } from "./theme";

/** What a chart is drawn for. */
export interface Frame {
  theme: Theme;
  /** Width of the place in pixels. */
  width: number;
}

/** A table of what a chart shows. */
export interface Rows {
  head: string[];
  body: string[][];
}

const FONT = 12;

/** Most letters of a name in a legend. */
const NAME_MAX = 48;

// Spelt out, not inherited: ECharts measures text in this font to place it. The same stack as in report.css.
const FAMILY = 'system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", "Noto Sans", sans-serif';

// Options are plain objects of ECharts; its exact types differ by component and would only be noise here.
export type Part = Record<string, unknown>;

export function base({ theme }: Frame): Part {
  return {
    animation: false,
    textStyle: { fontFamily: FAMILY, fontSize: FONT, color: theme.text },
    color: theme.series,
    // The page already describes each chart in words.
    aria: { enabled: false },
  };
}

export function grid(frame: Frame, more: Part = {}): Part {
  return { left: frame.width < 480 ? 46 : 58, right: frame.width < 480 ? 20 : 28, top: 52, bottom: 46, ...more };
}

/** Grid and legend above it: the legend takes up to three lines, and pages through more. */
export function layout(frame: Frame, names: string[], more: Part = {}): Part {
  const { theme } = frame;
  // Seven pixels a letter is a little more than this size of text needs.
  const most = Math.max(8, Math.min(NAME_MAX, Math.floor(frame.width / 7) - 8));
  const shown = (name: string) => shorten(name, most);
  const lines = Math.ceil(names.reduce((sum, name) => sum + 32 + 7 * shown(name).length, 0) / Math.max(frame.width - 10, 1));
  const fits = lines <= 3;
  return {
    grid: grid(frame, { top: 34 + 19 * (fits ? lines : 1), ...more }),
    legend: {
      type: fits ? "plain" : "scroll",
      data: names,
      formatter: shown,
      top: 0,
      left: 0,
      right: 0,
      icon: "roundRect",
      itemWidth: 12,
      itemHeight: 8,
      itemGap: 12,
      textStyle: { color: theme.text, fontSize: FONT },
      pageTextStyle: { color: theme.faint },
      pageIconColor: theme.text,
      pageIconInactiveColor: theme.line,
      inactiveColor: theme.line,
    },
  };
}

export function axis({ theme }: Frame, name: string, more: Part = {}): Part {
  return {
    type: "value",
    name,
    nameTextStyle: { color: theme.faint, fontSize: FONT },
    axisLine: { show: true, onZero: false, lineStyle: { color: theme.line } },
    axisTick: { show: false },
    axisLabel: { color: theme.faint, fontSize: FONT, hideOverlap: true, formatter: mark },
    splitLine: { lineStyle: { color: theme.grid } },
    minorSplitLine: { show: false },
    ...more,
  };
}

/** A horizontal axis with its name below the middle. */
export function xAxis(frame: Frame, name: string, more: Part = {}): Part {
  return axis(frame, name, { nameLocation: "middle", nameGap: 28, splitLine: { show: false }, ...more });
}

/** A vertical axis with its name above, where it needs no room of its own. */
export function yAxis(frame: Frame, name: string, more: Part = {}): Part {
  return axis(frame, name, {
    nameLocation: "end",
    nameGap: 10,
    nameTextStyle: { color: frame.theme.faint, fontSize: FONT, align: "left" },
    nameMoveOverlap: false,
    axisLine: { show: false, onZero: false },
    ...more,
  });
}

export interface Item {
  seriesName?: string;
  marker?: string;
  value: unknown;
  dataIndex: number;
}

/** A tooltip with a heading and a line per series. */
export function tooltip({ theme }: Frame, heading: (items: Item[]) => string, value: (item: Item) => number | null, unit: string): Part {
  return {
    trigger: "axis",
    confine: true,
    backgroundColor: theme.surface,
    borderColor: theme.line,
    textStyle: { color: theme.text, fontSize: FONT },
    axisPointer: { type: "line", lineStyle: { color: theme.faint } },
    formatter: (given: Item | Item[]) => {
      const items = Array.isArray(given) ? given : [given];
      const lines = items.map((item) => {
        const v = value(item);
        return `${item.marker ?? ""} ${escape(item.seriesName ?? "")}: <b>${v === null ? "–" : escape(number(v))}</b> ${unit}`;
      });
      return [`<b>${escape(heading(items))}</b>`, ...lines].join("<br>");
    },
  };
}

/** The value at `y` of a point `[x, y]`. */
export function yOf(item: Item): number | null {
  const v = Array.isArray(item.value) ? (item.value as unknown[])[1] : item.value;
  return typeof v === "number" ? v : null;
}

/** The value at `x` of a point `[x, y]`. */
export function xOf(items: Item[]): number {
  const v = items[0]?.value;
  return Array.isArray(v) && typeof v[0] === "number" ? v[0] : 0;
}
