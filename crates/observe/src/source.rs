//! Sources of a run, as the user writes them.

use crate::error::ObserveError;
use crate::exporter::Exporter;
use crate::host;
use crate::processes::Server;
use crate::remote::{Remote, port};
use std::fmt;

/// Words that switch all sources off.
const NONE: [&str; 2] = ["off", "none"];
/// Advice about unknown sources.
const USE: &str = "use db, host, host/port:N, host=ssh://HOST, prometheus=URL or off";
/// Beginning of this machine with a server.
const HERE: &str = "host/";
/// Beginning of this machine with a server's port.
const WITH_PORT: &str = "host/port:";
/// Beginning of an exporter.
const EXPORTER: &str = "prometheus=";
/// Beginning of another machine.
const REMOTE: &str = "host=";

/// A source of samples.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SourceSpec {
    /// The database under test.
    Database,
    /// This machine, and the server that listens on this TCP port, if the target's URL does not name it.
    Host(Option<u16>),
    /// Another machine.
    Remote(Remote),
    /// An exporter of Prometheus.
    Exporter(Exporter),
}

impl SourceSpec {
    /// Returns the name in results.
    #[must_use]
    pub fn name(&self) -> String {
        match self {
            Self::Database => "db".into(),
            Self::Host(_) => "host".into(),
            Self::Remote(remote) => format!("host:{}", remote.name()),
            Self::Exporter(exporter) => exporter.name().into(),
        }
    }

    /// Returns the problem of a source that can't be sampled now. The database is asked when it is opened.
    #[must_use]
    pub fn reach(&self) -> Option<String> {
        let problem = match self {
            Self::Database => None,
            Self::Host(None) => host::observer(Vec::new()).err(),
            Self::Host(Some(port)) => Server::find(String::new(), *port).err(),
            Self::Remote(remote) => remote.check().err(),
            Self::Exporter(exporter) => exporter.check().err(),
        };
        problem.map(String::from)
    }
}

impl fmt::Display for SourceSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Database => f.write_str("db"),
            Self::Host(None) => f.write_str("host"),
            Self::Host(Some(port)) => write!(f, "{WITH_PORT}{port}"),
            Self::Remote(remote) => write!(f, "{REMOTE}{remote}"),
            Self::Exporter(exporter) => write!(f, "{EXPORTER}{exporter}"),
        }
    }
}

/// Reads sources with a comma between them, or `off`. The commas after `prometheus=URL` separate the names of its
/// metrics.
///
/// # Errors
/// The reason why the text is wrong, and what to do; without a password of a URL.
pub fn read_sources(text: &str) -> Result<Vec<SourceSpec>, ObserveError> {
    let wrong = ObserveError::Wrong;
    if NONE.contains(&text.trim()) {
        return Ok(Vec::new());
    }
    let mut sources = Vec::new();
    let mut rest = Some(text);
    while let Some(text) = rest {
        if let Some(exporter) = text.trim_start().strip_prefix(EXPORTER) {
            sources.push(SourceSpec::Exporter(Exporter::parse(exporter)?));
            break;
        }
        let (source, more) = text.split_once(',').map_or((text, None), |(one, more)| (one, Some(more)));
        sources.push(match source.trim() {
            "db" => SourceSpec::Database,
            "host" => SourceSpec::Host(None),
            word if NONE.contains(&word) => {
                return Err(wrong(format!("{word} must stand alone: leave out the sources beside it")));
            }
            "" => return Err(wrong(format!("a source is empty: {USE}"))),
            word if word.starts_with(WITH_PORT) => {
                let port = port(&word[HERE.len()..])
                    .ok_or_else(|| wrong(format!("{word:?} has no port: use {WITH_PORT}5432")))?;
                SourceSpec::Host(Some(port))
            }
            word if word.starts_with(REMOTE) => SourceSpec::Remote(Remote::parse(&word[REMOTE.len()..])?),
            word => return Err(wrong(format!("{word:?} is not known: {USE}"))),
        });
        rest = more;
    }
    Ok(sources)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(text: &str) -> Result<Vec<String>, ObserveError> {
        Ok(read_sources(text)?.iter().map(SourceSpec::to_string).collect())
    }

    #[test]
    fn commas_separate_sources_and_after_an_exporter_its_names() {
        let ok = |texts: &[&str]| Ok(texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>());
        assert_eq!(written("db, host"), ok(&["db", "host"]));
        assert_eq!(written("host/port:5432,db"), ok(&["host/port:5432", "db"]));
        assert_eq!(written("host=ssh://db1,db"), ok(&["host=ssh://db1", "db"]));
        assert_eq!(written("off"), ok(&[]));
        assert_eq!(written("none"), ok(&[]));
        assert_eq!(
            written("db,prometheus=http://h:9100/metrics,node_cpu,host"),
            ok(&["db", "prometheus=http://h:9100/metrics,node_cpu,host"])
        );
        let names: Vec<String> = read_sources("host,prometheus=http://h:9100/metrics")
            .unwrap()
            .iter()
            .map(SourceSpec::name)
            .collect();
        assert_eq!(names, ["host", "h:9100"]);
    }

    #[test]
    fn wrong_sources_are_rejected_with_those_that_are_allowed() {
        for (text, words) in [
            (
                "dbx",
                "\"dbx\" is not known: use db, host, host/port:N, host=ssh://HOST, prometheus=URL or off",
            ),
            ("host/port:0", "\"host/port:0\" has no port: use host/port:5432"),
            ("host/port:", "has no port"),
            ("host=db1", "\"db1\" is no machine: use ssh://root@db1"),
            ("db,off", "off must stand alone"),
            ("", "a source is empty"),
            ("db,", "a source is empty"),
            ("prometheus=h:9100", "http://HOST:PORT/PATH"),
        ] {
            let problem = read_sources(text).unwrap_err().to_string();
            assert!(problem.contains(words), "{text:?}: {problem}");
        }
    }
}
