// Numbers as people read them; the same rules as crates/report/src/figures.rs.

export function number(value: number): string {
  const magnitude = Math.abs(value);
  if (magnitude >= 99.95) return Math.round(value).toLocaleString("en-US");
  if (magnitude >= 9.995) return value.toFixed(1);
  if (magnitude >= 0.9995) return value.toFixed(2);
  if (magnitude >= 0.0005) return value.toFixed(3);
  return magnitude === 0 ? "0" : value.toExponential(1);
}

/** For the marks of an axis: no digits that say nothing. */
export function mark(value: number): string {
  return value.toLocaleString("en-US", { maximumSignificantDigits: 4 });
}

/** For the marks of an axis of any size: `12k`, `3.4M`. */
export function compact(value: number): string {
  const [size, letter] = ([[1e12, "T"], [1e9, "G"], [1e6, "M"], [1e4, "k"]] as const).find(([size]) => Math.abs(value) >= size) ?? [1, ""];
  return `${mark(value / (letter === "k" ? 1e3 : size))}${letter}`;
}

/** The binary unit in which a size reads well, and its bytes. */
export function binary(bytes: number): [string, number] {
  const units = ["bytes", "KiB", "MiB", "GiB", "TiB", "PiB"];
  const power = Math.min(units.length - 1, Math.max(0, Math.floor(Math.log(bytes) / Math.log(1024))));
  return [units[power] ?? "", 1024 ** power];
}

/** Text of at most `most` letters: what is too long loses its middle, since names differ at their ends. */
export function shorten(text: string, most: number): string {
  if (text.length <= most) return text;
  const half = (most - 1) / 2;
  return `${text.slice(0, Math.ceil(half))}…${text.slice(text.length - Math.floor(half))}`;
}

/** A percentile from 1/(1-p): 100 is `99 %`. */
export function percentile(inverse: number): string {
  const percent = 100 * (1 - 1 / inverse);
  return `${Number(percent.toFixed(inverse < 1000 ? 1 : inverse < 10000 ? 2 : 3))} %`;
}

const ENTITIES: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" };

/** Text for a tooltip, which ECharts sets as HTML. */
export function escape(text: string): string {
  return text.replace(/[&<>"']/g, (c) => ENTITIES[c] ?? "");
}
