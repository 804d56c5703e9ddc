//! Reading on replicas: those of the plan, their state before the run, and the reads that they answered.

use crate::controls::{About, Control, Ground};
use crate::exit::{Failure, Outcome};
use crate::interrupt::Interrupt;
use crate::output::complain;
use crate::plan::Plan;
use crate::raw::Raw;
use crate::result::Parts;
use crate::values::time;
use lydite_database::{Replicas, ReplicasReport, Staleness, Target, TargetError, TxMode};
use lydite_families::TargetSpec;
use lydite_report::controls::Controls;
use lydite_report::controls::replicas::{self as report, Lag, ReplicasPlan};
use lydite_report::plan::PlanInfo;
use lydite_tpcc::meta::DatabaseMeta;
use std::sync::Arc;
use std::time::Duration;

/// The shortest bound: what is looked at more often would be a load of its own.
const SHORTEST_BOUND: Duration = Duration::from_millis(100);

/// Replicas that the plan names.
#[derive(Debug)]
struct WantedReplicas {
    /// Each with its URL, without a password.
    specs: Vec<(TargetSpec, String)>,
    staleness: Staleness,
}

/// Reading on replicas of a plan, if it does that.
#[derive(Debug)]
pub(crate) struct Reading(Option<WantedReplicas>);

impl Control for Reading {
    const KEYS: &'static [&'static str] = &["replicas", "staleness"];
    type Step = ();
    type Settled = ();

    fn read(raw: &mut Raw, about: &About<'_>) -> Self {
        Self(wanted(raw, about.target, about.tx))
    }

    fn read_step(_: &mut Raw) {}

    fn settle(&self, _: &Plan, _: &Ground) -> Result<(), Failure> {
        Ok(())
    }

    fn write_plan(&self, parts: &Parts<'_>, info: &mut PlanInfo) {
        info.replicas = parts.replicas.map(of_plan).unwrap_or_default();
    }

    fn write(&self, parts: &Parts<'_>, controls: &mut Controls) {
        controls.replicas = parts.replicas.map(found);
    }
}

impl Reading {
    /// True if the plan names replicas.
    pub(crate) fn is_wanted(&self) -> bool {
        self.0.is_some()
    }

    /// The URLs as they may be stored.
    pub(crate) fn without_passwords(&self) -> Option<String> {
        let wanted = self.0.as_ref()?;
        let urls: Vec<&str> = wanted.specs.iter().map(|(_, url)| url.as_str()).collect();
        Some(urls.join(","))
    }

    /// Has an impatient user wait for them.
    pub(crate) fn wait_for_servers(&mut self, interrupt: &Interrupt) {
        for (spec, _) in self.0.iter_mut().flat_map(|wanted| &mut wanted.specs) {
            *spec = spec.clone().waited_for_by(interrupt.waiter());
        }
    }

    /// Opens them, and refuses what are no replicas of `primary`.
    pub(crate) fn open(
        &self,
        plan: &Plan,
        primary: &Arc<dyn Target>,
    ) -> Result<Option<Arc<Replicas>>, Failure> {
        let Some(wanted) = &self.0 else { return Ok(None) };
        let url = primary.describe()?.url;
        let open = |(spec, url): &(TargetSpec, String)| Ok((spec.open()?, url.clone()));
        let opened = wanted.specs.iter().map(open).collect::<Result<_, TargetError>>()?;
        let replicas = Replicas::new((Arc::clone(primary), url), opened, wanted.staleness);
        replicas.check(plan.sessions())?;
        Ok(Some(Arc::new(replicas)))
    }
}

/// Reads the replicas of a plan, if it has any. `target`: the primary, if its URL is good.
fn wanted(raw: &mut Raw, target: Option<&TargetSpec>, tx: TxMode) -> Option<WantedReplicas> {
    let staleness = raw.read("staleness", staleness);
    let Some(list) = raw.text("replicas") else {
        if raw.text("staleness").is_some() {
            raw.wrong("staleness", "is about replicas: name them with --replicas URL,URL");
        }
        return None;
    };
    let mut specs = Vec::new();
    for url in urls(&list) {
        match TargetSpec::parse(&url, tx) {
            Ok(spec) => {
                let shown = spec.without_password(&url);
                if specs.iter().any(|(_, known)| *known == shown) {
                    raw.wrong("replicas", &format!("{shown} is named twice: name each replica once"));
                } else if let Some(Err(problem)) = target.map(|target| spec.can_follow(target)) {
                    raw.wrong("replicas", &format!("{shown} {problem}"));
                }
                specs.push((spec, shown));
            }
            Err(problems) => {
                for problem in problems {
                    raw.wrong("replicas", &problem);
                }
            }
        }
    }
    Some(WantedReplicas { specs, staleness: staleness.unwrap_or_default() })
}

