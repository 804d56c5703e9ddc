//! Reading on replicas: the keys of the plan, the check of the replicas, and the reads that they answered.

use crate::controls::{About, Control, Ground, Ran, Schedule};
use crate::entries::Entries;
use crate::error::PlanError;
use crate::key::Key;
use crate::problem::Problem;
use crate::values::time;
use lydite_database::{Replicas, ReplicasReport, Staleness, Target, TargetError, TxMode, Waiter};
use lydite_families::TargetSpec;
use lydite_report::controls::Controls;
use lydite_report::controls::replicas::{self as report, Lag, ReplicasPlan};
use lydite_report::plan::PlanInfo;
use std::sync::Arc;
use std::time::Duration;

/// The shortest bound: a shorter one would make measuring the lag a load of its own.
const SHORTEST_BOUND: Duration = Duration::from_millis(100);

/// The replicas of a plan.
#[derive(Debug)]
struct ReplicasAsked {
    /// Each replica, and its URL without a password.
    specs: Vec<(TargetSpec, String)>,
    staleness: Staleness,
}

/// Reading on replicas; none without replicas.
#[derive(Debug)]
pub struct Reading(Option<ReplicasAsked>);

impl Control for Reading {
    const KEYS: &'static [Key] = &[
        Key::new("replicas").flag(
            "URL,URL,…",
            "Replicas of the database: Order-Status and Stock-Level go there, all else to the target",
        ),
        Key::new("staleness").flag(
            "WHAT",
            "Greatest age of what a read on a replica may see: any; session: a session sees its own \
             writes; or a time, as 5s [default: any]",
        ),
    ];
    type Step = ();
    type Settled = ();

    fn read(entries: &mut Entries, about: &About<'_>) -> Self {
        Self(read(entries, about.target, about.tx))
    }

    fn read_step(_: &mut Entries) {}

    fn settle(&self, _: &Schedule, _: &Ground) -> Result<(), PlanError> {
        Ok(())
    }

    fn write_plan(&self, ran: &Ran<'_>, info: &mut PlanInfo) {
        info.replicas = ran.replicas.map(of_plan).unwrap_or_default();
    }

    fn write(&self, ran: &Ran<'_>, controls: &mut Controls) {
        controls.replicas = ran.replicas.map(found);
    }
}

impl Reading {
    /// Reads `--replicas` of a command without a plan. `target` is the primary, if its URL is good.
    pub fn without_plan(entries: &mut Entries, target: Option<&TargetSpec>) -> Self {
        Self(read(entries, target, TxMode::Statements))
    }

    /// Returns true if the plan has replicas.
    pub fn is_asked(&self) -> bool {
        self.0.is_some()
    }

    /// Returns the replicas as targets.
    pub fn targets(&self) -> impl Iterator<Item = &TargetSpec> {
        self.0.iter().flat_map(|asked| &asked.specs).map(|(spec, _)| spec)
    }

    /// Returns the URLs without passwords, divided by commas; none without replicas.
    pub fn without_passwords(&self) -> Option<String> {
        let asked = self.0.as_ref()?;
        let urls: Vec<&str> = asked.specs.iter().map(|(_, url)| url.as_str()).collect();
        Some(urls.join(","))
    }

    /// Makes `waiter` watch over waits for the replicas, and end them.
    pub fn waited_for_by(&mut self, waiter: &Arc<dyn Waiter>) {
        for (spec, _) in self.0.iter_mut().flat_map(|asked| &mut asked.specs) {
            *spec = spec.clone().waited_for_by(Arc::clone(waiter));
        }
    }

    /// Opens the replicas for this number of sessions; none without replicas.
    ///
    /// # Errors
    /// A server is no replica of `primary`, or has no room for the sessions; the database's error.
    pub fn open(&self, sessions: u32, primary: &Arc<dyn Target>) -> Result<Option<Arc<Replicas>>, PlanError> {
        let Some(asked) = &self.0 else { return Ok(None) };
        let url = primary.describe()?.url;
        let open = |(spec, url): &(TargetSpec, String)| Ok((spec.open()?, url.clone()));
        let opened = asked.specs.iter().map(open).collect::<Result<_, TargetError>>()?;
        let replicas = Replicas::new((Arc::clone(primary), url), opened, asked.staleness);
        replicas.check(sessions)?;
        Ok(Some(Arc::new(replicas)))
    }
}

