//! Claims of figures: a sentence, and the conditions under which the numbers of a sweep support it.
//!
//! | condition | meaning |
//! |---|---|
//! | `rises METRIC`, `falls METRIC` | from the first value along the bottom to the last one, in each line |
//! | `flat METRIC within N%` | in each line, no median is further from the mean of the medians |
//! | `METRIC < N`, `METRIC > N` | in each mark |
//! | `METRIC is AXIS within N`, or `within N%` | each mark is near the number that its value of the axis is |
//! | `peaks METRIC from A to B` | in each line, the greatest median is at A to B along the bottom |
//! | `A > B`, `A < 1.2 * B` | at each place, of two values of an axis of the figure |
//!
//! `where AXIS=LABEL` after a condition restricts it to marks with that value. In box plots the number is the
//! unevenness of the nodes: the distance from the least to the greatest, in percent of the greatest. Over time, `rises`
//! and `falls` compare the first third of the seconds with the last third.

use std::fmt;

use super::comparison::Comparison;
use super::figure::{Cell, Figure, FigureSpec, Kind};
use super::points::{Axis, Spread};
use crate::figures::number;
use crate::reasons::BadClaim;

pub use super::figure::{Claim, Outcome, Verdict};

/// The least difference between two single runs that counts as one.
const NOISE: f64 = 0.05;

/// A condition over the numbers of a figure.
#[derive(Debug, Clone, PartialEq)]
pub struct Condition {
    metric: String,
    test: Test,
    /// The axis and its value, of the marks that count.
    only: Option<(String, String)>,
}

#[derive(Debug, Clone, PartialEq)]
enum Test {
    Rises,
    Falls,
    /// Greatest distance from the mean, as a share.
    Flat(f64),
    Below(f64),
    Above(f64),
    /// Near the value of an axis.
    Is(String, Within),
    Peaks(f64, f64),
    Compares(Comparison),
}

/// A tolerance.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Within {
    /// A distance in the unit of the number.
    Units(f64),
    /// A share of the wanted number.
    Share(f64),
}

impl fmt::Display for Within {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Units(units) => f.write_str(&number(*units)),
            Self::Share(share) => write!(f, "{} %", number(100.0 * share)),
        }
    }
}

impl Condition {
    /// Reads a condition of a figure in a sweep with these axes.
    ///
    /// # Errors
    /// The text is no condition, or names a metric, an axis or a value that the figure does not have.
    pub fn parse(text: &str, spec: &FigureSpec, axes: &[Axis]) -> Result<Self, BadClaim> {
        let metrics = &spec.y;
        let names: Vec<String> = axes.iter().map(|axis| axis.name.clone()).collect();
        // A label may have spaces.
        let (condition, only) = match text.split_once(" where ") {
            Some((condition, only)) => {
                let (axis, label) =
                    only.split_once('=').ok_or_else(|| BadClaim("where needs AXIS=LABEL".to_owned()))?;
                (condition, Some((known("axis", axis.trim(), &names)?, label.trim().to_owned())))
            }
            None => (text, None),
        };
        if let Some((metric, compared)) = compared(condition, spec, axes) {
            let metric = metric.ok_or_else(|| {
                let first = metrics.first().map_or("", String::as_str);
                BadClaim(format!(
                    "{text:?} names no metric, and the figure has several: write {first}: {compared}"
                ))
            })?;
            let test = Test::Compares(Comparison::parse(compared, spec, axes)?);
            return Ok(Self { metric: metric.to_owned(), test, only });
        }
        let words: Vec<&str> = condition.split_whitespace().collect();
        let share = |text: &str| -> Result<f64, BadClaim> { Ok(value(text.trim_end_matches('%'))? / 100.0) };
        let within = |text: &str| match text.strip_suffix('%') {
            Some(_) => share(text).map(Within::Share),
            None => value(text).map(Within::Units),
        };
        let (metric, test) = match words[..] {
            ["rises", metric] => (metric, Test::Rises),
            ["falls", metric] => (metric, Test::Falls),
            ["flat", metric, "within", near] if near.ends_with('%') => (metric, Test::Flat(share(near)?)),
            [metric, "<", bound] => (metric, Test::Below(value(bound)?)),
            [metric, ">", bound] => (metric, Test::Above(value(bound)?)),
            [metric, "is", axis, "within", near] => {
                (metric, Test::Is(known("axis", axis, &names)?, within(near)?))
            }
            ["peaks", metric, "from", from, "to", to] => (metric, Test::Peaks(value(from)?, value(to)?)),
            _ => {
                return Err(BadClaim(format!(
                    "{text:?} is no condition: use rises METRIC, falls METRIC, flat METRIC within N%, METRIC < N, \
                     METRIC > N, METRIC is AXIS within N, peaks METRIC from A to B, or A > B of two values of an axis"
                )));
            }
        };
        Ok(Self { metric: known("metric", metric, metrics)?, test, only })
    }

