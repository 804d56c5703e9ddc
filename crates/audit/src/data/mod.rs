//! Data and inputs as an auditor sees them (clause 9.2.2): the stored rows, the inputs that terminals would send, the
//! random streams behind them, and the nodes that hold the rows.

mod inputs;
mod stored;
mod streams;

use crate::finding::{Property, Seen, Trouble};
use crate::stage::Stage;
use crate::{Extent, Test};
use lydite_tpcc::chi_squared::excess_deviations;
use lydite_tpcc::random::Stream;

/// Greatest excess of a statistic over chance, in standard deviations. Chance is above it in one of three million tests.
const CHANCE: f64 = 5.0;

/// Makes a row of the table.
const fn test(
    id: &'static str,
    clause: &'static str,
    title: &'static str,
    play: fn(&mut Stage<'_>, &mut Stream) -> Result<Seen, Trouble>,
) -> Test {
    Test { property: Property::Data, id, clause, title, extent: Extent::Whole, play }
}

pub(crate) static TESTS: &[Test] = &[
    test("data-1", "4.2.2", "rows of the nine tables", |stage, _| stored::cardinalities(stage)),
    test("data-2", "4.3.3.1", "rules of the initial population", |stage, _| stored::population(stage)),
    test("data-3", "4.3.2", "formats of stored texts", |stage, _| stored::formats(stage)),
    test("data-4", "4.3.3.1", "distributions of stored values", |stage, _| stored::spreads(stage)),
    test("data-5", "2.4.1", "distributions of inputs", |stage, _| inputs::distributions(stage)),
    test("data-6", "2.1.5", "randomness of the streams", |stage, _| streams::randomness(stage)),
    test("data-7", "8.1.5.2", "spread of the rows over nodes", |stage, _| stored::nodes(stage)),
];

/// A test that consists of several judgements, each a step.
#[derive(Default)]
struct Judged {
    good: u32,
    /// Judgements that failed, in words.
    bad: Vec<String>,
}

impl Judged {
    /// Notes a judgement as a step.
    fn judge(&mut self, stage: &Stage<'_>, holds: bool, words: String) {
        if holds {
            self.good += 1;
        } else {
            self.bad.push(words.clone());
        }
        stage.step(if holds { words } else { format!("FAILED: {words}") });
    }

    /// Judges counts of values by their probabilities.
    fn judge_counts(&mut self, stage: &Stage<'_>, title: &str, counts: &[u64], probabilities: &[f64]) {
        let samples: u64 = counts.iter().sum();
        match excess_deviations(counts, probabilities) {
            Some(excess) => self.judge(
                stage,
                excess < CHANCE,
                format!("{title}: χ² of {samples} values is {excess:+.1} standard deviations from chance"),
            ),
            None => stage.step(format!("{title}: not judged, {samples} values are too few")),
        }
    }

    /// Returns the verdict. `what` names the judgements.
    fn end(self, what: &str) -> Result<Seen, Trouble> {
        match (self.good, self.bad.is_empty()) {
            (0, true) => Err(Trouble::NotRun(format!("there are no {what} to judge"))),
            (good, true) => Ok(Seen::plain(format!("all {good} {what} hold"))),
            _ => Err(Trouble::Failed(self.bad.join("; "))),
        }
    }
}
