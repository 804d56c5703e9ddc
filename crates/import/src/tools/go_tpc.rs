//! go-tpc: command lines `go-tpc tpcc … prepare` and `go-tpc tpcc … run`, also as `tiup bench tpcc …`.

use super::lines::{self, Call};
use super::mixes;
use crate::decimal::{self, Milli, WHOLE, total};
use crate::draft::{Draft, MOST, MOST_TERMINALS, MOST_WAREHOUSES};
use crate::fate::Fate;
use crate::given::Given;
use crate::options;
use crate::product::Protocol;
use crate::source::{Source, SourceError};
use crate::syntax::shell::{Word, program};
use crate::table::{Row, Tool};

/// go-tpc.
pub(crate) static TOOL: Tool = Tool {
    name: "go-tpc",
    mark: "a line of a shell with go-tpc tpcc or tiup bench tpcc",
    differences: &[
        "Each go-tpc thread draws a warehouse for each transaction. Lydite's sessions use all warehouses in turn.",
        "go-tpc leaves the isolation level to the server, unless `--isolation` says one. Lydite's default is the target's, as a \
         rule `repeatable-read`.",
        "go-tpc's driver for PostgreSQL demands TLS unless `--conn-params` say otherwise; on MySQL's protocol it tries TLS first, \
         as Lydite does.",
    ],
    rows: ROWS,
    several: true,
    recognizes: |source| lines::calls_at(source, place).iter().any(|call| call.has_any(&WORKLOADS)),
    read,
    normal,
    defaults,
    finish,
};

/// Returns the place of the program's name among the words of a command. TiUP calls it bench, with a version if
/// there are several, and installs it as tiup-bench.
fn place(words: &[Word]) -> Option<usize> {
    let name = |word: &Word| program(word).strip_suffix(".exe").unwrap_or(program(word)).to_owned();
    let tiup = words.iter().position(|word| name(word) == "tiup");
    let is_bench = |word: &Word| word.text.split(':').next() == Some("bench");
    let of_tiup = |at: usize| Some(at + words.iter().skip(at).position(is_bench)?);
    let is_own = |word: &Word| name(word).ends_with("go-tpc") || name(word) == "tiup-bench";
    tiup.and_then(of_tiup).or_else(|| words.iter().position(is_own))
}

/// The port of TiDB, go-tpc's default.
const TIDB: u16 = 4_000;
const WORKLOADS: [&str; 4] = ["tpcc", "tpch", "ch", "rawsql"];
/// Actions of `go-tpc tpcc`.
const ACTIONS: [&str; 4] = ["prepare", "run", "check", "cleanup"];
const OUTPUT: &str = "the live view and the result have each second";
const CSV: &str = "`lydite load --csv DIR` writes files of the rows";

