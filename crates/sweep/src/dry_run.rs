//! The points of a sweep and the time that they take, before any run.

use crate::experiment::{Experiment, Options, planned};
use crate::point::Point;
use crate::servers;
use crate::store;
use lydite_console::exit::Outcome;
use lydite_console::output::print;
use lydite_report::figures::{duration, plural};
use lydite_report::sweep::State;
use std::time::Duration;

/// Prints the points, the runs that are missing, and the least time that they take.
///
/// # Errors
/// The directory holds another sweep.
pub fn show(experiment: &Experiment, options: &Options) -> Outcome {
    let out = &options.out();
    let known = if options.fresh { None } else { store::read_manifest(out)? };
    if let Some(known) = &known {
        store::require_same_experiment(out, known, experiment)?;
    }
    let left = |point: &Point| {
        (1..=experiment.repetitions)
            .filter(|repetition| {
                let stored = |known| store::read_run(out, known, experiment, point, *repetition).0.state;
                known.as_ref().map(stored) != Some(State::Complete)
            })
            .count() as u32
    };
    let missing: Vec<&Point> = experiment.points.iter().filter(|point| left(point) > 0).collect();
    servers::check_targets(experiment, &missing)?;
    let common = experiment.common();
    let mut text = format!("{}\n", experiment.title);
    for (key, value) in &common {
        text.push_str(&format!("  {key} = {value}\n"));
    }
    let width = experiment.points.iter().map(|point| point.label.chars().count()).max().unwrap_or(0);
    let mut runs = 0;
    let mut time = Duration::ZERO;
    text.push_str(&format!(
        "{}, {} of each, {}:\n",
        plural(experiment.points.len() as u64, "point"),
        plural(u64::from(experiment.repetitions), "run"),
        experiment.reload.words()
    ));
    for point in &experiment.points {
        let left = left(point);
        runs += left;
        time += (planned(point) + experiment.pause) * left;
        let varied: Vec<String> = point
            .shown
            .iter()
            .filter(|(key, _)| !common.contains_key(key.as_str()))
            .map(|(key, value)| format!("{key} = {value}"))
            .collect();
        let there = experiment.repetitions - left;
        let there = if there > 0 { format!("  ({there} there)") } else { String::new() };
        text.push_str(&format!("  {:<width$}  {}{there}\n", point.label, varied.join("  ")));
    }
    text.push_str(&format!(
        "{} to make, at least {}; loading and checks come on top\nresults go to {}\n",
        plural(u64::from(runs), "run"),
        duration(time.as_secs_f64()),
        out.display()
    ));
    print(&text)
}
