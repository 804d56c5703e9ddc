//! The points of a sweep: a validated plan for every combination of the axes' values.

use crate::beside::{self, Beside};
use crate::grid::{Axis, AxisValue, OPTION_PREFIX};
use crate::setting::Setting;
use crate::subject::DEFAULT_TARGET;
use lydite_families::TargetSpec;
use lydite_lab::LabTarget;
use lydite_lab::places::rehearse;
use lydite_observe::SourceSpec;
use lydite_plan::Plan;
use lydite_plan::controls::faults::Rehearse;
use lydite_plan::entries::Entries;
use lydite_plan::source::Source;
use std::collections::BTreeMap;
use xxhash_rust::xxh3::xxh3_64;

/// Maximum number of points. A larger number is a mistake.
const MAX_POINTS: usize = 10_000;

/// A point of the sweep: one validated plan.
pub(crate) struct Point {
    pub(crate) label: String,
    /// The label of its value of each axis.
    pub(crate) at: Vec<String>,
    pub(crate) plan: Plan,
    /// The keys of the plan. They may contain a password and are never written to a file.
    pub(crate) given: BTreeMap<String, String>,
    /// The same keys without passwords.
    pub(crate) shown: BTreeMap<String, String>,
    /// A digest of the plan, distinct for each point.
    pub(crate) digest: String,
    /// The line of the target, or 1.
    pub(crate) target_line: usize,
    /// Settings of servers, and commands.
    pub(crate) beside: Beside,
    /// Variables that say to a command which point it is.
    pub(crate) variables: Vec<(String, String)>,
    /// The lab that is the target; `None` for any other target. `plan` has a URL where nothing listens then.
    pub(crate) lab: Option<LabTarget>,
}

impl Point {
    /// Returns the URL of the target, with its password; of a lab that the sweep starts `lab:KIND`.
    pub(crate) fn url(&self) -> &str {
        self.given.get("target").map_or("", String::as_str)
    }
}

/// Returns every combination of values. The last axis varies fastest.
pub(crate) fn points(source: &mut Source, plan: &[Setting], axes: &[Axis]) -> Vec<Point> {
    let count = axes.iter().try_fold(1_usize, |all, axis| all.checked_mul(axis.values.len()));
    let Some(count) = count.filter(|count| *count <= MAX_POINTS) else {
        source.add(format!("{}: more than {MAX_POINTS} points: give fewer values or axes", source.file()));
        return Vec::new();
    };
    let mut all: Vec<Point> = Vec::new();
    for number in 0..count {
        let mut left = number;
        let mut chosen: Vec<&AxisValue> = Vec::new();
        for axis in axes.iter().rev() {
            chosen.extend(axis.values.get(left % axis.values.len()));
            left /= axis.values.len();
        }
        chosen.reverse();
        let names: Vec<&str> = chosen.iter().map(|value| value.name.as_str()).collect();
        let label = if names.is_empty() { "run".to_owned() } else { names.join(", ") };
        let at = chosen.iter().map(|value| value.label.clone()).collect();
        let mut settings: BTreeMap<&str, &Setting> =
            plan.iter().map(|setting| (setting.key.as_str(), setting)).collect();
        settings.extend(
            chosen.iter().flat_map(|value| &value.settings).map(|setting| (setting.key.as_str(), setting)),
        );
        let Some(mut point) = point(source, label, at, &settings) else { continue };
        point.variables = variables(&point, axes, &settings);
        if let Some(same) = all.iter().find(|other| other.digest == point.digest) {
            let file = source.file();
            source.add(format!(
                "{file}: points {:?} and {:?} are the same plan: vary a key between them",
                same.label, point.label
            ));
        }
        all.push(point);
    }
    all
}

