//! Reads the keys that are the same in all runs, and the axes: the keys that vary.

use crate::beside;
use crate::setting::Setting;
use lydite_plan::entries::{Names, text_of};
use lydite_plan::keys;
use lydite_plan::source::{Entry, Source};
use std::collections::{BTreeMap, BTreeSet};
use toml::de::{DeTable, DeValue};

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
pub(crate) const OPTION_PREFIX: &str = "target.";
/// The name of the axis that `[[point]]` defines.
pub(crate) const POINTS: &str = "point";

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
    pub(crate) name: String,
    pub(crate) settings: Vec<Setting>,
    /// True if only `--set AXIS=LABEL` runs it.
    optional: bool,
}

/// Returns the axes for the summary: names and labels.
pub(crate) fn names(axes: &[Axis]) -> Vec<lydite_report::sweep::Axis> {
    let named = |axis: &Axis| lydite_report::sweep::Axis {
        name: axis.name.clone(),
        values: axis.values.iter().map(|value| value.label.clone()).collect(),
    };
    axes.iter().map(named).collect()
}

/// Reads the keys that are the same in all runs: `[plan]`, and those at the top of the file.
pub(crate) fn plan(source: &mut Source, document: &DeTable<'_>) -> Vec<Setting> {
    let mut all = Vec::new();
    for entry in source.entries(document).iter().filter(|entry| entry.key == "plan") {
        match entry.value {
            DeValue::Table(table) => all = settings(source, table, &[]),
            _ => source.wrong(entry.line, "plan", "must be a table: [plan]"),
        }
    }
    for entry in beside::at_the_top(source, document) {
        if entry.value.is_array() {
            continue;
        }
        if let Some(line) =
            all.iter().find(|setting: &&Setting| setting.key == entry.key).and_then(|setting| setting.line)
        {
            source.wrong(
                entry.line,
                &entry.key,
                &format!("is fixed in line {line} too: leave it in one place"),
            );
        }
        all.extend(setting(source, entry));
    }
    all
}

/// Reads the settings of a table: `[plan]`, a point, or a value of an axis. Keys in `except` are skipped.
fn settings(source: &mut Source, table: &DeTable<'_>, except: &[&str]) -> Vec<Setting> {
    let entries = source.leaves(table).into_iter().filter(|entry| !except.contains(&entry.key.as_str()));
    entries.filter_map(|entry| setting(source, entry)).collect()
}

fn setting(source: &mut Source, entry: Entry<'_, '_>) -> Option<Setting> {
    if !is_settable(source, &entry) {
        return None;
    }
    if beside::is_key(&entry.key) && entry.value.is_array() {
        source.wrong(entry.line, &entry.key, "must be a single value here: a list belongs into [axes]");
        return None;
    }
    let text = source.plan_text(&entry)?;
    Some(Setting { key: entry.key, text, line: Some(entry.line) })
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
    if option || beside::is_key(key) || keys().plan.contains(&key) {
        return None;
    }
    let keys = keys().plan.iter().copied().filter(|key| own(key).is_none());
    let keys: Vec<&str> = keys.chain(beside::COMMANDS).collect();
    let problem = names.not_known(key, &keys);
    let has_suggestion = problem.ends_with('?');
    Some(if has_suggestion {
        problem
    } else {
        format!(
            "{problem}, or target.OPTION for an option of the target's URL, or server.NAME for a setting of a lab's servers"
        )
    })
}

/// Reads the lists at the top of the file, `[axes]`, and `[[point]]` as an axis of that name, in the order of the file.
pub(crate) fn axes(source: &mut Source, document: &DeTable<'_>) -> Vec<Axis> {
    let mut all = Vec::new();
    for entry in beside::at_the_top(source, document).iter().filter(|entry| entry.value.is_array()) {
        all.extend(axis(source, entry));
    }
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
    } else if !(keys().plan.contains(&name.as_str())
        || name.starts_with(OPTION_PREFIX)
        || beside::is_key(&name))
    {
        source.wrong(
            line,
            &name,
            "is no key of a plan: use one, or target.OPTION or server.NAME, or give an axis of your own tables: \
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
            let label = beside::shown(&name, &text);
            let name = format!("{short}={label}");
            read.push(AxisValue { name, label, settings: vec![setting], optional: false });
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
