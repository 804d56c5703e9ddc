//! HammerDB: scripts in Tcl or Python for its command line, its settings as it prints them, and its XML files.

use crate::decimal::Milli;
use crate::draft::{Draft, MOST, MOST_TERMINALS, MOST_WAREHOUSES, json_number};
use crate::fate::Fate;
use crate::given::Given;
use crate::options;
use crate::place;
use crate::product::{Product, other};
use crate::source::{Source, SourceError};
use crate::syntax::tcl::{self, Command, Word};
use crate::syntax::xml::{self, elements, line, text_of};
use crate::table::{Row, Tool};
use roxmltree::Node;
use std::path::Path;

/// HammerDB.
pub(crate) static TOOL: Tool = Tool {
    name: "HammerDB",
    mark: "commands dbset, diset and vuset, the output of `print dict`, or its XML",
    differences: &[
        "HammerDB leaves the isolation level to the server. Lydite's default is the target's, as a rule `repeatable-read`: \
         `isolation` in the URL sets another one.",
        "HammerDB's virtual users keep one warehouse, unless `allwarehouse` is set. Lydite's sessions use all warehouses in turn.",
        "HammerDB counts from when all virtual users run; a virtual user of its own measures. Lydite's window begins after the \
         warm-up.",
    ],
    rows: ROWS,
    several: true,
    recognizes: |source| form(&source.text).is_some(),
    read,
    normal,
    defaults,
    finish,
};

/// Prefixes of settings, with the name of their database.
const PREFIXES: [(&str, &str); 6] = [
    ("pg_", "pg"),
    ("mysql_", "mysql"),
    ("maria_", "maria"),
    ("mssqls_", "mssqls"),
    ("db2_", "db2"),
    ("ora_", "ora"),
];
/// Roots of its XML files, and their databases.
const ROOTS: [&str; 6] = ["postgresql", "mysql", "mariadb", "oracle", "mssqlserver", "db2"];
const COUNTER: &str = "the live view and the result have the throughput of each second";
const LOG: &str = "`json` and `report` in the plan name the files of the result";
const SPACE: &str = "the server's own default holds; `schema` in the plan is a file of your own statements";
const ASYNC: &str = "emulated users need no thread each";

