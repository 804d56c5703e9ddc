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
    (&["USE", "DELIMITER", "ATTACH", "DETACH"], "is not for the database of the target: leave it out"),
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
    let all = words_of(statement);
    let begins =
        |words: &[&str]| all.iter().zip(words).filter(|(word, begin)| word == begin).count() == words.len();
    for of_server in [&["ALTER", "SYSTEM"], &["SET", "GLOBAL"], &["SET", "PERSIST"]] {
        if begins(of_server) {
            return Some(format!("{} changes the whole server: leave it out", of_server.join(" ")));
        }
    }
    // Constraints, indexes and keys may get other names.
    let is_rename =
        |pair: &[String]| pair[0] == "RENAME" && !["CONSTRAINT", "INDEX", "KEY"].contains(&pair[1].as_str());
    if begins(&["ALTER", "TABLE"]) && all.windows(2).any(is_rename) {
        return Some("ALTER TABLE RENAME takes a name away that statements need: leave it out".into());
    }
    if all.first().is_some_and(|word| word == "SET") && all.iter().any(|word| word == "SEARCH_PATH") {
        return Some(
            "SET search_path changes where names are looked for, and the URL says that: leave it out".into(),
        );
    }
    let found =
        ANYWHERE.iter().find(|sequence| all.windows(sequence.len()).any(|window| window == **sequence))?;
    Some(format!("{} drops, replaces or empties what is there: leave it out", found.join(" ")))
}

/// Returns the words of a statement in capitals: its own, and those of the texts that may be code. A name in quotes is no
/// word of SQL, and stands as an empty one.
fn words_of(statement: &Cut) -> Vec<String> {
    let is = |token: Option<&Token>, word: &str| matches!(token, Some(Token::Word(written)) if written.eq_ignore_ascii_case(word));
    let tokens = &statement.tokens;
    let is_comment = is(tokens.first(), "COMMENT");
    // The text of a comment or of a default, as in `COMMENT 'text'`, `COMMENT = 'text'` and `DEFAULT 'text'`.
    let is_plain = |at: usize| {
        let before = |distance: usize| at.checked_sub(distance).and_then(|at| tokens.get(at));
        let named = if before(1) == Some(&Token::Sign('=')) { before(2) } else { before(1) };
        is_comment || is(named, "COMMENT") || is(before(1), "DEFAULT")
    };
    let of_token = |(at, token): (usize, &Token)| match token {
        Token::Word(word) => vec![word.to_uppercase()],
        Token::Text(_) if is_plain(at) => vec![String::new()],
        Token::Text(text) => words(text).collect(),
        Token::Name(_) => vec![String::new()],
        Token::Sign(_) => Vec::new(),
    };
    tokens.iter().enumerate().flat_map(of_token).collect()
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
