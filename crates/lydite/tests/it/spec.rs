//! `lydite driver new --spec`: drivers made from a description of a store's calls, and what is wrong with one.

use crate::kit::{
    SDK, assert_each_is_named, assert_green, directory, kit, python_with_libraries, scaffold, step,
};
use crate::program::{Program, lydite};
use lydite_testkit::Directory;
use lydite_testkit::{postgres, redis};
use std::fs;
use std::process::Command;

/// One in Go, as short as it can be; what is wrong with such is told in `spec_go.rs`.
const SHORT_GO: &str = "[store]\nlanguage = \"go\"\n";

const SPECS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../sdk/specs");

/// Makes a driver of one of the specifications that come with Lydite, and gives its program.
fn made(place: &Directory, name: &str) -> String {
    let spec = format!("{SPECS}/{name}.toml");
    scaffold(place, name, &["--lang", "python", "--spec", &spec]);
    format!("{} {}", python_with_libraries(), place.path().join(name).join("store.py").display())
}

/// How psycopg names the database of a URL.
fn connection(url: &str) -> String {
    let (host, database) = url.rsplit_once('@').and_then(|(_, rest)| rest.rsplit_once('/')).expect("its URL");
    let (host, port) = host.split_once(':').expect("its port");
    format!("host={host} port={port} user=postgres dbname={database}")
}

#[test]
fn sqlite_as_specified_passes_the_kit_with_no_edit() {
    let place = directory();
    let spec = format!("{SPECS}/sqlite.toml");
    scaffold(&place, "sq", &["--lang", "python", "--spec", &spec]);
    // As it is called: the program `driver` of the directory.
    let ended = Program::new(&["driver", "test", "driver:./sq"]).within(place.path()).run();
    assert_green(&ended);
    assert_eq!(step(&ended, "reconnect").0, "passed");
    let readme = fs::read_to_string(place.path().join("sq/README.md")).expect("the README");
    assert!(readme.contains("| `STORE_FILE` | `store.sqlite` |"), "{readme}");
}

#[test]
fn postgresql_as_specified_passes_the_kit_with_no_edit() {
    let place = directory();
    let program = made(&place, "postgresql");
    let url = postgres::shared().create_database("specified");
    let ended = kit(&[&format!("driver:env 'PG_CONNECTION={}' {program}", connection(&url))]);
    assert_green(&ended);
    let (_, contention) = step(&ended, "contention");
    assert!(contention.contains("attempts were aborted and retried"), "{contention}");
    let packages = fs::read_to_string(place.path().join("postgresql/requirements.txt")).expect("a list");
    assert_eq!(packages, "psycopg[binary]>=3.1\n");
}

/// A store that promises nothing for several keys: nothing fails, and what it lacks is told.
#[test]
fn redis_as_specified_passes_what_it_promises() {
    let place = directory();
    let program = made(&place, "redis");
    let server = redis::Server::start(&[]);
    let ended = kit(&[&format!("driver:env REDIS_URL={} {program}", server.url(0))]).code(0);
    for name in ["rows as loaded", "New-Order", "Delivery", "rows afterwards", "rollback", "reconnect"] {
        assert_eq!(step(&ended, name).0, "passed", "{name}: {}", ended.stdout);
    }
    let (verdict, reason) = step(&ended, "lost update");
    assert_eq!(verdict, "not supported", "{}", ended.stdout);
    assert!(reason.starts_with("not promised (isolation per-key): "), "{reason}");
}