static ROWS: &[Row] = &[
    Row::plan("dbset db", "the URL's scheme", Draft::product),
    Row::dropped("dbset bm", "TPROC-C is HammerDB's name of its TPC-C"),
    Row::plan("host", "the URL's host", Draft::hosts),
    Row::plan("port", "the URL's port", Draft::port),
    Row::plan("user", "the URL's user", Draft::user),
    Row::secret("pass, superuserpass, system_password, tpcc_pass, def_pass"),
    Row::plan("dbase", "the URL's database", Draft::database),
    Row::plan("sslmode", "the URL's `sslmode`", options::ssl_mode),
    Row::dropped(
        "socket",
        "HammerDB takes the socket if it is there; write it as `socket` into the URL if it shall be used",
    ),
    Row::plan("ssl", "the URL's `sslmode`: `verify-ca` with `ssl_ca`, else `require`", |draft, given| {
        given.switched(|on| {
            draft.keep("ssl", 0, on);
            match on {
                true => draft.option("sslmode", "require"),
                false => Fate::dropped("is off: both try TLS first; `sslmode=disable` in the URL does not"),
            }
        })
    }),
    Row::plan("ssl_two_way", "the URL's `ssl-cert` and `ssl-key`, if ssl is true", |draft, given| {
        given.switched(|on| {
            draft.keep("two_way", 0, on);
            Fate::dropped(if on { "ssl_cert and ssl_key say the same" } else { "is off" })
        })
    }),
    Row::plan("ssl_linux_capath", "the directory of these files", |draft, given| {
        keep_path(draft, "capath", given)
    }),
    Row::dropped("ssl_windows_capath", "Lydite runs on Linux"),
    Row::plan("ssl_ca", "the URL's `ssl-ca`, if ssl is true", |draft, given| {
        keep_path(draft, "ssl_ca", given)
    }),
    Row::plan("ssl_cert", "the URL's `ssl-cert`, if ssl and ssl_two_way are true", |draft, given| {
        keep_path(draft, "ssl_cert", given)
    }),
    Row::plan("ssl_key", "the URL's `ssl-key`, if ssl and ssl_two_way are true", |draft, given| {
        keep_path(draft, "ssl_key", given)
    }),
    Row::none("ssl_cipher", "client and server choose the best cipher"),
    Row::dropped("oceanbase_port", "the scheme oceanbase has its own port"),
    Row::dropped("superuser", "the user of the URL makes the tables, and needs no more rights"),
    Row::dropped("defaultdbase", "the database of the URL must exist"),
    Row::warehouses("count_ware", "`warehouses`", |draft, given| {
        draft.count("warehouses", given, 1, MOST_WAREHOUSES)
    }),
    Row::plan("num_vu", "`jobs`", |draft, given| draft.count("jobs", given, 1, MOST)),
    Row::plan(
        "storedprocs",
        "`tx = \"procedures\"`: without it HammerDB calls functions, which is the same to Lydite",
        |draft, given| given.switched(|_| draft.set("tx", "procedures")),
    ),
    Row::plan("no_stored_procs", "`tx`: `statements` for true", |draft, given| {
        draft.either("tx", given, ["statements", "procedures"])
    }),
    Row::dropped("prepared", "statements are always prepared on the server"),
    Row::only(
        "partition",
        "false",
        "HammerDB's number of partitions stands nowhere: set `partitions` in the URL",
    ),
    Row::plan("history_pk", "the URL's `history_key`", |draft, given| draft.on_off("history_key", given)),
    Row::plan("storage_engine", "the URL's `engine`", |draft, given| options::named(draft, "engine", given)),
    Row::dropped("tspace", SPACE),
    Row::none("dritasnap", "replicas are named by `replicas` in the plan"),
    Row::none("oracompat", "there is no dialect for EDB's mode of Oracle"),
    Row::plan("cituscompat", "the URL's scheme `citus`", |draft, given| match given.is("true") {
        true => draft.product(&Given::new("", "citus", given.line)),
        false => Fate::dropped("is off"),
    }),
    Row::dropped(
        "vacuum",
        "Lydite leaves the server as it is: vacuum it before, if the runs to compare with did",
    ),
    Row::none("purge", "Lydite leaves the server as it is: purge it before, if the runs to compare with did"),
    Row::none("checkpoint", "a load ends with a checkpoint where the user may make one; a run makes none"),
    Row::only("driver", "timed", "a run ends after a time, not after a number of transactions: set duration"),
    Row::dropped("total_iterations", "a run ends after a time, not after a number of transactions"),
    Row::plan("rampup", "`warmup`, in minutes", |draft, given| draft.time("warmup", given, 60_000)),
    Row::plan("duration", "`duration`, in minutes", |draft, given| draft.time("duration", given, 60_000)),
    Row::only(
        "allwarehouse",
        "true",
        "sessions use all warehouses; `active_warehouses` in the plan lets some of them rest",
    ),
    Row::dropped("timeprofile", "results have whole histograms of each transaction"),
    Row::dropped("raiseerror", "failed transactions are counted, and the run ends if they go on"),
    Row::plan(
        "keyandthink",
        "`mode = \"rte\"` with a session for each user; `direct` for false",
        |draft, given| draft.keep_switch("users", given, ["mode = \"rte\"", "mode = \"direct\""]),
    ),
    Row::plan(
        "async_scale",
        "`terminals`, for true: the virtual users times async_client",
        |draft, given| draft.keep_switch("async", given, ["terminals", "no users beyond the virtual ones"]),
    ),
    Row::plan("async_client", "`terminals`, if async_scale is true", |draft, given| {
        draft.keep_count("clients", given, (1, MOST_TERMINALS), "terminals, if async_scale is true")
    }),
    Row::dropped("async_verbose", ASYNC),
    Row::dropped("async_delay", "emulated users start in the steady state"),
    Row::only(
        "connect_pool",
        "false",
        "its file of connections is not read: `nodes` in the URL spreads sessions over servers",
    ),
    Row::plan("vuset vu", "`terminals`", |draft, given| match given.text() {
        "vcpu" => Fate::unknown("is the number of processors where HammerDB runs: set terminals yourself"),
        _ => draft.count("terminals", given, 1, MOST_TERMINALS),
    }),
    Row::dropped("vuset delay, vucreate", "all sessions connect before the warm-up"),
    Row::dropped("vuset repeat", "there is one window"),
    Row::only("vuset iterations", "1", "`lydite sweep --repetitions N` repeats a run"),
    Row::dropped("vuset showoutput", "`--quiet` shows the result alone"),
    Row::dropped("vuset logtotemp, vuset unique, vuset nobuff, vuset timestamps", LOG),
    Row::anyway("buildschema", "`lydite load`"),
    Row::dropped("deleteschema", "`--fresh` drops the tables before a load"),
    Row::anyway("checkschema", "`lydite check`, and the checks before and after a run"),
    Row::anyway("loadscript", "`lydite run`"),
    Row::anyway("vurun", "`lydite run`"),
    Row::dropped("vudestroy", "sessions end with the run"),
    Row::dropped("vucomplete, waittocomplete, runtimer", "`lydite run` ends with the run"),
    Row::dropped("vustatus, tcset, tcstart, tcstop, tcstatus", COUNTER),
    Row::dropped("clearscript", "there is no script to clear"),
    Row::none("customscript", "the transactions are the standard's"),
    Row::dropped("metset, metstart, metstop, metstatus", "`observe` samples this machine and others"),
    Row::dropped("giset", "it is for HammerDB's own windows, logs and waits"),
    Row::none("dgset, datagenrun", "`lydite load --csv DIR` writes files of the rows"),
    Row::dropped("jobs", "`lydite report` and `lydite compare` show results"),
    Row::dropped("librarycheck", "nothing needs to be installed"),
    Row::none("source", "files within files are not read: give that file too"),
    Row::none("steprun", "`[[phase]]` tables in the plan change the number of sessions"),
    Row::dropped("tpch", "it is for TPROC-H, and Lydite plays TPC-C"),
    Row::none(
        "tpcc_def_tab, tpcc_ol_tab, tpcc_def_temp, def_tab, tab_list, hash_clusters, imdb, bucket, durability",
        SPACE,
    ),
    Row::dropped("use_bcp", "loads use the server's bulk loading"),
    Row::none(
        "instance, rac, tpcc_tt_compat, system_user, tpcc_user, server, linux_server, tcp, azure, authentication, \
         linux_authent, msi_object_id, odbc_driver, linux_odbc, uid, encrypt_connection, trust_server_cert, def_user, \
         def_dbase",
        "there is no URL for that database",
    ),
    Row::none("monreport", "`observe` samples the database's own statistics"),
];

