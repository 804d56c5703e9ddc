//! Statements that a file may not have: those that drop, empty or fill tables, or leave the load's transaction.

use super::lexer::{Cut, Token, words};
use lydite_database::sql::meta::OWN_TABLES;
use lydite_tpcc::schema::Table;

/// First words of rejected statements, with the reason and what to do.
const FIRST: [(&[&str], &str); 4] = [
    (
        &["DROP", "TRUNCATE", "DELETE", "RENAME"],
        "drops or empties what is there: leave it out (--fresh drops the tables of an earlier load)",
    ),
    (
        &["INSERT", "UPDATE", "REPLACE", "MERGE", "COPY", "LOAD"],
        "changes rows, and the load brings them: leave it out",
    ),
    (
        &["BEGIN", "START", "COMMIT", "ROLLBACK", "END", "ABORT", "SAVEPOINT", "RELEASE"],
        "begins or ends a transaction, which Lydite does: leave it out",
    ),
    (&["USE", "DELIMITER"], "is not for the database of the target: leave it out"),
];

/// Sequences of words that drop or empty tables, wherever they stand: also in texts, and in bodies of functions.
const ANYWHERE: [&[&str]; 14] = [
    &["DROP", "TABLE"],
    &["DROP", "TABLES"],
    &["DROP", "TEMPORARY", "TABLE"],
    &["DROP", "FOREIGN", "TABLE"],
    &["DROP", "DATABASE"],
    &["DROP", "SCHEMA"],
    &["DROP", "VIEW"],
    &["DROP", "MATERIALIZED"],
    &["DROP", "OWNED"],
    &["DROP", "PARTITION"],
    &["DROP", "TYPE"],
    &["TRUNCATE"],
    &["DELETE", "FROM"],
    &["OR", "REPLACE", "TABLE"],
];

/// Words that may stand between CREATE and TABLE.
const KINDS_OF_TABLES: [&str; 5] = ["UNLOGGED", "FOREIGN", "GLOBAL", "COLUMN", "ROW"];

/// Returns the reason why a file may not have a statement.
pub(super) fn rejected(statement: &Cut) -> Option<String> {
    let first = statement.tokens.iter().find(|token| **token != Token::Sign('('))?;
    match first {
        Token::Sign('\\' | '.') => return Some("is a command of a client, not SQL: leave it out".into()),
        Token::Word(word) => {
            let word = word.to_uppercase();
            if let Some((_, why)) = FIRST.iter().find(|(words, _)| words.contains(&word.as_str())) {
                return Some(format!("{word} {why}"));
            }
        }
        _ => {}
    }
    let all: Vec<String> = statement
        .tokens
        .iter()
        .flat_map(|token| match token {
            Token::Word(word) => vec![word.to_uppercase()],
            Token::Text(text) => words(text).collect(),
            // A name in quotes is no word of SQL.
            Token::Name(_) => vec![String::new()],
            Token::Sign(_) => Vec::new(),
        })
        .collect();
    if all.first().is_some_and(|word| word == "SET") && all.iter().any(|word| word == "SEARCH_PATH") {
        return Some(
            "SET search_path changes where names are looked for, and the URL says that: leave it out".into(),
        );
    }
    let found =
        ANYWHERE.iter().find(|sequence| all.windows(sequence.len()).any(|window| window == **sequence))?;
    Some(format!("{} drops, replaces or empties what is there: leave it out", found.join(" ")))
}

/// A table that a statement makes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Made {
    /// Name without its schema; in lower case unless it has quotes.
    pub(super) name: String,
    /// True if the statement leaves a table of this name as it is.
    pub(super) if_missing: bool,
}

/// Returns the table that a `CREATE TABLE` makes; `None` for other statements, and for temporary tables.
pub(super) fn made(statement: &Cut) -> Option<Made> {
    let mut tokens = statement.tokens.iter().peekable();
    let is = |token: Option<&&Token>, word: &str| matches!(token, Some(Token::Word(written)) if written.eq_ignore_ascii_case(word));
    if !is(tokens.next().as_ref(), "CREATE") {
        return None;
    }
    while KINDS_OF_TABLES.iter().any(|kind| is(tokens.peek(), kind)) {
        tokens.next();
    }
    if !is(tokens.next().as_ref(), "TABLE") {
        return None;
    }
    let if_missing = is(tokens.peek(), "IF");
    if if_missing {
        // IF NOT EXISTS.
        tokens.nth(2);
    }
    let mut name = None;
    loop {
        name = match tokens.next() {
            Some(Token::Word(word)) => Some(word.to_lowercase()),
            Some(Token::Name(quoted)) => Some(quoted.clone()),
            _ => name,
        };
        if tokens.next_if(|token| **token == Token::Sign('.')).is_none() {
            return Some(Made { name: name?, if_missing });
        }
    }
}

/// Returns what is wrong with the tables that a file makes.
pub(super) fn problems_of_tables(made: &[Made]) -> Vec<String> {
    let mut problems = Vec::new();
    let missing: Vec<String> = Table::ALL
        .iter()
        .filter(|table| !made.iter().any(|made| made.name == table.name()))
        .map(|table| format!("{{{}}}", table.name()))
        .collect();
    if !missing.is_empty() {
        problems.push(format!("has no CREATE TABLE for {}", missing.join(", ")));
    }
    for own in OWN_TABLES {
        if made.iter().any(|made| made.name == own) {
            problems.push(format!("makes {own}, which Lydite makes itself: leave it out"));
        }
    }
    problems
}
