//! The results that `lydite compare` reads: patterns become files, files become groups.

use crate::cli::CompareArgs;
use lydite_console::exit::Failure;
use lydite_report::RunResult;
use lydite_report::groups::{Group, Run, given, of_list, problems};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Characters that make a name a pattern.
const PATTERN: [char; 3] = ['*', '?', '['];

/// Files that were named together.
pub(super) struct Side {
    /// The names as they were given.
    title: String,
    pub(super) files: Vec<PathBuf>,
}

/// Expands the patterns of the command line: one side of a plain list, else one for each of `--a` and `--b`.
pub(super) fn sides(args: &CompareArgs, errors: &mut Vec<String>) -> Vec<Side> {
    let mut side = |flag: &str, names: &[PathBuf]| {
        let mut files = Vec::new();
        for name in names {
            match expand(name) {
                Ok(found) => files.extend(found),
                Err(problem) => errors.push(format!("{flag}{problem}")),
            }
        }
        let titles: Vec<String> = names.iter().map(|name| name.display().to_string()).collect();
        Side { title: titles.join(" "), files }
    };
    if args.a.is_empty() {
        let list = side("", &args.results);
        if list.files.len() < 2 && errors.is_empty() {
            errors.push("name at least two results, or groups of them with --a and --b".to_owned());
        }
        return vec![list];
    }
    let mut both = vec![side("--a: ", &args.a), side("--b: ", &args.b)];
    // Two patterns may find one file; a run counts once.
    for side in &mut both {
        let mut seen = BTreeSet::new();
        side.files.retain(|file| seen.insert(real(file)));
    }
    if let [a, b] = both.as_slice() {
        for file in a.files.iter().filter(|file| b.files.iter().any(|other| real(other) == real(file))) {
            errors.push(format!("{} is in both groups: name it in --a or in --b", file.display()));
        }
    }
    both
}

/// Returns the files of a name: itself, or those that match it in the order of their names.
fn expand(name: &Path) -> Result<Vec<PathBuf>, Problem> {
    let text = name.to_string_lossy();
    if !text.contains(PATTERN) || name.exists() {
        return Ok(vec![name.to_owned()]);
    }
    let wrong = |why: String| Problem(format!("{text} is no pattern of file names: {why}"));
    let found = glob::glob(&text).map_err(|error| wrong(error.to_string()))?;
    let files: Vec<PathBuf> = found.collect::<Result<_, _>>().map_err(|error| wrong(error.to_string()))?;
    if files.is_empty() {
        return Err(Problem(format!("{text} matches no file: name results of `lydite run --json`")));
    }
    Ok(files)
}

/// A name that leads to no files: one line.
#[derive(Debug)]
struct Problem(String);

impl std::fmt::Display for Problem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// Returns a file without links, for comparisons; as it was named if it does not exist.
fn real(file: &Path) -> PathBuf {
    file.canonicalize().unwrap_or_else(|_| file.to_owned())
}

/// Reads the results and forms groups. `are_given` tells that `--a` and `--b` name them.
///
/// # Errors
/// Each file that is no result, or that does not belong where it is, in a line of its own.
pub(super) fn groups(sides: &[Side], are_given: bool) -> Result<Vec<Group>, Failure> {
    let names = shown(sides);
    let mut errors: Vec<String> = Vec::new();
    let mut read: Vec<(String, Vec<Run>)> = Vec::new();
    for side in sides {
        let mut runs = Vec::new();
        for file in &side.files {
            match RunResult::load(file) {
                Ok(result) => {
                    let file = names.get(file).cloned().unwrap_or_else(|| file.display().to_string());
                    runs.push(Run { file, result });
                }
                Err(error) => {
                    let line = error.to_string();
                    if !errors.contains(&line) {
                        errors.push(line);
                    }
                }
            }
        }
        read.push((side.title.clone(), runs));
    }
    if !errors.is_empty() {
        return Err(Failure::Usage(errors));
    }
    let groups =
        if are_given { given(read) } else { of_list(read.into_iter().flat_map(|(_, runs)| runs).collect()) };
    let problems: Vec<String> = problems(&groups, are_given).iter().map(ToString::to_string).collect();
    if problems.is_empty() { Ok(groups) } else { Err(Failure::Usage(problems)) }
}

/// Returns the name of each file in messages: its last part, or all of it if others have the same last part.
fn shown(sides: &[Side]) -> BTreeMap<PathBuf, String> {
    let all: Vec<&PathBuf> = sides.iter().flat_map(|side| &side.files).collect();
    let name = |file: &PathBuf| {
        let same =
            all.iter().filter(|other| other.file_name() == file.file_name() && **other != file).count();
        let last = file.file_name().filter(|_| same == 0).map(Path::new);
        last.unwrap_or(file).display().to_string()
    };
    all.iter().map(|file| ((*file).clone(), name(file))).collect()
}
