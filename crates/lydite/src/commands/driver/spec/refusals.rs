//! `[errors]` of a specification: which errors of the store mean what.

use super::Meaning;
use super::code::Kind;
use super::format::{Entries, Reading, line_of_text};
use super::places::Piece;
use crate::cli::Language;
use toml::de::DeValue;

impl Reading<'_> {
    /// What errors mean, in the order of the file.
    pub(super) fn refusals(
        &mut self,
        entries: &Entries<'_, '_>,
    ) -> Vec<(Meaning, Option<usize>, Option<usize>)> {
        let (form, of, name) = match self.language {
            Language::Python => (
                "has to be a class of errors, { class = \"…\", where = \"… error …\" }, or a list of these",
                "class",
                "error",
            ),
            Language::Go => (
                "has to be an error, { as = \"…\", where = \"… err …\" } with the type of one, or a list of these",
                "as",
                "err",
            ),
        };
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
                let (class, condition) = match value {
                    DeValue::Table(table) => {
                        let inner = self.source.entries(table);
                        if let Some(other) =
                            inner.iter().find(|entry| ![of, "where"].contains(&entry.key.as_str()))
                        {
                            let key = format!("{key}.{}", other.key);
                            let problem = format!("is not known: an error has {of} and where");
                            self.source.wrong(other.line, &key, &problem);
                            continue;
                        }
                        let text = |name: &str| {
                            inner
                                .iter()
                                .find(|entry| entry.key == name)
                                .and_then(|entry| line_of_text(entry.value))
                        };
                        let given =
                            |name: &str| inner.iter().any(|entry| entry.key == name).then(|| text(name));
                        (given(of), given("where"))
                    }
                    // In Go, one that errors.Is finds.
                    value if self.language == Language::Go => {
                        let is = line_of_text(value).map(|text| format!("errors.Is(err, {text})"));
                        let Some(text) = is else {
                            self.source.wrong(line, key, form);
                            continue;
                        };
                        let condition = self.condition(key, line, &text, vec!["err"]);
                        all.push((meaning, None, Some(condition)));
                        continue;
                    }
                    value => (Some(line_of_text(value)), None),
                };
                let alone = self.language == Language::Go && condition.is_some();
                if class == Some(None) || condition == Some(None) || (class.is_none() && !alone) {
                    self.source.wrong(line, key, form);
                    continue;
                }
                let class = class.flatten().map(|text| self.condition(key, line, text, vec![]));
                let needs = if self.language == Language::Go { vec![] } else { vec![name] };
                let condition = condition.flatten().map(|text| self.condition(key, line, text, needs));
                all.push((meaning, class, condition));
            }
        }
        all
    }

    /// An expression about an error.
    fn condition(&mut self, key: &str, line: usize, text: &str, needs: Vec<&'static str>) -> usize {
        let (key, kind, text, has) = (key.to_string(), Kind::Expression, text.to_string(), needs.clone());
        self.piece(Piece { key, line, text_line: line, kind, text, has, needs, answers: true })
    }
}
