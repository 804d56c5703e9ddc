//! py-tpcc: a file of sections with the connection of a driver, and command lines `python tpcc.py …`.

use super::lines;
use crate::draft::{Draft, MOST_TERMINALS, MOST_WAREHOUSES};
use crate::fate::Fate;
use crate::given::Given;
use crate::place::{self, Host};
use crate::product::{Product, Protocol, other};
use crate::source::{Source, SourceError};
use crate::syntax::ini::{self, Section};
use crate::syntax::shell::{Word, program};
use crate::table::{Row, Tool};

/// py-tpcc.
pub(crate) static TOOL: Tool = Tool {
    name: "py-tpcc",
    mark: "sections named as a driver, or a line of a shell with tpcc.py",
    differences: &[
        "py-tpcc's clients draw a warehouse for each transaction. Lydite's sessions use all warehouses in turn.",
    ],
    rows: ROWS,
    several: true,
    recognizes: |source| sections(source).is_some() || !lines::calls(source, is_program).is_empty(),
    read,
    normal: str::to_owned,
    defaults: |given| {
        let has_line = given.iter().any(is_of_line);
        let all = [("--warehouses", "4"), ("--duration", "60"), ("--clients", "1"), ("--scalefactor", "1")];
        if has_line { all.to_vec() } else { Vec::new() }
    },
    finish,
};

/// Drivers.
const DRIVERS: [&str; 17] = [
    "sqlite",
    "redis",
    "postgres",
    "postgresql",
    "cockroachdb",
    "mysql",
    "mongodb",
    "cassandra",
    "couchdb",
    "csv",
    "hbase",
    "membase",
    "scalaris",
    "tokyocabinet",
    "hypertable",
    "neo4j",
    "typedb",
];
const SHOWS: &str = "`--observe` and the live view show more";
const OTHER_DRIVER: &str = "there is no URL for that database";

static ROWS: &[Row] = &[
    Row::plan("[DRIVER]", "the URL's scheme", |draft, given| {
        draft.keep("section", 0, "read");
        draft.product(given)
    }),
    Row::plan("SYSTEM", "the URL's scheme", Draft::product),
    Row::plan("--config", "nothing, if that file is given too", |draft, _| {
        draft.keep("config", 0, "named");
        Fate::dropped("the file of the connection must be given together with this one")
    }),
    Row::plan("host", "the URL's host", Draft::hosts),
    Row::plan("hostname", "the URL's host", Draft::hosts),
    Row::plan("port", "the URL's port", Draft::port),
    Row::plan("user", "the URL's user", Draft::user),
    Row::secret("password, passwd, uri, PGPASSWORD=, MYSQL_PWD="),
    Row::plan("database", "the URL's database, or the file of SQLite", |draft, given| {
        match draft.place.protocol() {
            Some(Protocol::File) => match place::path(given.text()) {
                Some(path) => {
                    draft.place.file = Some(path);
                    Fate::translated("the URL's path")
                }
                None => Fate::unknown("must be the path of a file"),
            },
            _ => draft.database(given),
        }
    }),
    Row::plan("dbname", "the URL's database", Draft::database),
    Row::plan("databases", "the URL's host (Redis)", |draft, given| {
        let hosts: Option<Vec<Host>> = given.text().split_whitespace().map(Host::parse).collect();
        match hosts {
            Some(hosts) if hosts.len() == 1 => {
                draft.place.hosts = hosts;
                Fate::translated("the URL's host")
            }
            Some(_) => Fate::none("the rows are on one server: several have no common transactions"),
            None => Fate::unknown("must be HOST:PORT"),
        }
    }),
    Row::dropped(
        "host-info, debug-load, debug-delivery, debug-new-order, debug-order-status, debug-payment, \
         debug-stock-level",
        SHOWS,
    ),
    Row::none(
        "name, keyspace, replicationfactor, denormalize, notransactions, findandmodify, secondary_reads, \
         retry_writes, causal_consistency, shards, namespace, node_urls, servers",
        OTHER_DRIVER,
    ),
    Row::none("table_directory", "`lydite load --csv DIR` writes files of the rows"),
    Row::none("txn_directory", "`json` in the plan names the file of the result"),
    Row::none("clients, path", "`lydite agent` on each host, and `lydite run --agents N`, share the work"),
    Row::warehouses("--warehouses", "`warehouses`", |draft, given| {
        draft.count("warehouses", given, 1, MOST_WAREHOUSES)
    }),
    Row::plan("--scalefactor", "`size`: `standard` for 1, `small` for 10, `tiny` for 100", |draft, given| {
        match given.text().parse::<f64>() {
            Ok(1.0) => draft.set("size", "standard"),
            Ok(10.0) => draft.set("size", "small"),
            Ok(100.0) => draft.set("size", "tiny"),
            Ok(_) => Fate::none(
                "warehouses have the standard's rows, a tenth (small) or a hundredth (tiny): set size",
            ),
            Err(_) => Fate::unknown("must be a number"),
        }
    }),
    Row::plan("--duration", "`duration`", |draft, given| draft.time("duration", given, 1_000)),
    Row::plan("--clients", "`terminals` and `jobs`", |draft, given| {
        draft.count("jobs", given, 1, 1_000);
        draft.count("terminals", given, 1, MOST_TERMINALS)
    }),
    Row::plan("--clientprocs", "`terminals`, on each host", |draft, given| {
        draft.count("terminals", given, 1, MOST_TERMINALS)
    }),
    Row::none("--ddl", "the tables are Lydite's; `schema` in the plan is a file of your own statements"),
    Row::dropped("--reset", "`--fresh` drops the tables before a load"),
    Row::dropped("--no-load", "`lydite run` loads an empty database alone"),
    Row::dropped("--no-execute", "`lydite load` loads alone"),
    Row::dropped("--stop-on-error", "failed transactions are counted, and the run ends if they go on"),
    Row::dropped("--print-config", "`lydite targets` lists URLs and their options"),
    Row::dropped("--debug", "there is no such trace"),
];

