//! From files to plans: which program a file belongs to, and what becomes of each of its settings.

use crate::draft::{Draft, undriven};
use crate::fate::{Fate, Kind};
use crate::given::Given;
use crate::setting::{Setting, named, shown};
use crate::source::{Source, SourceError};
use crate::table::{Row, Tool, Treat};
use crate::tools::TOOLS;
use lydite_report::suggest::nearest;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::ptr;
use thiserror::Error;

/// A plan, and what became of the settings of its files.
#[derive(Debug)]
pub struct Import {
    /// The program that the files belong to.
    pub tool: &'static Tool,
    /// Names of the files.
    pub files: Vec<String>,
    /// The settings in the order of the files, and defaults of the program behind them.
    pub settings: Vec<Setting>,
    /// Sentences for the user.
    pub notes: Vec<String>,
    /// URL of the database, without a password; none if the files do not say enough for one.
    pub target: Option<String>,
    /// True if the files set the number of warehouses, and it is not understood.
    pub lacks_warehouses: bool,
    /// Names of the settings in which the commands of a script differ, if they are several plans and this is one of them.
    pub differs_in: Vec<String>,
    pub(crate) draft: Draft,
}

/// Files that are no configuration, one line each.
#[derive(Debug, Error)]
pub enum ImportError {
    /// The file is of no program that is known.
    #[error("{} is no configuration that Lydite knows: name a file of {}", shown(file), marks())]
    NotRecognized {
        /// Name of the file.
        file: String,
    },
    /// The file may be of several programs.
    #[error("{} has settings of {}: leave those of one program in it", shown(file), .tools.join(" and of "))]
    Ambiguous {
        /// Name of the file.
        file: String,
        /// Names of the programs.
        tools: Vec<&'static str>,
    },
    /// The file can't be read as one of its program.
    #[error("{}: {error}", shown(file))]
    Unreadable {
        /// Name of the file.
        file: String,
        /// The reason.
        error: SourceError,
    },
}

fn marks() -> String {
    TOOLS.iter().map(|tool| format!("{} ({})", tool.name, tool.mark)).collect::<Vec<_>>().join(", ")
}

/// Returns the program that a file belongs to, by its content; none for none or several.
#[must_use]
pub fn tool_of(source: &Source) -> Option<&'static Tool> {
    match tools_of(source).as_slice() {
        [tool] => Some(tool),
        _ => None,
    }
}

fn tools_of(source: &Source) -> Vec<&'static Tool> {
    TOOLS.iter().copied().filter(|tool| (tool.recognizes)(source)).collect()
}

/// Reads files into plans. Files of one program are one plan, if it has several for a run and they don't contradict
/// each other; else each is a plan of its own. The same holds for the commands of a script.
///
/// # Errors
/// Everything that is wrong with any of the files.
pub fn read_files(sources: &[Source]) -> Result<Vec<Import>, Vec<ImportError>> {
    let (mut read, mut errors) = (Vec::new(), Vec::new());
    for source in sources {
        match read_file(source) {
            Ok((tool, givens)) => {
                let commands = givens.chunk_by(|one, next| one.command == next.command);
                read.extend(commands.map(|givens| (tool, Part { source, givens: givens.to_vec() })));
            }
            Err(error) => errors.push(error),
        }
    }
    if !errors.is_empty() {
        return Err(errors);
    }
    let mut groups: Vec<Group<'_>> = Vec::new();
    for (tool, part) in read {
        let goes_with = |parts: &[Part<'_>]| parts.iter().all(|other| other.goes_with(tool, &part));
        let group =
            groups.iter_mut().find(|(of, parts)| of.name == tool.name && tool.several && goes_with(parts));
        match group {
            Some((_, parts)) => parts.push(part),
            None => {
                // A script loads once for all of its runs.
                let before = groups.iter().flat_map(|(_, parts)| parts);
                let mut parts: Vec<Part<'_>> =
                    before.filter(|other| other.is_load_of(tool, &part)).cloned().collect();
                parts.sort_by_key(Part::command);
                parts.dedup_by_key(|part| part.command());
                parts.push(part);
                groups.push((tool, parts));
            }
        }
    }
    let differing: Vec<Vec<String>> = groups.iter().map(|group| differing(group, &groups)).collect();
    let imports = groups.into_iter().zip(differing);
    Ok(imports.map(|((tool, parts), differs_in)| Import::new(tool, parts, differs_in)).collect())
}

/// The parts of a plan.
type Group<'a> = (&'static Tool, Vec<Part<'a>>);

/// Returns the names of the settings in which commands of a plan differ from those of the same script in other plans.
fn differing((tool, parts): &Group<'_>, groups: &[Group<'_>]) -> Vec<String> {
    let mut names = Vec::new();
    for part in parts.iter().filter(|part| part.command() > 0) {
        let others = groups.iter().flat_map(|(_, parts)| parts);
        for other in others.filter(|other| ptr::eq(other.source, part.source)) {
            for name in part.differences(tool, other) {
                if !names.contains(&name) {
                    names.push(name);
                }
            }
        }
    }
    names
}