    /// Judges the figure. Returns the outcome and the reason for each line.
    fn judge(&self, figure: &Figure, axes: &[Axis]) -> Vec<(Outcome, String)> {
        let mut all = match &self.test {
            Test::Compares(comparison) => {
                comparison.judge(&self.metric, figure, &|places| self.covers(places))
            }
            _ => self.judge_lines(figure, axes),
        };
        if all.is_empty() {
            all.push((Outcome::Undecided, format!("{}: no run has a number", self.metric)));
        }
        all
    }

    /// Judges each line of the figure by itself.
    fn judge_lines(&self, figure: &Figure, axes: &[Axis]) -> Vec<(Outcome, String)> {
        let over_time = figure.spec.is_over_time(axes);
        let mut all = Vec::new();
        for panel in figure.panels.iter().filter(|panel| panel.metric == self.metric) {
            for series in &panel.series {
                let places = [(&figure.spec.panel, &panel.title), (&figure.spec.series, &series.name)];
                if !self.covers(&places) {
                    continue;
                }
                let marks = panel.x.iter().zip(&series.cells).filter_map(|(x, cell)| {
                    let covered = self.covers(&[(&Some(figure.spec.x.clone()), x)]);
                    let spread = spread(cell, figure.spec.kind).filter(|_| covered)?;
                    Some(Mark { x: x.clone(), spread })
                });
                let marks: Vec<Mark> = marks.collect();
                let names: Vec<&str> = [&panel.title, &series.name]
                    .into_iter()
                    .filter(|name| !name.is_empty())
                    .map(String::as_str)
                    .collect();
                let unit = if figure.spec.kind == Kind::Boxplot { " % of unevenness" } else { "" };
                let (outcome, reason) = match self.number_of(&places) {
                    Err(problem) => (Outcome::Undecided, problem.into()),
                    Ok(_) if marks.is_empty() => (Outcome::Undecided, "no run has a number".to_owned()),
                    Ok(_) if over_time => self.over_time(&marks),
                    Ok(wanted) => self.over_marks(&marks, wanted, unit),
                };
                let of = if names.is_empty() { String::new() } else { format!(" ({})", names.join(", ")) };
                all.push((outcome, format!("{}{of}: {reason}", self.metric)));
            }
        }
        all
    }

    /// Returns true if the places, each an axis and its value, fit the restriction.
    fn covers(&self, places: &[(&Option<String>, &String)]) -> bool {
        let Some((wanted, label)) = &self.only else { return true };
        places.iter().all(|(axis, value)| axis.as_ref() != Some(wanted) || *value == label)
    }

    /// Returns the number of the line's value of the axis that `is` names; `None` if the axis is along the bottom, or
    /// if the condition has none.
    fn number_of(&self, places: &[(&Option<String>, &String)]) -> Result<Option<f64>, BadClaim> {
        let Test::Is(axis, _) = &self.test else { return Ok(None) };
        let place = places.iter().find(|(name, _)| name.as_ref() == Some(axis));
        let Some((_, label)) = place else { return Ok(None) };
        label.parse().map(Some).map_err(|_| BadClaim(format!("{label} is no number")))
    }

