//! sysbench-tpcc: command lines `./tpcc.lua --… prepare` and `./tpcc.lua --… run`.

use super::lines::{self, Call};
use crate::draft::{Draft, MOST, MOST_TERMINALS, MOST_WAREHOUSES};
use crate::fate::Fate;
use crate::given::Given;
use crate::options;
use crate::source::{Source, SourceError};
use crate::syntax::shell::{Word, program};
use crate::table::{Row, Tool};

/// sysbench-tpcc.
pub(crate) static TOOL: Tool = Tool {
    name: "sysbench-tpcc",
    mark: "a line of a shell with tpcc.lua",
    differences: &[
        "sysbench-tpcc draws the warehouse of each transaction. Lydite's sessions use all warehouses in turn.",
        "sysbench-tpcc has no transaction over two warehouses: it draws the other one until it is the home one. Lydite has the \
         standard's remote lines and payments.",
    ],
    rows: ROWS,
    several: true,
    recognizes: |source| !lines::calls(source, is_program).is_empty() || calls_sysbench(source),
    read,
    normal,
    defaults,
    finish,
};

fn is_program(word: &Word) -> bool {
    program(word).ends_with("tpcc.lua")
}

/// True if a text calls sysbench, maybe with another script.
fn calls_sysbench(source: &Source) -> bool {
    lines::calls(source, |word| program(word) == "sysbench").iter().any(|call| call.has_any(&COMMANDS))
}

/// Commands of the script.
const COMMANDS: [&str; 5] = ["prepare", "run", "cleanup", "check", "help"];
const OUTPUT: &str = "the live view and the result have each second";
const RANDOM: &str = "the standard says how inputs are drawn";