/// The settings of a file, or of a command of a script.
#[derive(Clone)]
struct Part<'a> {
    source: &'a Source,
    givens: Vec<Given>,
}

impl Part<'_> {
    /// Returns the number of the command in its script; 0 without commands.
    fn command(&self) -> usize {
        self.givens.first().map_or(0, |given| given.command)
    }

    /// Returns the name of the action that the command takes; none if the program has no actions.
    fn action(&self, tool: &Tool) -> Option<&str> {
        let last = self.givens.last().filter(|given| given.command > 0)?;
        let is_action = row_of(tool, &last.name)
            .is_some_and(|(_, row)| matches!(row.treat, Treat::Fixed(Kind::Translated)));
        is_action.then_some(last.name.as_str())
    }

    /// True if two parts can be one plan. Two commands of a script that take one action must have the same settings: an
    /// option that one of them leaves out has its default there.
    fn goes_with(&self, tool: &Tool, other: &Self) -> bool {
        self.differences(tool, other).is_empty()
    }

    /// Returns the names of the settings for which two parts can't be one plan.
    fn differences(&self, tool: &Tool, other: &Self) -> Vec<String> {
        let is_again = ptr::eq(self.source, other.source)
            && self.action(tool).is_some()
            && self.action(tool) == other.action(tool);
        let mut names = differences(tool, &self.givens, &other.givens, is_again);
        if is_again {
            names.extend(differences(tool, &other.givens, &self.givens, true));
        }
        names
    }

    /// True if the part is the command of the same script that loads for another one.
    fn is_load_of(&self, tool: &Tool, other: &Self) -> bool {
        ptr::eq(self.source, other.source)
            && self.action(tool).is_some_and(|action| action.ends_with(" prepare"))
            && self.action(tool) != other.action(tool)
            && self.goes_with(tool, other)
    }
}

/// Reads the settings of a file.
fn read_file(source: &Source) -> Result<(&'static Tool, Vec<Given>), ImportError> {
    let file = source.name.clone();
    let tools = tools_of(source);
    let [tool] = tools.as_slice() else {
        let tools: Vec<&str> = tools.iter().map(|tool| tool.name).collect();
        return Err(match tools.is_empty() {
            true => ImportError::NotRecognized { file },
            false => ImportError::Ambiguous { file, tools },
        });
    };
    match (tool.read)(source) {
        Ok(givens) if givens.is_empty() => {
            Err(ImportError::Unreadable { file, error: SourceError::NoSettings })
        }
        Ok(givens) => Ok((tool, givens)),
        Err(error) => Err(ImportError::Unreadable { file, error }),
    }
}

