//! Conditions that compare two values of an axis: `off > 1.2 * on`. Runs of the same repetition were made close to each
//! other, so each repetition is a pair, and the ratio of the pairs has an interval over the repetitions.
//!
//! A condition holds if it holds at each place of the figure, so the usual interval of each place says that it does. It
//! fails if it fails at one place. With many places some interval misses by chance, so that one needs the interval of an
//! error that all places share (Bonferroni).

use lydite_decide::{ERROR, LEAST_PAIRS, NoRatio, difference_of_pairs, of_pairs, pairs_needed};

use super::figure::{Cell, Figure, FigureSpec, Kind, Outcome};
use super::points::Axis;
use crate::figures::{number, plural};
use crate::reasons::BadClaim;

/// A test of the places of a figure: an axis may have a place in each of its three parts.
pub(super) type Covers<'a> = &'a dyn Fn(&[(&Option<String>, &String)]) -> bool;

/// A condition that compares two values of an axis.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Comparison {
    axis: String,
    left: String,
    /// True for `>`.
    is_above: bool,
    /// Factor of the right side.
    factor: f64,
    right: String,
}

/// A mark of a figure with its place.
struct Mark<'a> {
    /// Values of the panel, of the series and along the bottom.
    at: [&'a String; 3],
    cell: &'a Cell,
}

impl<'a> Mark<'a> {
    /// Returns its place without the part of one axis.
    fn without(&self, role: usize) -> Vec<&'a String> {
        self.at.iter().enumerate().filter(|(place, _)| *place != role).map(|(_, value)| *value).collect()
    }
}

/// An interval of the ratio, or if a number is not above 0 of the difference.
struct Interval {
    of: &'static str,
    middle: f64,
    low: f64,
    high: f64,
    error: f64,
    /// The value that the condition wants the interval above or below.
    bound: f64,
    /// Repetitions that would decide if nothing else changed.
    needed: Option<usize>,
}

impl Comparison {
    /// Splits `LEFT > RIGHT` and `LEFT < RIGHT`; the middle is true for `>`.
    pub(super) fn sides(text: &str) -> Option<(&str, bool, &str)> {
        let split = |sign: &str| text.split_once(sign).map(|(left, right)| (left.trim(), right.trim()));
        let above = split(" > ").map(|(left, right)| (left, true, right));
        above.or_else(|| split(" < ").map(|(left, right)| (left, false, right)))
    }

    /// Reads `LEFT > RIGHT`, `LEFT > FACTOR * RIGHT`, or the same with `<`, of two values of an axis of the figure.
    pub(super) fn parse(text: &str, spec: &FigureSpec, axes: &[Axis]) -> Result<Self, BadClaim> {
        let (left, is_above, right) = Self::sides(text)
            .ok_or_else(|| BadClaim(format!("{text:?} compares nothing: write A > B, or A > 1.2 * B")))?;
        if spec.kind == Kind::Boxplot || spec.is_over_list(axes) {
            return Err(BadClaim(format!(
                "{text:?} compares whole runs: use it in a figure that is none over time, over a list or of boxes"
            )));
        }
        let factored = right.split_once(" * ").and_then(|(factor, label)| {
            let factor: f64 = factor.trim().parse().ok()?;
            (factor.is_finite() && factor > 0.0).then_some((factor, label.trim()))
        });
        let axes = placed(spec, axes);
        for (factor, label) in [Some((1.0, right)), factored].into_iter().flatten() {
            let has =
                |axis: &&(&str, Vec<&String>)| [left, label].iter().all(|of| axis.1.iter().any(|v| v == of));
            if let Some((axis, _)) = axes.iter().find(has) {
                let (axis, left, right) = ((*axis).to_owned(), left.to_owned(), label.to_owned());
                return Ok(Self { axis, left, is_above, factor, right });
            }
        }
        let known = axes.iter().map(|(name, values)| {
            let values: Vec<&str> = values.iter().map(|value| value.as_str()).collect();
            format!("{name} ({})", values.join(", "))
        });
        let known: Vec<String> = known.collect();
        Err(BadClaim(format!(
            "{text:?} does not compare two values of an axis of the figure: use those of {}",
            known.join(" or ")
        )))
    }

