//! Turns axes into points: a validated plan for every combination of their values.

use lydite_families::TargetSpec;
use lydite_lab::LabTarget;
use lydite_lab::places::rehearse;
use lydite_observe::SourceSpec;
use lydite_plan::controls::faults::Rehearse;
use lydite_plan::entries::{Entries, Names, text_of};
use lydite_plan::source::{Entry, Source};
use lydite_plan::{Plan, keys};
use std::collections::{BTreeMap, BTreeSet};
use toml::de::{DeTable, DeValue};
use xxhash_rust::xxh3::xxh3_64;

/// Maximum number of points. A larger number is a mistake.
const MAX_POINTS: usize = 10_000;
/// Keys of a plan that a sweep rejects, with the reason.
const OWN_KEYS: [(&str, &str); 7] = [
    ("json", SAME_FILE),
    ("report", SAME_FILE),
    ("summary", SAME_FILE),
    ("rte.delivery_log", SAME_FILE),
    ("success_log", SAME_FILE),
    ("label", "each run has the label of its point: leave it out"),
    ("require", "is for single runs: leave it out, and let a figure show the metric"),
];
const SAME_FILE: &str = "each run would write the same file: leave it out, the sweep keeps every result";
/// The prefix of keys that set an option of the target's URL.
const OPTION_PREFIX: &str = "target.";
/// The name of the axis that `[[point]]` defines.
pub(crate) const POINTS: &str = "point";

/// A value for a key of the plan, and its place.
#[derive(Clone, Debug)]
pub(crate) struct Setting {
    key: String,
    text: String,
    /// The line in the file; `None` for `--set`.
    line: Option<usize>,
}

/// An axis: something that the experiment varies.
#[derive(Clone)]
pub(crate) struct Axis {
    pub(crate) name: String,
    pub(crate) values: Vec<AxisValue>,
    line: usize,
}

/// A value of an axis: its label in figures, and the keys that it sets.
#[derive(Clone)]
pub(crate) struct AxisValue {
    pub(crate) label: String,
    /// Its part of a point's label, such as `terminals=8`.
    name: String,
    settings: Vec<Setting>,
    /// True if only `--set AXIS=LABEL` runs it.
    optional: bool,
}

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
    /// The lab that is the target; `None` for any other target. `plan` has a URL where nothing listens then.
    pub(crate) lab: Option<LabTarget>,
}

/// Returns the axes for the summary: names and labels.
pub(crate) fn names(axes: &[Axis]) -> Vec<lydite_report::sweep::Axis> {
    let named = |axis: &Axis| lydite_report::sweep::Axis {
        name: axis.name.clone(),
        values: axis.values.iter().map(|value| value.label.clone()).collect(),
    };
    axes.iter().map(named).collect()
}

/// Reads the settings of a table: `[plan]`, a point, or a value of an axis. Keys in `except` are skipped.
pub(crate) fn settings(source: &mut Source, table: &DeTable<'_>, except: &[&str]) -> Vec<Setting> {
    let mut all = Vec::new();
    for entry in source.leaves(table) {
        if except.contains(&entry.key.as_str()) || !is_settable(source, &entry) {
            continue;
        }
        if let Some(text) = source.plan_text(&entry) {
            all.push(Setting { key: entry.key, text, line: Some(entry.line) });
        }
    }
    all
}

/// Applies `--set KEY=VALUE` to the plan, and `--set AXIS=LABEL,LABEL` to the axes. `--set KEY=` removes the key. Returns
/// the axes with the values to run.
pub(crate) fn override_plan(
    source: &mut Source,
    plan: &mut Vec<Setting>,
    axes: &[Axis],
    set: &[String],
) -> Vec<Axis> {
    let mut chosen = axes.to_vec();
    chosen.iter_mut().for_each(|axis| axis.values.retain(|value| !value.optional));
    for text in set {
        let Some((key, value)) = text.split_once('=').map(|(key, value)| (key.trim(), value.trim())) else {
            source.add(format!("--set {text}: must be KEY=VALUE, for example --set duration=60s"));
            continue;
        };
        if let Some((axis, chosen)) = axes.iter().zip(&mut chosen).find(|(axis, _)| axis.name == key) {
            match choose(axis, value) {
                Ok(values) => chosen.values = values,
                Err(Unknown(label)) => {
                    let known: Vec<&str> = axis.values.iter().map(|value| value.label.as_str()).collect();
                    let known = known.join(", ");
                    let problem = format!("{label:?} is no value of axis {}: use some of {known}", axis.name);
                    source.add(format!("--set {key}: {problem}"));
                }
            }
            continue;
        }
        let varied = axes.iter().find(|axis| {
            axis.values.iter().flat_map(|value| &value.settings).any(|setting| setting.key == key)
        });
        if let Some(problem) = key_problem(key, source.names) {
            source.add(format!("--set {key}: {problem}"));
        } else if let Some(axis) = varied {
            source.add(format!("--set {key}: is varied by axis {}: change the experiment", axis.name));
        } else {
            let had = plan.len();
            plan.retain(|setting| setting.key != key);
            if !value.is_empty() {
                plan.push(Setting { key: key.to_owned(), text: value.to_owned(), line: None });
            } else if plan.len() == had {
                source.add(format!(
                    "--set {key}=: takes a key out of [plan], which has no {key}: leave it out, or give a value"
                ));
            }
        }
    }
    chosen
}