/// Returns the names of the settings of the plan that have two values, or that `other` lacks where all are demanded.
fn differences(tool: &Tool, one: &[Given], other: &[Given], demands_all: bool) -> Vec<String> {
    let differs = |given: &&Given| {
        let same = |than: &&Given| (tool.normal)(&given.name) == (tool.normal)(&than.name);
        let is_plans = row_of(tool, &given.name).is_some_and(|(_, row)| row.kind() == Kind::Translated);
        is_plans && other.iter().find(same).map_or(demands_all, |than| than.text() != given.text())
    };
    one.iter().filter(differs).map(|given| shown_name(tool, given)).collect()
}

/// Returns the row of a setting with its place in the table.
fn row_of(tool: &Tool, name: &str) -> Option<(usize, &'static Row)> {
    let name = (tool.normal)(name);
    tool.rows.iter().enumerate().find(|(_, row)| row.each().any(|known| known == name))
}

/// Returns the fate of a setting that has no row.
fn not_known(tool: &Tool, given: &Given) -> Fate {
    if let (Err(reason), "…") = (&given.value, given.name.as_str()) {
        return Fate::unknown(reason.0);
    }
    let known: Vec<&str> = tool.rows.iter().flat_map(Row::each).collect();
    let hint = nearest(&(tool.normal)(&given.name), &known).map(|known| format!(": did you mean {known}?"));
    Fate::unknown(format!(
        "is a setting of {} that Lydite does not know{}",
        tool.name,
        hint.unwrap_or_default()
    ))
}

/// Returns the name of a setting as messages have it. A text without a value may be the rest of a password.
fn shown_name(tool: &Tool, given: &Given) -> String {
    match row_of(tool, &given.name) {
        Some(_) => given.name.clone(),
        None if given.is_alone => "…".to_owned(),
        None => named(&given.name),
    }
}

impl Import {
    fn new(tool: &'static Tool, parts: Vec<Part<'_>>, differs_in: Vec<String>) -> Self {
        let mut draft = Draft::default();
        let mut sources: Vec<&Source> = parts.iter().map(|part| part.source).collect();
        sources.dedup_by(|one, other| ptr::eq(*one, *other));
        for source in sources.iter().filter(|source| source.is_latin_1) {
            draft.note(format!("{} is not UTF-8, and was read as Latin-1", source.name));
        }
        if !differs_in.is_empty() {
            draft.note(split_note(&parts, &differs_in));
        }
        let names: Vec<String> = sources.iter().map(|source| source.name.clone()).collect();
        let mut givens: Vec<(Option<String>, Given)> = Vec::new();
        for part in parts {
            let name = &part.source.name;
            givens.extend(part.givens.into_iter().map(|given| (Some(name.clone()), given)));
        }
        let all: Vec<Given> = givens.iter().map(|(_, given)| given.clone()).collect();
        for (name, value) in (tool.defaults)(&all) {
            if !all.iter().any(|given| (tool.normal)(&given.name) == (tool.normal)(name)) {
                givens.push((None, Given::new(name, value, 0)));
            }
        }
        let settled = settle(tool, &mut draft, &givens);
        draft.origin = String::new();
        (tool.finish)(&mut draft, &all);
        let lacks_warehouses = !draft.keys.contains_key("warehouses")
            && settled.iter().any(|(_, setting)| {
                setting.fate.kind == Kind::NotUnderstood
                    && row_of(tool, &setting.name).is_some_and(|(_, row)| row.is_warehouses)
            });
        if lacks_warehouses {
            draft.note(
                "the number of warehouses is not understood: set warehouses, or a run loads its default into an empty \
                 database",
            );
        }
        let mut notes = std::mem::take(&mut draft.notes);
        notes.extend(draft.place.undriven.map(undriven));
        let amended = |(of, setting): Settled| match of.and_then(|of| draft.amended.get(&of)) {
            Some(fate) => Setting { fate: fate.clone(), ..setting },
            None => setting,
        };
        let settings = settled.into_iter().map(amended).collect();
        Self {
            tool,
            files: names,
            settings,
            notes,
            target: draft.place.url(),
            lacks_warehouses,
            differs_in,
            draft,
        }
    }

    /// True if the files have a password.
    #[must_use]
    pub fn has_password(&self) -> bool {
        self.settings.iter().any(|setting| setting.fate.kind == Kind::Secret)
    }

