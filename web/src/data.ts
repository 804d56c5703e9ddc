// The data that the page carries; written by crates/report/src/html/data.rs.

export interface PageData {
  runs: RunData[];
  metrics: MetricsData;
  /** What happened in each run by what the user says, in seconds from the window's start. */
  events: { name: string; from_s: number; to_s: number | null }[];
}

/** Availability, scalability and schedulability: empty where there is nothing to tell. */
export interface MetricsData {
  availability: { name: string; points: { name: string; t_e: number; r_e: number }[] }[];
  /** Points: `[nodes, transactions per second and node]`. */
  scalability: { name: string; points: [number, number][] }[];
  /** Over the nodes, by run. */
  ops: BoxData[];
  bytes: BoxData[];
}

export interface BoxData {
  name: string;
  /** Least, quartiles, greatest. */
  five: number[];
}

export interface RunData {
  name: string;
  nopm: number;
  /** Completed per second of the window, however long its last second was. */
  tps: number;
  measured_s: number;
  series: SeriesData;
  /** `[from, to]` in seconds from the window's start. */
  outages: [number, number][];
  /** Seconds in which a checkpoint began. */
  checkpoints: number[];
  observed: ObservedData;
  types: TypeData[];
  /** The rows that transactions competed for by contention control; none without it. */
  contention: ContentionData[];
  /** The phases of the plan, if there is more than one. */
  phases: PhaseData[];
}

/** A phase of the plan, in seconds from the window's start. */
export interface PhaseData {
  name: string;
  from_s: number;
  to_s: number;
}

/** Transactions that compete for one row: `[second, number]`. */
export interface ContentionData {
  /** The row, if there are several. */
  name: string | null;
  /** Two points for each phase: its beginning and its end. */
  asked: [number, number][];
  /** In the middle of the time that each stands for. */
  actual: [number, number][];
}

/** The time of the points of lines. */
export interface Clock {
  /** Seconds that a point stands for. */
  step_s: number;
  /** Offsets from the window's start; negative in the warm-up. */
  second: number[];
}

/** Values observed beside the transactions. */
export interface ObservedData extends Clock {
  charts: ObservedChart[];
}

/** Lines of one source and unit, and of comparable size. */
export interface ObservedChart {
  unit: string;
  lines: { name: string; values: (number | null)[] }[];
}

export interface SeriesData extends Clock {
  /** Names of the types of `types`. */
  names: string[];
  /** Completed per second, by type. */
  types: number[][];
  /** Latencies of the workload's first type. */
  p50_ms: (number | null)[];
  p99_ms: (number | null)[];
  aborts: number[];
  errors: number[];
  unknown: number[];
}

export interface TypeData {
  key: string;
  name: string;
  /** `null` if none of this type was completed. */
  queue_mean_ms: number | null;
  service_mean_ms: number | null;
  /** `[1 / (1 - p), ms]`. */
  curve: [number, number][];
  frequency: Frequency | null;
  think: Frequency | null;
}

export interface Frequency {
  bin_ms: number;
  percent: number[];
  beyond_percent: number;
  mean_ms: number;
  p90_ms: number;
  max_ms: number;
}

/** Reads the page's data; `null` if the page has none. */
export function pageData(): PageData | null {
  const text = document.getElementById("data")?.textContent;
  return text ? (JSON.parse(text) as PageData | null) : null;
}