static ROWS: &[Row] = &[
    Row::anyway("tpcc.lua prepare", "`lydite load`"),
    Row::anyway("tpcc.lua run", "`lydite run`"),
    Row::anyway("tpcc.lua check", "`lydite check`, and the checks before and after a run"),
    Row::anyway("tpcc.lua cleanup", "`--fresh` drops the tables before a load"),
    Row::dropped("tpcc.lua help", "`lydite run --help` lists the flags"),
    Row::plan("--db-driver", "the URL's scheme", Draft::product),
    Row::plan("--mysql-host", "the URL's hosts (MySQL)", |draft, given| {
        of(draft, "mysql", given, Draft::hosts)
    }),
    Row::plan("--mysql-port", "the URL's port (MySQL)", |draft, given| {
        of(draft, "mysql", given, Draft::port)
    }),
    Row::plan("--mysql-user", "the URL's user (MySQL)", |draft, given| {
        of(draft, "mysql", given, Draft::user)
    }),
    Row::plan("--mysql-db", "the URL's database (MySQL)", |draft, given| {
        of(draft, "mysql", given, Draft::database)
    }),
    Row::plan("--mysql-socket", "the URL's `socket`", |draft, given| {
        of(draft, "mysql", given, |draft, given| options::file(draft, "socket", given))
    }),
    Row::secret("--mysql-password, --pgsql-password, MYSQL_PWD=, PGPASSWORD="),
    Row::plan("--mysql-ssl", "the URL's `sslmode`", |draft, given| {
        of(draft, "mysql", given, options::ssl_mode)
    }),
    Row::plan("--mysql-ssl-ca", "the URL's `ssl-ca`", |draft, given| options::file(draft, "ssl-ca", given)),
    Row::plan("--mysql-ssl-cert", "the URL's `ssl-cert`", |draft, given| {
        options::file(draft, "ssl-cert", given)
    }),
    Row::plan("--mysql-ssl-key", "the URL's `ssl-key`", |draft, given| {
        options::file(draft, "ssl-key", given)
    }),
    Row::none("--mysql-ssl-cipher", "client and server choose the best cipher"),
    Row::none("--mysql-compression", "packets are never compressed"),
    Row::dropped("--mysql-debug, --db-debug", "there is no trace of a library"),
    Row::dropped("--mysql-ignore-errors", "aborts are retried by their codes, and other errors are counted"),
    Row::none("--mysql-dry-run", "`lydite run null:` measures Lydite alone"),
    Row::plan("--mysql-storage-engine", "the URL's `engine`", |draft, given| {
        of(draft, "mysql", given, |draft, given| options::named(draft, "engine", given))
    }),
    Row::none(
        "--mysql-table-options",
        "the tables are Lydite's; `schema` in the plan is a file of your own statements",
    ),
    Row::plan("--pgsql-host", "the URL's hosts (PostgreSQL)", |draft, given| {
        of(draft, "postgres", given, Draft::hosts)
    }),
    Row::plan("--pgsql-port", "the URL's port (PostgreSQL)", |draft, given| {
        of(draft, "postgres", given, Draft::port)
    }),
    Row::plan("--pgsql-user", "the URL's user (PostgreSQL)", |draft, given| {
        of(draft, "postgres", given, Draft::user)
    }),
    Row::plan("--pgsql-db", "the URL's database (PostgreSQL)", |draft, given| {
        of(draft, "postgres", given, Draft::database)
    }),
    Row::plan("--pgsql-sslmode", "the URL's `sslmode`", |draft, given| {
        of(draft, "postgres", given, options::ssl_mode)
    }),
    Row::plan("--pgsql-schema", "the URL's `schema`", |draft, given| {
        of(draft, "postgres", given, |draft, given| options::named(draft, "schema", given))
    }),
    Row::dropped("--db-ps-mode", "statements are always prepared on the server"),
    Row::plan("--trx-level", "the URL's `isolation`", |draft, given| {
        match given.text().to_ascii_uppercase().as_str() {
            "RC" => draft.isolation(Some("read-committed")),
            "RR" => draft.isolation(Some("repeatable-read")),
            "SER" => draft.isolation(Some("serializable")),
            _ => Fate::unknown("must be RC, RR or SER"),
        }
    }),
    Row::warehouses("--scale", "`warehouses`, times `tables`", |draft, given| {
        draft.keep_count("scale", given, (1, MOST_WAREHOUSES), "warehouses")
    }),
    Row::warehouses("--tables", "`warehouses`: one set of tables has those of all sets", |draft, given| {
        draft.keep_count("tables", given, (1, 10_000), "warehouses, those of all sets in one")
    }),
    Row::plan("prepare --threads", "`jobs`", |draft, given| draft.count("jobs", given, 1, MOST)),
    Row::plan("run --threads", "`terminals`", |draft, given| {
        draft.count("terminals", given, 1, MOST_TERMINALS)
    }),
    Row::dropped("--threads", "`lydite check` and `--fresh` choose by themselves"),
    Row::plan("run --time", "`duration`", |draft, given| match given.text() {
        "0" => Fate::none("a run ends after a time: set duration"),
        _ => draft.time("duration", given, 1_000),
    }),
    Row::dropped("--time", "a load takes the time that it needs"),
    Row::plan(
        "run --rate",
        "`mode = \"open\"` and `rate`; `direct` for 0",
        |draft, given| match Draft::rate(given) {
            Ok(rate) if rate.0 == 0 => draft.set("mode", "direct"),
            Ok(rate) => {
                draft.open(rate, "poisson", "--rate");
                Fate::translated(format!("mode = \"open\", rate = {rate}"))
            }
            Err(fate) => fate,
        },
    ),
    Row::dropped("--rate", "a load is as fast as it can be"),
    Row::only(
        "run --events",
        "0",
        "a run ends after a time, not after a number of transactions: set duration",
    ),
    Row::dropped("--events", "a load has its rows"),
    Row::plan("run --warmup-time", "`warmup`", |draft, given| draft.time("warmup", given, 1_000)),
    Row::dropped("--warmup-time", "a load needs none"),
    Row::plan("--use-fk", "the URL's `foreign_keys`", |draft, given| draft.on_off("foreign_keys", given)),
    Row::plan("--force-pk", "the URL's `history_key`", |draft, given| draft.on_off("history_key", given)),
    Row::only("--enable-purge", "no", "no transaction deletes old orders"),
    Row::only("--splittable", "no", "`replicas` in the plan sends read-only transactions to other servers"),
    Row::dropped("--report-csv", "`json` in the plan names the file of the result"),
    Row::dropped("--report-interval, --report-checkpoints", OUTPUT),
    Row::dropped("--percentile", "results have all usual percentiles"),
    Row::dropped("--histogram", "results have whole histograms"),
    Row::dropped("--verbosity", "`--verbose` lists all rules"),
    Row::dropped("--validate", "conditions are checked before and after a run"),
    Row::dropped("--debug", "there is no such trace"),
    Row::dropped("--forced-shutdown", "a run waits at most 5 s for the last transactions"),
    Row::dropped("--thread-stack-size", "threads need none"),
    Row::dropped("--thread-init-timeout", "connecting has at most 10 s"),
    Row::plan("--rand-seed", "`seed`", |draft, given| match given.text() {
        "0" => Fate::dropped("is another seed in each run; Lydite's is 1 unless set"),
        _ => draft.count("seed", given, 0, MOST),
    }),
    Row::dropped(
        "--rand-type, --rand-spec-iter, --rand-spec-pct, --rand-spec-res, --rand-pareto-h, --rand-zipfian-exp",
        RANDOM,
    ),
    Row::none("--config-file", "files within files are not read: write its options into the line"),
];

