//! Errors of the command line in one line each, without secrets.

use super::Cli;
use clap::CommandFactory;
use clap::error::{ContextKind, ContextValue};
use lydite_database::secret;

/// Most suggestions for one mistake.
const SUGGESTIONS: usize = 3;

/// Returns an error of the command line in one line: the problem, what was probably meant, and where to read on.
/// `arguments` are those of the process.
pub(crate) fn one_line(error: &clap::Error, arguments: &[String]) -> String {
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
    let way_out = match meant(error).as_slice() {
        [] => format!("see '{} --help'", command(error, arguments)),
        names => format!("did you mean {}?", names.join(" or ")),
    };
    format!("{problem}: {way_out}")
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
    names.take(SUGGESTIONS).collect()
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