static ROWS: &[Row] = &[
    Row::anyway("tpcc prepare", "`lydite load`"),
    Row::anyway("tpcc run", "`lydite run`"),
    Row::anyway("tpcc check", "`lydite check`, and the checks before and after a run"),
    Row::anyway("tpcc cleanup", "`--fresh` drops the tables before a load"),
    Row::plan("--driver", "the URL's scheme: `mysql` or `postgres`", |draft, given| match given.text() {
        "mysql" | "postgres" => draft.product(given),
        _ => Fate::unknown("must be mysql or postgres"),
    }),
    Row::plan("--host", "the URL's hosts", Draft::hosts),
    Row::plan("--port", "the URL's port", |draft, given| match given.text().contains(',') {
        true => Fate::unknown("has several ports: write the servers into the URL yourself"),
        false => draft.port(given),
    }),
    Row::plan("--targets", "the URL's hosts", Draft::hosts),
    Row::plan("--user", "the URL's user", Draft::user),
    Row::secret("--password, MYSQL_PWD=, PGPASSWORD="),
    Row::plan("--db", "the URL's database", Draft::database),
    Row::plan("--conn-params", "the URL's `sslmode` and `application_name`; others are refused", parameters),
    Row::plan("--ssl-ca", "the URL's `ssl-ca` and `sslmode=verify-full`", |draft, given| {
        let fate = options::file(draft, "ssl-ca", given);
        if draft.place.options.contains_key("ssl-ca") {
            draft.option("sslmode", "verify-full");
        }
        fate
    }),
    Row::plan("--ssl-cert", "the URL's `ssl-cert`", |draft, given| options::file(draft, "ssl-cert", given)),
    Row::plan("--ssl-key", "the URL's `ssl-key`", |draft, given| options::file(draft, "ssl-key", given)),
    Row::plan("--isolation", "the URL's `isolation`", |draft, given| match given.text() {
        "0" => draft.isolation(None),
        "2" => draft.isolation(Some("read-committed")),
        "4" | "5" => draft.isolation(Some("repeatable-read")),
        "6" => draft.isolation(Some("serializable")),
        "1" | "3" | "7" => Fate::none("Lydite has read committed, repeatable read and serializable"),
        _ => Fate::unknown("must be a number from 0 to 7"),
    }),
    Row::warehouses("--warehouses", "`warehouses`", |draft, given| {
        draft.count("warehouses", given, 1, MOST_WAREHOUSES)
    }),
    Row::plan("prepare --threads", "`jobs`", |draft, given| draft.count("jobs", given, 1, MOST)),
    Row::plan("run --threads", "`terminals`", |draft, given| {
        draft.count("terminals", given, 1, MOST_TERMINALS)
    }),
    Row::dropped("check --threads", "`lydite check` chooses by itself"),
    Row::dropped("cleanup --threads", "`lydite load --fresh` drops the tables"),
    Row::plan("run --time", "`duration`", |draft, given| match go_time(given.text()) {
        Some(ms) => draft.set("duration", decimal::time(ms)),
        None => Fate::unknown("must be a time as 10m or 1h30m, of at most 100 days"),
    }),
    Row::dropped("--time", "a load and a check take the time that they need"),
    Row::plan("run --wait", "`mode = \"rte\"` with a session for each user", |draft, given| {
        draft.either("mode", given, ["rte", "direct"])
    }),
    Row::plan("run --weight", "`mix`", |draft, given| {
        let shares = Milli::list(given.text(), 100.0).filter(|shares| total(shares) == WHOLE.0);
        let shares: Option<[Milli; 5]> = shares.and_then(|shares| shares.try_into().ok());
        match shares.and_then(|shares| mixes::mix(&shares)) {
            Some(mix) => draft.set("mix", mix),
            None => Fate::unknown("must be five numbers that sum to 100"),
        }
    }),
    Row::none("--count", "a run ends after a time, not after a number of transactions: set duration"),
    Row::plan(
        "run --conn-refresh-interval",
        "the URL's `connection_lifetime`",
        |draft, given| match go_time(given.text()) {
            Some(0) => Fate::dropped("connections are kept"),
            Some(ms) => draft.option("connection_lifetime", decimal::time(ms)),
            None => Fate::unknown("must be a time as 10s"),
        },
    ),
    Row::plan("--parts", "the URL's `partitions`, if more than 1", |draft, given| {
        draft.partitions(given, 8_192)
    }),
    Row::only("--partition-type", "1", "partitions are by hash alone"),
    Row::plan("--use-fk", "the URL's `foreign_keys`", |draft, given| draft.on_off("foreign_keys", given)),
    Row::dropped("--use-clustered-index", "the server's own default holds"),
    Row::dropped("--check-all", "all twelve conditions are checked, before and after a run"),
    Row::dropped("--no-check", "`lydite run --no-check` leaves the checks out"),
    Row::dropped("--dropdata", "`--fresh` drops the tables before a load"),
    Row::dropped("--ignore-error", "failed transactions are counted, and the run goes on"),
    Row::dropped("--silence", "`--quiet` shows the result alone"),
    Row::dropped("--interval, --output", OUTPUT),
    Row::dropped("--max-measure-latency", "histograms have no bound"),
    Row::none("--output-type, --output-dir, --tables", CSV),
    Row::dropped(
        "--retry-count, --retry-interval",
        "a load repeats aborted batches; `--resume` continues an interrupted one",
    ),
    Row::dropped("--max-procs", "each session is a thread"),
    Row::dropped("--pprof", "there is no such page"),
    Row::none("--metrics-addr", "`observe` samples what other programs report"),
    Row::dropped("--statusPort", "statistics come from the database itself"),
    Row::none("--acThreads", "it is for CH-benCHmark"),
];

fn takes_value(name: &str) -> bool {
    let switches = [
        "--dropdata",
        "--ignore-error",
        "--silence",
        "--check-all",
        "--no-check",
        "--use-fk",
        "--use-clustered-index",
        "--wait",
    ];
    !switches.contains(&name)
}

fn letter(letter: char) -> Option<&'static str> {
    Some(match letter {
        'D' => "--db",
        'H' => "--host",
        'U' => "--user",
        'p' => "--password",
        'P' => "--port",
        'S' => "--statusPort",
        'T' => "--threads",
        't' => "--acThreads",
        'd' => "--driver",
        _ => return None,
    })
}

fn normal(name: &str) -> String {
    lines::without_action(name, ROWS)
}

