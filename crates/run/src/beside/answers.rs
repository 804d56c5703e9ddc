//! Answers of a run held against themselves and their inputs.

use crate::companion::{Begun, Companion, Found, Over};
use crate::ready::tpcc::Ready;
use lydite_bench::Contradictions;
use lydite_console::exit::Failure;
use lydite_database::Tpcc;
use lydite_report::model::{ANSWERS_CHECK, CheckResult, CheckedWhen};

/// The answers, which the sessions have held against themselves.
struct Answers;

/// Begins, if the plan checks.
pub(super) fn begin(ready: &Ready<'_>) -> Begun<Tpcc> {
    Ok(ready.checks().then(|| Box::new(Answers) as _))
}

impl Companion<Tpcc> for Answers {
    fn checks(&self, _: &Over<'_, Tpcc>) -> Option<&'static str> {
        Some(ANSWERS_CHECK)
    }

    fn check(&mut self, over: &Over<'_, Tpcc>) -> Result<Found, Failure> {
        Ok(Some(judge(&over.measurement.facts.contradictions)).into())
    }
}

fn judge(found: &Contradictions) -> CheckResult {
    let Contradictions { examined, found, example } = *found;
    let detail = match example {
        None => format!("{examined} answers agree with their inputs and with themselves"),
        Some((kind, contradiction)) => {
            let title = kind.title();
            format!(
                "{found} of {examined} answers contradict themselves or their inputs, as a {title}: {contradiction}"
            )
        }
    };
    CheckResult { id: ANSWERS_CHECK.into(), ok: found == 0, detail, when: CheckedWhen::After, seconds: 0.0 }
}
