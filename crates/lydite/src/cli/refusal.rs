//! Errors of the command line in one line each, without secrets.

use super::Cli;
use clap::CommandFactory;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use lydite_database::secret;

/// Most suggestions for one mistake.
const SUGGESTIONS: usize = 3;
/// Part of a name's letters that a suggestion may have otherwise.
const TYPED_WRONG: usize = 3;

/// Flags of other programs, or of other commands.
struct Elsewhere {
    names: &'static [&'static str],
    /// Flags of Lydite for the same, the nearest first: the first two that the command has are suggested.
    flags: &'static [&'static str],
    /// What to do where the command has none of them; empty to say nothing.
    otherwise: &'static str,
}

const URL: &str = "the target is the first argument, a URL as 'lydite targets' lists them";

/// Flags that people bring from HammerDB, BenchBase, go-tpc, sysbench, pgbench, YCSB and k6.
const ELSEWHERE: &[Elsewhere] = &[
    Elsewhere {
        names: &[
            "threads",
            "clients",
            "connections",
            "concurrency",
            "vus",
            "users",
            "workers",
            "virtual-users",
        ],
        flags: &["sessions", "terminals", "jobs"],
        otherwise: "",
    },
    Elsewhere { names: &["time", "runtime", "run-time", "max-time"], flags: &["duration"], otherwise: "" },
    Elsewhere { names: &["rampup", "ramp-up", "warm-up", "warmup-time"], flags: &["warmup"], otherwise: "" },
    Elsewhere { names: &["scale", "scale-factor", "scalefactor"], flags: &["warehouses"], otherwise: "" },
    Elsewhere { names: &["qps", "tps", "rps", "target-rate", "throughput"], flags: &["rate"], otherwise: "" },
    Elsewhere { names: &["format", "output-format", "results"], flags: &["json", "report"], otherwise: "" },
    Elsewhere {
        names: &[
            "target",
            "url",
            "uri",
            "dsn",
            "database",
            "db",
            "dbname",
            "host",
            "port",
            "user",
            "username",
            "driver",
            "db-driver",
            "conn",
            "connection-string",
        ],
        flags: &[],
        otherwise: URL,
    },
    Elsewhere {
        names: &["password", "pass"],
        flags: &[],
        otherwise: "set LYDITE_PASSWORD to the password: ps shows flags to every user of the machine",
    },
    Elsewhere {
        names: &["isolation", "isolation-level", "txn-isolation"],
        flags: &[],
        otherwise: "write it behind the URL: ?isolation=LEVEL, with a level that 'lydite targets' lists",
    },
];

/// Commands of other programs, each with that of Lydite.
const COMMANDS: &[(&[&str], &str)] = &[
    (&["prepare", "create", "init", "build", "populate"], "load"),
    (&["execute", "bench", "benchmark", "start", "tpcc"], "run"),
    (&["cleanup", "clean", "clear", "delete", "destroy"], "drop"),
];

/// Returns an error of the command line in one line: the problem, what was probably meant, and where to read on.
/// `arguments` are those of the process.
pub(crate) fn one_line(error: &clap::Error, arguments: &[String]) -> String {
    if error.kind() == ErrorKind::InvalidUtf8 {
        let is_odd = |argument: &&String| argument.contains(char::REPLACEMENT_CHARACTER);
        let odd: Vec<String> =
            arguments.iter().filter(is_odd).map(|argument| secret::shown(argument)).collect();
        return format!("{}: must be UTF-8: name the file or the URL otherwise", odd.join(" or "));
    }
    let text = error.render().to_string();
    // The text has further paragraphs: tips, the usage, and how to get help.
    let problem: Vec<&str> = text.lines().map(str::trim).take_while(|line| !line.is_empty()).collect();
    let mut problem = problem.join(" ");
    for argument in arguments {
        let shown = secret::shown(argument);
        if shown != *argument {
            problem = secret::mask(&problem.replace(argument, &shown), argument);
        }
    }
    let problem = problem.strip_prefix("error: ").unwrap_or(&problem);
    let command = command(error, arguments);
    let other = || elsewhere(error, &command).or_else(|| of_string(error));
    let way_out = other().unwrap_or_else(|| match meant(error).as_slice() {
        [] => format!("see '{command} --help'"),
        names => format!("did you mean {}?", names.join(" or ")),
    });
    format!("{problem}: {way_out}")
}

