//! Random streams: uniform, and independent from number to number and from stream to stream.

use super::Judged;
use crate::finding::{Seen, Trouble};
use crate::stage::Stage;
use lydite_tpcc::chi_squared::uniform;
use lydite_tpcc::random::{Purpose, Stream};

/// Streams to look at: those of neighbouring terminals.
const STREAMS: u64 = 1_000;
/// Numbers of each stream.
const NUMBERS: usize = 1_000;
/// Cells of a number.
const CELLS: usize = 16;

/// Counts of numbers and of pairs of numbers.
struct Counts {
    numbers: Vec<u64>,
    /// Pairs that follow each other in a stream.
    following: Vec<u64>,
    /// Pairs at the same place of neighbouring streams.
    neighbouring: Vec<u64>,
    /// Ones at each place of 64 bits.
    ones: [u64; 64],
}

/// Counts the numbers of streams.
fn count(streams: impl Iterator<Item = Stream>) -> Counts {
    let pairs = vec![0; CELLS * CELLS];
    let mut counts =
        Counts { numbers: vec![0; CELLS], following: pairs.clone(), neighbouring: pairs, ones: [0; 64] };
    let mut before: Option<Vec<usize>> = None;
    for mut stream in streams {
        let numbers: Vec<usize> = (0..NUMBERS).map(|_| stream.below(CELLS as u32) as usize).collect();
        numbers.iter().for_each(|&number| counts.numbers[number] += 1);
        // Pairs that share no number, so that they are independent.
        for pair in numbers.chunks_exact(2) {
            counts.following[pair[0] * CELLS + pair[1]] += 1;
        }
        for _ in 0..NUMBERS {
            let bits = stream.bits();
            for (place, ones) in counts.ones.iter_mut().enumerate() {
                *ones += bits >> place & 1;
            }
        }
        before = match before {
            None => Some(numbers),
            Some(before) => {
                for (one, other) in before.iter().zip(&numbers) {
                    counts.neighbouring[one * CELLS + other] += 1;
                }
                None
            }
        };
    }
    counts
}

/// Judges the streams of terminals.
pub(super) fn randomness(stage: &Stage<'_>) -> Result<Seen, Trouble> {
    let seed = stage.audit.seed;
    let counts = count((0..STREAMS).map(|index| Stream::new(seed, Purpose::Terminal, index)));
    stage.step(format!(
        "{NUMBERS} numbers of each of {STREAMS} terminals' streams were drawn with seed {seed}"
    ));
    let mut judged = Judged::default();
    judge(&mut judged, stage, &counts);
    judged.end("tests of the streams")
}

fn judge(judged: &mut Judged, stage: &Stage<'_>, counts: &Counts) {
    let pairs = uniform(CELLS * CELLS);
    judged.judge_counts(stage, "numbers", &counts.numbers, &uniform(CELLS));
    judged.judge_counts(stage, "pairs that follow each other", &counts.following, &pairs);
    judged.judge_counts(stage, "pairs of neighbouring terminals", &counts.neighbouring, &pairs);
    let draws = STREAMS * NUMBERS as u64;
    let far = |ones: &u64| (*ones as f64 - draws as f64 / 2.0).abs() / (draws as f64 / 4.0).sqrt();
    let farthest = counts.ones.iter().map(far).fold(0.0, f64::max);
    judged.judge(
        stage,
        farthest < super::CHANCE,
        format!("bits: the share of ones at each of 64 places is within {farthest:.1} standard deviations of a half"),
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use lydite_tpcc::chi_squared::excess_deviations;

    #[test]
    fn streams_that_repeat_each_other_are_told_from_independent_ones() {
        let excess = |streams: Vec<Stream>| {
            let counts = count(streams.into_iter());
            excess_deviations(&counts.neighbouring, &uniform(CELLS * CELLS)).expect("numbers enough")
        };
        let of = |index| Stream::new(1, Purpose::Terminal, index);
        assert!(excess((0..100).map(of).collect()) < super::super::CHANCE);
        assert!(excess((0..100).map(|index| of(index / 2)).collect()) > super::super::CHANCE);
    }
}