/// Keys as hexadecimal text behind their table's name, values in base64, an error for a key that is not there, lines of
/// code that return and yield, an object for the transaction, two calls for the two directions.
const EVERY_FORM: &str = r##"
[store]
name = "text"
version = "sqlite3.sqlite_version"
guarantee = "serializable"
imports = ["import sqlite3"]
[options]
STORE_FILE = "store.sqlite"
[connect]
open = "sqlite3.connect(STORE_FILE, timeout=50, isolation_level=None)"
setup = '''
db.execute("PRAGMA journal_mode = WAL")
db.execute("""CREATE TABLE IF NOT EXISTS entry
(k TEXT PRIMARY KEY,
 v TEXT) WITHOUT ROWID""")
'''
[data]
tables = "prefix"
keys = "hex"
values = "base64"
missing = "KeyError"
value = "found['v']"
entry = "(found['k'], found['v'])"
[operations]
get = '''
rows = tx.execute("SELECT v FROM entry WHERE k = ?", (key,)).fetchall()
if not rows:
    raise KeyError(key)
return {"v": rows[0][0]}
'''
put = "tx.execute('INSERT OR REPLACE INTO entry VALUES (?, ?)', (key, value))"
delete = "tx.execute('DELETE FROM entry WHERE k = ?', (key,))"
scan = '''
for k, v in tx.execute("SELECT k, v FROM entry WHERE k >= ? AND k < ? ORDER BY k LIMIT ?", (start, end, limit)):
    yield {"k": k, "v": v}
'''
scan_backward = """
[dict(k=k, v=v) for k, v in tx.execute(
    'SELECT k, v FROM entry WHERE k >= ? AND k < ? ORDER BY k DESC LIMIT ?', (start, end, limit))]"""
put_many = "tx.executemany('INSERT OR REPLACE INTO entry VALUES (?, ?)', entries)"
clear = "db.execute('DELETE FROM entry WHERE k >= ? AND k < ?', (start, end))"
[transactions]
begin = '''
cursor = db.cursor()
cursor.execute("BEGIN" if access == "read" else "BEGIN IMMEDIATE")
return cursor
'''
commit = "tx.execute('COMMIT')"
abort = "tx.connection.rollback()"
"##;

#[test]
fn a_specification_in_every_form_passes_the_kit() {
    let place = directory();
    let spec = place.path().join("every.toml");
    fs::write(&spec, EVERY_FORM).expect("a specification");
    scaffold(&place, "every", &["--lang", "python", "--spec", &spec.display().to_string()]);
    let ended = Program::new(&["driver", "test", "driver:./every"]).within(place.path()).run();
    assert_green(&ended);
}

/// Ends its own connection from another one: before the commit, and on the way into it.
const LOSES_ITS_CONNECTION: &str = r#"
import psycopg
import store

def lose(session):
    with psycopg.connect(store.PG_CONNECTION, autocommit=True) as other:
        other.execute("SELECT pg_terminate_backend(%s)", (session.db.info.backend_pid,))

session = store.Store()
get = {"table": "t", "key": b"k"}
for what, fields in [("get", {**get, "begin": None}), ("commit", {"begin": None, "writes": []})]:
    session.handle("get", {**get, "begin": "write"})
    lose(session)
    try:
        session.handle(what, fields)
    except Exception as error:
        told = session.explain(error).fields()
        print(what, told["kind"], told["committed"])
    session.failed(what)
print(session.handle("get", {**get, "begin": "write"}))
"#;

#[test]
fn a_lost_connection_is_unavailable_and_the_next_transaction_has_another_one() {
    let place = directory();
    made(&place, "postgresql");
    let url = postgres::shared().create_database("losing");
    let ended = Command::new(python_with_libraries())
        .args(["-c", LOSES_ITS_CONNECTION])
        .current_dir(place.path().join("postgresql"))
        .env("PG_CONNECTION", connection(&url))
        .env("PYTHONPATH", SDK)
        .output()
        .expect("Python");
    let said = String::from_utf8_lossy(&ended.stdout);
    let errors = String::from_utf8_lossy(&ended.stderr);
    assert_eq!(
        said, "get unavailable no\ncommit unavailable unknown\n{'value': None}\n",
        "its errors: {errors}"
    );
}

