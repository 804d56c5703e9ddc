//! The picture of a search for the highest level (SVG): latency over the levels, both on scales of ratios, since latency
//! grows without a bound where a database is overloaded.

use super::markup::Markup;
use super::plot::{
    HEIGHT, LETTER, Picture, RIGHT, TOP, WIDE, axis_of_side, colour, line, mark, text, titled_text,
};
use super::ticks::of_ratios;
use crate::figures::number;
use crate::find::{Found, Rung, level_in_words, verdict};

/// Room beyond the ends of a scale, as a factor.
const ROOM: f64 = 1.15;
/// Opacity of levels that fail, or are in doubt.
const PALE: &str = "0.45";
/// Percentiles that the picture shows, with their names.
const SHOWN: [(&str, Percentile); 2] = [("p50", |rung| rung.p50_ms), ("p99", |rung| rung.p99_ms)];
type Percentile = fn(&Rung) -> Option<f64>;

/// A scale of ratios: numbers, and the places of its ends in the picture.
struct Scale {
    low: f64,
    high: f64,
    from: f64,
    to: f64,
}

impl Scale {
    /// Returns a scale around these numbers with some room; none without numbers above 0.
    fn around(values: impl Iterator<Item = f64>, (from, to): (f64, f64)) -> Option<Self> {
        let (mut low, mut high) = (f64::INFINITY, 0.0_f64);
        for value in values.filter(|value| value.is_finite() && *value > 0.0) {
            (low, high) = (low.min(value), high.max(value));
        }
        (high > 0.0).then(|| Self { low: low / ROOM, high: high * ROOM, from, to })
    }

    fn place(&self, value: f64) -> f64 {
        let share = (value / self.low).ln() / (self.high / self.low).ln();
        self.from + (self.to - self.from) * share
    }

    /// Returns round numbers with their labels.
    fn ticks(&self) -> Vec<(f64, String)> {
        of_ratios(self.low, self.high)
    }
}

/// Draws p50 and p99 over the levels, with the limits of the objectives; none without a latency.
pub(super) fn curve(find: &Found) -> Option<Picture> {
    let (left, right, bottom) = (26.0 + 8.0 * LETTER, WIDE - RIGHT - 8.0, HEIGHT - 40.0);
    let across = Scale::around(find.curve.iter().map(|rung| rung.level), (left, right))?;
    let latencies = find.curve.iter().flat_map(|rung| SHOWN.iter().filter_map(|(_, of)| of(rung)));
    let upward = Scale::around(latencies.chain(find.limits_ms.iter().copied()), (bottom, TOP))?;
    let mut all = Markup::default();
    for (value, label) in upward.ticks() {
        let y = upward.place(value);
        all.push(line("grid", left, y, right, y));
        all.push(text("end", left - 6.0, y + 4.0, &label));
    }
    for (value, label) in across.ticks() {
        let x = across.place(value);
        all.push(line("grid", x, TOP, x, bottom));
        all.push(text("middle", x, bottom + 17.0, &label));
    }
    all.push(line("base", left, bottom, right, bottom));
    for limit in &find.limits_ms {
        let y = upward.place(*limit);
        all.push(line("missing", left, y, right, y));
        all.push(text("end", right, y - 5.0, &format!("limit {} ms", number(*limit))));
    }
    let unit = if find.unit.is_empty() { String::new() } else { format!(", {}", find.unit) };
    all.push(titled_text("axis", f64::midpoint(left, right), HEIGHT - 6.0, &format!("{}{unit}", find.level)));
    all.push(axis_of_side(f64::midpoint(TOP, bottom), "latency, ms"));
    for (series, (name, of)) in SHOWN.iter().enumerate() {
        let known: Vec<(&Rung, f64)> =
            find.curve.iter().filter_map(|rung| Some((rung, of(rung).filter(|ms| *ms > 0.0)?))).collect();
        for two in known.windows(2) {
            if let [(a, a_ms), (b, b_ms)] = two {
                let (from, to) = (across.place(a.level), across.place(b.level));
                all.push(line(&colour("stroke", series), from, upward.place(*a_ms), to, upward.place(*b_ms)));
            }
        }
        for (rung, ms) in known {
            let tip =
                format!("{}, {}: {name} {} ms", level_in_words(find, rung.level), verdict(rung), number(ms));
            let mut one = Markup::with_text("title", &[], &tip);
            one.push(mark(series, across.place(rung.level), upward.place(ms)));
            let opacity = if rung.holds == Some(true) && rung.certain { "1" } else { PALE };
            all.push(Markup::element("g", &[("opacity", opacity)], one));
        }
        let x = left + 14.0 + 60.0 * series as f64;
        all.push(mark(series, x, TOP - 10.0));
        all.push(text("start", x + 9.0, TOP - 6.0, name));
    }
    let tips: Vec<String> = find.curve.iter().map(|rung| says(find, rung)).collect();
    let says = format!("Latency over {}. {}", find.level, tips.join("; "));
    Some(Picture { content: all, width: WIDE, height: HEIGHT, says })
}

fn says(find: &Found, rung: &Rung) -> String {
    let latencies = SHOWN.iter().map(|(name, of)| format!("{name} {} ms", number(of(rung))));
    let latencies = latencies.collect::<Vec<_>>().join(", ");
    format!("{} {}: {latencies}", level_in_words(find, rung.level), verdict(rung))
}