fn is_program(word: &Word) -> bool {
    let name = program(word);
    name == "tpcc.py" || name.ends_with("coordinator.py") || name == "pytpcc.tpcc"
}

/// Returns the sections of a file; none if it does not begin with one, or has none of a driver with its settings.
fn sections(source: &Source) -> Option<Vec<Section>> {
    let mut lines = source.text.lines().map(str::trim);
    let first = lines.find(|line| !line.is_empty() && !line.starts_with(['#', ';']));
    first.filter(|line| line.starts_with('['))?;
    let known = |given: &Given| {
        ROWS.iter().flat_map(Row::each).any(|name| name == given.name && !name.starts_with("--"))
    };
    let is_driver = |section: &Section| {
        DRIVERS.contains(&section.name.as_str())
            && (section.settings.is_empty() || section.settings.iter().any(known))
    };
    let sections = ini::parse(&source.text);
    let is_config = sections.iter().any(is_driver);
    is_config.then_some(sections)
}

fn read(source: &Source) -> Result<Vec<Given>, SourceError> {
    let mut found = Vec::new();
    if let Some(sections) = sections(source) {
        for section in sections {
            if DRIVERS.contains(&section.name.as_str()) {
                found.push(Given::new("[DRIVER]", section.name, section.line));
                found.extend(section.settings);
            } else {
                found.push(Given::new("[…]", "", section.line));
            }
        }
        return Ok(found);
    }
    for (at, call) in lines::calls(source, is_program).into_iter().enumerate() {
        let settings = lines::flags(
            &call,
            |name| {
                !["--reset", "--stop-on-error", "--no-load", "--no-execute", "--print-config", "--debug"]
                    .contains(&name)
            },
            |_| None,
            |word| {
                let known = DRIVERS.contains(&word.text.as_str())
                    || Product::named(&word.text).is_some()
                    || other(&word.text).is_some();
                Some(match known {
                    true => lines::given("SYSTEM", &word.text, word),
                    false => Given::computed("SYSTEM", "is no driver that Lydite knows", word.line),
                })
            },
        );
        found.extend(settings.into_iter().map(|given| given.in_command(at + 1)));
    }
    Ok(found)
}

/// True if a setting stands in a command line, not in a file of sections.
fn is_of_line(given: &Given) -> bool {
    given.command > 0
}

fn finish(draft: &mut Draft, given: &[Given]) {
    if draft.place.protocol() == Some(Protocol::Redis) && draft.place.database.is_none() {
        draft.place.database = Some("0".to_owned());
    }
    if given.iter().any(is_of_line) {
        draft.derive("mode", "direct", "clients wait for nothing");
        draft.derive("warmup", "0s", "py-tpcc has none");
    }
    if draft.kept("config", 0).is_some() && draft.kept("section", 0).is_some() {
        draft.amend(
            "--config",
            0,
            Fate::translated("the settings of the connection's file, which is given too"),
        );
    } else if draft.kept("config", 0).is_some() && draft.place.hosts.is_empty() && draft.place.file.is_none()
    {
        draft.note("--config names a file with the connection: import both together");
    }
}