#[test]
fn a_transaction_that_does_not_begin_is_told_as_it_is_and_not_aborted() {
    let place = directory();
    let spec = place.path().join("store.toml");
    let verbs = "[transactions]\nbegin = \"open('/nonexistent')\"\ncommit = \"tx.flush()\"\nabort = \"tx.close()\"\n\
                 [errors]\ndeadlock = { class = \"OSError\", where = \"error.errno == 2\" }\n";
    fs::write(&spec, format!("{SHORT}{verbs}")).expect("a specification");
    scaffold(&place, "made", &["--lang", "python", "--spec", &spec.display().to_string()]);
    let script = r#"
import store
session = store.Store()
try:
    session.handle("get", {"begin": "write", "table": "t", "key": b"k"})
except Exception as error:
    told = session.explain(error).fields()
    print(told["kind"], told["reason"])
session.failed("get")
print("goes on")
"#;
    let ended = Command::new("python3")
        .args(["-c", script])
        .current_dir(place.path().join("made"))
        .output()
        .expect("Python");
    let errors = String::from_utf8_lossy(&ended.stderr);
    assert_eq!(String::from_utf8_lossy(&ended.stdout), "aborted deadlock\ngoes on\n", "its errors: {errors}");
}

/// A specification as short as it can be. Tests put something wrong in its place.
const SHORT: &str = r#"[store]
name = "short"
version = "'1'"
guarantee = "none"
[connect]
open = "dict()"
[operations]
get = "db.get((table, key))"
put = "db.update({(table, key): value})"
delete = "db.pop((table, key), None)"
scan = "sorted((k[1], v) for k, v in db.items() if k[0] == table and start <= k[1] < end)[::-1 if backward else 1][:limit]"
"#;