/// A label that no value of an axis has.
struct Unknown<'a>(&'a str);

/// Returns the values of an axis with these labels, in the order of the file.
fn choose<'a>(axis: &Axis, labels: &'a str) -> Result<Vec<AxisValue>, Unknown<'a>> {
    let has = |label: &str| axis.values.iter().any(|value| value.label == label);
    // A label may contain a comma.
    let labels: Vec<&'a str> =
        if has(labels) { vec![labels] } else { labels.split(',').map(str::trim).collect() };
    match labels.iter().find(|label| !has(label)) {
        Some(unknown) => Err(Unknown(unknown)),
        None => {
            Ok(axis.values.iter().filter(|value| labels.contains(&value.label.as_str())).cloned().collect())
        }
    }
}

/// Returns true if an entry may be set, and reports it otherwise.
fn is_settable(source: &mut Source, entry: &Entry<'_, '_>) -> bool {
    let problem = key_problem(&entry.key, source.names);
    if let Some(problem) = &problem {
        source.wrong(entry.line, &entry.key, problem);
    }
    problem.is_none()
}

/// Returns the reason why a key can't be set; `None` if it can.
fn key_problem(key: &str, names: Names) -> Option<String> {
    let option = key.strip_prefix(OPTION_PREFIX).is_some_and(|name| !name.is_empty());
    let own = |key: &str| OWN_KEYS.iter().find(|(own, _)| *own == key);
    if let Some((_, why)) = own(key) {
        return Some((*why).into());
    }
    if option || keys().plan.contains(&key) {
        return None;
    }
    let keys: Vec<&str> = keys().plan.iter().copied().filter(|key| own(key).is_none()).collect();
    let problem = names.not_known(key, &keys);
    let has_suggestion = problem.ends_with('?');
    Some(if has_suggestion {
        problem
    } else {
        format!("{problem}, or target.OPTION for an option of the target's URL")
    })
}

/// Reads `[axes]`, and `[[point]]` as an axis of that name, in the order of the file.
pub(crate) fn axes(source: &mut Source, document: &DeTable<'_>) -> Vec<Axis> {
    let mut all = Vec::new();
    for entry in source.entries(document) {
        match (entry.key.as_str(), entry.value) {
            ("axes", DeValue::Table(table)) => {
                for leaf in source.leaves(table) {
                    all.extend(axis(source, &leaf));
                }
            }
            (POINTS, DeValue::Array(_)) => all.extend(axis(source, &entry)),
            ("axes", _) => source.wrong(entry.line, "axes", "must be a table: [axes]"),
            (POINTS, _) => source.wrong(entry.line, POINTS, "must be a list of tables: [[point]]"),
            _ => {}
        }
    }
    let mut named: BTreeMap<&str, usize> = BTreeMap::new();
    for axis in &all {
        if let Some(line) = named.insert(&axis.name, axis.line) {
            source.wrong(
                axis.line,
                &axis.name,
                &format!("is the name of the axis in line {line}, too: choose another"),
            );
        }
    }
    let mut owners: BTreeMap<&str, &str> = BTreeMap::new();
    for axis in &all {
        let keys: BTreeSet<&str> = axis
            .values
            .iter()
            .flat_map(|value| &value.settings)
            .map(|setting| setting.key.as_str())
            .collect();
        for key in keys {
            if let Some(other) = owners.insert(key, &axis.name) {
                source.wrong(
                    axis.line,
                    &axis.name,
                    &format!("sets {key}, and so does {other}: one axis for each key"),
                );
            }
        }
    }
    all
}

