//! Names of results that stand side by side.

use std::path::{Path, PathBuf};

use crate::figures::clean;
use crate::model::RunResult;

/// Returns the letter of a result among several: A, B, … Z, then numbers from 27.
#[must_use]
pub fn letter(place: usize) -> String {
    match u8::try_from(place) {
        Ok(n) if n < 26 => char::from(b'A' + n).to_string(),
        _ => (place + 1).to_string(),
    }
}

/// Returns a name for each result: the label, else the name of its file, or its path if files have the same name, else
/// the kind of database. Among several results each name begins with a letter, which keeps equal names apart.
#[must_use]
pub fn names(results: &[RunResult], files: &[PathBuf]) -> Vec<String> {
    let title = |place: usize, result: &RunResult| match (&result.label, files.get(place)) {
        (Some(label), _) => label.clone(),
        (None, Some(file)) => name_of_file(file, files),
        (None, None) => result.target.kind.clone(),
    };
    let named = |(place, result)| {
        let title = clean(&title(place, result));
        let name = if results.len() > 1 { format!("{}\u{a0}{title}", letter(place)) } else { title };
        name.trim().to_owned()
    };
    results.iter().enumerate().map(named).collect()
}

/// Returns a name for each of `count` results in messages about it: that of its file, or its letter if `files` lacks it.
#[must_use]
pub(crate) fn file_names(count: usize, files: &[PathBuf]) -> Vec<String> {
    let name = |place| files.get(place).map_or_else(|| letter(place), |file| name_of_file(file, files));
    (0..count).map(|place| clean(&name(place))).collect()
}

fn name_of_file(file: &Path, files: &[PathBuf]) -> String {
    let others = files.iter().filter(|other| other.file_name() == file.file_name()).count();
    let name = file.file_name().filter(|_| others < 2).map(Path::new);
    name.unwrap_or(file).display().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_win_over_files_and_equal_names_have_different_letters() {
        let labelled =
            |label: Option<&str>| RunResult { label: label.map(str::to_owned), ..RunResult::default() };
        let results = [labelled(Some("main")), labelled(None), labelled(Some("main")), labelled(None)];
        let files = ["x/a.json", "x/b.json", "y/a.json", "y/b.json"].map(PathBuf::from);
        let named = |files: &[PathBuf]| -> Vec<String> {
            names(&results, files).iter().map(|name| name.replace('\u{a0}', " ")).collect()
        };
        assert_eq!(named(&files), ["A main", "B x/b.json", "C main", "D y/b.json"]);
        assert_eq!(named(&files[..2]), ["A main", "B b.json", "C main", "D"]);
        assert_eq!(names(&results[..1], &files), ["main"], "nothing to tell it from");
        assert_eq!([letter(25), letter(26)], ["Z", "27"]);
    }
}
