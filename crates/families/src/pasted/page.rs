//! The tables of the parameters as a page of the book.

use super::families::{Families, all};
use super::row::{Dialect, Group, Meaning, Row, Word};

/// Returns a table for each dialect of the families.
pub(crate) fn page(families: Families) -> String {
    all(families).map(table).collect()
}

/// Returns the table of a dialect: a row for each parameter.
fn table(dialect: &Dialect) -> String {
    let lines: String = dialect.all_rows().map(row).chain(dialect.all_groups().map(group)).collect();
    format!("\n## {}\n\n{}\n\n| parameter | Lydite |\n|---|---|\n{lines}", dialect.name, dialect.about)
}

fn row(row: &Row) -> String {
    let names = row.names.iter().copied().chain(row.variable.name());
    let names: Vec<String> = names.map(|name| format!("`{name}`")).collect();
    format!("| {} | {} |\n", names.join(", "), meaning(row.meaning).replace('|', "\\|"))
}

fn group(group: &Group) -> String {
    let begin = if group.rejected { "rejected" } else { "left out" };
    group.names.iter().map(|name| format!("| `{name}` | {begin}: {} |\n", group.why)).collect()
}

fn meaning(meaning: Meaning) -> String {
    match meaning {
        Meaning::User => "the user".into(),
        Meaning::Password => "the password".into(),
        Meaning::Host => "the host, hosts, or the directory of a Unix socket".into(),
        Meaning::Address => "the host; rejected beside another host".into(),
        Meaning::Port => "the port, or one for each host".into(),
        Meaning::Database => "the database".into(),
        Meaning::Socket => "the path of the Unix socket".into(),
        Meaning::Path => "the file".into(),
        Meaning::Option(option) => format!("`{option}` with the same value"),
        Meaning::First(option) => format!("`{option}` with the first name of the list"),
        Meaning::Choice(option, words, others) => {
            let listed = words.iter().map(|(value, of)| format!("`{value}`: {}", word(*of, option)));
            let otherwise = if words.is_empty() { "" } else { "else " };
            let others = format!("{otherwise}{}", word(others, option));
            listed.chain([others]).collect::<Vec<_>>().join("; ")
        }
        Meaning::Time(option, _) => format!("`{option}` with the same time; 0 is no limit"),
        Meaning::Connecting(_) => "`connect_timeout`, 10 s at most".into(),
        Meaning::Combined(about) => about.into(),
    }
}

fn word(word: Word, option: &str) -> String {
    match word {
        Word::Sets(value) => format!("`{option}={value}`"),
        Word::Same => "the same".into(),
        Word::Ignored(why) => format!("left out: {why}"),
        Word::Rejected(why) => format!("rejected: {why}"),
    }
}
