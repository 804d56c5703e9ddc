//! Latencies and aborts before, during and after each fault of a run, from the pieces into which the faults cut its window.

use lydite_bench::{Histogram, Piece};
use lydite_database::AbortReason;
use lydite_faults::FaultSpec;
use lydite_plan::controls::faults::{begin_s, end_s};
use lydite_report::faults::{Around, FaultAvailability};
use std::collections::BTreeMap;
use std::ops::Range;

/// Least number of latencies for a percentile: of fewer, the 99th is the greatest one.
const LEAST: u64 = 100;

/// Adds the latencies and aborts to the availability in each fault. `faults` are those of the plan, with each
/// occurrence of one that repeats.
pub(crate) fn add_to(judged: &mut [FaultAvailability], faults: &[&FaultSpec], pieces: &[Piece]) {
    // Faults that did not begin are no limits.
    let begins: Vec<u64> =
        judged.iter().filter_map(|of| faults.get(of.fault)).map(|fault| begin_s(fault)).collect();
    for of in judged {
        let Some(fault) = faults.get(of.fault) else { continue };
        let spans = spans(begin_s(fault), end_s(fault), &begins);
        let p99_ms = |span: &Range<u64>| {
            let latency = latency(pieces, span)?;
            Some(latency.value_at_quantile(0.99) as f64 / 1e6)
        };
        of.p99_ms = Around {
            before: p99_ms(&spans.before),
            during: p99_ms(&spans.during),
            after: p99_ms(&spans.after),
        };
        of.aborts = Around {
            before: aborts(pieces, &spans.before),
            during: aborts(pieces, &spans.during),
            after: aborts(pieces, &spans.after),
        };
    }
}

/// Returns the seconds around a fault. `begins` are the seconds when faults begin.
fn spans(from_s: u64, to_s: Option<u64>, begins: &[u64]) -> Around<Range<u64>> {
    let first = begins.iter().copied().min().unwrap_or(from_s);
    let next = begins.iter().copied().filter(|begin| *begin > from_s).min().unwrap_or(u64::MAX);
    let end = to_s.unwrap_or(next);
    Around { before: 0..first, during: from_s..end, after: end..next.max(end) }
}

fn within<'a>(pieces: &'a [Piece], span: &Range<u64>) -> impl Iterator<Item = &'a Piece> {
    pieces.iter().filter(move |piece| span.contains(&piece.from_s))
}

/// Returns all latencies of these seconds; `None` if there are too few.
fn latency(pieces: &[Piece], span: &Range<u64>) -> Option<Histogram<u64>> {
    let mut all = within(pieces, span).map(|piece| &piece.first_latency);
    let mut sum = all.next()?.clone();
    for other in all {
        // Histograms that grow take the values of any other one.
        let _added = sum.add(other);
    }
    (sum.len() >= LEAST).then_some(sum)
}

/// Returns the aborts of these seconds by reason; empty without such seconds.
fn aborts(pieces: &[Piece], span: &Range<u64>) -> BTreeMap<String, u64> {
    let mut all = BTreeMap::new();
    for piece in within(pieces, span) {
        for reason in AbortReason::ALL {
            *all.entry(reason.name().to_owned()).or_default() += piece.aborts[reason.index()];
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pieces that begin at these seconds, each with one latency in ms and so many deadlocks.
    fn pieces(of: &[(u64, u64, u64)]) -> Vec<Piece> {
        let piece = |(from_s, latency_ms, deadlocks): &(u64, u64, u64)| {
            let mut first_latency = Histogram::new(2).unwrap();
            first_latency.record_n(latency_ms * 1_000_000, LEAST).unwrap();
            let mut aborts = [0; AbortReason::COUNT];
            aborts[AbortReason::Deadlock.index()] = *deadlocks;
            Piece { from_s: *from_s, first_latency, aborts }
        };
        of.iter().map(piece).collect()
    }

    fn judged(faults: &[&str], began: &[usize], pieces: &[Piece]) -> Vec<FaultAvailability> {
        let time =
            |text: &str| text.trim_end_matches('s').parse().map(std::time::Duration::from_secs_f64).ok();
        let specs: Vec<FaultSpec> = faults
            .iter()
            .map(|fault| {
                let (kind, rest) = fault.split_once('@').unwrap();
                let (from, to) = rest.split_once("..").map_or((rest, None), |(from, to)| (from, Some(to)));
                FaultSpec {
                    kind: kind.into(),
                    arguments: None,
                    from: time(from).unwrap(),
                    to: to.and_then(time),
                    every: None,
                    host: None,
                    places: Vec::new(),
                    commands: None,
                }
            })
            .collect();
        let mut judged: Vec<FaultAvailability> =
            began.iter().map(|&fault| FaultAvailability { fault, ..FaultAvailability::default() }).collect();
        add_to(&mut judged, &specs.iter().collect::<Vec<_>>(), pieces);
        judged
    }

    /// Milliseconds before, during and after, within the precision of the histograms.
    fn milliseconds(of: &FaultAvailability) -> [Option<u64>; 3] {
        [of.p99_ms.before, of.p99_ms.during, of.p99_ms.after].map(|ms| ms.map(|ms| ms as u64))
    }

    fn deadlocks(of: &FaultAvailability) -> [Option<u64>; 3] {
        [&of.aborts.before, &of.aborts.during, &of.aborts.after].map(|of| of.get("deadlock").copied())
    }

    #[test]
    fn each_fault_has_the_seconds_before_the_first_one_its_own_and_those_up_to_the_next() {
        let faults = ["stop@8.5s..11.2s", "kill@20s"];
        let pieces = pieces(&[(0, 10, 1), (8, 100, 2), (12, 20, 3), (20, 40, 4)]);
        let [stop, kill] = &judged(&faults, &[0, 1], &pieces)[..] else { panic!("two") };
        assert_eq!(milliseconds(stop), [Some(10), Some(100), Some(20)]);
        assert_eq!(deadlocks(stop), [Some(1), Some(2), Some(3)]);
        assert_eq!(milliseconds(kill), [Some(10), Some(40), None], "it has no end");
        assert_eq!(deadlocks(kill), [Some(1), Some(4), None]);
    }

    #[test]
    fn a_fault_that_did_not_begin_is_no_limit_and_faults_may_overlap() {
        let faults = ["stop@5s..8s", "cpu-burn@6s..10s"];
        let pieces = pieces(&[(0, 10, 1), (5, 50, 2), (6, 60, 4), (8, 80, 8), (10, 11, 16)]);
        let [burn] = &judged(&faults, &[1], &pieces)[..] else { panic!("one") };
        assert_eq!(deadlocks(burn), [Some(3), Some(12), Some(16)]);
        let [stop, burn] = &judged(&faults, &[0, 1], &pieces)[..] else { panic!("two") };
        assert_eq!(deadlocks(stop), [Some(1), Some(6), None], "the next one began before its end");
        assert_eq!(deadlocks(burn), [Some(1), Some(12), Some(16)]);
        assert_eq!(milliseconds(stop), [Some(10), Some(60), None]);
    }
}
