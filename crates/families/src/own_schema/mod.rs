//! Files of the user's own statements: `schema` makes the tables instead of Lydite, `after_load` follows the rows.
//!
//! A file is read and checked before anything is touched. After its statements, the catalog tells whether the tables
//! have what the statements of loads and transactions need.

mod columns;
mod lexer;
mod rules;
mod script;

pub(crate) use columns::{Shape, text_width};
pub use script::{Script, ScriptError, ScriptKind};

use lydite_database::sql::meta::{self, Admin};
use lydite_database::sql::sql_error::SqlError;
use lydite_database::{TargetError, TargetErrorKind, kv::meta::notes};
use lydite_tpcc::meta::{DatabaseMeta, ScriptNote, Scripts};
use lydite_tpcc::schema::Table;
use std::sync::Arc;

/// Note of the number of statements of `after_load` that were executed.
const DONE: &str = "after_load_done";

/// The files of a load.
#[derive(Clone, Debug, Default)]
pub struct OwnSchema {
    /// Statements that make the tables.
    pub schema: Option<Arc<Script>>,
    /// Statements that follow the rows.
    pub after_load: Option<Arc<Script>>,
}

/// Form of the files for a target.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ScriptForm<'a> {
    /// Lexical rules.
    pub(crate) syntax: Syntax,
    /// Schema of the tables as the URL names it.
    pub(crate) schema: Option<&'a str>,
    /// Returns true for an option of the URL that shapes Lydite's own tables.
    pub(crate) shapes: fn(&str) -> bool,
}

/// Lexical rules of a family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Syntax {
    /// Texts in dollars, comments within comments.
    Postgres,
    /// Backslashes in texts, comments from `#`, code in `/*! */`, names in backticks.
    Mysql,
    /// The standard's.
    Sqlite,
}

impl OwnSchema {
    /// Returns the notes about the files.
    #[must_use]
    pub fn notes(&self) -> Scripts {
        let note = |script: &Option<Arc<Script>>| script.as_ref().map(|script| script.note().clone());
        Scripts { schema: note(&self.schema), after_load: note(&self.after_load) }
    }

    /// Returns the description of a database that these files make.
    pub(crate) fn describe(&self, meta: &DatabaseMeta) -> DatabaseMeta {
        DatabaseMeta { scripts: self.notes(), ..meta.clone() }
    }

    /// Rejects the end of a load that other files began, or whose statements after the rows have left tables that do not fit.
    pub(crate) fn check_resume(
        &self,
        admin: &mut impl Admin,
        shape: &Shape,
        failed: &dyn Fn(SqlError, &str) -> TargetError,
    ) -> Result<(), TargetError> {
        let noted = meta::read(admin).map_err(|error| failed(error, "read lydite_meta"))?.scripts;
        let own = self.notes();
        for (flag, noted, own, may_change) in [
            ("--schema", &noted.schema, &own.schema, false),
            // A statement that failed may be put right.
            ("--after-load", &noted.after_load, &own.after_load, true),
        ] {
            if let Some(problem) = differs(flag, noted.as_ref(), own.as_ref(), may_change) {
                return Err(TargetError::usage(format!(
                    "the unfinished load {problem}, or start over with --fresh"
                )));
            }
        }
        let Some(script) = &self.after_load else { return Ok(()) };
        if done(admin, script, failed)? != Some(script.statements().len()) {
            return Ok(());
        }
        self.check_after_load(admin, shape, failed).map_err(|mut error| {
            error.message += ", and start over with --fresh";
            error
        })
    }

    /// Rejects tables that the statements after the rows have made unfit.
    fn check_after_load(
        &self,
        admin: &mut dyn Admin,
        shape: &Shape,
        failed: &dyn Fn(SqlError, &str) -> TargetError,
    ) -> Result<(), TargetError> {
        let Some(script) = &self.after_load else { return Ok(()) };
        // Lydite's own tables have the types that their product needs.
        let types = self.schema.is_some();
        let problems = shape.problems(admin, types);
        let problems = problems.map_err(|error| failed(error, "look for the columns of the tables"))?;
        if problems.is_empty() {
            return Ok(());
        }
        Err(TargetError::usage(format!(
            "{}: its statements have left tables that do not fit those of the transactions: {}: correct it",
            script.note().file,
            problems.join("; ")
        )))
    }

