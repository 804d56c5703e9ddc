//! The SQL that lets a role of PostgreSQL load a database and run on it.

use crate::grants::{Block, Extra, GrantRequest, Grants, NO_TEMPLATES, Work, check_role, rights_of_run};
use crate::postgres::config::Config;
use crate::postgres::templates::quoted;
use lydite_database::TargetError;
use lydite_database::sql::meta::OWN_TABLES;
use lydite_tpcc::schema::Table;

/// Most bytes of a name.
const LONGEST_NAME: usize = 63;
/// Reason why CockroachDB has no rights to observe.
const NO_MONITOR: &str =
    "CockroachDB has no role pg_monitor: leave it out, and a run samples what the account may see";
/// Schema of new tables if the URL names none and the role has none of its own name.
const SCHEMA: &str = "public";

/// Returns the SQL for a role.
///
/// # Errors
/// The role can't be one; the database is spread over shards.
pub(super) fn grants(config: &Config, asked: &GrantRequest<'_>) -> Result<Grants, TargetError> {
    check_role(asked.role, LONGEST_NAME)?;
    if !config.shards.is_empty() {
        return Err(TargetError::usage(
            "grant: a load over shards makes an extension and foreign servers on the coordinator, which only a superuser \
             may in general: load and run with such a role, or leave shards= out",
        ));
    }
    let (role, database) = (quoted(asked.role), quoted(&config.database));
    let schema = quoted(config.schema.as_deref().unwrap_or(SCHEMA));
    let mut statements = vec![format!("GRANT CONNECT ON DATABASE {database} TO {role}")];
    match asked.work {
        Work::Load => statements.push(format!("GRANT USAGE, CREATE ON SCHEMA {schema} TO {role}")),
        Work::Run => {
            statements.push(format!("GRANT USAGE ON SCHEMA {schema} TO {role}"));
            for table in Table::ALL {
                // Delivery locks the oldest order before it deletes it, and a lock of rows needs the right to update.
                let more = if table == Table::NewOrder { ", UPDATE" } else { "" };
                let (rights, table) = (rights_of_run(table), table.name());
                statements.push(format!("GRANT {rights}{more} ON {schema}.{table} TO {role}"));
            }
            statements.push(format!("GRANT SELECT ON {schema}.{} TO {role}", OWN_TABLES[0]));
        }
    }
    let to_do = match asked.work {
        Work::Load => "load, run, check and drop: the role then owns its tables",
        Work::Run => "run on tables that another role has loaded, and check them",
    };
    let title = vec![
        format!("An account for Lydite in the database {}: {to_do}.", config.database),
        "Run this in that database as its owner, by psql. If there is no such role yet:".to_owned(),
        format!("CREATE ROLE {role} LOGIN PASSWORD '…';"),
    ];
    let (mut blocks, mut impossible) = (blocks(asked.work, &role, &database, &schema), Vec::new());
    if !config.product.has_monitor {
        impossible.push((Extra::Observe, NO_MONITOR));
    }
    if !config.keeps_templates() {
        impossible.push((Extra::Templates, NO_TEMPLATES));
    }
    blocks.retain(|block| !impossible.iter().any(|(extra, _)| *extra == block.with));
    Ok(Grants { title, statements, blocks, impossible })
}

fn blocks(work: Work, role: &str, database: &str, schema: &str) -> Vec<Block> {
    let observe = Block {
        with: Extra::Observe,
        about: "all statistics of other sessions, all settings, pg_stat_statements (--observe db)",
        statements: vec![format!("GRANT pg_monitor TO {role}")],
    };
    let templates = Block {
        with: Extra::Templates,
        about: "sweep, ab and find copy the whole database and replace it, so the role must own it",
        statements: vec![
            format!("ALTER ROLE {role} CREATEDB"),
            format!("ALTER DATABASE {database} OWNER TO {role}"),
        ],
    };
    let mut blocks = vec![observe];
    if work == Work::Run {
        let prices = format!("GRANT UPDATE ON {schema}.item TO {role}");
        blocks.push(Block::audit(
            vec![prices.clone()],
            vec![format!("GRANT CREATE ON SCHEMA {schema} TO {role}")],
        ));
        blocks
            .push(Block::dike(vec![prices, format!("GRANT INSERT ON {schema}.{} TO {role}", OWN_TABLES[0])]));
        blocks.push(Block {
            with: Extra::Procedures,
            about: "a run with --tx procedures replaces the functions of an older version, which only their owner may: \
                    use the role that loaded them",
            statements: Vec::new(),
        });
    }
    blocks.extend([templates, Block::faults()]);
    blocks
}
