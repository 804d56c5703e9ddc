//! Templates in a PostgreSQL server: databases beside the one under test, copied by `CREATE DATABASE … TEMPLATE`.

use super::connecting::{SCHEMA, TABLE_KINDS, advised, connected};
use crate::postgres::config::Config;
use crate::postgres::wire::Wire;
use crate::templates::{KeepsTemplates, Template, TemplateList, is_template_name};
use lydite_database::TargetError;
use lydite_database::patience::Patience;
use lydite_database::sql::ddl;
use lydite_database::sql::meta::{Admin, OWN_TABLES, is_ours};
use lydite_database::sql::sql_error::SqlError;
use std::thread;
use std::time::{Duration, Instant};

/// Longest wait for a database that somebody has open. A closed connection ends a little later on the server.
const PATIENCE: Duration = Duration::from_secs(10);
/// Time between two looks at it.
const AGAIN: Duration = Duration::from_millis(100);
/// Error codes for a database that others have open, and for one of this name that is being made: a copy whose client was
/// killed goes on for a moment.
const FOR_NOW: [&str; 2] = ["55006", "23505"];
/// First version that copies through the log by default, which is slow for large databases.
const STRATEGIES: &str = "150000";

/// A server that keeps templates.
#[derive(Debug)]
pub(super) struct PgTemplates {
    pub(super) config: Box<Config>,
    /// Limit of its requests; `None` if they may last as long as the server takes.
    pub(super) patience: Option<Patience>,
}

impl Config {
    /// True if experiments can copy the database. A pooler keeps connections to it, and one with any can't be copied.
    pub(super) fn keeps_templates(&self) -> bool {
        self.product.copies_databases && self.shards.is_empty() && !self.unprepared
    }
}

impl PgTemplates {
    fn ask<R: Send + 'static>(
        &self,
        what: &str,
        work: impl FnOnce(&Config) -> Result<R, TargetError> + Send + 'static,
    ) -> Result<R, TargetError> {
        let Some(patience) = &self.patience else { return work(&self.config) };
        let config = self.config.clone();
        patience.ask(what, move || work(&config))
    }
}

impl KeepsTemplates for PgTemplates {
    fn shown(&self) -> String {
        self.config.place()
    }

    fn has(&self, name: &str) -> Result<bool, TargetError> {
        let name = name.to_owned();
        self.ask("the list of templates", move |config| has(config, &name))
    }

    fn is_there(&self) -> Result<bool, TargetError> {
        self.ask("the list of databases", is_there)
    }

    fn others(&self) -> Result<Vec<String>, TargetError> {
        self.ask("the clients of the database", check_alone)?;
        self.ask("the contents of the database", others)
    }

    fn save(&self, name: &str) -> Result<(), TargetError> {
        let name = name.to_owned();
        self.ask("a copy of the database as a template", move |config| save(config, &name))
    }

    fn restore(&self, name: &str) -> Result<(), TargetError> {
        let name = name.to_owned();
        self.ask("a copy of the template", move |config| restore(config, &name))
    }

    fn delete(&self, name: &str) -> Result<(), TargetError> {
        let name = name.to_owned();
        self.ask("dropping the template", move |config| delete(config, &name))
    }

    fn list(&self) -> Result<TemplateList, TargetError> {
        self.ask("the list of templates", list)
    }
}

/// Returns the name of a database's template, at most 63 bytes. PostgreSQL would cut a longer one.
fn named(config: &Config, name: &str) -> String {
    let mut most = config.database.len().min(30);
    while !config.database.is_char_boundary(most) {
        most -= 1;
    }
    format!("{}_{name}", &config.database[..most])
}

/// Returns a name in the quotes of the SQL.
pub(super) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

fn failed(config: &Config, doing: &str, error: SqlError) -> TargetError {
    advised(error, doing, &config.place())
}

/// Connects to another database of the server: a database with connections can be neither copied nor dropped. A server
/// that can ends a copy soon after its client.
fn aside(config: &Config) -> Result<Wire, TargetError> {
    let other = if config.database == "postgres" { "template1" } else { "postgres" };
    let mut config = config.clone();
    config.database = other.into();
    let mut wire = connected(&config)?;
    let check = "SELECT set_config(name, '1000', false) FROM pg_settings WHERE name = 'client_connection_check_interval'";
    wire.column(check).map_err(|error| failed(&config, "have it look for its client", error))?;
    Ok(wire)
}

