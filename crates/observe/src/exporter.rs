//! An exporter of Prometheus: a server that sends its metrics over HTTP.

use crate::error::ObserveError;
use crate::exposition::{Exposed, parse};
use lydite_database::{Observer, Sample, SampleKind, TargetError};
use std::fmt;
use std::time::Duration;
use ureq::Agent;

/// The most series of an exporter.
pub const MAX_SERIES: usize = 200;
/// Time limit of an answer.
const TIMEOUT: Duration = Duration::from_secs(5);
/// Largest answer that is read, in bytes.
const LONGEST: u64 = 16 << 20;
/// Path that most exporters have.
const USUAL_PATH: &str = "/metrics";

/// An exporter, and which of its metrics are read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exporter {
    url: String,
    /// Beginnings of names; all metrics are read if there are none.
    names: Vec<String>,
}

impl fmt::Display for Exporter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.url)?;
        self.names.iter().try_for_each(|name| write!(f, ",{name}"))
    }
}

impl Exporter {
    /// Reads `URL[,NAME…]`. A URL without a path gets the one that most exporters have.
    ///
    /// # Errors
    /// The reason why the text is wrong, and what to do; without a password.
    pub(crate) fn parse(text: &str) -> Result<Self, ObserveError> {
        let mut parts = text.split(',').map(str::trim);
        let url = parts.next().unwrap_or_default();
        let names: Vec<String> = parts.map(str::to_owned).collect();
        if url.starts_with("https://") {
            let problem = "an exporter with TLS is not supported: use http:// in a network that you trust";
            return Err(ObserveError::Wrong(problem.into()));
        }
        let rest = url.strip_prefix("http://").unwrap_or_default();
        let (authority, _) = rest.split_once('/').unwrap_or((rest, ""));
        let usual = if rest == authority { USUAL_PATH } else { "" };
        if authority.is_empty() || rest.contains(|letter: char| letter.is_whitespace() || letter == ';') {
            return Err(ObserveError::Wrong(format!(
                "the exporter has no URL: write prometheus=http://HOST:PORT/PATH, as http://localhost:9100{USUAL_PATH}"
            )));
        }
        if authority.contains('@') {
            let problem = "the URL of the exporter has a user, which is not supported: leave it out";
            return Err(ObserveError::Wrong(problem.into()));
        }
        if names.iter().any(String::is_empty) {
            return Err(ObserveError::Wrong("a metric has an empty name: leave out the comma".into()));
        }
        Ok(Self { url: format!("{url}{usual}"), names })
    }

    /// Returns the address, with the path if it is not the usual one.
    pub(crate) fn name(&self) -> &str {
        let rest = self.url.strip_prefix("http://").unwrap_or(&self.url);
        rest.strip_suffix(USUAL_PATH).unwrap_or(rest)
    }

    /// Opens a connection.
    #[must_use]
    pub fn observer(&self) -> Box<dyn Observer> {
        Box::new(self.client())
    }

    /// Reads the metrics once.
    ///
    /// # Errors
    /// The exporter can't be reached, sends something else, or has too many series or none of a name.
    pub fn check(&self) -> Result<(), ObserveError> {
        let found = self.client().read()?;
        for name in &self.names {
            if !found.iter().any(|exposed| exposed.metric.starts_with(name)) {
                return Err(ObserveError::Silent(format!("{}: no metric begins with {name}", self.url)));
            }
        }
        let url = &self.url;
        Err(ObserveError::Silent(match found.len() {
            0 => format!("{url}: it has no metrics: is it the URL of an exporter?"),
            count if count > MAX_SERIES => format!(
                "{url}: it has {count} series, and at most {MAX_SERIES} are observed: name some of its metrics, as \
                 prometheus={url},NAME,NAME"
            ),
            _ => return Ok(()),
        }))
    }

    fn client(&self) -> Client {
        let config =
            Agent::config_builder().timeout_global(Some(TIMEOUT)).http_status_as_error(false).build();
        Client { agent: config.into(), exporter: self.clone() }
    }
}

/// A client of an exporter.
struct Client {
    agent: Agent,
    exporter: Exporter,
}