/// Words of Tcl and Python that are no settings.
const LANGUAGE: &[&str] = &[
    "set",
    "puts",
    "open",
    "close",
    "exit",
    "if",
    "else",
    "elseif",
    "foreach",
    "for",
    "while",
    "proc",
    "global",
    "variable",
    "catch",
    "try",
    "switch",
    "incr",
    "lappend",
    "append",
    "file",
    "after",
    "update",
    "return",
    "break",
    "continue",
    "expr",
    "package",
    "namespace",
    "upvar",
    "eval",
    "dict",
    "unset",
    "string",
    "error",
    "lassign",
    "fconfigure",
    "flush",
    "import",
    "from",
    "print",
    "wait_to_complete",
];

/// The forms of its files.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Tcl,
    Python,
    Printed,
    Xml,
}

fn form(text: &str) -> Option<Form> {
    if ROOTS.iter().any(|root| xml::has_root(text, root)) && xml::has_root(text, "tpcc") {
        return Some(Form::Xml);
    }
    if text.contains("Dictionary Settings for ") {
        return Some(Form::Printed);
    }
    const OWN: [&str; 5] = ["dbset", "diset", "vuset", "giset", "buildschema"];
    let begins = |line: &str, after: &[char]| {
        let line = line.trim_start();
        OWN.iter().any(|own| line.strip_prefix(own).is_some_and(|rest| rest.starts_with(after)))
    };
    if text.lines().any(|line| begins(line, &['('])) {
        return Some(Form::Python);
    }
    text.lines().any(|line| begins(line, &[' ', '\t'])).then_some(Form::Tcl)
}

