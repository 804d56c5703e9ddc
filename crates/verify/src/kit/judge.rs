//! Judgement of a history by the target's claim.

use super::Trouble;
use super::claim::Claim;
use crate::history::{History, Options, Tally, check};

/// Returns the reason why a target's isolation is not tested.
pub(super) fn undeclared(claim: &Claim) -> Trouble {
    Trouble::NotSupported(format!(
        "no level is declared (isolation {}): name one in isolation or guarantee to have it tested",
        claim.words
    ))
}

/// Judges a history by the declaration.
pub(super) fn judge(history: &History, claim: &Claim, how: &str) -> Result<Tally, Trouble> {
    let level = claim.level.ok_or_else(|| undeclared(claim))?;
    let report = check(history, &Options::new(level))
        .map_err(|error| format!("{how}: the answers make no history: {error}"))?;
    match report.anomalies.iter().find(|found| claim.forbids(found.kind, found.order)) {
        None => Ok(report.transactions),
        Some(found) => {
            let example = found.examples.first().map(ToString::to_string).unwrap_or_default();
            Err(Trouble::Failed(format!(
                "{} is declared, and {how} show {}: {example}",
                claim.words, found.kind
            )))
        }
    }
}