    /// Judges a line over time. `rises` and `falls` compare the means of its first and its last third.
    fn over_time(&self, marks: &[Mark]) -> (Outcome, String) {
        let third = (marks.len() / 3).max(1);
        let mean = |part: &[Mark]| {
            let mean = |of: fn(&Spread) -> f64| {
                part.iter().map(|mark| of(&mark.spread)).sum::<f64>() / part.len().max(1) as f64
            };
            let runs = part.iter().map(|mark| mark.spread.runs).min().unwrap_or_default();
            Spread { median: mean(|of| of.median), min: mean(|of| of.min), max: mean(|of| of.max), runs }
        };
        match self.test {
            Test::Rises | Test::Falls if marks.len() > 1 => {
                let (first, last) = (&marks[..third], &marks[marks.len() - third..]);
                let ends = [("the first third", mean(first)), ("the last third", mean(last))];
                self.change(&ends, "")
            }
            _ => self.over_marks(marks, None, ""),
        }
    }

    /// Judges the marks of a line. `wanted` is the number that each of them should be.
    fn over_marks(&self, marks: &[Mark], wanted: Option<f64>, unit: &str) -> (Outcome, String) {
        let each = |judge: &dyn Fn(&Mark) -> (Outcome, String)| {
            let judged = marks.iter().map(judge);
            judged.max_by_key(|(outcome, _)| *outcome).unwrap_or((Outcome::Undecided, "no number".to_owned()))
        };
        let at = |mark: &Mark| format!("{}{unit} at {}", mark.spread.shown(), mark.x);
        let beyond = |mark: &Mark, below: bool, bound: f64| {
            let Spread { min, max, .. } = mark.spread;
            let (holds, fails) =
                if below { (max < bound, min >= bound) } else { (min > bound, max <= bound) };
            let outcome = match (holds, fails) {
                (true, _) => Outcome::Supported,
                (_, true) => Outcome::NotSupported,
                _ => Outcome::Undecided,
            };
            let sign = if below { "below" } else { "above" };
            (outcome, format!("{}, wanted {sign} {}", at(mark), number(bound)))
        };
        match &self.test {
            Test::Rises | Test::Falls => match (marks.first(), marks.last()) {
                (Some(first), Some(last)) if marks.len() > 1 => {
                    self.change(&[(first.x.as_str(), first.spread), (last.x.as_str(), last.spread)], unit)
                }
                _ => (Outcome::Undecided, "a single value along the bottom has a number".to_owned()),
            },
            Test::Flat(share) => {
                let mean = marks.iter().map(|mark| mark.spread.median).sum::<f64>() / marks.len() as f64;
                let off = |mark: &Mark| (mark.spread.median - mean).abs() / mean.abs();
                let furthest = marks.iter().max_by(|a, b| off(a).total_cmp(&off(b)));
                let Some(furthest) = furthest.filter(|_| marks.len() > 1) else {
                    return (Outcome::Undecided, "a single value along the bottom has a number".to_owned());
                };
                let outcome =
                    if off(furthest) <= *share { Outcome::Supported } else { Outcome::NotSupported };
                let percent = number(100.0 * off(furthest));
                (outcome, format!("{}, {percent} % from the mean of {}", at(furthest), number(mean)))
            }
            Test::Below(bound) => each(&|mark| beyond(mark, true, *bound)),
            Test::Above(bound) => each(&|mark| beyond(mark, false, *bound)),
            Test::Is(_, within) => each(&|mark| {
                let Some(wanted) = wanted.or_else(|| mark.x.parse().ok()) else {
                    return (Outcome::Undecided, format!("{} is no number", mark.x));
                };
                let near = match within {
                    Within::Units(units) => *units,
                    Within::Share(share) => share * f64::abs(wanted),
                };
                let is_near = (mark.spread.median - wanted).abs() <= near;
                let outcome = if is_near { Outcome::Supported } else { Outcome::NotSupported };
                (outcome, format!("{}, wanted {} within {within}", at(mark), number(wanted)))
            }),
            Test::Peaks(from, to) => {
                let greatest = marks.iter().max_by(|a, b| a.spread.median.total_cmp(&b.spread.median));
                let Some((mark, x)) = greatest.and_then(|mark| Some((mark, mark.x.parse::<f64>().ok()?)))
                else {
                    return (Outcome::Undecided, "no number along the bottom".to_owned());
                };
                let inside = (*from..=*to).contains(&x);
                let outcome = if inside { Outcome::Supported } else { Outcome::NotSupported };
                (outcome, format!("peak of {}, wanted from {} to {}", at(mark), number(*from), number(*to)))
            }
            // Compared place by place.
            Test::Compares(_) => (Outcome::Undecided, "is no condition of a line".to_owned()),
        }
    }