/// Returns the settings of a database that HammerDB takes by itself, as its XML files have them; nothing of one that
/// Lydite does not drive.
fn of_database_by_default(prefix: &str) -> &'static [(&'static str, &'static str)] {
    match prefix {
        "pg_" => &[
            ("pg_host", "localhost"),
            ("pg_port", "5432"),
            ("pg_sslmode", "prefer"),
            ("pg_user", "tpcc"),
            ("pg_dbase", "tpcc"),
            ("pg_storedprocs", "false"),
        ],
        "mysql_" => &[
            ("mysql_host", "127.0.0.1"),
            ("mysql_port", "3306"),
            ("mysql_user", "root"),
            ("mysql_dbase", "tpcc"),
            ("mysql_storage_engine", "innodb"),
            ("mysql_history_pk", "false"),
            ("mysql_no_stored_procs", "false"),
        ],
        "maria_" => &[
            ("maria_host", "127.0.0.1"),
            ("maria_port", "3306"),
            ("maria_user", "root"),
            ("maria_dbase", "tpcc"),
            ("maria_storage_engine", "innodb"),
            ("maria_history_pk", "false"),
            ("maria_no_stored_procs", "false"),
        ],
        _ => &[],
    }
}

/// Returns the database that the files name, or else the one whose settings they have: the prefix of its settings, and
/// its name. HammerDB's own default is none that Lydite drives.
fn database_of(given: &[Given]) -> Option<(&'static str, &'static str)> {
    let named = given.iter().rev().find(|given| given.name == "dbset db").map(Given::text);
    let is_known = |name: &&str| Product::named(name).is_some() || other(name).is_some();
    let is_it = |(prefix, name): &&(&str, &str)| match named.filter(is_known) {
        Some(named) => Product::named(name) == Product::named(named) && other(name) == other(named),
        None => given.iter().any(|given| given.name.starts_with(prefix)),
    };
    PREFIXES.iter().find(is_it).copied()
}

fn defaults(given: &[Given]) -> Vec<(&'static str, &'static str)> {
    let has = |names: &[&str]| given.iter().any(|given| names.contains(&given.name.as_str()));
    let mut all =
        database_of(given).map_or_else(Vec::new, |(prefix, _)| of_database_by_default(prefix).to_vec());
    if has(&["buildschema"]) {
        all.extend([("count_ware", "1"), ("num_vu", "1")]);
    }
    if has(&["vurun", "loadscript"]) {
        all.extend([
            ("driver", "timed"),
            ("rampup", "2"),
            ("duration", "5"),
            ("keyandthink", "false"),
            ("vuset vu", "1"),
        ]);
    }
    all
}

fn normal(name: &str) -> String {
    let stripped = PREFIXES.iter().find_map(|(prefix, _)| name.strip_prefix(prefix)).unwrap_or(name);
    stripped.to_owned()
}