/// Reads the replicas of a plan, if it has any. `target` is the primary, if its URL is good.
fn read(entries: &mut Entries, target: Option<&TargetSpec>, tx: TxMode) -> Option<ReplicasAsked> {
    let staleness = entries.read("staleness", staleness);
    let Some(list) = entries.text("replicas") else {
        if entries.text("staleness").is_some() {
            entries.wrong("staleness", "is about replicas: name them with --replicas URL,URL");
        }
        return None;
    };
    let mut specs = Vec::new();
    for url in urls(&list) {
        match TargetSpec::parse(&url, tx) {
            Ok(spec) => {
                let shown = spec.without_password(&url);
                if specs.iter().any(|(_, known)| *known == shown) {
                    entries.wrong("replicas", &format!("{shown} is named twice: name each replica once"));
                } else if let Some(Err(problem)) = target.map(|target| spec.can_follow(target)) {
                    entries.wrong("replicas", &format!("{shown} {problem}"));
                }
                specs.push((spec, shown));
            }
            Err(problems) => {
                for problem in problems {
                    entries.wrong("replicas", &problem);
                }
            }
        }
    }
    if staleness == Some(Staleness::Session)
        && target.into_iter().chain(specs.iter().map(|(spec, _)| spec)).any(|spec| !spec.keeps_connections())
    {
        let problem = "session is not possible with connection=per-transaction: the position of a commit ends with its \
                       connection";
        entries.wrong("staleness", problem);
    }
    Some(ReplicasAsked { specs, staleness: staleness.unwrap_or_default() })
}

/// Splits a list of URLs. Only a comma before the beginning of a target divides them, since a URL may contain commas.
pub(super) fn urls(list: &str) -> Vec<String> {
    let mut urls: Vec<String> = Vec::new();
    for part in list.split(',') {
        match urls.last_mut() {
            // An empty part stays, and is rejected as a URL.
            Some(last) if !TargetSpec::begins(part.trim()) && !part.trim().is_empty() => {
                last.push(',');
                last.push_str(part);
            }
            _ => urls.push(part.trim().to_owned()),
        }
    }
    urls
}

fn staleness(text: &str) -> Result<Staleness, Problem> {
    match text {
        "any" => Ok(Staleness::Any),
        "session" => Ok(Staleness::Session),
        _ => match time(text) {
            Ok(bound) if bound >= SHORTEST_BOUND => Ok(Staleness::Bounded(bound)),
            _ => Err(format!(
                "must be any, session, or a time of at least {} ms, as 5s",
                SHORTEST_BOUND.as_millis()
            )
            .into()),
        },
    }
}

/// Returns the keys of the plan in the result.
fn of_plan(report: &ReplicasReport) -> ReplicasPlan {
    ReplicasPlan { replicas: Some(report.urls.clone()), staleness: Some(report.staleness.to_string()) }
}

/// Returns the reads that replicas answered.
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
    use crate::controls::tests::{DIRECT, entries};
    use serde_json::{Value, json};

    #[test]
    fn a_staleness_needs_replicas() {
        let mut plan = entries(&[("staleness", "5s")]);
        assert!(!Reading::read(&mut plan, &DIRECT).is_asked());
        assert!(plan.errors[0].contains("is about replicas"), "{:?}", plan.errors);
    }

    #[test]
    fn the_result_has_the_reads_of_replicas_and_their_lag() {
        let report = ReplicasReport {
            urls: vec!["postgres://a/t".into(), "postgres://b/t".into()],
            staleness: Staleness::Bounded(Duration::from_secs(5)),
            reads_of: vec![30, 12],
            to_primary: 3,
            waited: 2,
            waited_s: 0.25,
            lag: Some((0.5, 2.0)),
            unmeasured: Vec::new(),
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
    fn commas_divide_urls_and_may_be_part_of_them() {
        let list = "postgres://a/t,mysql://b/t?nodes=c,d:1, postgres://e/t";
        assert_eq!(urls(list), ["postgres://a/t", "mysql://b/t?nodes=c,d:1", "postgres://e/t"]);
    }

    #[test]
    fn a_bound_is_a_time_of_at_least_100_ms() {
        assert_eq!(staleness("5s"), Ok(Staleness::Bounded(Duration::from_secs(5))));
        assert_eq!(staleness("session"), Ok(Staleness::Session));
        for bad in ["50ms", "0s", "fresh", "-1s", ""] {
            assert!(staleness(bad).is_err(), "{bad}");
        }
    }
}
