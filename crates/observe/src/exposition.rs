//! The text format in which Prometheus reads metrics (version 0.0.4): a line for each sample, with comments that give
//! the types.

use lydite_database::SampleKind;
use std::collections::HashMap;
use std::fmt::{self, Display};

/// A sample of an exporter.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Exposed {
    /// Name of the metric, without labels.
    pub(crate) metric: String,
    /// Name with the labels, as in `http_requests_total{code="200"}`.
    pub(crate) name: String,
    pub(crate) kind: SampleKind,
    pub(crate) value: f64,
}

/// Type of a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Type {
    Counter,
    /// Sums and counts of events; their buckets or quantiles have labels `le` or `quantile`.
    Distribution,
    Other,
}

/// The reason why a text is none of this format.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Malformed(String);

impl Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<&str> for Malformed {
    fn from(words: &str) -> Self {
        Self(words.to_owned())
    }
}

impl From<String> for Malformed {
    fn from(words: String) -> Self {
        Self(words)
    }
}

/// Reads a document. Buckets of histograms and quantiles of summaries are left out; their sums and counts are counters.
///
/// # Errors
/// A line is wrong: its number and the reason.
pub(crate) fn parse(text: &str) -> Result<Vec<Exposed>, Malformed> {
    let mut types: HashMap<&str, Type> = HashMap::new();
    let mut samples = Vec::new();
    for (line, number) in text.lines().zip(1..) {
        let line = line.trim();
        if let Some(comment) = line.strip_prefix('#') {
            let mut words = comment.split_whitespace();
            if let (Some("TYPE"), Some(name), Some(kind)) = (words.next(), words.next(), words.next()) {
                let kind = match kind {
                    "counter" => Type::Counter,
                    "histogram" | "summary" => Type::Distribution,
                    _ => Type::Other,
                };
                types.insert(name, kind);
            }
        } else if !line.is_empty() {
            let parsed = sample(line, &types).map_err(|problem| format!("line {number}: {problem}"))?;
            samples.extend(parsed);
        }
    }
    Ok(samples)
}

/// Reads the line of a sample; `None` if it is a bucket or a quantile.
fn sample(line: &str, types: &HashMap<&str, Type>) -> Result<Option<Exposed>, Malformed> {
    let named = |letter: char| letter.is_ascii_alphanumeric() || letter == '_' || letter == ':';
    let end = line.find(|letter| !named(letter)).unwrap_or(line.len());
    let (metric, rest) = line.split_at(end);
    if metric.is_empty() || metric.starts_with(|letter: char| letter.is_ascii_digit()) {
        return Err("the name of a metric is missing".into());
    }
    let mut rest = rest.trim_start();
    let mut labels = Vec::new();
    if let Some(inside) = rest.strip_prefix('{') {
        (labels, rest) = read_labels(inside)?;
    }
    let mut words = rest.split_whitespace();
    let text = words.next().ok_or("a value is missing")?;
    let value = text.parse().map_err(|_| format!("{text:?} is not a number"))?;
    if let Some(time) = words.next()
        && time.parse::<f64>().is_err()
    {
        return Err(format!("{time:?} is not a timestamp").into());
    }
    let of = |name: &str| types.get(name).copied();
    let base = |suffix: &str| metric.strip_suffix(suffix).and_then(of);
    // OpenMetrics writes the type of a counter without the suffix.
    let kind = match of(metric).or_else(|| base("_total").filter(|kind| *kind == Type::Counter)) {
        Some(Type::Counter) => SampleKind::Counter,
        Some(Type::Distribution) => return Ok(None),
        Some(Type::Other) => SampleKind::Gauge,
        None if base("_bucket") == Some(Type::Distribution) => return Ok(None),
        None if [base("_sum"), base("_count")].contains(&Some(Type::Distribution)) => SampleKind::Counter,
        None => SampleKind::Gauge,
    };
    let written: Vec<String> = labels.iter().map(|(label, value)| format!("{label}={value:?}")).collect();
    let name =
        if written.is_empty() { metric.to_owned() } else { format!("{metric}{{{}}}", written.join(",")) };
    Ok(Some(Exposed { metric: metric.to_owned(), name, kind, value }))
}

/// A label and its value.
type Label = (String, String);

/// Reads labels behind their opening brace. Returns them with the text behind the closing one.
fn read_labels(text: &str) -> Result<(Vec<Label>, &str), Malformed> {
    let mut labels = Vec::new();
    let mut rest = text.trim_start();
    loop {
        if let Some(rest) = rest.strip_prefix('}') {
            return Ok((labels, rest));
        }
        let (label, value) = rest.split_once('=').ok_or("the labels do not end with }")?;
        let value = value.trim_start().strip_prefix('"').ok_or("the value of a label has no quotes")?;
        let (value, behind) = read_value(value)?;
        labels.push((label.trim().to_owned(), value));
        rest = behind.trim_start();
        // A comma may also follow the last label.
        match rest.strip_prefix(',') {
            Some(behind) => rest = behind.trim_start(),
            None if rest.starts_with('}') => {}
            None => return Err("between two labels a comma is missing".into()),
        }
    }
}