fn read(source: &Source) -> Result<Vec<Given>, SourceError> {
    match form(&source.text) {
        Some(Form::Xml) => xml_settings(source),
        Some(Form::Printed) => Ok(printed(&source.text)),
        Some(Form::Python) => settings(tcl::calls(&source.text)),
        Some(Form::Tcl) | None => settings(tcl::commands(&source.text)),
    }
}

/// Returns the settings of commands.
fn settings(commands: Vec<Command>) -> Result<Vec<Given>, SourceError> {
    let mut found = Vec::new();
    for command in commands {
        let Some((first, rest)) = command.words.split_first() else { continue };
        // Python prefixes names of modules and results: `jobid = tclpy.eval('vurun')`.
        if LANGUAGE.contains(&first.text.as_str()) {
            continue;
        }
        if let ("dbset", [option, value]) = (first.text.as_str(), rest)
            && option.text == "bm"
            && value.text.to_ascii_uppercase().ends_with("-H")
        {
            return Err(SourceError::OtherWorkload("TPROC-H"));
        }
        let line = command.line;
        let value_of = |name: String, word: &Word| match word {
            _ if command.inside => Given::computed(name, "is set in a block that may not run", line),
            word if word.computed => Given::computed(name, "is a computed value", line),
            word => Given::new(name, word.text.clone(), line),
        };
        const WORDS: &str = "is a diset, vuset or dbset with another number of words than HammerDB takes";
        found.push(match (first.text.as_str(), rest) {
            ("diset", [dictionary, ..]) if dictionary.text == "tpch" => Given::new("tpch", "", line),
            ("diset", [_, key, value]) if !key.computed => value_of(key.text.clone(), value),
            ("vuset" | "dbset", [option, value]) if !option.computed => {
                value_of(format!("{} {}", first.text, option.text), value)
            }
            ("diset" | "vuset" | "dbset", _) => Given::computed("…", WORDS, line),
            (name, _) if ROWS.iter().any(|row| row.each().any(|known| known == name)) => {
                Given::new(name, "", line)
            }
            // Conditions of a block look like commands.
            _ if command.inside || first.computed => continue,
            // Any text may stand where a command should, also a password.
            _ => Given::computed("…", "is a command that Lydite does not know", line),
        });
    }
    Ok(found)
}

/// Reads what `print dict` and `print vuconf` write.
fn printed(text: &str) -> Vec<Given> {
    const USERS: [(&str, &str); 9] = [
        ("Virtual Users", "vuset vu"),
        ("User Delay(ms)", "vuset delay"),
        ("Repeat Delay(ms)", "vuset repeat"),
        ("Iterations", "vuset iterations"),
        ("Show Output", "vuset showoutput"),
        ("Log Output", "vuset logtotemp"),
        ("Unique Log Name", "vuset unique"),
        ("No Log Buffer", "vuset nobuff"),
        ("Log Timestamps", "vuset timestamps"),
    ];
    let mut found = Vec::new();
    let mut is_tpch = false;
    for (number, line) in text.lines().enumerate() {
        let line = line.trim();
        if let Some((_, name)) = line.split_once("Dictionary Settings for ") {
            found.push(Given::new("dbset db", name, number + 1));
        } else if let Some(dictionary) = line.strip_suffix('{') {
            is_tpch = dictionary.trim() == "tpch";
        } else if let Some((name, value)) = line.split_once('=') {
            let name = name.trim();
            let name = USERS.iter().find(|(shown, _)| *shown == name).map_or(name, |(_, option)| option);
            found.push(Given::new(if is_tpch { "tpch" } else { name }, value.trim(), number + 1));
        }
    }
    found
}

