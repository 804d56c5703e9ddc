//! `lydite import`: makes plans of configuration files of other programs.

use crate::cli::ImportArgs;
use lydite_console::exit::{Failure, Outcome};
use lydite_console::output::{complain, print, reserve_stdout};
use lydite_console::shell::typed;
use lydite_console::write::write;
use lydite_import::{Import, Kind, Setting, Source, read_files};
use lydite_plan::destination::Destination;
use lydite_plan::entries::Entries;
use lydite_plan::{Plan, PlanError, keys};
use serde::Serialize;
use serde_json::{Map, Value};
use std::fmt::Write;
use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::path::Path;

/// Runs `lydite import`.
pub(crate) fn command(args: &ImportArgs) -> Outcome {
    let json = args.json.as_ref().map(Destination::new);
    check_places(args, json.as_ref())?;
    if json.as_ref().is_some_and(Destination::is_stdout) {
        reserve_stdout();
    }
    let imports = read_files(&sources(args)?)
        .map_err(|errors| Failure::Usage(errors.iter().map(ToString::to_string).collect()))?;
    if args.output.is_some() && imports.len() > 1 {
        return Err(Failure::usage(format!(
            "--output: takes one plan, and these files are {}: import them one by one",
            imports.len()
        )));
    }
    let mut plans = Vec::new();
    for import in &imports {
        let file =
            args.output.as_deref().map_or_else(|| "plan.toml".to_owned(), |path| path.display().to_string());
        let plan = Imported::new(import, &file);
        match &args.output {
            Some(path) => {
                write_new(path, &format!("{}{}", import.toml(), plan.commands_as_comment()))?;
                print(&plan.summary(&file))?;
            }
            None => print(&format!("{}{}", import.toml(), plan.commands_as_comment()))?,
        }
        for setting in import.not_understood() {
            complain(&format!("{}: not understood: {}", place(setting), setting.fate.text));
        }
        for problem in &plan.problems {
            complain(&format!("lydite run refuses the plan as it is: {problem}"));
        }
        plans.push(plan);
    }
    match json {
        None => Ok(()),
        Some(place) => {
            let document = Document { lydite: env!("CARGO_PKG_VERSION"), plans };
            let text = serde_json::to_string_pretty(&document)
                .map_err(|error| Failure::usage(format!("the document can't be written as JSON: {error}")))?;
            write(&place, format!("{text}\n").as_bytes(), None)
        }
    }
}

/// Rejects places of documents before anything is read.
fn check_places(args: &ImportArgs, json: Option<&Destination>) -> Outcome {
    let mut errors = Vec::new();
    if let Some(path) = &args.output
        && path.symlink_metadata().is_ok()
    {
        errors
            .push(format!("--output: {} exists, and is never overwritten: name a new file", path.display()));
    }
    if let Some(place) = json {
        let inputs: Vec<Destination> = args.files.iter().chain(&args.output).map(Destination::new).collect();
        if let Err(problem) = place.check() {
            errors.push(format!("--json: {} {problem}", place.shown()));
        } else if !place.is_stdout() && inputs.iter().any(|input| input.is(place)) {
            errors.push(format!("--json: {} is a file of this import: name another one", place.shown()));
        }
    }
    if args.files.iter().filter(|path| *path == Path::new("-")).count() > 1 {
        errors.push("-: is the standard input, which can be read once: name it once".into());
    }
    if errors.is_empty() { Ok(()) } else { Err(Failure::Usage(errors)) }
}

/// Reads the files.
fn sources(args: &ImportArgs) -> Result<Vec<Source>, Failure> {
    let (mut sources, mut errors) = (Vec::new(), Vec::new());
    for path in &args.files {
        let (name, read) = match path == Path::new("-") {
            true => ("standard input".to_owned(), Source::read("standard input", io::stdin().lock())),
            false => (path.display().to_string(), Source::open(path)),
        };
        match read {
            Ok(source) => sources.push(source),
            Err(error) => errors.push(format!("{name}: {error}")),
        }
    }
    if errors.is_empty() { Ok(sources) } else { Err(Failure::Usage(errors)) }
}

/// Writes a file that does not exist yet.
fn write_new(path: &Path, text: &str) -> Outcome {
    let written = OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(path)
        .and_then(|mut file| file.write_all(text.as_bytes()));
    written.map_err(|error| Failure::usage(format!("--output: {}: {error}: name a new file", path.display())))
}