/// Runs a statement. Waits a while for others to leave the database.
fn insist(config: &Config, wire: &mut Wire, doing: &str, sql: &str) -> Result<(), TargetError> {
    let end = Instant::now() + PATIENCE;
    loop {
        match wire.execute(sql) {
            Ok(()) => return Ok(()),
            Err(SqlError::Database { code, .. })
                if FOR_NOW.contains(&code.as_str()) && Instant::now() < end =>
            {
                thread::sleep(AGAIN);
            }
            Err(error) => return Err(failed(config, doing, error)),
        }
    }
}

fn exists(config: &Config, wire: &mut Wire, database: &str) -> Result<bool, TargetError> {
    // The server takes no connections to one that was half dropped.
    let whole = "datconnlimit <> -2";
    let sql =
        format!("SELECT 1 FROM pg_database WHERE {whole} AND datname = '{}'", database.replace('\'', "''"));
    Ok(!wire.column(&sql).map_err(|error| failed(config, "look for the template", error))?.is_empty())
}

fn copy(config: &Config, wire: &mut Wire, from: &str, to: &str) -> Result<(), TargetError> {
    let strategies = format!("SELECT current_setting('server_version_num')::int >= {STRATEGIES}");
    let told = wire.column(&strategies).map_err(|error| failed(config, "ask for the version", error))?;
    let strategy = if told.iter().any(|told| told == "t") { " STRATEGY file_copy" } else { "" };
    let sql = format!("CREATE DATABASE {} TEMPLATE {}{strategy}", quoted(to), quoted(from));
    insist(config, wire, "copy the database", &sql)
}

fn drop_database(config: &Config, wire: &mut Wire, database: &str) -> Result<(), TargetError> {
    insist(config, wire, "drop the database", &format!("DROP DATABASE IF EXISTS {}", quoted(database)))
}

/// Rejects a database that others are connected to, because it can't be copied or dropped. Waits for those who have
/// just left.
fn check_alone(config: &Config) -> Result<(), TargetError> {
    let mut wire = aside(config)?;
    let sql = format!(
        "SELECT coalesce(nullif(application_name, ''), 'a client') || ' of ' || usename || ' (process ' || pid || ')' \
         FROM pg_stat_activity WHERE datname = '{}' AND backend_type = 'client backend'",
        config.database.replace('\'', "''")
    );
    let end = Instant::now() + PATIENCE;
    loop {
        let others = wire.column(&sql).map_err(|error| failed(config, "look who is connected", error))?;
        match others.first() {
            None => return Ok(()),
            Some(first) if Instant::now() >= end => {
                return Err(TargetError::usage(format!(
                    "{}: {first} is connected: a database can't be copied or replaced meanwhile; end that first",
                    config.place()
                )));
            }
            Some(_) => thread::sleep(AGAIN),
        }
    }
}

/// Returns true if the database itself exists. An interrupted restore may have left none.
fn is_there(config: &Config) -> Result<bool, TargetError> {
    let mut wire = aside(config)?;
    exists(config, &mut wire, &config.database)
}

fn has(config: &Config, name: &str) -> Result<bool, TargetError> {
    let mut wire = aside(config)?;
    exists(config, &mut wire, &named(config, name))
}

/// Returns the tables, views, sequences and functions of the database that Lydite did not make. A name of Lydite's
/// counts as its own only in the schema that Lydite loads into. Objects of extensions are left out: a copy has them
/// too.
fn others(config: &Config) -> Result<Vec<String>, TargetError> {
    let mut wire = connected(config)?;
    // The user's own statements may give Lydite's tables partitions and columns with sequences, with names of his.
    let ours = format!(
        "WITH RECURSIVE ours (part) AS (SELECT oid FROM pg_class WHERE relnamespace = {SCHEMA} AND relname IN ({}) \
         UNION SELECT inhrelid FROM ours JOIN pg_inherits ON inhparent = part JOIN pg_class ON pg_class.oid = inhrelid \
         WHERE relispartition)",
        ddl::table_names()
    );
    let names = wire
        .column(&format!(
            "{ours} SELECT CASE WHEN relnamespace = {SCHEMA} THEN relname ELSE nspname || '.' || relname END FROM pg_class \
             JOIN pg_namespace ON pg_namespace.oid = relnamespace WHERE (relkind IN {TABLE_KINDS} OR relkind = 'S') \
             AND nspname <> 'information_schema' AND nspname NOT LIKE 'pg\\_%' \
             AND pg_class.oid NOT IN (SELECT part FROM ours) AND NOT EXISTS (SELECT FROM pg_depend \
             WHERE classid = 'pg_class'::regclass AND objid = pg_class.oid AND (deptype = 'e' \
             OR relkind = 'S' AND deptype IN ('a', 'i') AND refobjid IN (SELECT part FROM ours))) \
             UNION ALL SELECT nspname || '.' || proname || '()' FROM pg_proc \
             JOIN pg_namespace ON pg_namespace.oid = pronamespace WHERE nspname <> 'information_schema' \
             AND nspname NOT LIKE 'pg\\_%' AND NOT (pronamespace = {SCHEMA} AND proname LIKE 'lydite\\_%') \
             AND NOT EXISTS (SELECT FROM pg_depend WHERE classid = 'pg_proc'::regclass AND objid = pg_proc.oid \
             AND deptype = 'e')"
        ))
        .map_err(|error| failed(config, "look for tables", error))?;
    Ok(names.into_iter().filter(|name| !is_ours(name)).collect())
}