    /// Executes the statements that follow the rows. Each is noted, so that a load that is resumed goes on behind it.
    pub(crate) fn run_after_load(
        &self,
        admin: &mut dyn Admin,
        shape: &Shape,
        stage: &(dyn Fn(&str) + Sync),
        mut before: impl FnMut() -> Result<(), TargetError>,
        failed: &dyn Fn(SqlError, &str) -> TargetError,
    ) -> Result<(), TargetError> {
        let Some(script) = &self.after_load else { return Ok(()) };
        stage("running after_load");
        let noting = |error| failed(error, "note the statements of after_load");
        let done = match done(admin, script, failed)? {
            Some(done) => done,
            None => {
                let note = script.executed_note(0);
                admin
                    .execute(&format!("INSERT INTO lydite_meta VALUES ('{DONE}', '{note}')"))
                    .map_err(noting)?;
                0
            }
        };
        let file = script.note().to_string().replace('\'', "''");
        admin
            .execute(&format!("UPDATE lydite_meta SET value = '{file}' WHERE name = 'after_load'"))
            .map_err(noting)?;
        for (number, statement) in script.statements().iter().enumerate().skip(done) {
            before()?;
            admin.execute(&statement.text).map_err(|error| {
                let mut error = script.failed(statement, error, failed);
                if error.kind == TargetErrorKind::Usage {
                    error.message += ": correct the file";
                }
                error
            })?;
            let note = script.executed_note(number + 1);
            admin
                .execute(&format!("UPDATE lydite_meta SET value = '{note}' WHERE name = '{DONE}'"))
                .map_err(noting)?;
        }
        self.check_after_load(admin, shape, failed)
    }
}

/// Returns the number of statements of `after_load` that were executed; `None` if none was begun.
///
/// # Errors
/// The first ones are others now.
fn done(
    admin: &mut dyn Admin,
    script: &Script,
    failed: &dyn Fn(SqlError, &str) -> TargetError,
) -> Result<Option<usize>, TargetError> {
    let noted = admin.column(&format!("SELECT value FROM lydite_meta WHERE name = '{DONE}'"));
    let noted = noted.map_err(|error| failed(error, "read the statements of after_load"))?;
    let Some(note) = noted.first() else { return Ok(None) };
    script.executed(note).map(Some).ok_or_else(|| {
        TargetError::usage(format!(
            "{}: its first statements are others than those that were executed already: change only those behind them, or \
             start over with --fresh",
            script.note().file
        ))
    })
}

/// Returns the difference between the file that a database notes and the one of this command, with what to do.
fn differs(
    flag: &str,
    noted: Option<&ScriptNote>,
    own: Option<&ScriptNote>,
    may_change: bool,
) -> Option<String> {
    match (noted, own) {
        (None, None) => None,
        (Some(noted), Some(own)) if may_change || noted.hash == own.hash => None,
        (Some(noted), None) => {
            Some(format!("needs {} ({}): add {flag} {}", noted.file, noted.hash, noted.file))
        }
        (None, Some(_)) => Some(format!("began without {flag}: leave it out")),
        (Some(noted), Some(own)) => Some(format!(
            "began with {} ({}), not with {} ({}): give the same file",
            noted.file, noted.hash, own.file, own.hash
        )),
    }
}

/// The functions of a family that the making of tables needs.
pub(crate) struct Making<'a> {
    pub(crate) script: &'a Script,
    /// Description of the database with its files.
    pub(crate) meta: &'a DatabaseMeta,
    pub(crate) shape: &'a Shape,
    /// Options of Lydite's own tables of notes, with a blank before them; empty for the server's usual ones.
    pub(crate) notes_options: &'a str,
    pub(crate) failed: &'a dyn Fn(SqlError, &str) -> TargetError,
}