/// Validates the plan of a point. Reports its errors at the settings that cause them.
fn point(
    source: &mut Source,
    label: String,
    at: Vec<String>,
    settings: &BTreeMap<&str, &Setting>,
) -> Option<Point> {
    let errors = source.errors.len();
    let target = settings.get("target");
    let mut url = target.map_or_else(|| DEFAULT_TARGET.to_owned(), |setting| setting.text.clone());
    let mut given = BTreeMap::new();
    let mut entries = Entries::default();
    for (key, setting) in settings {
        if let Some(option) = key.strip_prefix(OPTION_PREFIX) {
            match TargetSpec::with_option(&url, option, &setting.text) {
                Ok(longer) => url = longer,
                Err(problem) => setting.wrong(source, &problem),
            }
        } else if *key != "target" && !beside::is_key(key) {
            given.insert((*key).to_owned(), setting.text.clone());
            add_entry(&mut entries, setting, &setting.text, source.file());
        }
    }
    let target_line = target.and_then(|setting| setting.line).unwrap_or(1);
    let lab = match LabTarget::parse(&url).transpose() {
        Ok(lab) => lab,
        Err(problem) => {
            let problem = problem.to_string();
            match target {
                Some(setting) => setting.wrong(source, &problem),
                None => source.wrong(target_line, "target", &problem),
            }
            return None;
        }
    };
    add_entry(
        &mut entries,
        &Setting { key: "target".into(), text: String::new(), line: Some(target_line) },
        &lab.as_ref().map_or_else(|| url.clone(), LabTarget::example),
        source.file(),
    );
    // The servers of a lab run only later.
    let rehearse: Rehearse<'_> = if lab.is_some() { &|_, _| Vec::new() } else { &rehearse };
    given.insert("target".to_owned(), if lab.is_some() { url } else { TargetSpec::url_of(&url) });
    // A server of this machine may start later, and a sweep that is only drawn again needs none. Each run looks itself.
    let reach = |source: &SourceSpec| match source {
        SourceSpec::Host(Some(_)) => None,
        _ => source.reach(),
    };
    let plan = match Plan::read_rehearsed(entries, rehearse, &reach) {
        Ok(plan) => plan,
        Err(failure) => {
            for problem in failure.lines() {
                report_at_cause(source, settings, target_line, problem);
            }
            return None;
        }
    };
    // Rules that depend on the scale need the number of warehouses.
    if let Some(warehouses) = plan.warehouses.filter(|_| plan.micro.is_none())
        && let Err(failure) = plan.mode(warehouses)
    {
        for problem in failure.lines() {
            report_at_cause(source, settings, target_line, problem);
        }
    }
    let beside = Beside::of(settings);
    if let Some(setting) = settings.values().find(|setting| beside::is_of_server(&setting.key))
        && let Some(problem) =
            beside::problem_of_target(lab.as_ref(), given.get("target").map_or("", String::as_str))
    {
        setting.wrong(source, &problem);
    }
    if source.errors.len() > errors {
        return None;
    }
    let mut shown = given.clone();
    shown.extend(beside.shown());
    // A lab is the same target each time, whatever its ports and its password.
    if lab.is_none() {
        shown.extend(given.get("target").map(|url| ("target".to_owned(), plan.target.without_password(url))));
    }
    if let Some(replicas) = plan.controls.replicas.without_passwords() {
        shown.insert("replicas".to_owned(), replicas);
    }
    let written: String = shown.iter().map(|(key, value)| format!("{key}={value}\n")).collect();
    // A long command is not shown.
    let written = written + &beside.digested();
    let digest = format!("{:016x}", xxh3_64(written.as_bytes()));
    Some(Point { label, at, plan, given, shown, digest, target_line, beside, variables: Vec::new(), lab })
}

/// Adds a setting to the entries of a plan, with its place.
fn add_entry(entries: &mut Entries, setting: &Setting, text: &str, file: &str) {
    match setting.line {
        Some(line) => entries.line(&setting.key, text.to_owned(), file, line),
        None => entries.put(&setting.key, text.to_owned()),
    }
}

/// Reports a problem of a plan at the setting that causes it, unless the problem names its line already.
fn report_at_cause(
    source: &mut Source,
    settings: &BTreeMap<&str, &Setting>,
    target_line: usize,
    problem: &str,
) {
    if problem.starts_with(&format!("{}, line ", source.file())) || problem.starts_with("--set ") {
        source.add(problem.to_owned());
        return;
    }
    if let Some((key, rest)) = problem.split_once(": ")
        && let Some(setting) = settings.get(key)
    {
        setting.wrong(source, rest);
        return;
    }
    let name = |text: &str| -> String {
        text.chars().take_while(|letter| letter.is_ascii_alphanumeric() || "_-".contains(*letter)).collect()
    };
    let option = problem
        .strip_prefix("target option ")
        .map(|rest| format!("{OPTION_PREFIX}{}", name(rest.trim_start_matches('"'))));
    let flag = problem.strip_prefix("--").map(name);
    let about = [option, flag].into_iter().flatten().find_map(|key| settings.get(key.as_str()));
    match about {
        Some(setting) => setting.wrong(source, problem),
        None => source.wrong(target_line, "target", problem),
    }
}

/// Returns the variables for the commands of a point: its label, its keys, and its labels on axes of tables.
fn variables(point: &Point, axes: &[Axis], settings: &BTreeMap<&str, &Setting>) -> Vec<(String, String)> {
    let keys = settings.values().filter(|setting| !beside::COMMANDS.contains(&setting.key.as_str()));
    let keys = keys.map(|setting| (setting.key.as_str(), setting.text.clone()));
    let of_tables = axes.iter().zip(&point.at).filter(|(axis, _)| !settings.contains_key(axis.name.as_str()));
    let labels = of_tables.map(|(axis, label)| (axis.name.as_str(), label.clone()));
    let named = keys.chain(labels).map(|(name, value)| (beside::variable(name), value));
    [("LYDITE_POINT".to_owned(), point.label.clone())].into_iter().chain(named).collect()
}
