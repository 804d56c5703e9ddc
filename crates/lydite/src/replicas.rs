//! Reading on replicas: what the plan says of it, what has to be there before the run, and what the result tells.

use crate::Outcome;
use crate::exit::Failure;
use crate::interrupt::Interrupt;
use crate::output::complain;
use crate::plan::{Plan, time};
use crate::raw::Raw;
use lydite_database::{Replicas, ReplicasReport, Staleness, Target, TargetError, TxMode};
use lydite_families::TargetSpec;
use lydite_tpcc::meta::DatabaseMeta;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;

/// The keys of a plan that are about replicas.
pub(crate) const KEYS: &[&str] = &["replicas", "staleness"];
/// The shortest bound: what is looked at more often would be a load of its own.
const SHORTEST_BOUND: Duration = Duration::from_millis(100);

/// Replicas that the plan names.
#[derive(Debug)]
pub(crate) struct WantedReplicas {
    /// Each with its URL, without a password.
    specs: Vec<(TargetSpec, String)>,
    staleness: Staleness,
}

/// What the plan says of replicas, if it does. `target`: the primary, if its URL is good.
pub(crate) fn wanted(raw: &mut Raw, target: Option<&TargetSpec>, tx: TxMode) -> Option<WantedReplicas> {
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

impl WantedReplicas {
    /// The URLs as they may be stored.
    pub(crate) fn without_passwords(&self) -> String {
        let urls: Vec<&str> = self.specs.iter().map(|(_, url)| url.as_str()).collect();
        urls.join(",")
    }

    /// Has an impatient user wait for them.
    pub(crate) fn wait_for_servers(&mut self, interrupt: &Interrupt) {
        for (spec, _) in &mut self.specs {
            *spec = spec.clone().waited_for_by(interrupt.waiter());
        }
    }

    /// Opens them, and refuses what are no replicas of `primary`.
    pub(crate) fn open(&self, plan: &Plan, primary: &Arc<dyn Target>) -> Result<Arc<Replicas>, Failure> {
        let url = primary.describe()?.url;
        let open = |(spec, url): &(TargetSpec, String)| Ok((spec.open()?, url.clone()));
        let opened = self.specs.iter().map(open).collect::<Result<_, TargetError>>()?;
        let replicas = Replicas::new((Arc::clone(primary), url), opened, self.staleness);
        replicas.check(plan.sessions())?;
        Ok(Arc::new(replicas))
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

/// What the result tells of replicas.
pub(crate) fn json(report: Option<&ReplicasReport>) -> Value {
    let Some(report) = report else { return json!({}) };
    json!({ "replicas": {
        "urls": report.urls,
        "staleness": report.staleness.to_string(),
        "reads": report.reads_of.iter().sum::<u64>(),
        "reads_of": report.reads_of,
        "to_primary": report.to_primary,
        "waited": report.waited,
        "waited_s": report.waited_s,
        "lag": report.lag.map(|(mean, most)| json!({ "mean_s": mean, "max_s": most })),
    }})
}

/// What the plan says of them.
pub(crate) fn plan_json(report: Option<&ReplicasReport>) -> Value {
    let Some(report) = report else { return json!({}) };
    json!({ "replicas": report.urls, "staleness": report.staleness.to_string() })
}

#[cfg(test)]
mod tests {
    use super::*;

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
            json!({ "replicas": {
                "urls": ["postgres://a/t", "postgres://b/t"],
                "staleness": "5s",
                "reads": 42,
                "reads_of": [30, 12],
                "to_primary": 3,
                "waited": 2,
                "waited_s": 0.25,
                "lag": lag,
            }})
        };
        assert_eq!(json(Some(&report)), golden(json!({ "mean_s": 0.5, "max_s": 2.0 })));
        assert_eq!(json(Some(&ReplicasReport { lag: None, ..report.clone() })), golden(Value::Null));
        assert_eq!(json(None), json!({}));
        let plan = json!({ "replicas": ["postgres://a/t", "postgres://b/t"], "staleness": "5s" });
        assert_eq!(plan_json(Some(&report)), plan);
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
