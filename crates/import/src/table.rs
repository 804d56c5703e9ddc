//! The table of a program: a row for each of its settings.

use crate::draft::Draft;
use crate::fate::{Fate, Kind};
use crate::given::Given;
use crate::source::{Source, SourceError};
use std::fmt;

/// A program whose configuration is understood.
pub struct Tool {
    /// Name of the program.
    pub name: &'static str,
    /// Content that marks its files.
    pub mark: &'static str,
    /// Differences to Lydite that no setting names, a sentence each.
    pub differences: &'static [&'static str],
    /// Settings of the program.
    pub rows: &'static [Row],
    /// True if the files of one run are several, which may be given together.
    pub(crate) several: bool,
    /// True if a file is one of the program, by its content.
    pub(crate) recognizes: fn(&Source) -> bool,
    /// Reads the settings of a file.
    pub(crate) read: fn(&Source) -> Result<Vec<Given>, SourceError>,
    /// Returns a name as the table has it.
    pub(crate) normal: fn(&str) -> String,
    /// Returns the values that the program takes for settings that are not given.
    pub(crate) defaults: fn(&[Given]) -> Vec<(&'static str, &'static str)>,
    /// Derives what depends on several settings.
    pub(crate) finish: fn(&mut Draft, &[Given]),
}

impl fmt::Debug for Tool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// A setting of a program, and what becomes of it.
#[derive(Clone, Copy)]
pub struct Row {
    /// Name in the program's files, or several with `, ` between them.
    pub names: &'static str,
    /// Part of the plan that it becomes, or the reason why it becomes nothing.
    pub becomes: &'static str,
    pub(crate) treat: Treat,
    /// True if the plan has no number of warehouses without the setting.
    pub(crate) is_warehouses: bool,
}

/// The treatment of a setting.
#[derive(Clone, Copy)]
pub(crate) enum Treat {
    /// The function puts it into the plan.
    Read(fn(&mut Draft, &Given) -> Fate),
    /// Lydite does what this value means, and nothing like the others.
    Only(&'static str),
    /// The setting is of this kind, whatever its value.
    Fixed(Kind),
}

impl Row {
    const fn new(names: &'static str, becomes: &'static str, treat: Treat) -> Self {
        Self { names, becomes, treat, is_warehouses: false }
    }

    /// A setting that the number of warehouses comes from.
    pub(crate) const fn warehouses(
        names: &'static str,
        becomes: &'static str,
        read: fn(&mut Draft, &Given) -> Fate,
    ) -> Self {
        Self { is_warehouses: true, ..Self::new(names, becomes, Treat::Read(read)) }
    }

    /// A setting that becomes a part of the plan.
    pub(crate) const fn plan(
        names: &'static str,
        becomes: &'static str,
        read: fn(&mut Draft, &Given) -> Fate,
    ) -> Self {
        Self::new(names, becomes, Treat::Read(read))
    }

    /// A setting whose `value` Lydite follows. Lydite has nothing like its other values.
    pub(crate) const fn only(names: &'static str, value: &'static str, otherwise: &'static str) -> Self {
        Self::new(names, otherwise, Treat::Only(value))
    }

    /// A setting that Lydite does not need.
    pub(crate) const fn dropped(names: &'static str, reason: &'static str) -> Self {
        Self::new(names, reason, Treat::Fixed(Kind::Dropped))
    }

    /// A setting that Lydite has nothing like.
    pub(crate) const fn none(names: &'static str, reason: &'static str) -> Self {
        Self::new(names, reason, Treat::Fixed(Kind::NoCounterpart))
    }

    /// A setting that Lydite does anyway.
    pub(crate) const fn anyway(names: &'static str, becomes: &'static str) -> Self {
        Self::new(names, becomes, Treat::Fixed(Kind::Translated))
    }

    /// A password.
    pub(crate) const fn secret(names: &'static str) -> Self {
        Self::new(names, crate::fate::PASSWORD, Treat::Fixed(Kind::Secret))
    }

    /// Returns the kind of fate that the setting has as a rule.
    #[must_use]
    pub fn kind(&self) -> Kind {
        match self.treat {
            Treat::Read(_) | Treat::Only(_) => Kind::Translated,
            Treat::Fixed(kind) => kind,
        }
    }

    /// Returns each of the names.
    pub fn each(&self) -> impl Iterator<Item = &'static str> {
        self.names.split(", ")
    }

    /// Returns what the setting becomes, as the book says it.
    #[must_use]
    pub fn meaning(&self) -> String {
        match self.treat {
            Treat::Only(value) => format!("the same without it for `{value}`; else: {}", self.becomes),
            _ => self.becomes.to_owned(),
        }
    }

    /// Returns the fate of a setting of this row, and puts it into the plan.
    pub(crate) fn apply(&self, draft: &mut Draft, given: &Given) -> Fate {
        match (self.treat, &given.value) {
            (Treat::Fixed(kind), _) => Fate { kind, text: self.becomes.to_owned() },
            (Treat::Read(_), Err(reason)) => {
                Fate::unknown(format!("{}: set {} yourself", reason.0, self.becomes))
            }
            (Treat::Only(_), Err(reason)) => Fate::unknown(reason.0),
            (Treat::Only(value), Ok(_)) if given.is(value) => Fate::translated("Lydite does the same"),
            (Treat::Only(_), Ok(_)) => Fate::none(self.becomes),
            (Treat::Read(read), Ok(_)) => {
                let remark = if given.is_default() { ", by default" } else { "" };
                draft.origin = format!("{}{remark}", given.name);
                read(draft, given)
            }
        }
    }
}
