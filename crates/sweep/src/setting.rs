//! A value for a key of a point, and its place.

use lydite_plan::source::Source;

/// A value for a key of a point, and its place.
#[derive(Clone, Debug)]
pub(crate) struct Setting {
    pub(crate) key: String,
    pub(crate) text: String,
    /// The line in the file; `None` for `--set`.
    pub(crate) line: Option<usize>,
}

impl Setting {
    /// Reports a problem at its place.
    pub(crate) fn wrong(&self, source: &mut Source, problem: &str) {
        source.wrong_by(&format!("--set {}", self.key), self.line, &self.key, problem);
    }
}
