//! `lydite report`: writes an HTML page of results, and computes availability and scalability.

use super::result_file::load;
use crate::cli::ReportArgs;
use lydite_console::exit::{Failure, Outcome};
use lydite_console::output::{print, reserve_stdout};
use lydite_console::write::write;
use lydite_plan::Problem;
use lydite_plan::destination::Destination;
use lydite_plan::values::{number, time, whole};
use lydite_report::metrics::{Asked, Event, Metrics, MetricsError, Settling};
use lydite_report::names::names;
use lydite_report::{render_metrics, render_report};

/// Maximum number of nodes. A larger number is a mistake.
const MAX_NODES: u32 = 100_000;
/// Maximum time of stable throughput, in seconds.
const MAX_HOLD_S: u32 = 86_400;

/// Runs `lydite report`.
pub(crate) fn command(args: &ReportArgs) -> Outcome {
    let asked = asked(args)?;
    let output = Destination::new(&args.output);
    output.apart_from(&args.results).map_err(|problem| Failure::usage(format!("--output: {problem}")))?;
    if output.is_stdout() {
        reserve_stdout();
    }
    let results = args.results.iter().map(|path| load(path)).collect::<Result<Vec<_>, _>>()?;
    if asked.settling.is_some()
        && asked.events.is_empty()
        && results.iter().all(|result| result.faults.is_empty())
    {
        return Err(Failure::usage("--stable: no result has a fault: name an --event, or leave it out"));
    }
    let names = names(&results, &args.results);
    let name = |run: usize| args.results.get(run).map(|path| path.display().to_string()).unwrap_or_default();
    let metrics = Metrics::of(&results, &asked).map_err(|error| {
        Failure::usage(match &error {
            MetricsError::Event { run, .. } => format!("--event: {}: {error}", name(*run)),
            MetricsError::Nodes(_) => format!("--nodes: {error}"),
        })
    })?;
    write(&output, render_report(&results, &args.results, &metrics).as_bytes(), None)?;
    print(&format!("{}{}\n", render_metrics(&metrics, &names), output.shown()))
}

/// Reads the flags.
///
/// # Errors
/// Everything that is wrong, one line each.
fn asked(args: &ReportArgs) -> Result<Asked, Failure> {
    let mut errors = Vec::new();
    let mut asked = Asked::default();
    for text in &args.event {
        match event(text) {
            Ok(event) => asked.events.push(event),
            Err(problem) => errors.push(format!("--event: {text:?} {problem}")),
        }
    }
    if let Some(text) = &args.nodes {
        match text.split(',').map(|count| whole(count.trim(), 1, MAX_NODES)).collect() {
            Ok(nodes) => asked.nodes = Some(nodes),
            Err(problem) => errors.push(format!("--nodes: {text:?}: each {problem}")),
        }
    }
    if let Some(text) = &args.stable {
        match settling(text) {
            Ok(settling) => asked.settling = Some(settling),
            Err(problem) => errors.push(format!("--stable: {text:?} {problem}")),
        }
    }
    if errors.is_empty() { Ok(asked) } else { Err(Failure::Usage(errors)) }
}

/// Reads `[NAME=]FROM[..TO]`. Without a name, the whole text is the name.
fn event(text: &str) -> Result<Event, Problem> {
    let (name, times) = text.split_once('=').map_or((text, text), |(name, times)| (name.trim(), times));
    let (from, to) = times.split_once("..").map_or((times, None), |(from, to)| (from, Some(to)));
    let seconds = |text: &str| {
        let wrong = |problem| Problem::from(format!("has a time {text:?} that {problem}"));
        time(text.trim()).map(|time| time.as_secs_f64()).map_err(wrong)
    };
    if name.is_empty() {
        return Err("has no name before its =: write NAME=FROM..TO, or leave out the =".into());
    }
    Ok(Event { name: name.to_owned(), from_s: seconds(from)?, to_s: to.map(seconds).transpose()? })
}

/// Reads `WINDOW,PERCENT,HOLD`.
fn settling(text: &str) -> Result<Settling, Problem> {
    let parts: Vec<&str> = text.split(',').map(str::trim).collect();
    let [window, percent, hold] = parts.as_slice() else {
        return Err("must be WINDOW,PERCENT,HOLD, such as 5s,10,10s".into());
    };
    let seconds = |text: &str| whole(text.trim_end_matches('s').trim(), 1, MAX_HOLD_S);
    let wrong = |what: &str, problem| Problem::from(format!("has a {what} that {problem} of seconds"));
    let window_s = seconds(window).map_err(|problem| wrong("window", problem))?;
    let hold_s = seconds(hold).map_err(|problem| wrong("time to hold", problem))?;
    let problem = "has a share that must be of percent, above 0 and below 100";
    let within_percent: f64 = number(percent.trim_end_matches('%').trim(), problem)?;
    if !(within_percent > 0.0 && within_percent < 100.0) {
        return Err(problem.into());
    }
    if hold_s < window_s {
        return Err(format!(
            "has a HOLD of {hold_s} s, shorter than its WINDOW of {window_s} s: use at least {window_s}s"
        )
        .into());
    }
    Ok(Settling { window_s: window_s as usize, within_percent, hold_s: hold_s as usize })
}
