// Marks of moments over the lines of charts over time: events, faults, checkpoints.

import { grid } from "./base";
import type { Frame, Part } from "./base";
import type { PageData, RunData } from "./data";
import { shorten } from "./format";

interface Mark {
  at: number;
  name: string;
  /** The mark that it ends, if no other lies between: next to that one's name the word "end" says enough. */
  ends?: Mark;
  line: Part;
}

const FONT = 11;

/** Pixels of a letter, a little more than this size of text needs. */
const LETTER = 6.2;

/** Rows of labels between the chart and its legend. */
const ROWS = 2;
const ROW_HEIGHT = 13;

const NAME_MAX = 40;

/** Most checkpoints with a name each. */
const NAMED_MAX = 6;

/** Room at the left of the rows for the name of the axis. */
const AXIS_NAME = 100;

type Span = [number, number];

/** The beginnings and ends of the page's events, in the order of time. */
function events(page: PageData, { theme }: Frame): Mark[] {
  const line = { color: theme.bad, width: 1, type: "dashed" };
  const marks = page.events.flatMap(({ name: full, from_s, to_s }) => {
    const name = shorten(full, NAME_MAX);
    const begin: Mark = { at: from_s, name, line };
    return to_s === null ? [begin] : [begin, { at: to_s, name: `end of ${name}`, ends: begin, line }];
  });
  marks.sort((a, b) => a.at - b.at);
  return marks.map((mark, i) => (mark.ends === undefined || mark.ends === marks[i - 1] ? mark : { ...mark, ends: undefined }));
}

function checkpoints(run: RunData, { theme }: Frame): Mark[] {
  // Many lines close to each other must not hide what is behind them, and the text above the chart names them too.
  const count = run.checkpoints.length;
  const line = { color: theme.text, width: 1, type: "dotted", opacity: count > 60 ? 0.25 : 0.7 };
  return run.checkpoints.map((at) => ({ at, name: count > NAMED_MAX ? "" : "checkpoint", line }));
}

/**
 * Lines at the marks with their names above, each in the first row where it touches no other name: over its line, or
 * beside it. A name that fits nowhere is left out.
 */
function lines(marks: Mark[], [from, to]: Span, frame: Frame): Part {
  const { left, right } = grid(frame) as { left: number; right: number };
  const rows: Span[][] = Array.from({ length: ROWS }, () => [[0, left + AXIS_NAME]]);
  const named = new Set<Mark>();
  const data = marks.map((mark) => {
    const name = mark.ends && named.has(mark.ends) ? "end" : mark.name;
    const x = left + ((mark.at - from) / (to - from)) * (frame.width - left - right);
    const width = LETTER * name.length + 8;
    const places = rows.flatMap((taken, row) =>
      ([["center", x - width / 2], ["left", x - 2], ["right", x - width + 2]] as const)
        .filter(([, a]) => a >= 0 && a + width <= frame.width && taken.every(([b, c]) => c <= a || b >= a + width))
        .map(([align, a]) => ({ align, a, row })),
    );
    const place = name === "" ? undefined : places[0];
    if (place) {
      named.add(mark);
      rows[place.row]?.push([place.a, place.a + width]);
    }
    return {
      xAxis: mark.at,
      name,
      lineStyle: mark.line,
      label: { show: place !== undefined, align: place?.align, distance: 3 + ROW_HEIGHT * (place?.row ?? 0) },
    };
  });
  return {
    silent: true,
    symbol: "none",
    animation: false,
    // Without a precision the marks snap to hundredths.
    precision: 12,
    data,
    label: { color: frame.theme.text, fontSize: FONT, position: "end", formatter: "{b}" },
  };
}

/** The events of all runs of the page, on a time axis with these ends. */
export function eventLines(page: PageData, range: Span, frame: Frame): Part {
  return lines(events(page, frame), range, frame);
}

/** The events and the checkpoints of a run. Names of events come first where there is no room for all. */
export function runLines(page: PageData, run: RunData, range: Span, frame: Frame): Part {
  return lines([...events(page, frame), ...checkpoints(run, frame)], range, frame);
}