impl Making<'_> {
    /// Rejects tables of the file that are there already. `there` has the names of all tables.
    pub(crate) fn check_names(&self, there: &[String]) -> Result<(), TargetError> {
        // Some servers tell names apart by case, some don't.
        let is_there = |made: &&str| there.iter().any(|name| name.eq_ignore_ascii_case(made));
        let taken: Vec<&str> = self.script.made().filter(is_there).collect();
        if taken.is_empty() {
            return Ok(());
        }
        Err(TargetError::usage(format!(
            "{}: there are tables already that it makes ({}): drop them, or write CREATE TABLE IF NOT EXISTS",
            self.script.note().file,
            taken.join(", ")
        )))
    }

    /// Makes the tables as a trial, in a transaction that the caller rolls back. `there` has the names of all other tables.
    ///
    /// # Errors
    /// All that speaks against the file, as an error of usage; the database's error.
    pub(crate) fn rehearse(&self, admin: &mut dyn Admin, there: &[String]) -> Result<(), TargetError> {
        self.check_names(there)?;
        self.statements(admin)
    }

    /// Makes all tables in one transaction, which begins with `begin`.
    pub(crate) fn in_one_transaction(&self, admin: &mut dyn Admin, begin: &str) -> Result<(), TargetError> {
        admin.execute(begin).map_err(|error| (self.failed)(error, "begin"))?;
        let made = self.statements(admin).and_then(|()| {
            let end = format!("{}; COMMIT", meta::create(self.meta));
            admin.execute(&end).map_err(|error| (self.failed)(error, "create the tables"))
        });
        if made.is_err() {
            // The first error is the one that matters.
            let _undone = admin.execute("ROLLBACK");
        }
        made
    }

    /// Makes the tables one by one, where the server has no transactions for that. After an error it drops those that it
    /// made. `tables` returns the names of all tables of the target, as the catalog writes them.
    pub(crate) fn one_by_one<A: Admin>(
        &self,
        admin: &mut A,
        tables: &dyn Fn(&mut A) -> Result<Vec<String>, TargetError>,
    ) -> Result<(), TargetError> {
        let there = tables(admin)?;
        self.check_names(&there)?;
        let run = |admin: &mut A, sql: &str| {
            admin.execute(sql).map_err(|error| (self.failed)(error, "create the tables"))
        };
        let of_notes = |sql: &String| {
            let options = if sql.starts_with("CREATE TABLE ") { self.notes_options } else { "" };
            format!("{sql}{options}")
        };
        let made = meta::begin_creating(&notes(self.meta))
            .iter()
            .try_for_each(|sql| run(admin, &of_notes(sql)))
            .and_then(|()| self.statements(admin))
            .and_then(|()| run(admin, meta::LOADING));
        made.map_err(|mut error| {
            if self.drop_made(admin, &there, tables).is_err() {
                error.message += "; the tables made before are still there: start over with --fresh";
            }
            error
        })
    }

    /// Drops the tables that the statements have made: those that the catalog did not have before, and that the file names.
    fn drop_made<A: Admin>(
        &self,
        admin: &mut A,
        there: &[String],
        tables: &dyn Fn(&mut A) -> Result<Vec<String>, TargetError>,
    ) -> Result<(), TargetError> {
        let quote = self.shape.quote;
        let is_of_file = |name: &str| {
            self.script.names().any(|made| made.eq_ignore_ascii_case(name)) || name == meta::OWN_TABLES[1]
        };
        let new: Vec<String> = tables(admin)?
            .into_iter()
            .filter(|name| !there.contains(name) && is_of_file(name))
            .map(|name| format!("{quote}{name}{quote}"))
            .collect();
        let own = if there.iter().any(|name| name == meta::OWN_TABLES[0]) { "" } else { meta::OWN_TABLES[0] };
        // The notes go last: while a table is left, they say whose it is.
        for names in [new.join(", "), own.to_owned()].iter().filter(|names| !names.is_empty()) {
            admin
                .execute(&format!("DROP TABLE IF EXISTS {names}"))
                .map_err(|error| (self.failed)(error, "drop the tables"))?;
        }
        Ok(())
    }

    /// Executes the statements, and checks the tables.
    fn statements(&self, admin: &mut dyn Admin) -> Result<(), TargetError> {
        for statement in self.script.statements() {
            admin
                .execute(&statement.text)
                .map_err(|error| self.script.failed(statement, error, self.failed))?;
        }
        let looked = |error| (self.failed)(error, "look for the columns of the tables");
        let mut problems = self.shape.problems(admin, true).map_err(looked)?;
        problems.extend(self.shape.problems_of_keys(admin).map_err(looked)?);
        if problems.is_empty() {
            for table in Table::ALL {
                let rows =
                    admin.column(&format!("SELECT 1 FROM {} LIMIT 1", table.name())).map_err(looked)?;
                if !rows.is_empty() {
                    problems.push(format!("{} has rows already", table.name()));
                }
            }
        }
        if problems.is_empty() {
            return Ok(());
        }
        Err(TargetError::usage(format!(
            "{}: its tables do not fit the statements of the load and the transactions: {}",
            self.script.note().file,
            problems.join("; ")
        )))
    }
}