#[test]
fn what_is_wrong_with_a_specification_is_told_by_file_line_and_key() {
    let place = directory();
    let path = place.path().join("store.toml");
    let told = |text: &str| {
        fs::write(&path, text).expect("a specification");
        let made = Program::new(&["driver", "new", "x", "--lang", "python", "--spec", "store.toml"]);
        let ended = made.within(place.path()).run().code(2);
        assert!(!place.path().join("x").exists(), "something was written: {text}");
        ended.stderr
    };
    let cases: &[(&str, &str, &str)] = &[
        ("[store]\n", "[store\n", "line 1: "),
        ("name = \"short\"", "nam = \"short\"", "line 2, store.nam: is not known: did you mean name?"),
        ("name = \"short\"", "", "line 1, store.name: is missing: write for example name = \"mystore\""),
        ("[store]", "[stores]", "line 1, stores: is not known: did you mean [store]?"),
        (
            "\"none\"",
            "\"strong\"",
            "line 4, store.guarantee: \"strong\" is not known: use none or per-key or ",
        ),
        (
            "\"none\"",
            "\"atomic\"",
            "line 4, store.guarantee: \"atomic\" needs transactions: write commit and abort",
        ),
        ("guarantee = \"none\"", "durable = 1", "line 4, store.durable: has to be true or false"),
        ("guarantee = \"none\"", "packages = \"x\"", "line 4, store.packages: has to be a list of texts"),
        (
            "guarantee = \"none\"",
            "imports = [\n\"import x\",\n\"inport y\"]",
            "line 6, store.imports: \"inport y\": ",
        ),
        (
            "[connect]",
            "[options]\nhost = \"x\"\n[connect]",
            "line 6, options.host: has to be the name of a variable",
        ),
        ("open = \"dict()\"", "", "line 5, connect.open: is missing: write for example open = "),
        ("\"dict()\"", "\"dict(\"", "line 6, connect.open: Python does not read it: '(' was never closed"),
        ("\"dict()\"", "\"d = {}\"", "line 6, connect.open: Python does not read it: is a statement"),
        (
            "\"dict()\"",
            "\"mystore.open()\"",
            "line 6, connect.open: uses `mystore`, which is not defined: use names of",
        ),
        (
            "db.get((table, key))",
            "tx.get((table, key))",
            "line 8, operations.get: uses `tx`, which is the value of",
        ),
        (
            "db.get((table, key))",
            "db.get(value)",
            "operations.get: uses `value`, which is not defined: use db, tx",
        ),
        ("db.get((table, key))", "db.get(table)", "line 8, operations.get: does not use `key`: hand it on"),
        (
            "db.get((table, key))",
            "db.get(key)",
            "does not use `table`: hand it on, or write tables = \"prefix\"",
        ),
        (
            "get = \"db.get((table, key))\"",
            "get = '''\nx = db[table]\nx[key]'''",
            "returns no value: write an expression",
        ),
        (
            "get = \"db.get((table, key))\"",
            "get = '''\nx = db[table]\nreturn x[key'''",
            "line 2 of it: '[' was never",
        ),
        (
            "[::-1 if backward else 1]",
            "",
            "line 11, operations.scan: goes one way only: use `backward` in it, or",
        ),
        (
            "[:limit]",
            "",
            "line 11, operations.scan: does not use `limit`, the maximum number of entries: hand it on, or",
        ),
        (
            "[connect]",
            "[data]\nkeys = \"base64\"\n[connect]",
            "line 6, data.keys: base64 does not keep the order",
        ),
        (
            "[connect]",
            "[data]\nvalue = \"1\"\n[connect]",
            "line 6, data.value: does not use `found`: hand it on",
        ),
        (
            "[connect]",
            "[transactions]\nbegin = \"1\"\n[connect]",
            "transactions.begin: is there without commit: write",
        ),
        (
            "[connect]",
            "[errors]\ndeadlock = 1\n[connect]",
            "line 6, errors.deadlock: has to be a class of errors, ",
        ),
        (
            "[connect]",
            "[errors]\nbroken = \"x\"\n[connect]",
            "line 6, errors.broken: is not known: use serialization, ",
        ),
        (
            "[connect]",
            "[errors]\ndeadlock = { class = \"OSError\", code = 3 }\n[connect]",
            "line 6, errors.deadlock.code: is not known: an error has class and where",
        ),
        (
            "[connect]",
            "[errors]\ndeadlock = { class = \"OSError\", where = \"True\" }\n[connect]",
            "line 6, errors.deadlock: does not use `error`: hand it on",
        ),
    ];
    assert_each_is_named(SHORT, cases, told);
    // All at once, and each once.
    let errors =
        told(&SHORT.replace("\"none\"", "\"much\"").replace("dict()", "dict(").replace("value}", "v}"));
    assert_eq!(errors.lines().count(), 4, "{errors}");
}

#[test]
fn a_specification_that_can_not_be_used_is_refused_and_nothing_is_written() {
    let place = directory();
    fs::write(place.path().join("store.toml"), SHORT).expect("a specification");
    fs::write(place.path().join("go.toml"), SHORT_GO).expect("a specification");
    for (arguments, words) in [
        (
            ["--lang", "go", "--spec", "store.toml"],
            "store.toml, line 1, store.language: is python by default, but --lang says go",
        ),
        (
            ["--lang", "python", "--spec", "go.toml"],
            "go.toml, line 2, store.language: is go, but --lang says python: leave --lang out",
        ),
        (["--lang", "python", "--spec", "none.toml"], "none.toml: No such file or directory"),
    ] {
        let ended =
            Program::new(&[&["driver", "new", "x"][..], &arguments].concat()).within(place.path()).run();
        assert!(ended.code(2).stderr.contains(words), "{words}");
    }
    assert!(!place.path().join("x").exists());
    // The same is good where nothing is wrong.
    let path = place.path().join("x").display().to_string();
    let spec = place.path().join("store.toml").display().to_string();
    lydite(&["driver", "new", &path, "--lang", "python", "--spec", &spec]).code(0);
    // And says its language itself.
    lydite(&["driver", "new", &format!("{path}2"), "--spec", &spec]).code(0);
}
