//! Errors of a connection string, notes about what was left out of it, and outcomes of its parameters.

use super::outcome::Outcome;
use super::trim::plain;
use lydite_database::secret;

/// An error.
struct Problem {
    line: String,
    /// Parameter that is wrong; `None` if it is the whole string.
    parameter: Option<Wrong>,
}

/// A parameter that is unknown or rejected.
struct Wrong {
    /// Name as it stands in the string. It must not be shown.
    name: String,
    /// Name for messages.
    shown: String,
    outcome: Outcome,
}

/// Outcomes of parameters by their names, and notes.
pub(crate) type Outcomes = (Vec<(String, Outcome)>, Vec<String>);

/// Errors and notes. Neither repeats a value that may be a secret.
#[derive(Default)]
pub(crate) struct Findings {
    problems: Vec<Problem>,
    /// Parameters that were left out, with the reason.
    ignored: Vec<(String, String)>,
    notes: Vec<String>,
    /// Secrets of the string. No line repeats them.
    secrets: Vec<String>,
    /// Parameters of the string: the name as it stands there, the name for messages, and the outcome.
    outcomes: Vec<(String, String, Outcome)>,
}

impl Findings {
    /// Adds an error of the whole string.
    pub(crate) fn error(&mut self, text: impl Into<String>) {
        self.problems.push(Problem { line: format!("target {}", text.into()), parameter: None });
    }

    /// Adds an error of a parameter that Lydite can't follow. The line is `parameter HEADWHY`.
    pub(crate) fn rejected(&mut self, name: &str, head: &str, why: &str) {
        self.wrong((name, name), head, why, Outcome::Rejected);
    }

    /// Adds an error of a parameter whose value is unknown. The line is `parameter HEADWHY`.
    pub(crate) fn unread(&mut self, name: &str, head: &str, why: &str) {
        self.wrong((name, name), head, why, Outcome::Unknown);
    }

    /// Adds an error of an unknown parameter, with the name for messages. The line is `parameter HEADWHY`.
    pub(crate) fn unknown(&mut self, name: &str, shown: &str, head: &str, why: &str) {
        self.wrong((name, shown), head, why, Outcome::Unknown);
    }

    fn wrong(&mut self, (name, shown): (&str, &str), head: &str, why: &str, outcome: fn(String) -> Outcome) {
        let (name, shown) = (name.to_owned(), shown.to_owned());
        let parameter = Some(Wrong { name, shown, outcome: outcome(why.to_owned()) });
        self.problems.push(Problem { line: format!("target parameter {head}{why}"), parameter });
    }

    /// True if there are errors.
    pub(crate) fn has_errors(&self) -> bool {
        !self.problems.is_empty()
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

    /// Adds the outcome of a parameter of the string: that of its error or of its note, else `outcome`.
    pub(crate) fn conclude(&mut self, name: &str, outcome: Outcome) {
        let wrong = self.problems.iter().filter_map(|problem| problem.parameter.as_ref());
        let mut wrong = wrong.filter(|wrong| plain(&wrong.name) == plain(name));
        let mut ignored = self.ignored.iter().filter(|(known, _)| plain(known) == plain(name));
        let (shown, outcome) = match (wrong.next(), ignored.next()) {
            (Some(wrong), _) => (wrong.shown.clone(), wrong.outcome.clone()),
            (None, Some((_, why))) => (name.to_owned(), Outcome::LeftOut(why.clone())),
            (None, None) => (name.to_owned(), outcome),
        };
        self.outcomes.push((name.to_owned(), shown, outcome));
    }

    /// Returns the errors, and the notes, one for each reason.
    pub(crate) fn finish(mut self) -> (Vec<String>, Vec<String>) {
        let mut groups: Vec<(String, Vec<String>)> = Vec::new();
        for (name, why) in std::mem::take(&mut self.ignored) {
            match groups.iter_mut().find(|(known, _)| *known == why) {
                Some((_, names)) => names.push(name),
                None => groups.push((why, vec![name])),
            }
        }
        self.notes
            .extend(groups.into_iter().map(|(why, names)| format!("{} left out: {why}", names.join(", "))));
        let errors = self.problems.iter().map(|problem| self.hide(&problem.line)).collect();
        (errors, self.notes.iter().map(|note| self.hide(note)).collect())
    }

    /// Returns the outcomes of the string's parameters in their order, and the notes that are about no parameter.
    ///
    /// # Errors
    /// Errors of the whole string, and of parameters that stand elsewhere, such as in a service file.
    pub(crate) fn outcomes(self) -> Result<Outcomes, Vec<String>> {
        let is_of_string =
            |wrong: &Wrong| self.outcomes.iter().any(|(name, ..)| plain(name) == plain(&wrong.name));
        let whole =
            self.problems.iter().filter(|problem| !problem.parameter.as_ref().is_some_and(is_of_string));
        let errors: Vec<String> = whole.map(|problem| self.hide(&problem.line)).collect();
        if !errors.is_empty() {
            return Err(errors);
        }
        let outcomes = self
            .outcomes
            .iter()
            .map(|(_, shown, outcome)| (self.hide(shown), outcome.clone().map_reason(|why| self.hide(&why))));
        Ok((outcomes.collect(), self.notes.iter().map(|note| self.hide(note)).collect()))
    }

    fn hide(&self, line: &str) -> String {
        self.secrets.iter().fold(line.to_owned(), |line, secret| secret::without_secret(&line, secret))
    }
}