/// Reads its XML files of defaults.
fn xml_settings(source: &Source) -> Result<Vec<Given>, SourceError> {
    let document = xml::parse(source)?;
    let root = document.root_element();
    let mut found = vec![Given::new("dbset db", root.tag_name().name(), line(root))];
    for part in elements(root) {
        match part.tag_name().name() {
            "tpch" => found.push(Given::new("tpch", "", line(part))),
            "connection" => found.extend(elements(part).map(setting)),
            _ => found.extend(elements(part).flat_map(elements).map(setting)),
        }
    }
    Ok(found)
}

/// Returns an element as a setting.
fn setting(element: Node<'_, '_>) -> Given {
    Given::new(element.tag_name().name(), text_of(element), line(element))
}

/// Keeps a path until it is known whether HammerDB uses it.
fn keep_path(draft: &mut Draft, name: &'static str, given: &Given) -> Fate {
    match place::path(given.text()) {
        Some(path) => {
            draft.keep(name, 0, path);
            Fate::dropped("ssl or ssl_two_way is off, so HammerDB does not read it")
        }
        None if given.text().is_empty() => Fate::dropped("is empty"),
        None => Fate::unknown("must be the path of a file"),
    }
}

/// Names the files of certificates, which lie in a directory of their own, if HammerDB uses them. With a CA its client
/// library checks the server's certificate, and no names.
fn name_certificates(draft: &mut Draft) {
    let is_on = |draft: &Draft, switch| draft.kept(switch, 0) == Some("true");
    if !is_on(draft, "ssl") {
        return;
    }
    let mut used = Vec::new();
    for (name, option) in [("ssl_ca", "ssl-ca"), ("ssl_cert", "ssl-cert"), ("ssl_key", "ssl-key")] {
        if let Some(file) = draft.kept(name, 0).filter(|_| name == "ssl_ca" || is_on(draft, "two_way")) {
            let path = Path::new(draft.kept("capath", 0).unwrap_or_default()).join(file);
            used.push((name, option, path.display().to_string()));
        }
    }
    let directory = match used.is_empty() {
        true => Fate::none("`ssl-ca` in the URL is one file"),
        false => Fate::translated("the directory of the URL's files"),
    };
    draft.amend("ssl_linux_capath", 0, directory);
    for (name, option, path) in used {
        let fate = draft.option(option, path);
        draft.amend(name, 0, fate);
        if name == "ssl_ca" {
            let fate = draft.option("sslmode", "verify-ca");
            draft.amend("ssl", 0, fate);
        }
    }
}

fn finish(draft: &mut Draft, given: &[Given]) {
    name_certificates(draft);
    if draft.place.product.is_none()
        && draft.place.undriven.is_none()
        && let Some((_, name)) = database_of(given)
    {
        draft.place.product = Product::named(name);
        draft.place.undriven = other(name);
    }
    // Citus has none of Lydite's procedures.
    let is_procedures = draft.keys.get("tx").is_some_and(|entry| entry.value == "procedures");
    if draft.place.scheme() == Some("citus") && is_procedures {
        draft.keys.remove("tx");
        let fate = Fate::none("HammerDB calls functions or procedures; on Citus Lydite sends statements");
        draft.amend("storedprocs", 0, fate);
    }
    let is_async = draft.kept("async", 0) == Some("true");
    if let Some(virtual_users) = draft.number("terminals").filter(|_| is_async) {
        let clients = draft.kept_number("clients", 0).unwrap_or(10);
        draft.derive("terminals", virtual_users.saturating_mul(clients), "vuset vu times async_client");
        draft.amend("vuset vu", 0, Fate::translated("terminals, times async_client"));
    }
    match draft.kept("users", 0) {
        Some("true") => {
            draft.derive("mode", "rte", "keyandthink");
            draft.derive(
                "rte.wait_factor",
                json_number(Milli(1_000)),
                "keying and think times as HammerDB's",
            );
            if let Some(users) = draft.number("terminals") {
                draft.derive("sessions", users, "a connection for each user");
            }
        }
        Some(_) => draft.derive("mode", "direct", "keyandthink"),
        None => {}
    }
}