impl Client {
    /// Reads the chosen metrics.
    fn read(&self) -> Result<Vec<Exposed>, ObserveError> {
        let Exporter { url, names } = &self.exporter;
        let away = |error: ureq::Error| {
            let text = error.to_string();
            let text = text.strip_prefix("io: ").unwrap_or(&text);
            ObserveError::Silent(format!("{url}: {text}: is the exporter running?"))
        };
        let request = self.agent.get(url).header("accept", "text/plain; version=0.0.4");
        let mut answer = request.call().map_err(away)?;
        let status = answer.status();
        let body = answer.body_mut().with_config().limit(LONGEST).read_to_string().map_err(away)?;
        if !status.is_success() {
            return Err(ObserveError::Silent(format!("{url}: HTTP status {status}: is the path right?")));
        }
        let mut found = parse(&body).map_err(|problem| {
            ObserveError::Silent(format!(
                "{url}: this is not Prometheus' text format: {problem}: is it the URL of metrics?"
            ))
        })?;
        found.retain(|exposed| names.is_empty() || names.iter().any(|name| exposed.metric.starts_with(name)));
        Ok(found)
    }
}

impl Observer for Client {
    fn sample(&mut self) -> Result<Vec<Sample>, TargetError> {
        let found = self.read().map_err(TargetError::unreachable)?;
        let sample = |Exposed { metric, name, kind, value }: Exposed| Sample {
            unit: unit(&metric, kind),
            name,
            kind,
            value,
        };
        Ok(found.into_iter().map(sample).collect())
    }
}

/// Returns the unit of a metric by the end of its name.
fn unit(metric: &str, kind: SampleKind) -> &'static str {
    let base = ["_total", "_sum"].iter().find_map(|end| metric.strip_suffix(end)).unwrap_or(metric);
    let units = [("_bytes", "bytes", "bytes/s"), ("_seconds", "s", "s/s")];
    let found = units.iter().find(|(end, _, _)| base.ends_with(end));
    match kind {
        SampleKind::Gauge => found.map_or("", |(_, unit, _)| unit),
        SampleKind::Counter => found.map_or("/s", |(_, _, unit)| unit),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exporter_is_read_with_the_beginnings_of_names() {
        let exporter = Exporter::parse("http://h:9100/metrics, node_cpu,node_disk").unwrap();
        assert_eq!(exporter.to_string(), "http://h:9100/metrics,node_cpu,node_disk");
        assert_eq!(exporter.name(), "h:9100");
        assert_eq!(Exporter::parse("http://h:9100/other").unwrap().name(), "h:9100/other");
        assert_eq!(
            Exporter::parse("http://h:9100").unwrap(),
            Exporter::parse("http://h:9100/metrics").unwrap()
        );
        assert_eq!(Exporter::parse("http://h:9100/").unwrap().name(), "h:9100/");
        for (text, words) in [
            ("https://h/metrics", "use http://"),
            ("h:9100/metrics", "http://HOST:PORT/PATH"),
            ("http:///metrics", "http://HOST:PORT/PATH"),
            ("http://u:p@h/metrics", "leave it out"),
            ("http://h/metrics,", "empty name"),
        ] {
            let problem = Exporter::parse(text).unwrap_err().to_string();
            assert!(problem.contains(words) && !problem.contains("u:p"), "{text}: {problem}");
        }
    }

    #[test]
    fn units_follow_from_names() {
        for (metric, kind, expected) in [
            ("node_memory_free_bytes", SampleKind::Gauge, "bytes"),
            ("node_disk_read_bytes_total", SampleKind::Counter, "bytes/s"),
            ("node_cpu_seconds_total", SampleKind::Counter, "s/s"),
            ("rpc_duration_seconds_sum", SampleKind::Counter, "s/s"),
            ("rpc_duration_seconds_count", SampleKind::Counter, "/s"),
            ("requests_total", SampleKind::Counter, "/s"),
            ("node_load1", SampleKind::Gauge, ""),
        ] {
            assert_eq!(unit(metric, kind), expected, "{metric}");
        }
    }
}