fn save(config: &Config, name: &str) -> Result<(), TargetError> {
    let mut wire = aside(config)?;
    copy(config, &mut wire, &config.database, &named(config, name))
}

fn restore(config: &Config, name: &str) -> Result<(), TargetError> {
    let (mut wire, template) = (aside(config)?, named(config, name));
    // The check comes before the drop: without the template the database can't be made again.
    if !exists(config, &mut wire, &template)? {
        return Err(TargetError::database(format!("{}: the template {template:?} is gone", config.place())));
    }
    // The database is there all the time, but between the last two statements: whoever ends this in the middle, or has no
    // room for a copy, has the old one.
    let fresh = fresh(config, name);
    drop_database(config, &mut wire, &fresh)?;
    copy(config, &mut wire, &template, &fresh)?;
    if let Err(error) = drop_database(config, &mut wire, &config.database) {
        // The error that matters is the first one; the next restore drops the copy too.
        let _dropped = drop_database(config, &mut wire, &fresh);
        return Err(error);
    }
    let rename = format!("ALTER DATABASE {} RENAME TO {}", quoted(&fresh), quoted(&config.database));
    insist(config, &mut wire, "give the copy its name", &rename)
}

/// Returns the name of a copy of a template that is no whole database yet.
fn fresh(config: &Config, name: &str) -> String {
    named(config, &format!("{name}_new"))
}

fn delete(config: &Config, name: &str) -> Result<(), TargetError> {
    let mut wire = aside(config)?;
    drop_database(config, &mut wire, &fresh(config, name))?;
    drop_database(config, &mut wire, &named(config, name))
}

/// Lists the templates of this database that have notes of Lydite's. Databases with long names share the beginning of
/// theirs, so a template of such a one may be another's.
fn list(config: &Config) -> Result<TemplateList, TargetError> {
    let mut wire = aside(config)?;
    let prefix = named(config, "");
    let is_cut = prefix.len() <= config.database.len();
    let mut candidates = Vec::new();
    let sql = format!(
        "SELECT datname, CASE WHEN has_database_privilege(datname, 'CONNECT') THEN pg_database_size(datname) END \
         FROM pg_database WHERE starts_with(datname, '{}') AND datallowconn ORDER BY 1",
        prefix.replace('\'', "''")
    );
    wire.query_each(&sql, &mut |row| {
        if let [Some(database), bytes] = *row
            && let Some(name) = database.strip_prefix(&prefix).filter(|name| is_template_name(name))
        {
            let bytes = bytes.and_then(|bytes| bytes.parse().ok());
            candidates.push(Template { name: name.to_owned(), shown: database.to_owned(), bytes });
        }
    })
    .map_err(|error| failed(config, "look for templates", error))?;
    let mut list = TemplateList::default();
    for template in candidates {
        let name = &template.shown;
        match has_notes(config, name) {
            Ok(false) => {}
            Ok(true) if is_cut => list.unknown.push(format!(
                "the name of the template {name} is cut, so it may be another database's: drop it by hand if nobody \
                 needs it"
            )),
            Ok(true) => list.found.push(template),
            Err(error) => list.unknown.push(format!("the database {name} has the name of a template: {error}")),
        }
    }
    Ok(list)
}

/// Returns true if another database of the server has notes of Lydite's.
fn has_notes(config: &Config, database: &str) -> Result<bool, TargetError> {
    let mut of = config.clone();
    of.database = database.to_owned();
    let notes = format!(
        "SELECT 1 FROM pg_class WHERE relnamespace = {SCHEMA} AND relname = '{}' AND relkind = 'r'",
        OWN_TABLES[0]
    );
    let notes = connected(&of)?.column(&notes).map_err(|error| failed(&of, "look at a template", error))?;
    Ok(!notes.is_empty())
}