/// Returns the place and name of a setting.
fn place(setting: &Setting) -> String {
    match (&setting.file, setting.line) {
        (Some(file), Some(line)) => format!("{file}, line {line}, {}", setting.name),
        _ => setting.name.clone(),
    }
}

/// The document of `--json`.
#[derive(Serialize)]
struct Document<'a> {
    lydite: &'static str,
    plans: Vec<Imported<'a>>,
}

/// A plan in the document.
#[derive(Serialize)]
struct Imported<'a> {
    tool: &'static str,
    files: &'a [String],
    /// URL without a password; null if the files name no database that Lydite drives.
    target: Option<&'a str>,
    /// True if the files have a password, which is in no output.
    password_left_out: bool,
    plan: Map<String, Value>,
    commands: Vec<String>,
    settings: Vec<Settled<'a>>,
    notes: &'a [String],
    /// Reasons why `lydite run` refuses the plan.
    problems: Vec<String>,
}

/// A setting in the document.
#[derive(Serialize)]
struct Settled<'a> {
    /// Null for a default of the program.
    file: Option<&'a str>,
    line: Option<usize>,
    name: &'a str,
    fate: Kind,
    text: &'a str,
}

impl<'a> Imported<'a> {
    fn new(import: &'a Import, file: &str) -> Self {
        let settled = |setting: &'a Setting| Settled {
            file: setting.file.as_deref(),
            line: setting.line,
            name: &setting.name,
            fate: setting.fate.kind,
            text: &setting.fate.text,
        };
        Self {
            tool: import.tool.name,
            files: &import.files,
            target: import.target.as_deref(),
            password_left_out: import.has_password,
            plan: import.plan(),
            commands: commands(import, file),
            settings: import.settings.iter().map(settled).collect(),
            notes: &import.notes,
            problems: problems(import, file),
        }
    }

    fn commands_as_comment(&self) -> String {
        let lines = self.commands.iter().map(|command| format!("#   {command}\n"));
        format!("# To go on:\n{}", lines.collect::<String>())
    }

    /// Returns what the user needs to know of a plan that is in a file.
    fn summary(&self, file: &str) -> String {
        let mut text = format!("{file}: a plan of {} ({})\n", self.tool, self.files.join(", "));
        // Writing to a string can't fail.
        let _ = writeln!(text, "target: {}", self.target.unwrap_or("none: name one behind the commands"));
        let kinds = [Kind::Translated, Kind::Dropped, Kind::NoCounterpart, Kind::NotUnderstood, Kind::Secret];
        let count = |kind: Kind| self.settings.iter().filter(|setting| setting.fate == kind).count();
        let counts: Vec<String> = kinds
            .into_iter()
            .filter(|kind| count(*kind) > 0)
            .map(|kind| format!("{} {}", count(kind), kind.words()))
            .collect();
        let _ = writeln!(text, "settings: {}; all are in the file", counts.join(", "));
        for note in self.notes {
            let _ = writeln!(text, "note: {note}");
        }
        self.commands.iter().for_each(|command| {
            let _ = writeln!(text, "{command}");
        });
        text
    }
}

/// Returns the commands to go on with.
fn commands(import: &Import, file: &str) -> Vec<String> {
    let target =
        import.target.as_deref().map_or_else(|| "URL".to_owned(), |target| typed(target).into_owned());
    let mut load = format!("lydite load {target}");
    for (flag, value) in [(" -w ", import.warehouses()), (" --jobs ", import.jobs())] {
        if let Some(value) = value {
            let _ = write!(load, "{flag}{value}");
        }
    }
    for key in ["size", "data_skew"] {
        if let Some(Value::String(value)) = import.plan().get(key) {
            let _ = write!(load, " --{} {}", key.replace('_', "-"), typed(value));
        }
    }
    let mut commands = Vec::new();
    if import.has_password {
        commands.push("read -rs LYDITE_PASSWORD && export LYDITE_PASSWORD".to_owned());
    }
    if import.warehouses().is_some() {
        commands.push(load);
    }
    let url = if import.target.is_some() { "" } else { "URL " };
    commands.push(format!("lydite run {url}-c {}", typed(file)));
    commands
}

/// Returns the reasons why `lydite run` refuses the plan.
fn problems(import: &Import, file: &str) -> Vec<String> {
    let mut entries = Entries::default();
    entries.toml(file, &import.toml(), keys());
    match Plan::read(entries) {
        Ok(_) => Vec::new(),
        Err(PlanError::Usage(problems)) => problems,
        Err(PlanError::Target(error)) => vec![error.message],
    }
}
