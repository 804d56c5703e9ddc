//! Runs that were taken in turns: which run of B belongs to which of A, from the times at which they started.

use jiff::Timestamp;

use super::model::{Group, GroupProblem, Method, Run};

/// Most runs whose order is shown.
const SHOWN: usize = 16;

/// Choice of pairs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Pairing {
    /// Pairs if the runs were taken in turns.
    #[default]
    Auto,
    /// Pairs in the order of the starts, whatever that order is.
    On,
    /// No pairs.
    Off,
}

/// The way in which two groups are compared.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Turns {
    pub(super) method: Method,
    /// The reason, as the end of a sentence.
    pub(super) why: String,
    /// The indexes of the runs of each pair, if there are pairs.
    pub(super) pairs: Vec<(usize, usize)>,
}

impl Turns {
    fn without_pairs(method: Method, why: impl Into<String>) -> Self {
        Self { method, why: why.into(), pairs: Vec::new() }
    }

    /// Returns the method with the reason for it as a sentence.
    pub(super) fn sentence(&self) -> String {
        let method = match self.method {
            Method::Paired => "Student's interval of the differences within pairs",
            Method::Welch | Method::Student => "Welch's interval of two groups without pairs",
            Method::Single => "no interval over runs",
        };
        format!("{method}, because {}", self.why)
    }
}

/// Chooses how the runs of two groups are compared.
///
/// # Errors
/// Pairs are wanted, and there are not as many runs of both.
pub(super) fn turns(a: &Group, b: &Group, wish: Pairing) -> Result<Turns, GroupProblem> {
    let counts = (a.runs.len(), b.runs.len());
    let differ = format!("{} has {} and {} has {}", a.letter, runs(counts.0), b.letter, runs(counts.1));
    if wish == Pairing::On && counts.0 != counts.1 {
        return Err(GroupProblem(format!("--paired on: {differ}: leave the runs without a partner out")));
    }
    if counts.0 == 1 || counts.1 == 1 {
        return Ok(Turns::without_pairs(Method::Single, differ));
    }
    let welch = |why: String| Ok(Turns::without_pairs(Method::Welch, why));
    match wish {
        Pairing::Off => welch("--paired is off".to_owned()),
        Pairing::On => {
            let starts = starts(a).and_then(|of_a| Ok((of_a, starts(b)?)));
            let (first, second) = match &starts {
                Ok((a, b)) => (in_order(a), in_order(b)),
                // Without times the user's order is all that is known.
                Err(_) => ((0..counts.0).collect(), (0..counts.1).collect()),
            };
            let order = if starts.is_ok() {
                "of their starts"
            } else {
                "in which they were given, since some have no start"
            };
            let why = format!("--paired is on: the runs are paired in the order {order}");
            Ok(Turns { method: Method::Paired, why, pairs: first.into_iter().zip(second).collect() })
        }
        Pairing::Auto if counts.0 != counts.1 => welch(format!("{differ}, so there are no pairs")),
        Pairing::Auto => {
            let (of_a, of_b) = match (starts(a), starts(b)) {
                (Ok(a), Ok(b)) => (a, b),
                (Err(NoStart(file)), _) | (_, Err(NoStart(file))) => {
                    return welch(format!("{file} does not say when its run started"));
                }
            };
            if let Some(other) = other_host(a, b) {
                return welch(format!("the runs were not taken on one machine: {other}"));
            }
            Ok(by_times(a, b, &of_a, &of_b))
        }
    }
}

/// Pairs the runs if each two that follow each other are one of A and one of B, and each side is first in about half of the
/// pairs. If one side always were, a machine that slowly changes would make all pairs differ in the same direction, and an
/// interval of their differences would take that for the difference of the sides.
fn by_times(a: &Group, b: &Group, of_a: &[Timestamp], of_b: &[Timestamp]) -> Turns {
    let of = |starts: &[Timestamp], is_a: bool| -> Vec<(Timestamp, bool, usize)> {
        starts.iter().zip(0..).map(|(start, place)| (*start, is_a, place)).collect()
    };
    let mut all = [of(of_a, true), of(of_b, false)].concat();
    all.sort_unstable();
    let letters: Vec<&str> =
        all.iter().take(SHOWN).map(|(_, is_a, _)| if *is_a { &*a.letter } else { &*b.letter }).collect();
    let more = if all.len() > SHOWN { " …" } else { "" };
    let order = format!("{}{more}", letters.join(" "));
    let pair = |two: &[(Timestamp, bool, usize)]| match two {
        [(_, true, a), (_, false, b)] | [(_, false, b), (_, true, a)] => Some((*a, *b)),
        _ => None,
    };
    let first_of_a = all.iter().step_by(2).filter(|(_, is_a, _)| *is_a).count();
    let first_of_b = all.len() / 2 - first_of_a;
    let is_balanced = first_of_a.abs_diff(first_of_b) <= (all.len() / 8).max(1);
    match all.chunks(2).map(pair).collect::<Option<Vec<_>>>() {
        Some(pairs) if is_balanced => Turns {
            method: Method::Paired,
            why: format!("the runs were taken in turns: {order} by their starts"),
            pairs,
        },
        Some(_) => {
            let first = if first_of_a > first_of_b { a } else { b };
            Turns::without_pairs(
                Method::Welch,
                format!(
                    "{} was first in most pairs ({order} by their starts), so a machine that changes would favour one side: \
                     let the sides take turns in being first",
                    first.letter
                ),
            )
        }
        None => Turns::without_pairs(
            Method::Welch,
            format!("the runs were not taken in turns: {order} by their starts"),
        ),
    }
}

/// The file of a run that does not say when it started.
struct NoStart(String);

/// Returns the starts of the runs of a group.
///
/// # Errors
/// The file of a run without one.
fn starts(group: &Group) -> Result<Vec<Timestamp>, NoStart> {
    let start = |run: &Run| run.result.window.start.parse().map_err(|_| NoStart(run.file.clone()));
    group.runs.iter().map(start).collect()
}

/// Returns the places of values in their order.
fn in_order(values: &[Timestamp]) -> Vec<usize> {
    let mut places: Vec<usize> = (0..values.len()).collect();
    places.sort_by_key(|place| values[*place]);
    places
}

/// Returns a file of another host than the first with both names, if there is one.
fn other_host(a: &Group, b: &Group) -> Option<String> {
    let host = |run: &Run| run.result.host.hostname.clone();
    let first = a.runs.first()?;
    let other = a.runs.iter().chain(&b.runs).find(|run| host(run) != host(first))?;
    Some(format!("{} on {}, {} on {}", first.file, host(first), other.file, host(other)))
}

fn runs(count: usize) -> String {
    crate::figures::plural(count as u64, "run")
}
