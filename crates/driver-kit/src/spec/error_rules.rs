//! `[errors]` of a specification: rules that give errors of the store their meaning.

use super::Meaning;
use super::finding::Kind;
use super::format::{Entries, Reader, line_of_text};
use super::keys::Piece;
use crate::language::Language;
use toml::de::{DeTable, DeValue};

/// The meaning of an error, and the indexes of the pieces for its class and its condition.
type RuleParts = (Meaning, Option<usize>, Option<usize>);

/// A key of a rule's table: `None` if it is missing, `Some(None)` if it is no text of one line.
type Field<'t> = Option<Option<&'t str>>;

impl Reader<'_> {
    /// Reads the rules for errors, in the order of the file.
    pub(super) fn error_rules(&mut self, entries: &Entries<'_, '_>) -> Vec<RuleParts> {
        let mut ordered: Vec<_> = entries.iter().filter(|(key, _)| key.starts_with("errors.")).collect();
        ordered.sort_by_key(|(_, entry)| entry.line);
        let mut all = Vec::new();
        for (key, entry) in ordered {
            let meaning = match key.strip_prefix("errors.").unwrap_or(key) {
                "serialization" => Meaning::Aborted("serialization"),
                "deadlock" => Meaning::Aborted("deadlock"),
                "lock_timeout" => Meaning::Aborted("lock_timeout"),
                "unavailable" => Meaning::Unavailable,
                _ => Meaning::Aborted("other"),
            };
            let values: Vec<(usize, &DeValue<'_>)> = match entry.value {
                DeValue::Array(values) => values
                    .iter()
                    .map(|value| (self.source.line_of(value.span().start), value.get_ref()))
                    .collect(),
                value => vec![(entry.line, value)],
            };
            for (line, value) in values {
                if let Some((class, condition)) = self.error_rule(key, line, value) {
                    all.push((meaning, class, condition));
                }
            }
        }
        all
    }

    /// Reads one rule. Returns the pieces for its class and its condition.
    fn error_rule(
        &mut self,
        key: &str,
        line: usize,
        value: &DeValue<'_>,
    ) -> Option<(Option<usize>, Option<usize>)> {
        let is_go = self.language == Language::Go;
        let (class, condition) = match value {
            DeValue::Table(table) => self.class_and_condition(key, table)?,
            // In Go a text is an error for errors.Is.
            value if is_go => {
                let Some(text) = line_of_text(value) else { return self.wrong_rule(key, line) };
                let is = format!("errors.Is(err, {text})");
                return Some((None, Some(self.expression(key, line, &is, vec!["err"]))));
            }
            value => (Some(line_of_text(value)), None),
        };
        let needs_class = !(is_go && condition.is_some());
        if class == Some(None) || condition == Some(None) || (class.is_none() && needs_class) {
            return self.wrong_rule(key, line);
        }
        let class = class.flatten().map(|text| self.expression(key, line, text, vec![]));
        let names = if is_go { vec![] } else { vec!["error"] };
        let condition = condition.flatten().map(|text| self.expression(key, line, text, names));
        Some((class, condition))
    }

    /// Reads the class and the condition from the table of a rule.
    fn class_and_condition<'t>(
        &mut self,
        key: &str,
        table: &'t DeTable<'_>,
    ) -> Option<(Field<'t>, Field<'t>)> {
        let class = match self.language {
            Language::Python => "class",
            Language::Go => "as",
        };
        let fields = self.source.entries(table);
        if let Some(other) = fields.iter().find(|entry| ![class, "where"].contains(&entry.key.as_str())) {
            let key = format!("{key}.{}", other.key);
            let problem = format!("is not known: an error has {class} and where");
            self.source.wrong(other.line, &key, &problem);
            return None;
        }
        let field =
            |name: &str| fields.iter().find(|entry| entry.key == name).map(|entry| line_of_text(entry.value));
        Some((field(class), field("where")))
    }

    /// Reports a rule of a wrong form.
    fn wrong_rule<T>(&mut self, key: &str, line: usize) -> Option<T> {
        let problem = match self.language {
            Language::Python => {
                "has to be a class of errors, { class = \"…\", where = \"… error …\" }, or a list of these"
            }
            Language::Go => {
                "has to be an error, { as = \"…\", where = \"… err …\" } with the type of one, or a list of these"
            }
        };
        self.source.wrong(line, key, problem);
        None
    }

    /// Adds an expression about an error, which must use `names` and may use no others.
    fn expression(&mut self, key: &str, line: usize, text: &str, names: Vec<&'static str>) -> usize {
        self.add_piece(Piece {
            key: key.to_string(),
            line,
            text_line: line,
            kind: Kind::Expression,
            text: text.to_string(),
            may_use: names.clone(),
            must_use: names,
            answers: true,
        })
    }
}