/// The URLs of a list. A comma parts them where a scheme follows, since URLs may have commas in them.
fn urls(list: &str) -> Vec<String> {
    let mut urls: Vec<String> = Vec::new();
    for part in list.split(',') {
        match urls.last_mut() {
            // Nothing is no URL, which reading it tells.
            Some(last) if !part.contains("://") && !part.trim().is_empty() => {
                last.push(',');
                last.push_str(part);
            }
            _ => urls.push(part.trim().to_owned()),
        }
    }
    urls
}

fn staleness(text: &str) -> Result<Staleness, String> {
    match text {
        "any" => Ok(Staleness::Any),
        "session" => Ok(Staleness::Session),
        _ => match time(text) {
            Ok(bound) if bound >= SHORTEST_BOUND => Ok(Staleness::Bounded(bound)),
            _ => Err(format!(
                "must be any, session, or a time of at least {} ms, as 5s",
                SHORTEST_BOUND.as_millis()
            )),
        },
    }
}

/// Waits until all replicas have what the primary has. `loaded`: by this run.
pub(crate) fn catch_up(
    replicas: &Replicas,
    meta: &DatabaseMeta,
    loaded: bool,
    interrupt: &Interrupt,
) -> Outcome {
    if replicas.catch_up(meta, loaded, &complain, &|| interrupt.asked())? {
        Ok(())
    } else {
        Err(Failure::Interrupted("interrupted while waiting for the replicas: nothing was measured".into()))
    }
}

/// The keys of the plan of a run that read on replicas.
fn of_plan(report: &ReplicasReport) -> ReplicasPlan {
    ReplicasPlan { replicas: Some(report.urls.clone()), staleness: Some(report.staleness.to_string()) }
}

/// The reads that replicas answered.
fn found(report: &ReplicasReport) -> report::Replicas {
    report::Replicas {
        urls: report.urls.clone(),
        staleness: report.staleness.to_string(),
        reads: report.reads_of.iter().sum(),
        reads_of: report.reads_of.clone(),
        to_primary: report.to_primary,
        waited: report.waited,
        waited_s: report.waited_s,
        lag: report.lag.map(|(mean_s, max_s)| Lag { mean_s, max_s }),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may panic")]

    use super::*;
    use crate::controls::tests::{DIRECT, raw};
    use serde_json::{Value, json};

    #[test]
    fn an_age_needs_replicas() {
        let mut plan = raw(&[("staleness", "5s")]);
        assert!(!Reading::read(&mut plan, &DIRECT).is_wanted());
        assert!(plan.errors[0].contains("is about replicas"), "{:?}", plan.errors);
    }

    #[test]
    fn the_result_has_what_the_replicas_answered_and_how_old_it_was() {
        let report = ReplicasReport {
            urls: vec!["postgres://a/t".into(), "postgres://b/t".into()],
            staleness: Staleness::Bounded(Duration::from_secs(5)),
            reads_of: vec![30, 12],
            to_primary: 3,
            waited: 2,
            waited_s: 0.25,
            lag: Some((0.5, 2.0)),
        };
        let golden = |lag: Value| {
            json!({
                "urls": ["postgres://a/t", "postgres://b/t"],
                "staleness": "5s",
                "reads": 42,
                "reads_of": [30, 12],
                "to_primary": 3,
                "waited": 2,
                "waited_s": 0.25,
                "lag": lag,
            })
        };
        let written = |report: &ReplicasReport| serde_json::to_value(found(report)).unwrap();
        assert_eq!(written(&report), golden(json!({ "mean_s": 0.5, "max_s": 2.0 })));
        let plan = json!({ "replicas": ["postgres://a/t", "postgres://b/t"], "staleness": "5s" });
        assert_eq!(serde_json::to_value(of_plan(&report)).unwrap(), plan);
        let nothing = ReplicasPlan::default();
        assert_eq!(serde_json::to_value(nothing).unwrap(), json!({}));
        assert_eq!(written(&ReplicasReport { lag: None, ..report }), golden(Value::Null));
    }

    #[test]
    fn commas_part_urls_and_may_stand_within_them() {
        let list = "postgres://a/t,mysql://b/t?nodes=c,d:1, postgres://e/t";
        assert_eq!(urls(list), ["postgres://a/t", "mysql://b/t?nodes=c,d:1", "postgres://e/t"]);
    }

    #[test]
    fn a_bound_is_a_time_that_can_be_kept() {
        assert_eq!(staleness("5s"), Ok(Staleness::Bounded(Duration::from_secs(5))));
        assert_eq!(staleness("session"), Ok(Staleness::Session));
        for bad in ["50ms", "0s", "fresh", "-1s", ""] {
            assert!(staleness(bad).is_err(), "{bad}");
        }
    }
}
