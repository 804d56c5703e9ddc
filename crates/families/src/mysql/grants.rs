//! The SQL that lets an account of MySQL's family load a database and run on it.

use crate::grants::{Block, Extra, GrantRequest, Grants, NO_TEMPLATES, Work, check_role, rights_of_run};
use crate::mysql::config::Config;
use lydite_database::TargetError;
use lydite_database::lists::table_name;
use lydite_database::sql::meta::OWN_TABLES;
use lydite_tpcc::schema::Table;

/// Most bytes of an account: 128 of a user in MariaDB, 255 of a host.
const LONGEST_ACCOUNT: usize = 384;
/// Scheme of URLs that name MariaDB.
const MARIADB: &str = "mariadb";
/// Host of an account that names none: any.
const ANY_HOST: &str = "%";

/// Returns a name in the quotes of the SQL.
pub(super) fn quoted(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}

/// Returns the account of a role: `user@host`, or a user from any host.
fn account(role: &str) -> String {
    let (user, host) = role.rsplit_once('@').unwrap_or((role, ANY_HOST));
    format!("{}@{}", quoted(user), quoted(host))
}

/// Returns the database as a pattern of `GRANT … ON database.*`. In a pattern `_` and `%` stand for other characters.
fn pattern(database: &str) -> String {
    quoted(&database.replace('\\', "\\\\").replace('_', "\\_").replace('%', "\\%"))
}

/// Returns the SQL for an account.
///
/// # Errors
/// The role can't be an account; the database is spread over shards.
pub(super) fn grants(config: &Config, asked: &GrantRequest<'_>) -> Result<Grants, TargetError> {
    check_role(asked.role, LONGEST_ACCOUNT)?;
    if asked.role.starts_with('@') {
        return Err(TargetError::usage("--to: there is no user before the @: name one, as bench@%"));
    }
    if !config.shards.is_empty() {
        return Err(TargetError::usage(
            "grant: a load over shards makes entries for other servers (CREATE SERVER), which needs rights on the whole \
             server: load and run with such an account, or leave shards= out",
        ));
    }
    let (account, database, all) = (account(asked.role), quoted(&config.database), pattern(&config.database));
    let statements = match asked.work {
        Work::Load => {
            // MariaDB has the right to refer to a table in name only.
            let refer = if config.scheme == MARIADB { "" } else { ", REFERENCES" };
            vec![
                format!(
                    "GRANT SELECT, INSERT, UPDATE, DELETE, CREATE, DROP, ALTER{refer} ON {all}.* TO {account}"
                ),
                // Whoever makes a procedure may execute it.
                format!("GRANT CREATE ROUTINE, ALTER ROUTINE ON {all}.* TO {account}"),
            ]
        }
        Work::Run => {
            let of = |table: Table| {
                // The server checks rights when a statement is prepared, and a session prepares those of all
                // transactions that it might play.
                let more = if table == Table::Item { ", UPDATE" } else { "" };
                let name = quoted(table.name());
                format!("GRANT {}{more} ON {database}.{name} TO {account}", rights_of_run(table))
            };
            let notes = format!("GRANT SELECT ON {database}.{} TO {account}", quoted(OWN_TABLES[0]));
            Table::ALL.into_iter().map(of).chain([notes]).collect()
        }
    };
    let to_do = match asked.work {
        Work::Load => "load, run, check and drop",
        Work::Run => "run on tables that another account has loaded, and check them",
    };
    let title = vec![
        format!("An account for Lydite in the database {}: {to_do}.", config.database),
        "Run this as an administrator, by mysql or mariadb. If there is no such account yet:".to_owned(),
        format!("CREATE USER {account} IDENTIFIED BY '…';"),
    ];
    let blocks = blocks(config, asked.work, &account);
    Ok(Grants { title, statements, blocks, impossible: vec![(Extra::Templates, NO_TEMPLATES)] })
}

/// Returns the rights to make the tables of an isolation check. The servers take the right to make a table before there
/// is one.
fn list_tables(config: &Config, database: &str, account: &str) -> Vec<String> {
    let on = |place| {
        let table = quoted(&table_name(place));
        format!("GRANT CREATE, DROP, SELECT, INSERT, UPDATE ON {database}.{table} TO {account}")
    };
    (0..config.list_engines().len()).map(on).collect()
}

fn blocks(config: &Config, work: Work, account: &str) -> Vec<Block> {
    let (database, all) = (quoted(&config.database), pattern(&config.database));
    let mut blocks = vec![Block {
        with: Extra::Observe,
        about: "performance_schema, sessions of others, replication (--observe db); the level of other sessions",
        statements: vec![
            format!("GRANT SELECT ON performance_schema.* TO {account}"),
            format!("GRANT PROCESS, REPLICATION CLIENT ON *.* TO {account}"),
        ],
    }];
    if work == Work::Run {
        // A run has the right to change prices already.
        blocks.push(Block::audit(Vec::new(), list_tables(config, &database, account)));
        let notes = quoted(OWN_TABLES[0]);
        blocks.push(Block::dike(vec![format!("GRANT INSERT ON {database}.{notes} TO {account}")]));
        blocks.push(Block {
            with: Extra::Procedures,
            about: "a run with --tx procedures renews the procedures of an older version",
            statements: vec![format!("GRANT CREATE ROUTINE, ALTER ROUTINE, EXECUTE ON {all}.* TO {account}")],
        });
    }
    blocks.push(Block::faults());
    blocks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accounts_and_databases_are_quoted() {
        assert_eq!(account("bench"), "`bench`@`%`");
        assert_eq!(account("O'Neil@192.0.2.%"), "`O'Neil`@`192.0.2.%`");
        assert_eq!(account("a`b@c@localhost"), "`a``b@c`@`localhost`");
        assert_eq!(pattern("my_db%"), "`my\\_db\\%`");
    }
}
