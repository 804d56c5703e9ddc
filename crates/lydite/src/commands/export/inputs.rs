//! The results of `lydite export`: files, and directories of `lydite sweep`, `lydite ab` and `lydite find`.

use lydite_console::exit::Failure;
use lydite_export::Run;
use lydite_import::{Source as Configuration, tool_of};
use lydite_plan::Problem;
use lydite_report::RunResult;
use lydite_report::document_kind::DocumentKind;
use lydite_sweep::directory::RESULTS;
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// A result that was read, with its file.
pub(super) struct Source {
    /// Path of the file.
    name: String,
    result: RunResult,
}

impl Source {
    /// Returns the result with the path of its file as its name.
    pub(super) fn run(&self) -> Run<'_> {
        Run::new(self.name.clone(), &self.result)
    }
}

/// Reads all results.
///
/// # Errors
/// Everything that is wrong with them, one line each.
pub(super) fn read(names: &[PathBuf]) -> Result<Vec<Source>, Failure> {
    let mut errors = Vec::new();
    let mut files = Vec::new();
    for name in names {
        match files_of(name) {
            Ok(found) => files.extend(found),
            Err(problem) => errors.push(problem.to_string()),
        }
    }
    errors.extend(named_twice(&files));
    let mut sources = Vec::new();
    for file in files {
        // Tables have the names of files as texts, which tell the results apart.
        let Some(name) = file.to_str().map(str::to_owned) else {
            errors.push(format!(
                "{}: its name is not UTF-8, and tables have it as a text: rename it, or name a link to it",
                file.display()
            ));
            continue;
        };
        match RunResult::load(&file) {
            Ok(result) => sources.push(Source { name, result }),
            Err(error) => errors.push(of_other(&file).unwrap_or_else(|| error.to_string())),
        }
    }
    if errors.is_empty() { Ok(sources) } else { Err(Failure::Usage(errors)) }
}

/// Returns the files of a name: itself, or the results of the runs of a directory.
fn files_of(name: &Path) -> Result<Vec<PathBuf>, Problem> {
    if !name.is_dir() {
        return Ok(vec![name.to_owned()]);
    }
    let results = name.join(RESULTS);
    let shown = name.display();
    let mut files = match json_files(&results) {
        Ok(files) => files,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let is_of_files = json_files(name).is_ok_and(|files| !files.is_empty());
            let these =
                if is_of_files { format!(", as {}", name.join("*.json").display()) } else { String::new() };
            return Err(format!(
                "{shown} is a directory without {RESULTS}/: name results, which `lydite run URL --json FILE` writes{these}, or a \
                 directory of `lydite sweep`, `ab` or `find`"
            )
            .into());
        }
        Err(error) => return Err(format!("cannot read {}: {error}", results.display()).into()),
    };
    if files.is_empty() {
        return Err(
            format!("{} holds no result: run the same command again to go on", results.display()).into()
        );
    }
    files.sort();
    Ok(files)
}

/// Returns the JSON files of a directory. Those that begin with a dot are being written.
fn json_files(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        let is_hidden = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
        if !is_hidden && path.extension().is_some_and(|end| end == "json") {
            files.push(path);
        }
    }
    Ok(files)
}

/// Rejects files that are named twice, whose rows would count twice. A name in other words is the same file.
fn named_twice(files: &[PathBuf]) -> Vec<String> {
    let mut seen: BTreeMap<PathBuf, &PathBuf> = BTreeMap::new();
    let mut problems = Vec::new();
    for file in files {
        let real = file.canonicalize().unwrap_or_else(|_| file.clone());
        match seen.get(&real) {
            Some(first) if *first == file => problems.push(format!("{} is named twice", file.display())),
            Some(first) => {
                problems.push(format!("{} and {} are the same file", first.display(), file.display()))
            }
            None => {
                seen.insert(real, file);
            }
        }
    }
    problems
}

/// Returns the error for a file that another command reads; none for any other file.
fn of_other(file: &Path) -> Option<String> {
    of_experiment(file).or_else(|| of_tool(file))
}

/// Returns the error for a configuration of another program, which is no measurement.
fn of_tool(file: &Path) -> Option<String> {
    let tool = tool_of(&Configuration::open(file).ok()?)?;
    Some(format!(
        "{} is not a Lydite result: it is a configuration of {}, which `lydite import` makes a plan of; `lydite run -c PLAN \
         --json FILE` writes a result",
        file.display(),
        tool.name
    ))
}

/// Returns the error for a document about several runs: their results are in its directory.
fn of_experiment(file: &Path) -> Option<String> {
    let document = serde_json::from_str(&fs::read_to_string(file).ok()?).ok()?;
    let what = match DocumentKind::of(&document)? {
        DocumentKind::Sweep => "a sweep",
        DocumentKind::Ab => "`lydite ab`",
        DocumentKind::Find => "`lydite find`",
        _ => return None,
    };
    let directory = file.parent().filter(|path| !path.as_os_str().is_empty()).unwrap_or(Path::new("."));
    Some(format!(
        "{} is the document of {what}: name its directory, {}, whose runs are exported",
        file.display(),
        directory.display()
    ))
}