fn read(source: &Source) -> Result<Vec<Given>, SourceError> {
    let mut found = Vec::new();
    let mut has_other = false;
    for (at, call) in lines::calls_at(source, place).into_iter().enumerate() {
        if !call.has("tpcc") {
            has_other |= call.has_any(&WORKLOADS);
            continue;
        }
        let action = call.command(&ACTIONS);
        let settings = of(&call).into_iter().map(|given| lines::under_action(given, action, ROWS, normal));
        let action = Given::new(format!("tpcc {action}"), "", call.line());
        found.extend(settings.chain([action]).map(|given| given.in_command(at + 1)));
    }
    match found.is_empty() && has_other {
        true => Err(SourceError::OtherWorkload("another workload of go-tpc than tpcc")),
        false => Ok(found),
    }
}

fn of(call: &Call) -> Vec<Given> {
    lines::flags(call, takes_value, letter, |word| {
        let known = word.text == "tpcc" || ACTIONS.contains(&word.text.as_str());
        (!known).then(|| Given::computed("…", "is a word that is neither a flag nor a command", word.line))
    })
}

fn defaults(given: &[Given]) -> Vec<(&'static str, &'static str)> {
    let has_targets = given.iter().any(|given| given.name == "--targets");
    let mut all = vec![("--driver", "mysql"), ("--user", "root"), ("--db", "test"), ("--warehouses", "10")];
    if !has_targets {
        all.extend([("--host", "127.0.0.1"), ("--port", "4000")]);
    }
    if given.iter().any(|given| given.name == "tpcc run") {
        all.extend([("run --threads", "1"), ("run --wait", "false"), ("run --weight", "45,43,4,4,4")]);
    }
    all
}

/// Reads a time of Go, such as `1h30m` or `500ms`, in milliseconds.
fn go_time(text: &str) -> Option<u64> {
    const UNITS: [(&str, f64); 7] = [
        ("ms", 1.0),
        ("us", 1e-3),
        ("µs", 1e-3),
        ("ns", 1e-6),
        ("h", 3_600_000.0),
        ("m", 60_000.0),
        ("s", 1_000.0),
    ];
    if text == "0" {
        return Some(0);
    }
    let (mut rest, mut sum) = (text, 0.0);
    while !rest.is_empty() {
        let end = rest.find(|letter: char| !letter.is_ascii_digit() && letter != '.')?;
        let (number, unit) = rest.split_at_checked(end)?;
        let (name, ms) = UNITS.iter().find(|(name, _)| unit.starts_with(name))?;
        sum += number.parse::<f64>().ok()? * ms;
        rest = unit.strip_prefix(name)?;
    }
    (!text.is_empty() && (0.0..=8.64e9).contains(&sum)).then_some(sum.round() as u64)
}

/// Reads `--conn-params`.
fn parameters(draft: &mut Draft, given: &Given) -> Fate {
    let is_postgres = draft.place.protocol() == Some(Protocol::Postgres);
    for parameter in given.text().split('&').filter(|parameter| !parameter.is_empty()) {
        let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
        let part = given.part(value);
        let fate = match (name, is_postgres) {
            ("sslmode", true) | ("tls", false) => options::ssl_mode(draft, &part),
            ("application_name", true) => options::named(draft, "application_name", &part),
            ("search_path", true) => options::named(draft, "schema", &part),
            ("sslrootcert", true) => options::file(draft, "sslrootcert", &part),
            (
                "parseTime" | "charset" | "collation" | "loc" | "interpolateParams" | "multiStatements",
                false,
            ) => Fate::dropped("it corrects the driver of Go"),
            ("user" | "password", _) => Fate::secret(),
            _ => Fate::none(
                "a session has no such variable: `options` in a URL sets those of PostgreSQL's protocol",
            ),
        };
        draft.parts.push((crate::setting::named(name), fate));
    }
    Fate::translated("the parameters below")
}

fn finish(draft: &mut Draft, given: &[Given]) {
    let has = |name: &str| given.iter().any(|given| normal(&given.name) == name);
    let is_postgres = draft.place.protocol() == Some(Protocol::Postgres);
    if is_postgres && !draft.place.options.contains_key("sslmode") {
        draft.place.options.insert("sslmode".to_owned(), "require".to_owned());
        draft.note(
            "go-tpc's driver for PostgreSQL demands TLS unless --conn-params say otherwise: so does the URL",
        );
    }
    if draft.place.scheme() == Some("mysql") && draft.place.port == Some(TIDB) {
        draft
            .note("4000 is TiDB's port: if the server is TiDB, write tidb:// instead of mysql:// in the URL");
    }
    if has("tpcc run") {
        draft.derive("warmup", "0s", "go-tpc has none");
        if !has("run --time") {
            draft.note(match has("--count") {
                true => "go-tpc ends after --count transactions; Lydite's window is 30 s unless duration says more",
                false => "go-tpc runs until it is stopped; Lydite's window is 30 s unless duration says more",
            });
        }
    }
    if draft.keys.get("mode").is_some_and(|entry| entry.value == "rte")
        && let Some(users) = draft.number("terminals")
    {
        draft.derive("sessions", users, "a connection for each thread");
    }
}