/// Reads the value of a label behind its opening quote. Returns it with the text behind the closing one.
fn read_value(text: &str) -> Result<(String, &str), Malformed> {
    let mut value = String::new();
    let mut letters = text.char_indices();
    while let Some((at, letter)) = letters.next() {
        match letter {
            '"' => return Ok((value, &text[at + 1..])),
            '\\' => match letters.next() {
                Some((_, 'n')) => value.push('\n'),
                Some((_, letter @ ('\\' | '"'))) => value.push(letter),
                Some((_, letter)) => value.extend(['\\', letter]),
                None => break,
            },
            letter => value.push(letter),
        }
    }
    Err("the value of a label has no closing quote".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of the format's documentation, a little shorter.
    const EXAMPLE: &str = r#"# HELP http_requests_total The total number of HTTP requests.
# TYPE http_requests_total counter
http_requests_total{method="post",code="200"} 1027 1395066363000
http_requests_total{method="post",code="400"}    3 1395066363000

# Escaping in label values:
msdos_file_access_time_seconds{path="C:\\DIR\\FILE.TXT",error="Cannot find file:\n\"FILE.TXT\""} 1.458255915e9

# Minimalistic line:
metric_without_timestamp_and_labels 12.47

# A weird metric from before the epoch:
something_weird{problem="division by zero"} +Inf -3982045

# A histogram, which has a pretty complex representation in the text format:
# HELP http_request_duration_seconds A histogram of the request duration.
# TYPE http_request_duration_seconds histogram
http_request_duration_seconds_bucket{le="0.05"} 24054
http_request_duration_seconds_bucket{le="+Inf"} 144320
http_request_duration_seconds_sum 53423
http_request_duration_seconds_count 144320

# Finally a summary, which has a complex representation, too:
# HELP rpc_duration_seconds A summary of the RPC duration in seconds.
# TYPE rpc_duration_seconds summary
rpc_duration_seconds{quantile="0.01"} 3102
rpc_duration_seconds_sum 1.7560473e+07
rpc_duration_seconds_count 2693
"#;

    #[test]
    fn the_documentations_example_is_read() {
        let found = parse(EXAMPLE).unwrap();
        let found: Vec<(&str, SampleKind, f64)> =
            found.iter().map(|exposed| (exposed.name.as_str(), exposed.kind, exposed.value)).collect();
        let (counter, gauge) = (SampleKind::Counter, SampleKind::Gauge);
        assert_eq!(
            found,
            [
                (r#"http_requests_total{method="post",code="200"}"#, counter, 1027.0),
                (r#"http_requests_total{method="post",code="400"}"#, counter, 3.0),
                (
                    r#"msdos_file_access_time_seconds{path="C:\\DIR\\FILE.TXT",error="Cannot find file:\n\"FILE.TXT\""}"#,
                    gauge,
                    1.458_255_915e9
                ),
                ("metric_without_timestamp_and_labels", gauge, 12.47),
                (r#"something_weird{problem="division by zero"}"#, gauge, f64::INFINITY),
                ("http_request_duration_seconds_sum", counter, 53_423.0),
                ("http_request_duration_seconds_count", counter, 144_320.0),
                ("rpc_duration_seconds_sum", counter, 1.756_047_3e7),
                ("rpc_duration_seconds_count", counter, 2693.0),
            ]
        );
    }

    #[test]
    fn spaces_and_a_last_comma_are_allowed_and_a_counter_of_openmetrics_is_known() {
        let found = parse("# TYPE a counter\n  a_total { x = \"1\" , } NaN\n# EOF\n").unwrap();
        assert_eq!((found[0].name.as_str(), found[0].kind), (r#"a_total{x="1"}"#, SampleKind::Counter));
        assert!(found[0].value.is_nan());
        assert_eq!(found[0].metric, "a_total");
    }

    #[test]
    fn wrong_lines_are_told_with_their_number() {
        for (text, words) in [
            ("a 1\n<html>", "line 2: the name of a metric is missing"),
            ("a", "line 1: a value is missing"),
            ("a b", "\"b\" is not a number"),
            ("a 1 b", "\"b\" is not a timestamp"),
            ("a{x=\"1} 1", "no closing quote"),
            ("a{x=1} 1", "no quotes"),
            ("a{x=\"1\" y=\"2\"} 1", "a comma is missing"),
            ("a{x 1", "do not end with }"),
        ] {
            let problem = parse(text).unwrap_err().to_string();
            assert!(problem.contains(words), "{text:?}: {problem}");
        }
    }
}