/// Returns the argument that an error is about.
fn unknown(error: &clap::Error, kind: ContextKind) -> Option<&str> {
    match error.get(kind)? {
        ContextValue::String(text) => Some(text),
        _ => None,
    }
}

/// Returns the unknown flag of an error without its dashes.
fn unknown_flag(error: &clap::Error) -> Option<&str> {
    let flag =
        unknown(error, ContextKind::InvalidArg).filter(|_| error.kind() == ErrorKind::UnknownArgument)?;
    flag.strip_prefix("--")
}

/// Returns the way out where a connection string came as several arguments.
fn of_string(error: &clap::Error) -> Option<String> {
    let argument =
        unknown(error, ContextKind::InvalidArg).filter(|_| error.kind() == ErrorKind::UnknownArgument)?;
    let is_part = argument.split_once('=').is_some_and(|(name, _)| {
        !name.is_empty() && name.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
    });
    is_part.then(|| "put a connection string between quotes, as 'host=h dbname=db'".to_owned())
}

/// Returns what to write instead of a flag of another program. `called` is the command, such as `lydite run`.
fn elsewhere(error: &clap::Error, called: &str) -> Option<String> {
    let name = unknown_flag(error)?;
    let row = ELSEWHERE.iter().find(|row| row.names.contains(&name))?;
    let mut whole = Cli::command();
    let mut command = &mut whole;
    for word in called.split(' ').skip(1) {
        command = command.find_subcommand_mut(word)?;
    }
    let has = |flag: &str| command.get_arguments().any(|argument| argument.get_long() == Some(flag));
    let flags: Vec<String> =
        row.flags.iter().filter(|flag| has(flag)).take(2).map(|flag| format!("--{flag}")).collect();
    match (flags.is_empty(), row.otherwise) {
        (false, _) => Some(format!("did you mean {}?", flags.join(" or "))),
        (true, "") => None,
        (true, otherwise) => Some(otherwise.to_owned()),
    }
}

/// Returns what was probably meant.
fn meant(error: &clap::Error) -> Vec<String> {
    let kinds = [ContextKind::SuggestedArg, ContextKind::SuggestedSubcommand, ContextKind::SuggestedValue];
    let suggested = kinds.into_iter().filter_map(|kind| error.get(kind));
    let names = suggested.flat_map(|value| match value {
        ContextValue::String(name) => vec![name.clone()],
        ContextValue::Strings(names) => names.clone(),
        _ => Vec::new(),
    });
    let command = unknown(error, ContextKind::InvalidSubcommand);
    let of_other = |command: &str| COMMANDS.iter().find(|(names, _)| names.contains(&command));
    if let Some((_, own)) = command.and_then(of_other) {
        return vec![(*own).to_owned()];
    }
    let flag = unknown_flag(error).or(command);
    // clap takes words with the same letters for similar, such as --threads and --creds.
    let is_near = |name: &String| {
        flag.is_none_or(|flag| {
            let letters = strsim::osa_distance(flag, name.trim_start_matches('-'));
            letters <= flag.len().max(TYPED_WRONG) / TYPED_WRONG
                || name.trim_start_matches('-').starts_with(flag)
        })
    };
    names.filter(is_near).take(SUGGESTIONS).collect()
}

/// Returns the command that was called, such as `lydite run`.
fn command(error: &clap::Error, arguments: &[String]) -> String {
    let usage = match error.get(ContextKind::Usage) {
        Some(ContextValue::StyledStr(usage)) => usage.to_string(),
        _ => String::new(),
    };
    let words = usage.split_whitespace().skip_while(|word| *word != "lydite");
    let is_name = |word: &&str| word.starts_with(char::is_alphabetic);
    let words: Vec<&str> = words.take_while(is_name).collect();
    if !words.is_empty() {
        return words.join(" ");
    }
    // Some errors do not know the usage.
    let called = arguments.first().filter(|name| Cli::command().find_subcommand(name.as_str()).is_some());
    called.map_or_else(|| "lydite".to_owned(), |name| format!("lydite {name}"))
}