/// Reads a setting that is for the databases of one driver.
fn of(draft: &mut Draft, scheme: &str, given: &Given, read: fn(&mut Draft, &Given) -> Fate) -> Fate {
    match draft.place.scheme() == Some(scheme) {
        true => read(draft, given),
        false => Fate::dropped("--db-driver names another database"),
    }
}

fn normal(name: &str) -> String {
    // A variable of the shell keeps its name.
    let name = if name.ends_with('=') { name.to_owned() } else { name.replace('_', "-") };
    lines::without_action(&name, ROWS)
}

fn read(source: &Source) -> Result<Vec<Given>, SourceError> {
    let mut found = Vec::new();
    for (at, call) in lines::calls(source, is_program).into_iter().enumerate() {
        let command = call.command(&COMMANDS);
        let settings =
            of_call(&call).into_iter().map(|given| lines::under_action(given, command, ROWS, normal));
        let action = Given::new(format!("tpcc.lua {command}"), "", call.line());
        found.extend(settings.chain([action]).map(|given| given.in_command(at + 1)));
    }
    match found.is_empty() {
        true => Err(SourceError::OtherWorkload("another script of sysbench than tpcc.lua")),
        false => Ok(found),
    }
}

fn of_call(call: &Call) -> Vec<Given> {
    // A value always stands behind an =.
    lines::flags(
        call,
        |_| false,
        |_| None,
        |word| {
            let known = COMMANDS.contains(&word.text.as_str());
            (!known)
                .then(|| Given::computed("…", "is a word that is neither an option nor a command", word.line))
        },
    )
}

fn defaults(given: &[Given]) -> Vec<(&'static str, &'static str)> {
    let mut all = vec![
        ("--db-driver", "mysql"),
        ("--scale", "100"),
        ("--tables", "1"),
        ("--trx-level", "RR"),
        ("--use-fk", "1"),
    ];
    let is_postgres = given.iter().any(|given| given.name == "--db-driver" && given.text() == "pgsql");
    let has_socket = given.iter().any(|given| normal(&given.name) == "--mysql-socket");
    match (is_postgres, has_socket) {
        (true, _) => all.extend([
            ("--pgsql-host", "localhost"),
            ("--pgsql-port", "5432"),
            ("--pgsql-user", "sbtest"),
            ("--pgsql-db", "sbtest"),
        ]),
        (false, true) => all.extend([("--mysql-user", "sbtest"), ("--mysql-db", "sbtest")]),
        (false, false) => {
            all.extend([
                ("--mysql-host", "localhost"),
                ("--mysql-port", "3306"),
                ("--mysql-user", "sbtest"),
                ("--mysql-db", "sbtest"),
            ]);
        }
    }
    if given.iter().any(|given| given.name == "tpcc.lua run") {
        all.extend([
            ("run --threads", "1"),
            ("run --time", "10"),
            ("run --rate", "0"),
            ("run --warmup-time", "0"),
        ]);
    }
    all
}

fn finish(draft: &mut Draft, given: &[Given]) {
    if given.iter().any(|given| normal(&given.name) == "run --time" && given.text() == "0") {
        draft.note(
            "sysbench runs until --events transactions are done, or until it is stopped; Lydite's window is 30 s unless \
             duration says more",
        );
    }
    if draft.place.options.contains_key("socket") {
        draft.place.hosts.clear();
        draft.place.port = None;
        draft.place.set_hosts("localhost");
    }
    let (Some(scale), Some(tables)) = (draft.kept_number("scale", 0), draft.kept_number("tables", 0)) else {
        return;
    };
    draft.derive(
        "warehouses",
        scale * tables,
        if tables == 1 { "--scale" } else { "--scale times --tables" },
    );
    if tables > 1 {
        draft.note(format!(
            "sysbench-tpcc has {tables} sets of tables of scale {scale}; Lydite has one set with as many warehouses as all of them"
        ));
    }
}
