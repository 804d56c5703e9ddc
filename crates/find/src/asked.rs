//! The search as the user wrote it, and its validation: all errors at once, before anything is touched.

use crate::experiment::Experiment;
use crate::levels::{self, Quantity};
use lydite_console::exit::Failure;
use lydite_decide::Range;
use lydite_plan::Problem;
use lydite_plan::entries::Entries;
use lydite_plan::values::{flag, longer_than_nothing};
use lydite_report::Requirement;
use lydite_report::figures::count;
use lydite_sweep::{Common, Copies, DEFAULT_TARGET, Origin, Subject, reject_keys_of_single_runs};

/// Precision of the answer as a share, unless the user asks for another.
const RESOLUTION: f64 = 0.02;

/// Settings of the user.
#[derive(Default)]
pub struct Asked {
    /// Settings that all experiments have.
    pub common: Common,
    /// URL of the target.
    pub target: Option<String>,
    /// Objectives, each as `METRIC < VALUE`.
    pub slo: Vec<String>,
    /// Lowest level of interest.
    pub lowest: Option<String>,
    /// Highest level of interest.
    pub highest: Option<String>,
    /// First level.
    pub start: Option<String>,
    /// Precision of the answer in percent.
    pub resolution: Option<String>,
    /// Most time of all runs.
    pub time: Option<String>,
}

impl Asked {
    /// Validates the whole search. Touches no database.
    ///
    /// # Errors
    /// Everything that is wrong, one line each.
    pub fn read(self) -> Result<Experiment, Failure> {
        let mut errors = Vec::new();
        let mut entries = self.common.entries;
        entries.flag("target", self.target);
        reject_keys_of_single_runs(&mut entries);
        if entries.text("require").is_some() {
            entries.wrong("require", "is for single runs: name what must hold with --slo");
        }
        if self.slo.is_empty() {
            errors.push("--slo: is missing: name what must hold, as --slo 'new_order.p99 < 50ms'".to_owned());
        } else {
            // Errors of an objective name its flag.
            entries.set_by("--slo", "require", self.slo.join(","));
        }
        let mode = entries.text("mode");
        let quantity = match levels::of_mode(mode.as_deref()) {
            Ok(quantity) => quantity,
            Err(problem) => {
                errors.push(format!("--mode: {:?} {problem}", mode.unwrap_or_default()));
                return Err(Failure::Usage(errors));
            }
        };
        if mode.is_none() {
            entries.set_by("--mode", "mode", quantity.mode.to_owned());
        }
        if entries.text(quantity.key).is_some() {
            entries.wrong(quantity.key, "is what this command searches: leave it out, and name --start");
        }
        let asked = [
            flag(&mut errors, "--lowest", self.lowest.as_deref(), |text| quantity.read(text)),
            flag(&mut errors, "--start", self.start.as_deref(), |text| quantity.read(text)),
            flag(&mut errors, "--highest", self.highest.as_deref(), |text| quantity.read(text)),
        ];
        let resolution = flag(&mut errors, "--resolution", self.resolution.as_deref(), percent);
        let most_time = flag(&mut errors, "--time", self.time.as_deref(), longer_than_nothing);
        let reload = flag(&mut errors, "--reload", self.common.reload.as_deref(), Origin::read);
        let range = range(quantity, asked, &entries, resolution.unwrap_or(RESOLUTION), &mut errors);
        entries.set_by("--start", quantity.key, (quantity.value)(range.start));
        let subject = subject(entries, quantity, &range, &mut errors);
        if let Some(subject) = &subject {
            errors.extend(Origin::problem(subject, reload));
            for objective in &subject.plan.requirements {
                let problem = objective.not_searched().map(str::to_owned);
                let problem = problem.or_else(|| not_judged(objective, subject, quantity, &range));
                errors.extend(problem.map(|problem| format!("--slo: {:?} {problem}", objective.text())));
            }
        }
        let out = self.common.out;
        let copies = Copies::read(self.common.json, self.common.report, &out, &mut errors);
        match subject {
            Some(subject) if errors.is_empty() => Ok(Experiment {
                origin: Origin::of(&subject, reload),
                objectives: subject.plan.requirements.clone(),
                subject,
                quantity,
                range,
                most_time,
                label: self.common.label,
                out,
                copies,
                fresh: self.common.fresh,
            }),
            _ => Err(Failure::Usage(errors)),
        }
    }
}