    /// Returns the values of the plan: keys, and a list `phase` of tables. `target` is empty if the files do not say
    /// enough for a URL: such a plan runs on the database that the user names, and never on the default one.
    #[must_use]
    pub fn plan(&self) -> Map<String, Value> {
        let mut plan = Map::new();
        plan.insert("target".to_owned(), self.target.clone().unwrap_or_default().into());
        plan.extend(self.draft.keys.iter().map(|(key, entry)| ((*key).to_owned(), entry.value.clone())));
        if !self.draft.phases.is_empty() {
            let table = |phase: &BTreeMap<&str, Value>| {
                Value::Object(phase.iter().map(|(key, value)| ((*key).to_owned(), value.clone())).collect())
            };
            plan.insert("phase".to_owned(), self.draft.phases.iter().map(table).collect());
        }
        plan
    }

    /// Returns the settings that are not understood.
    pub fn not_understood(&self) -> impl Iterator<Item = &Setting> {
        self.settings.iter().filter(|setting| setting.fate.kind == Kind::NotUnderstood)
    }
}

/// Returns names as a list in a sentence.
#[must_use]
pub fn listed(names: &[String]) -> String {
    match names {
        [all @ .., last] if !all.is_empty() => format!("{} and {last}", all.join(", ")),
        _ => names.concat(),
    }
}

/// Returns the sentence about a script whose commands are several plans.
fn split_note(parts: &[Part<'_>], differs_in: &[String]) -> String {
    let is_one = parts.iter().zip(parts.iter().skip(1)).all(|(one, next)| ptr::eq(one.source, next.source));
    let line = |part: &Part<'_>| {
        let line = part.givens.last().map_or(0, |given| given.line);
        match is_one {
            true => format!("line {line}"),
            false => format!("{}, line {line}", part.source.name),
        }
    };
    format!(
        "the commands of a script differ in {}, so each has a plan of its own: this one is of {}",
        listed(differs_in),
        parts.iter().map(line).collect::<Vec<_>>().join(" and ")
    )
}

/// A setting, and its name in the table with its group; none for a part of a setting.
type Settled = (Option<(String, usize)>, Setting);

/// Applies the row of each setting, in the order of the table. Returns the settings in the order of the files.
fn settle(tool: &'static Tool, draft: &mut Draft, givens: &[(Option<String>, Given)]) -> Vec<Settled> {
    let mut order: Vec<(usize, Option<(usize, &'static Row)>)> =
        givens.iter().enumerate().map(|(at, (_, given))| (at, row_of(tool, &given.name))).collect();
    order.sort_by_key(|(at, row)| (row.map(|(place, _)| place), *at));
    let mut settled: Vec<(usize, Settled)> = Vec::new();
    for (at, row) in order {
        let Some((file, given)) = givens.get(at) else { continue };
        let later = givens.iter().skip(at + 1).find(|(_, other)| {
            other.group == given.group && (tool.normal)(&other.name) == (tool.normal)(&given.name)
        });
        let fate = match (row, later) {
            (None, _) => not_known(tool, given),
            (Some((_, row)), Some((_, later)))
                if row.kind() == Kind::Translated && later.value.is_ok() && later.text() != given.text() =>
            {
                Fate::dropped(format!("is set again on line {}, which wins", later.line))
            }
            (Some((_, row)), _) => row.apply(draft, given),
        };
        let setting = |name: String, fate| Setting {
            file: file.clone(),
            line: (given.line > 0).then_some(given.line),
            name,
            fate,
        };
        let name = shown_name(tool, given);
        let parts = std::mem::take(&mut draft.parts);
        let of = ((tool.normal)(&given.name), given.group);
        settled.push((at, (Some(of), setting(name.clone(), fate))));
        for (part, fate) in parts {
            settled.push((at, (None, setting(format!("{name} {part}"), fate))));
        }
    }
    settled.sort_by_key(|(at, _)| *at);
    settled.into_iter().map(|(_, settled)| settled).collect()
}
