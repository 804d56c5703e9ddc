//! Errors of a connection string, and notes about what was left out of it.

use lydite_database::secret;

/// Errors and notes. Neither repeats a value that may be a secret.
#[derive(Default)]
pub(crate) struct Findings {
    pub(crate) errors: Vec<String>,
    /// Parameters that were left out, with the reason.
    ignored: Vec<(String, String)>,
    notes: Vec<String>,
    /// Secrets of the string. No line repeats them.
    secrets: Vec<String>,
}

impl Findings {
    pub(crate) fn error(&mut self, text: impl Into<String>) {
        self.errors.push(format!("target {}", text.into()));
    }

    pub(crate) fn note(&mut self, text: impl Into<String>) {
        let text = text.into();
        if !self.notes.contains(&text) {
            self.notes.push(text);
        }
    }

    /// Notes that a parameter is left out.
    pub(crate) fn ignored(&mut self, name: &str, why: &str) {
        self.ignored.push((name.to_owned(), why.to_owned()));
    }

    /// Remembers a secret.
    pub(crate) fn secret(&mut self, text: &str) {
        if !text.is_empty() {
            self.secrets.push(text.to_owned());
        }
    }

    /// Returns the errors, and the notes, one for each reason.
    pub(crate) fn finish(mut self) -> (Vec<String>, Vec<String>) {
        let mut groups: Vec<(String, Vec<String>)> = Vec::new();
        for (name, why) in self.ignored {
            match groups.iter_mut().find(|(known, _)| *known == why) {
                Some((_, names)) => names.push(name),
                None => groups.push((why, vec![name])),
            }
        }
        self.notes
            .extend(groups.into_iter().map(|(why, names)| format!("{} left out: {why}", names.join(", "))));
        let hide = |line: String| {
            self.secrets.iter().fold(line, |line, secret| secret::without_secret(&line, secret))
        };
        (self.errors.into_iter().map(hide).collect(), self.notes.into_iter().map(hide).collect())
    }
}