    /// Judges a rise or a fall between two ends. Their runs must not overlap.
    fn change(&self, ends: &[(&str, Spread); 2], unit: &str) -> (Outcome, String) {
        let [(first_x, first), (last_x, last)] = ends;
        let (up, down) = match first.runs.min(last.runs) {
            // A single run has no spread.
            0 | 1 => {
                let change = (last.median - first.median) / first.median.abs().max(f64::MIN_POSITIVE);
                (change > NOISE, change < -NOISE)
            }
            _ => (last.min > first.max, last.max < first.min),
        };
        let (as_claimed, against) = if self.test == Test::Rises { (up, down) } else { (down, up) };
        let outcome = match (as_claimed, against) {
            (true, _) => Outcome::Supported,
            (_, true) => Outcome::NotSupported,
            _ => Outcome::Undecided,
        };
        let change = match (up, down) {
            (true, _) => "rises",
            (_, true) => "falls",
            _ => "no clear change",
        };
        let (first, last) = (first.shown(), last.shown());
        (outcome, format!("{first}{unit} at {first_x}, {last}{unit} at {last_x}: {change}"))
    }
}

/// A mark of a line.
struct Mark {
    /// Value along the bottom.
    x: String,
    spread: Spread,
}

impl Figure {
    /// Returns the verdict on the claim of the figure; none without a claim.
    #[must_use]
    pub fn judge(&self, axes: &[Axis]) -> Option<Verdict> {
        let claim = self.spec.claim.as_ref()?;
        let judged = claim.supports.iter().flat_map(|text| match Condition::parse(text, &self.spec, axes) {
            Ok(condition) => condition.judge(self, axes),
            Err(problem) => vec![(Outcome::Undecided, problem.into())],
        });
        let judged: Vec<(Outcome, String)> = judged.collect();
        let outcome = judged.iter().map(|(outcome, _)| *outcome).max().unwrap_or(Outcome::Undecided);
        Some(Verdict { outcome, reasons: judged.into_iter().map(|(_, reason)| reason).collect() })
    }
}

/// Returns the number of a mark with its spread over the runs; for a box, the unevenness of the nodes in percent.
fn spread(cell: &Cell, kind: Kind) -> Option<Spread> {
    let value = cell.value?;
    if kind != Kind::Boxplot {
        return Some(value);
    }
    let uneven = 100.0 * (value.max - value.min) / value.max.abs().max(f64::MIN_POSITIVE);
    Some(Spread { median: uneven, min: uneven, max: uneven, runs: 1 })
}

/// Returns the metric and the text of a condition that compares two values of an axis; none for another condition. The
/// metric is missing if the figure has several and the condition names none.
fn compared<'a>(
    condition: &'a str,
    spec: &'a FigureSpec,
    axes: &[Axis],
) -> Option<(Option<&'a str>, &'a str)> {
    let is_metric = |name: &str| spec.y.iter().any(|metric| metric == name);
    if let Some((metric, rest)) = condition.split_once(':')
        && is_metric(metric.trim())
    {
        return Some((Some(metric.trim()), rest.trim()));
    }
    let (left, _, right) = Comparison::sides(condition)?;
    let is_value = |label: &str| axes.iter().flat_map(|axis| &axis.values).any(|value| value == label);
    let bound = is_metric(left) || right.parse::<f64>().is_ok() && !is_value(left);
    let only = if spec.y.len() == 1 { spec.y.first().map(String::as_str) } else { None };
    (!bound).then(|| (only, condition.trim()))
}

fn value(text: &str) -> Result<f64, BadClaim> {
    text.parse()
        .ok()
        .filter(|value: &f64| value.is_finite())
        .ok_or_else(|| BadClaim(format!("{text:?} is no number")))
}

fn known(what: &str, name: &str, all: &[String]) -> Result<String, BadClaim> {
    if all.iter().any(|known| known == name) {
        return Ok(name.to_owned());
    }
    Err(BadClaim(format!("{name:?} is no {what} of the figure: use {}", all.join(", "))))
}
