//! The SQL that lets an account load a database and run on it, with no right too many. Nothing is executed here.

use lydite_database::TargetError;
use lydite_tpcc::named_enum;
use lydite_tpcc::schema::Table;

/// Reason why a database has no templates.
pub(crate) const NO_TEMPLATES: &str =
    "no whole database can be copied here: leave it out, and experiments load for each run";

/// Work that an account does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// Loads the database, runs on it, checks it and drops it.
    Load,
    /// Runs on a database that another account has loaded, and checks it.
    Run,
}

named_enum! {
    /// Further work, which needs rights of its own.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Extra {
        /// Samples of the database's statistics: `--observe db`.
        Observe = "observe",
        /// Audits and isolation checks.
        Audit = "audit",
        /// Transactions of the Dike paper, which change prices and are noted.
        Dike = "dike",
        /// `--tx procedures`.
        Procedures = "procedures",
        /// Templates of `sweep`, `ab` and `find`.
        Templates = "templates",
        /// Faults.
        Faults = "faults",
    }
}

/// Account and its work.
#[derive(Clone, Debug)]
pub struct GrantRequest<'a> {
    /// Name of the role, as the user writes it.
    pub role: &'a str,
    /// Work of the role.
    pub work: Work,
}

/// Rights for further work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Block {
    pub(crate) with: Extra,
    /// Work that needs the rights, in a sentence.
    pub(crate) about: &'static str,
    /// Statements; none if the work needs no right of the database.
    pub(crate) statements: Vec<String>,
}

impl Block {
    /// Returns the rights of audits beyond those of runs: `prices`, to change the prices of items, and `own_tables`, those
    /// to make the tables of an isolation check.
    pub(crate) fn audit(prices: Vec<String>, own_tables: Vec<String>) -> Self {
        Self {
            with: Extra::Audit,
            about: "audits change prices, and verify --isolation makes tables of its own",
            statements: prices.into_iter().chain(own_tables).collect(),
        }
    }

    /// Returns the rights of the transactions of the Dike paper.
    pub(crate) fn dike(statements: Vec<String>) -> Self {
        let about = "update_item, update_stock and what else mix may name of the Dike paper";
        Self { with: Extra::Dike, about, statements }
    }

    /// Returns the rights of faults: none.
    pub(crate) fn faults() -> Self {
        let about = "faults act on processes and networks of hosts and need no right of the database";
        Self { with: Extra::Faults, about, statements: Vec::new() }
    }
}

/// The SQL for an account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grants {
    /// Lines above the statements.
    pub(crate) title: Vec<String>,
    /// Statements, without the semicolon.
    pub(crate) statements: Vec<String>,
    pub(crate) blocks: Vec<Block>,
    /// Further work that the database can't do for any account, with the reason and what to do.
    pub(crate) impossible: Vec<(Extra, &'static str)>,
}

impl Grants {
    /// Returns the SQL. The statements of further work are comments, unless the work is among `with`.
    ///
    /// # Errors
    /// The database can't do some of the work.
    pub fn sql(&self, with: &[Extra]) -> Result<String, TargetError> {
        if let Some((extra, why)) = self.impossible.iter().find(|(extra, _)| with.contains(extra)) {
            return Err(TargetError::usage(format!("--with {}: {why}", extra.name())));
        }
        let mut sql: String = self.title.iter().map(|line| comment(line)).collect();
        for statement in &self.statements {
            sql += &format!("{statement};\n");
        }
        for block in &self.blocks {
            sql += &format!("\n{}", comment(&format!("{}: {}", block.with.name(), block.about)));
            for statement in &block.statements {
                let line = format!("{statement};\n");
                sql += &if with.contains(&block.with) { line } else { comment(line.trim_end()) };
            }
        }
        Ok(sql)
    }
}

/// Returns a text as comments of SQL. A name may have an end of a line in it: psql ends a comment at a carriage return
/// as well.
fn comment(text: &str) -> String {
    text.split(['\n', '\r']).map(|line| format!("-- {line}\n")).collect()
}

/// Returns the error of a role that can't be one.
pub(crate) fn check_role(role: &str, most: usize) -> Result<(), TargetError> {
    let problem = if role.is_empty() {
        "is empty".to_owned()
    } else if role.contains(char::is_control) {
        "has a character that can't be printed".to_owned()
    } else if role.len() > most {
        format!("has more than {most} bytes, and the server would cut it")
    } else {
        return Ok(());
    };
    Err(TargetError::usage(format!("--to: the name of the role {problem}: name another one")))
}

/// Returns the rights on one of the nine tables for the standard's five transactions and the checks. A family adds what
/// its servers want beyond.
pub(crate) fn rights_of_run(table: Table) -> &'static str {
    match table {
        Table::Item => "SELECT",
        Table::Warehouse | Table::District | Table::Customer | Table::Stock => "SELECT, UPDATE",
        Table::History => "SELECT, INSERT",
        Table::Orders | Table::OrderLine => "SELECT, INSERT, UPDATE",
        Table::NewOrder => "SELECT, INSERT, DELETE",
    }
}

/// Returns the error of a database without accounts in SQL.
pub(crate) fn no_accounts() -> TargetError {
    TargetError::usage(
        "grant: prints SQL for PostgreSQL's and MySQL's families, and this database has no accounts in SQL: give the \
         account read and write rights by the database's own means (permissions of the file or directory, Redis's ACL \
         SETUSER, etcdctl role grant-permission, or what the driver's database has)",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn further_work_is_commented_line_by_line_unless_it_is_asked_for() {
        let block =
            Block { with: Extra::Audit, about: "why", statements: vec!["GRANT x TO \"a\nb\"".into()] };
        let grants = Grants {
            title: vec!["for a\nb\rc".into()],
            statements: vec!["GRANT y".into()],
            blocks: vec![block],
            impossible: vec![(Extra::Observe, "it has no statistics")],
        };
        let quiet = "-- for a\n-- b\n-- c\nGRANT y;\n\n-- audit: why\n-- GRANT x TO \"a\n-- b\";\n";
        assert_eq!(grants.sql(&[]).as_deref(), Ok(quiet));
        let sql = grants.sql(&[Extra::Audit]).expect("it is possible");
        assert!(sql.ends_with("-- audit: why\nGRANT x TO \"a\nb\";\n"), "{sql}");
        let refused = grants.sql(&[Extra::Audit, Extra::Observe]).expect_err("it is impossible");
        assert_eq!(refused.message, "--with observe: it has no statistics");
    }

    #[test]
    fn a_role_that_a_server_would_read_otherwise_is_rejected() {
        assert!(check_role("", 63).is_err() && check_role("a\nb", 63).is_err());
        assert!(check_role(&"x".repeat(64), 63).is_err() && check_role("O'Neil", 63).is_ok());
    }
}