/// Reads an axis: plain values for a key, or tables with labels.
fn axis(source: &mut Source, entry: &Entry<'_, '_>) -> Option<Axis> {
    let (name, line) = (entry.key.clone(), entry.line);
    let DeValue::Array(values) = entry.value else {
        source.wrong(
            line,
            &name,
            "must be a list of values: what is the same in all runs belongs into [plan]",
        );
        return None;
    };
    let tables = values.iter().filter(|value| value.get_ref().is_table()).count();
    let mut read = Vec::new();
    if values.is_empty() {
        source.wrong(line, &name, "has no values");
    } else if tables == values.len() {
        for value in values {
            if let DeValue::Table(table) = value.get_ref() {
                read.extend(labelled(source, &name, source.line_of(value.span().start), table));
            }
        }
    } else if tables > 0 {
        source.wrong(line, &name, "must hold either values or tables with a label, not both");
    } else if !(keys().plan.contains(&name.as_str()) || name.starts_with(OPTION_PREFIX)) {
        source.wrong(
            line,
            &name,
            "is no key of a plan: use one, or target.OPTION, or give an axis of your own tables: \
             [{ label = \"A\", KEY = VALUE }, …]",
        );
    } else if is_settable(source, entry) {
        for value in values {
            let line = source.line_of(value.span().start);
            let Some(text) = text_of(&name, value.get_ref()) else {
                source.wrong(line, &name, "must be texts, numbers or true/false");
                continue;
            };
            let setting = Setting { key: name.clone(), text: text.clone(), line: Some(line) };
            let short = name.rsplit('.').next().unwrap_or(&name);
            let name = format!("{short}={text}");
            read.push(AxisValue { name, label: text, settings: vec![setting], optional: false });
        }
    }
    if !read.is_empty() && read.iter().all(|value| value.optional) {
        source.wrong(line, &name, "has optional values only: leave optional out of one at least");
    }
    let mut seen = BTreeSet::new();
    for value in &read {
        if !seen.insert(value.label.as_str()) {
            source.wrong(
                line,
                &name,
                &format!("has {:?} twice: each value needs a name of its own", value.label),
            );
        }
    }
    Some(Axis { name, values: read, line })
}

/// Reads a table with a label as a value of an axis.
fn labelled(source: &mut Source, axis: &str, line: usize, table: &DeTable<'_>) -> Option<AxisValue> {
    let label = source.entries(table).into_iter().find(|entry| entry.key == "label");
    let Some(label) = label else {
        source.wrong(line, axis, "needs a label");
        return None;
    };
    let text = source.scalar(&label).filter(|text| !text.trim().is_empty());
    if text.is_none() {
        source.wrong(label.line, "label", "must not be empty");
    }
    let optional = source.entries(table).into_iter().find(|entry| entry.key == "optional");
    let optional = optional.is_some_and(|entry| match entry.value {
        DeValue::Boolean(optional) => *optional,
        _ => {
            source.wrong(entry.line, "optional", "must be true or false");
            false
        }
    });
    let settings = settings(source, table, &["label", "optional"]);
    text.map(|text| AxisValue { name: text.clone(), label: text, settings, optional })
}

/// Rejects axes that vary a key of the plan.
pub(crate) fn reject_fixed_axes(source: &mut Source, plan: &[Setting], axes: &[Axis]) {
    for axis in axes {
        if let Some(line) =
            plan.iter().find(|setting| setting.key == axis.name).and_then(|setting| setting.line)
        {
            source.wrong(
                axis.line,
                &axis.name,
                &format!("is fixed in line {line} too: leave it in one place"),
            );
        }
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
        let Some(point) = point(source, label, at, &settings) else { continue };
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
    let mut url = target.map_or_else(|| "gemel:".to_owned(), |setting| setting.text.clone());
    let mut given = BTreeMap::new();
    let mut entries = Entries::default();
    for (key, setting) in settings {
        if let Some(option) = key.strip_prefix(OPTION_PREFIX) {
            match TargetSpec::with_option(&url, option, &setting.text) {
                Ok(longer) => url = longer,
                Err(problem) => report(source, setting, &problem),
            }
        } else if *key != "target" {
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
                Some(setting) => report(source, setting, &problem),
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
    given.insert("target".to_owned(), url);
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
    if source.errors.len() > errors {
        return None;
    }
    let mut shown = given.clone();
    // A lab is the same target each time, whatever its ports and its password.
    if lab.is_none() {
        shown.extend(given.get("target").map(|url| ("target".to_owned(), plan.target.without_password(url))));
    }
    if let Some(replicas) = plan.controls.replicas.without_passwords() {
        shown.insert("replicas".to_owned(), replicas);
    }
    let written: String = shown.iter().map(|(key, value)| format!("{key}={value}\n")).collect();
    let digest = format!("{:016x}", xxh3_64(written.as_bytes()));
    Some(Point { label, at, plan, given, shown, digest, target_line, lab })
}

/// Adds a setting to the entries of a plan, with its place.
fn add_entry(entries: &mut Entries, setting: &Setting, text: &str, file: &str) {
    match setting.line {
        Some(line) => entries.line(&setting.key, text.to_owned(), file, line),
        None => entries.put(&setting.key, text.to_owned()),
    }
}

/// Reports a problem at the place of a setting.
fn report(source: &mut Source, setting: &Setting, problem: &str) {
    source.wrong_by(&format!("--set {}", setting.key), setting.line, &setting.key, problem);
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
        report(source, setting, rest);
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
        Some(setting) => report(source, setting, problem),
        None => source.wrong(target_line, "target", problem),
    }
}
