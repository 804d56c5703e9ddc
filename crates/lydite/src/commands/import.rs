//! `lydite import`: makes plans of configuration files of other programs.

use crate::cli::ImportArgs;
use lydite_console::exit::{Failure, Outcome};
use lydite_console::output::{complain, print, reserve_stdout};
use lydite_console::shell::{typed, typed_path};
use lydite_console::write::write;
use lydite_import::{Import, Kind, Source, listed, read_files, shown};
use lydite_plan::destination::Destination;
use lydite_plan::entries::Entries;
use lydite_plan::{Plan, PlanError, keys};
use serde::Serialize;
use serde_json::{Map, Value};
use std::fmt::Write;
use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

/// Name of a plan in commands.
const PLAN: &str = "plan.toml";
/// Keys of a plan that shape a load, and the flags of `lydite load`.
const LOAD_FLAGS: [(&str, &str); 5] = [
    ("warehouses", "-w"),
    ("size", "--size"),
    ("data_skew", "--data-skew"),
    ("seed", "--seed"),
    ("jobs", "--jobs"),
];

/// Runs `lydite import`.
pub(crate) fn command(args: &ImportArgs) -> Outcome {
    let json = args.json.as_ref().map(Destination::new);
    let output = args.output.as_deref().filter(|path| !Destination::new(path).is_stdout());
    check_places(args, output, json.as_ref())?;
    if json.as_ref().is_some_and(Destination::is_stdout) {
        reserve_stdout();
    }
    let imports = read_files(&sources(args)?)
        .map_err(|errors| Failure::Usage(errors.iter().map(ToString::to_string).collect()))?;
    if let Some(import) = imports.iter().find(|import| !import.differs_in.is_empty()) {
        let files = shown(&import.files.join(", "));
        let names = listed(&import.differs_in);
        complain(&format!("{files}: its commands make several plans, since they differ in {names}"));
    }
    let number = |path: &Path, at: usize| numbered(path, at + 1, imports.len());
    if imports.len() > 1 && output.is_none() && json.is_none() {
        return Err(several(imports.len()));
    }
    let outputs: Vec<Option<PathBuf>> =
        (0..imports.len()).map(|at| output.map(|path| number(path, at))).collect();
    check_outputs(&outputs, json.as_ref())?;
    let mut plans = Vec::new();
    let mut wanting = Vec::new();
    for (at, (import, output)) in imports.iter().zip(&outputs).enumerate() {
        let output = output.as_deref();
        let toml = import.toml();
        let commands = commands(import, &args.files, &number(Path::new(PLAN), at), output);
        let plan = Imported::new(import, &toml, commands);
        let text = format!("{toml}{}", plan.commands_as_comment());
        match output {
            Some(path) => {
                write_new(path, &text)?;
                print(&plan.summary(path))?;
            }
            None if imports.len() == 1 => print(&text)?,
            // The document has them.
            None => {}
        }
        wanting.extend(import.not_understood().map(lydite_import::Setting::sentence));
        let refused = |problem: &String| format!("lydite run refuses the plan as it is: {problem}");
        wanting.extend(plan.problems.iter().map(refused));
        plans.push(plan);
    }
    let document = Document { lydite: env!("CARGO_PKG_VERSION"), plans };
    let written = json.map(|place| write_document(&place, &document));
    let wanting = (!wanting.is_empty()).then_some(Failure::Threshold(wanting));
    Failure::all(written.and_then(Result::err).into_iter().chain(wanting).collect())
}

/// Returns the error for several plans on the standard output: no program reads them from there.
fn several(plans: usize) -> Failure {
    let [first, second] = [1, 2].map(|number| numbered(Path::new(PLAN), number, plans));
    Failure::usage(format!(
        "these are {plans} plans, and the standard output takes one: write them into {}, {} and so on with -o {PLAN}, or as \
         one document with --json -",
        first.display(),
        second.display()
    ))
}

fn write_document(place: &Destination, document: &Document<'_>) -> Outcome {
    let text = serde_json::to_string_pretty(document)
        .map_err(|error| Failure::usage(format!("the document can't be written as JSON: {error}")))?;
    write(place, format!("{text}\n").as_bytes(), None)
}

/// Rejects places of documents before anything is read.
fn check_places(args: &ImportArgs, output: Option<&Path>, json: Option<&Destination>) -> Outcome {
    let mut errors: Vec<String> = output.and_then(exists).into_iter().collect();
    if let Some(place) = json {
        match place.check() {
            Err(problem) => errors.push(format!("--json: {} {problem}", place.shown())),
            Ok(()) => {
                errors.extend(overwrites(place, args.files.iter().map(PathBuf::as_path).chain(output)));
            }
        }
    }
    if args.files.iter().filter(|path| *path == Path::new("-")).count() > 1 {
        errors.push("-: is the standard input, which can be read once: name it once".into());
    }
    if errors.is_empty() { Ok(()) } else { Err(Failure::Usage(errors)) }
}

/// Returns the error about a file of a plan that exists; none if it does not.
fn exists(path: &Path) -> Option<String> {
    let name = path.display().to_string();
    let error = || format!("--output: {} exists, and is never overwritten: name a new file", shown(&name));
    path.symlink_metadata().is_ok().then(error)
}

/// Returns the error about a document that would overwrite one of these files; none if it would not.
fn overwrites<'p>(document: &Destination, mut files: impl Iterator<Item = &'p Path>) -> Option<String> {
    let is_one = !document.is_stdout() && files.any(|file| Destination::new(file).is(document));
    is_one.then(|| format!("--json: {} is a file of this import: name another one", document.shown()))
}

