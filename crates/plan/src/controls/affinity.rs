//! Affinity: sessions prefer the warehouses that their endpoint leads.

use crate::controls::{About, Control, Ground, Ran, Schedule};
use crate::entries::Entries;
use crate::error::PlanError;
use crate::key::Key;
use crate::values::number;
use lydite_bench::RunPlan;
use lydite_report::controls::Controls;
use lydite_report::plan::PlanInfo;

/// Affinity of sessions; off unless the plan sets it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Affinity(pub bool);

impl Control for Affinity {
    const KEYS: &'static [Key] = &[Key::new("affinity")
        .switch("Let sessions of --mode direct play the warehouses that their endpoint leads")];
    type Step = ();
    type Settled = ();

    fn read(entries: &mut Entries, about: &About<'_>) -> Self {
        let on = entries.read("affinity", |text| number(text, "must be true or false")).unwrap_or(false);
        if !on {
            return Self(false);
        }
        if about.rte || about.open {
            let problem = "needs --mode direct: in the other modes any session of the pool takes a request";
            entries.wrong("affinity", problem);
        }
        if about.target.is_some_and(|target| target.endpoints() < 2) {
            let problem = "needs several endpoints: name more hosts in the URL, or add ?nodes=HOST:PORT,…";
            entries.wrong("affinity", problem);
        }
        if about.target.is_some_and(|target| !target.keeps_connections()) {
            let problem =
                "is not possible with connection=per-transaction: a session has no endpoint of its own";
            entries.wrong("affinity", problem);
        }
        if entries.text("homes").is_some() {
            let problem = "is not possible with homes: a terminal then has no warehouse of its own";
            entries.wrong("affinity", problem);
        }
        Self(true)
    }

    fn read_step(_: &mut Entries) {}

    /// Rejects a database that could not report its leaders: the sessions would keep to the wrong warehouses.
    fn settle(&self, _: &Schedule, ground: &Ground) -> Result<(), PlanError> {
        match ground.place.missing().filter(|_| self.0) {
            None => Ok(()),
            Some(why) => Err(PlanError::usage(format!(
                "--affinity: the nodes of the warehouses could not be read ({why}): leave --affinity out, or place the \
                 warehouses on as many nodes as there are endpoints with --nodes N"
            ))),
        }
    }

    fn shape(&self, _: &(), run: &mut RunPlan) {
        run.affinity = self.0;
    }

    fn write_plan(&self, _: &Ran<'_>, info: &mut PlanInfo) {
        info.affinity = self.0.then_some(true);
    }

    /// The endpoints of the result show its effect.
    fn write(&self, _: &Ran<'_>, _: &mut Controls) {}
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may panic")]

    use super::*;
    use crate::controls::tests::{DIRECT, entries};
    use lydite_database::TxMode;
    use lydite_families::TargetSpec;

    #[test]
    fn affinity_needs_direct_mode_and_several_endpoints() {
        let one = TargetSpec::parse("postgres://a/t", TxMode::Statements).unwrap();
        let two = TargetSpec::parse("postgres://a,b/t", TxMode::Statements).unwrap();
        let errors = |values: &[(&str, &str)], about: &About<'_>| {
            let mut plan = entries(values);
            let read = Affinity::read(&mut plan, about);
            (read, plan.errors.join("; "))
        };
        let on = [("affinity", "true")];
        let of = |target| About { target: Some(target), ..DIRECT };
        assert_eq!(errors(&on, &of(&two)), (Affinity(true), String::new()));
        assert_eq!(errors(&[("affinity", "false")], &of(&one)), (Affinity(false), String::new()));
        for (values, about, problem) in [
            (&on[..], of(&one), "needs several endpoints"),
            (&on[..], About { rte: true, ..of(&two) }, "needs --mode direct"),
            (&on[..], About { open: true, ..of(&two) }, "needs --mode direct"),
            (&[("affinity", "true"), ("homes", "zipf(1)")][..], of(&two), "is not possible with homes"),
            (&[("affinity", "leader")][..], of(&two), "must be true or false"),
        ] {
            let (_, found) = errors(values, &about);
            assert!(found.contains(problem), "{found}");
        }
    }
}
