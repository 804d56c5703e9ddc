//! From files to plans: which program a file belongs to, and what becomes of each of its settings.

use crate::draft::{Draft, undriven};
use crate::fate::{Fate, Kind};
use crate::given::Given;
use crate::setting::{Setting, named};
use crate::source::{Source, SourceError};
use crate::table::{Row, Tool};
use crate::tools::TOOLS;
use lydite_report::suggest::nearest;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
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
    pub(crate) draft: Draft,
}

/// Files that are no configuration, one line each.
#[derive(Debug, Error)]
pub enum ImportError {
    /// The file is of no program that is known.
    #[error("{file}: is no configuration that Lydite knows: looked for {}", marks())]
    NotRecognized {
        /// Name of the file.
        file: String,
    },
    /// The file may be of several programs.
    #[error("{file}: has settings of {}: leave those of one program in it", .tools.join(" and of "))]
    Ambiguous {
        /// Name of the file.
        file: String,
        /// Names of the programs.
        tools: Vec<&'static str>,
    },
    /// The file can't be read as one of its program.
    #[error("{file}: {error}")]
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

/// Reads files into plans. Files of one program are one plan, if it has several for a run and they don't contradict each
/// other; else each is a plan of its own.
///
/// # Errors
/// Everything that is wrong with any of the files.
pub fn read_files(sources: &[Source]) -> Result<Vec<Import>, Vec<ImportError>> {
    let (mut read, mut errors) = (Vec::new(), Vec::new());
    for source in sources {
        match read_file(source) {
            Ok((tool, givens)) => read.push((tool, source, givens)),
            Err(error) => errors.push(error),
        }
    }
    if !errors.is_empty() {
        return Err(errors);
    }
    let mut groups: Vec<(&'static Tool, Vec<Read<'_>>)> = Vec::new();
    for (tool, source, givens) in read {
        let group = groups.iter_mut().find(|(of, files)| {
            of.name == tool.name
                && tool.several
                && files.iter().all(|(_, others)| agree(tool, others, &givens))
        });
        match group {
            Some((_, files)) => files.push((source, givens)),
            None => groups.push((tool, vec![(source, givens)])),
        }
    }
    Ok(groups.into_iter().map(|(tool, files)| Import::new(tool, files)).collect())
}

/// A file and its settings.
type Read<'a> = (&'a Source, Vec<Given>);

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

/// True if no setting of the plan has two values.
fn agree(tool: &Tool, one: &[Given], other: &[Given]) -> bool {
    one.iter().all(|given| {
        let same = |than: &&Given| (tool.normal)(&given.name) == (tool.normal)(&than.name);
        let is_plans = row_of(tool, &given.name).is_some_and(|(_, row)| row.kind() == Kind::Translated);
        !is_plans || other.iter().find(same).is_none_or(|than| than.text() == given.text())
    })
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
    let is_alone = given.value.as_ref().is_ok_and(String::is_empty);
    match row_of(tool, &given.name) {
        Some(_) => given.name.clone(),
        None if is_alone => "…".to_owned(),
        None => named(&given.name),
    }
}

impl Import {
    fn new(tool: &'static Tool, files: Vec<Read<'_>>) -> Self {
        let mut draft = Draft::default();
        for (source, _) in &files {
            if source.is_latin_1 {
                draft.note(format!("{} is not UTF-8, and was read as Latin-1", source.name));
            }
        }
        let names: Vec<String> = files.iter().map(|(source, _)| source.name.clone()).collect();
        let mut givens: Vec<(Option<String>, Given)> = Vec::new();
        for (source, of) in files {
            givens.extend(of.into_iter().map(|given| (Some(source.name.clone()), given)));
        }
        let all: Vec<Given> = givens.iter().map(|(_, given)| given.clone()).collect();
        for (name, value) in (tool.defaults)(&all) {
            if !all.iter().any(|given| (tool.normal)(&given.name) == name) {
                givens.push((None, Given::new(name, value, 0)));
            }
        }
        let settled = settle(tool, &mut draft, &givens);
        draft.origin = String::new();
        (tool.finish)(&mut draft);
        let mut notes = std::mem::take(&mut draft.notes);
        notes.extend(draft.place.undriven.map(undriven));
        let amended = |(of, setting): Settled| match of.and_then(|of| draft.amended.get(&of)) {
            Some(fate) => Setting { fate: fate.clone(), ..setting },
            None => setting,
        };
        let settings = settled.into_iter().map(amended).collect();
        Self { tool, files: names, settings, notes, target: draft.place.url(), draft }
    }

    /// True if the files have a password.
    #[must_use]
    pub fn has_password(&self) -> bool {
        self.settings.iter().any(|setting| setting.fate.kind == Kind::Secret)
    }

    /// Returns the values of the plan: keys, and a list `phase` of tables.
    #[must_use]
    pub fn plan(&self) -> Map<String, Value> {
        let mut plan = Map::new();
        plan.extend(self.target.clone().map(|target| ("target".to_owned(), target.into())));
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