    /// Judges a metric of the figure at each place that counts. Returns the outcome and the reason for each.
    pub(super) fn judge(&self, metric: &str, figure: &Figure, covers: Covers<'_>) -> Vec<(Outcome, String)> {
        let spec = &figure.spec;
        let x = Some(spec.x.clone());
        let axes = [&spec.panel, &spec.series, &x];
        let Some(role) = axes.iter().position(|axis| axis.as_ref() == Some(&self.axis)) else {
            return Vec::new();
        };
        let marks = figure.panels.iter().filter(|panel| panel.metric == metric).flat_map(|panel| {
            panel.series.iter().flat_map(move |series| {
                let marks = panel.x.iter().zip(&series.cells);
                marks.map(move |(x, cell)| Mark { at: [&panel.title, &series.name, x], cell })
            })
        });
        let marks: Vec<Mark<'_>> = marks.collect();
        let counts = |mark: &Mark<'_>| {
            let places = (0..3).filter(|place| *place != role).map(|place| (axes[place], mark.at[place]));
            covers(&places.collect::<Vec<_>>())
        };
        let lefts = marks.iter().filter(|mark| *mark.at[role] == self.left && counts(mark));
        let both = lefts.filter_map(|left| {
            let same =
                |mark: &&Mark<'_>| *mark.at[role] == self.right && mark.without(role) == left.without(role);
            Some((left, marks.iter().find(same)?))
        });
        let both: Vec<(&Mark<'_>, &Mark<'_>)> = both.collect();
        let judged = both.iter().map(|(left, right)| {
            let (outcome, reason) = self.judge_place(left.cell, right.cell, both.len());
            let names: Vec<&str> =
                left.without(role).into_iter().map(String::as_str).filter(|name| !name.is_empty()).collect();
            let at = if names.is_empty() { String::new() } else { format!(" at {}", names.join(", ")) };
            (outcome, format!("{metric}{at}: {reason}"))
        });
        judged.collect()
    }

    /// Judges one of `places` places.
    fn judge_place(&self, left: &Cell, right: &Cell, places: usize) -> (Outcome, String) {
        let shown = |name: &str, cell: &Cell| {
            format!("{name} {}", cell.value.map_or_else(|| "–".to_owned(), |spread| spread.shown()))
        };
        let both = format!("{}, {}", shown(&self.left, left), shown(&self.right, right));
        // The second of a pair is compared with the first.
        let pairs: Vec<(f64, f64)> = left
            .values
            .iter()
            .filter_map(|(repetition, value)| {
                let other = right.values.iter().find(|(other, _)| other == repetition)?;
                Some((other.1, *value))
            })
            .collect();
        if pairs.len() < LEAST_PAIRS {
            let made = match pairs.len() {
                0 => "no repetition has both numbers".to_owned(),
                count => format!("{} can't say how far runs differ", plural(count as u64, "repetition")),
            };
            return (Outcome::Undecided, format!("{both}: {made}: it takes {LEAST_PAIRS} or more"));
        }
        let (outcome, found) = match self.decide(&pairs, places) {
            Ok(decided) => decided,
            Err(problem) => return (Outcome::Undecided, format!("{both}: {problem}")),
        };
        let sign = if self.is_above { "above" } else { "below" };
        let needed = match found.needed.map(|needed| needed - pairs.len()) {
            _ if outcome != Outcome::Undecided => String::new(),
            Some(more) => format!("; about {} would decide", plural(more as u64, "more repetition")),
            None => "; more repetitions would hardly decide".to_owned(),
        };
        let reason = format!(
            "{both}: {} {} ({} % interval over {} {} to {}), wanted {sign} {}{needed}",
            found.of,
            number(found.middle),
            // 95, and with one digit an interval that several places share.
            (1_000.0 * (1.0 - found.error)).round() / 10.0,
            plural(pairs.len() as u64, "repetition"),
            number(found.low),
            number(found.high),
            number(found.bound),
        );
        (outcome, reason)
    }

    /// Returns the outcome of these pairs, with the interval that shows it.
    fn decide(&self, pairs: &[(f64, f64)], places: usize) -> Result<(Outcome, Interval), NoRatio> {
        let holds = |of: &Interval| if self.is_above { of.low > of.bound } else { of.high < of.bound };
        let fails = |of: &Interval| if self.is_above { of.high <= of.bound } else { of.low >= of.bound };
        let usual = self.interval(pairs, ERROR)?;
        if holds(&usual) {
            return Ok((Outcome::Supported, usual));
        }
        let strict = self.interval(pairs, ERROR / places.max(1) as f64)?;
        match (fails(&usual), fails(&strict)) {
            (_, true) => Ok((Outcome::NotSupported, strict)),
            (true, false) => Ok((Outcome::Undecided, strict)),
            (false, false) => Ok((Outcome::Undecided, usual)),
        }
    }

    /// Returns the interval of the ratio, or if a number is not above 0 of the difference.
    fn interval(&self, pairs: &[(f64, f64)], error: f64) -> Result<Interval, NoRatio> {
        let needed = |deviation, distance| pairs_needed(deviation, distance, error, pairs.len() + 1);
        match of_pairs(pairs, error) {
            Ok(of) => Ok(Interval {
                of: "ratio",
                middle: of.ratio,
                low: of.low,
                high: of.high,
                error,
                bound: self.factor,
                needed: needed(of.deviation, of.ratio.ln() - self.factor.ln()),
            }),
            Err(NoRatio::NotPositive(_)) => {
                let scaled: Vec<(f64, f64)> =
                    pairs.iter().map(|(right, left)| (self.factor * right, *left)).collect();
                let of = difference_of_pairs(&scaled, error)?;
                Ok(Interval {
                    of: "difference",
                    middle: of.difference,
                    low: of.low,
                    high: of.high,
                    error,
                    bound: 0.0,
                    needed: needed(of.deviation, of.difference),
                })
            }
            Err(other) => Err(other),
        }
    }
}

/// Returns the axes that have a place in a figure, series first, with the values that it shows.
fn placed<'a>(spec: &'a FigureSpec, axes: &'a [Axis]) -> Vec<(&'a str, Vec<&'a String>)> {
    let names = [spec.series.as_deref(), Some(spec.x.as_str()), spec.panel.as_deref()];
    let found = names.into_iter().flatten().filter_map(|name| axes.iter().find(|axis| axis.name == name));
    let shown = |axis: &'a Axis| {
        let only = spec.only.get(&axis.name);
        axis.values.iter().filter(|value| only.is_none_or(|only| only.contains(value))).collect()
    };
    found.map(|axis| (axis.name.as_str(), shown(axis))).collect()
}
