//! The key `observe`: sources that are sampled beside the transactions.

use crate::entries::Entries;
use lydite_observe::{SourceSpec, read_sources};

/// The key, a list with `;` between its texts.
const KEY: &str = "observe";

/// Returns the problem of a source that can't be sampled now.
pub type Reach<'a> = &'a dyn Fn(&SourceSpec) -> Option<String>;

/// The observed sources.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Observe {
    /// Sources in the order of the plan.
    pub sources: Vec<SourceSpec>,
    /// True if the plan sets them.
    pub configured: bool,
}

impl Observe {
    /// Reads the key. Without it the database is observed, if it has anything to report.
    pub(crate) fn read(entries: &mut Entries, reach: Reach<'_>) -> Self {
        let Some(list) = entries.entry(KEY) else {
            return Self { sources: vec![SourceSpec::Database], configured: false };
        };
        let mut sources: Vec<SourceSpec> = Vec::new();
        let (texts, mut off) = (list.split(';'), false);
        for entry in &texts {
            // The error does not show the text, which may contain a password.
            let read = read_sources(entry.text())
                .map_err(|problem| entries.wrong_entry(entry, &problem.to_string()));
            off |= read.as_ref().is_ok_and(Vec::is_empty);
            for source in read.into_iter().flatten() {
                // Values of results are found by the name of their source.
                let name = source.name();
                if sources.iter().any(|known| known.name() == name) {
                    let advice = match source {
                        SourceSpec::Exporter(_) => "name it once, with all names of metrics",
                        _ => "name it once",
                    };
                    entries.wrong_entry(entry, &format!("{name} is named twice: {advice}"));
                    continue;
                }
                if let Some(problem) = reach(&source) {
                    entries.wrong_entry(entry, &problem);
                }
                sources.push(source);
            }
        }
        if off && texts.len() > 1 {
            entries.wrong_entry(&list, "off must stand alone: leave out the sources beside it");
        }
        Self { sources, configured: true }
    }

    /// Returns the key in a result; empty if the plan does not set it.
    #[must_use]
    pub fn written(&self) -> Vec<String> {
        match &self.sources[..] {
            _ if !self.configured => Vec::new(),
            [] => vec!["off".into()],
            sources => sources.iter().map(SourceSpec::to_string).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries(text: Option<&str>) -> Entries {
        let mut entries = Entries::default();
        text.into_iter().for_each(|text| entries.put(KEY, text.to_owned()));
        entries
    }

    fn read(text: &str) -> (Vec<String>, Vec<String>) {
        let mut plan = entries(Some(text));
        let read = Observe::read(&mut plan, &|source| {
            matches!(source, SourceSpec::Exporter(_)).then(|| "nobody answers".into())
        });
        (read.written(), plan.errors)
    }

    #[test]
    fn the_database_is_observed_unless_the_plan_says_otherwise() {
        let usual = Observe::read(&mut entries(None), &|_| None);
        assert_eq!(usual, Observe { sources: vec![SourceSpec::Database], configured: false });
        assert!(usual.written().is_empty());
        assert_eq!(read("db;host"), (vec!["db".into(), "host".into()], vec![]));
        assert_eq!(read("host"), (vec!["host".into()], vec![]));
        assert_eq!(read("off"), (vec!["off".into()], vec![]));
    }

    #[test]
    fn an_exporter_is_named_once_whatever_its_path_and_metrics() {
        let mut plan =
            entries(Some("prometheus=http://h:1/metrics,a;prometheus=http://h:1,b;prometheus=http://h:1/x"));
        let read = Observe::read(&mut plan, &|_| None);
        assert_eq!(read.sources.len(), 2, "{read:?}");
        assert_eq!(plan.errors.len(), 1, "{:?}", plan.errors);
        assert!(
            plan.errors[0].contains("h:1 is named twice: name it once, with all names"),
            "{:?}",
            plan.errors
        );
    }

    #[test]
    fn all_wrong_sources_are_rejected_together() {
        let (_, errors) = read("dbx;host,host/port:1;prometheus=http://h:1/metrics;off");
        let expected = [
            "use db, host, host/port:N, host=ssh://HOST, prometheus=URL or off",
            "host is named twice",
            "nobody answers",
            "off must stand alone",
        ];
        assert_eq!(errors.len(), expected.len(), "{errors:?}");
        for (error, words) in errors.iter().zip(expected) {
            assert!(error.starts_with("--set observe: ") && error.contains(words), "{error}");
        }
    }
}