/// Rejects files of several plans that exist, and those that the document of `--json` would overwrite.
fn check_outputs(outputs: &[Option<PathBuf>], json: Option<&Destination>) -> Outcome {
    let files = || outputs.iter().flatten().map(PathBuf::as_path);
    let errors: Vec<String> =
        files().filter_map(exists).chain(json.and_then(|place| overwrites(place, files()))).collect();
    if errors.is_empty() { Ok(()) } else { Err(Failure::Usage(errors)) }
}

/// Returns the file of a plan: `plan.toml`, or `plan-1.toml` and so on if there are several.
fn numbered(path: &Path, number: usize, plans: usize) -> PathBuf {
    if plans < 2 {
        return path.to_owned();
    }
    let mut name = path.file_stem().unwrap_or_default().to_owned();
    name.push(format!("-{number}"));
    if let Some(extension) = path.extension() {
        name.push(".");
        name.push(extension);
    }
    path.with_file_name(name)
}

/// Reads the files.
fn sources(args: &ImportArgs) -> Result<Vec<Source>, Failure> {
    let (mut sources, mut errors) = (Vec::new(), Vec::new());
    for path in &args.files {
        let (name, read) = match path == Path::new("-") {
            true => ("-".to_owned(), Source::read("-", io::stdin().lock())),
            false => (path.display().to_string(), Source::open(path)),
        };
        match read {
            Ok(source) => sources.push(source),
            Err(error) => errors.push(format!("{}: {error}", shown(&name))),
        }
    }
    if errors.is_empty() { Ok(sources) } else { Err(Failure::Usage(errors)) }
}

/// Writes a file that does not exist yet.
fn write_new(path: &Path, text: &str) -> Outcome {
    let failed =
        |error: io::Error| Failure::usage(format!("--output: {}: {error}: name a new file", path.display()));
    let mut file = OpenOptions::new().write(true).create_new(true).open(path).map_err(failed)?;
    file.write_all(text.as_bytes()).map_err(|error| {
        // A part of a plan is a plan too. The write's error is the one to report.
        let _ = fs::remove_file(path);
        failed(error)
    })
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
    fn new(import: &'a Import, toml: &str, commands: Vec<String>) -> Self {
        let settled = |setting: &'a lydite_import::Setting| Settled {
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
            password_left_out: import.has_password(),
            commands,
            plan: import.plan(),
            settings: import.settings.iter().map(settled).collect(),
            notes: &import.notes,
            problems: problems(toml, import.target.is_none()),
        }
    }

    fn commands_as_comment(&self) -> String {
        let lines = self.commands.iter().map(|command| format!("#   {command}\n"));
        format!("# To go on:\n{}", lines.collect::<String>())
    }

    /// Returns what the user needs to know of a plan that is in a file.
    fn summary(&self, path: &Path) -> String {
        let first = format!("{}: a plan of {} ({})", path.display(), self.tool, self.files.join(", "));
        let mut text = shown(&first) + "\n";
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
            let _ = writeln!(text, "note: {}", shown(note));
        }
        self.commands.iter().for_each(|command| {
            let _ = writeln!(text, "{command}");
        });
        text
    }
}

/// Returns a file as an argument of the next import. A stream can be read once, so a placeholder stands for it.
fn argument(file: &Path) -> String {
    let is_stream = file == Path::new("-") || file == Path::new("/dev/stdin") || file.starts_with("/dev/fd");
    match file {
        _ if is_stream => "FILE".to_owned(),
        file if file.as_os_str().as_encoded_bytes().starts_with(b"-") => {
            typed_path(&Path::new(".").join(file)).into_owned()
        }
        file => typed_path(file).into_owned(),
    }
}

/// Returns the commands to go on with. Without `output` the first one imports `files` and writes `made`.
fn commands(import: &Import, files: &[PathBuf], made: &Path, output: Option<&Path>) -> Vec<String> {
    let plan = import.plan();
    let file = typed_path(output.unwrap_or(made));
    let target =
        import.target.as_deref().map_or_else(|| "URL".to_owned(), |target| typed(target).into_owned());
    let mut load = format!("lydite load {target}");
    for (key, flag) in LOAD_FLAGS {
        if let Some(value) = plan.get(key) {
            let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            let _ = write!(load, " {flag} {}", typed(&value));
        }
    }
    let mut commands = Vec::new();
    if output.is_none() {
        let files: Vec<String> = files.iter().map(|file| argument(file)).collect();
        commands.push(format!("lydite import {} -o {PLAN}", files.join(" ")));
    }
    if import.has_password() {
        commands.push("read -rs LYDITE_PASSWORD && export LYDITE_PASSWORD".to_owned());
    }
    if import.lacks_warehouses {
        commands.push(format!("{load} -w NUMBER"));
    } else if plan.contains_key("warehouses") {
        commands.push(load);
    }
    let url = if import.target.is_some() { "" } else { "URL " };
    commands.push(format!("lydite run {url}-c {file} --dry-run"));
    commands.push(format!("lydite run {url}-c {file}"));
    commands
}

/// Returns the reasons why `lydite run` refuses the plan. One `without_target` is for a database that the user names.
fn problems(toml: &str, without_target: bool) -> Vec<String> {
    let mut entries = Entries::default();
    entries.toml("the plan", toml, keys());
    // This target takes every plan.
    entries.flag("target", without_target.then(|| "null:".to_owned()));
    match Plan::read(entries) {
        Ok(_) => Vec::new(),
        Err(PlanError::Usage(problems)) => problems,
        Err(PlanError::Target(error)) => vec![error.message],
    }
}