/// Returns the range of the search. `asked` are the lowest, the first and the highest level.
fn range(
    quantity: &Quantity,
    asked: [Option<f64>; 3],
    entries: &Entries,
    resolution: f64,
    errors: &mut Vec<String>,
) -> Range {
    let [lowest, start, highest] = asked;
    // More warehouses than the database has can't be active.
    let loaded = entries.text("warehouses").and_then(|text| text.parse::<f64>().ok());
    let of_database = if quantity.key == "active_warehouses" { loaded } else { Some(quantity.highest) };
    let Some(most) = of_database.filter(|most| *most >= 1.0) else {
        errors.push(
            "--warehouses: mode rte needs the number that the database has or shall have: the highest level of the search"
                .to_owned(),
        );
        return Range { lowest: 1.0, highest: 1.0, start: 1.0, whole: true, resolution };
    };
    let highest = highest.unwrap_or(most);
    let lowest = lowest.unwrap_or(quantity.lowest.min(highest));
    if highest > most {
        errors.push(format!("--highest: {highest} is more than --warehouses {most}"));
    }
    if lowest > highest {
        errors.push(format!("--lowest: {lowest} is above --highest {highest}"));
    }
    if let Some(start) = start.filter(|start| !(lowest..=highest).contains(start)) {
        errors.push(format!("--start: {start} is not between --lowest {lowest} and --highest {highest}"));
    }
    let start = start.unwrap_or(quantity.start.max(lowest).min(highest));
    Range { lowest, highest, start, whole: quantity.whole, resolution }
}

/// Validates the plan, at both ends of the range too.
fn subject(
    entries: Entries,
    quantity: &Quantity,
    range: &Range,
    errors: &mut Vec<String>,
) -> Option<Subject> {
    let url = entries.text("target").unwrap_or_else(|| DEFAULT_TARGET.to_owned());
    let mut known = None;
    for (flag, level) in [("--lowest", range.lowest), ("--highest", range.highest), ("--start", range.start)]
    {
        let mut entries = entries.clone();
        entries.set_by(flag, quantity.key, (quantity.value)(level));
        match Subject::read(entries, &url) {
            Ok(subject) => known = Some(subject),
            Err(problems) => {
                for line in problems.lines() {
                    // The plan is the same but for the level.
                    if !errors.iter().any(|known| known == line) {
                        errors.push(line.to_owned());
                    }
                }
                return None;
            }
        }
    }
    if known.as_ref().is_some_and(|subject| subject.plan.schedule.steps.len() > 1) {
        errors.push("phases: a search needs the same load through a whole run: leave them out".to_owned());
    }
    known
}

/// Returns the reason why no run can judge an objective, or why one at the first rate can't; none if it can.
fn not_judged(
    objective: &Requirement,
    subject: &Subject,
    quantity: &Quantity,
    range: &Range,
) -> Option<String> {
    let plan = &subject.plan;
    if objective.metric().is_of_faults() && plan.controls.faults.specs().next().is_none() {
        return Some(
            "can't be judged: the plan has no fault: add --fault, or name another metric".to_owned(),
        );
    }
    // How many transactions users and sessions complete is not known before.
    if quantity.key != "rate" {
        return None;
    }
    let needed = objective.metric().needed_requests(&plan.mix);
    let requests = range.start * plan.duration.as_secs_f64();
    (requests < needed).then(|| {
        format!(
            "can't be judged: it needs about {} requests, and a run at the first rate, {} (--start), has {}: make runs \
             longer (--duration {}s), or name a higher --start",
            count(needed.ceil() as u64),
            range.start,
            count(requests as u64),
            (needed / range.start).ceil()
        )
    })
}

/// Reads a share in percent.
fn percent(text: &str) -> Result<f64, Problem> {
    let number = text.strip_suffix('%').unwrap_or(text).trim().parse().ok();
    let known = number.filter(|percent: &f64| (0.1..=100.0).contains(percent));
    known.map(|percent| percent / 100.0).ok_or_else(|| "must be from 0.1% to 100%".into())
}
