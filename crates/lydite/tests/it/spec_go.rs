//! `lydite driver new --spec` with a specification in Go: drivers that Go builds, and what is wrong, told by Lydite or
//! by the compiler in the specification's own words.

use crate::kit::{assert_each_is_named, assert_green, directory, kit, scaffold, step};
use crate::program::Program;
use lydite_testkit::Directory;
use lydite_testkit::postgres;
use std::fs;
use std::process::Command;

const SPECS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../sdk/specs");

/// Makes a driver and builds it; its directory.
fn built(place: &Directory, name: &str, spec: &str) -> String {
    scaffold(place, name, &["--spec", spec]);
    let directory = place.path().join(name);
    let ended = Command::new(directory.join("build")).output().expect("its build script");
    assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
    let badly_formatted = Command::new("gofmt").args(["-l", "store.go"]).current_dir(&directory).output();
    let badly_formatted = badly_formatted.expect("gofmt");
    assert_eq!(String::from_utf8_lossy(&badly_formatted.stdout), "", "gofmt has it otherwise");
    directory.display().to_string()
}

#[test]
fn bbolt_as_specified_passes_the_kit_with_no_edit() {
    let place = directory();
    built(&place, "bolt", &format!("{SPECS}/bbolt-go.toml"));
    let ended = Program::new(&["driver", "test", "driver:./bolt"]).within(place.path()).run();
    assert_green(&ended);
    assert_eq!(step(&ended, "reconnect").0, "passed");
    let readme = fs::read_to_string(place.path().join("bolt/README.md")).expect("the README");
    assert!(readme.contains("| `STORE_FILE` | `store.bolt` |"), "{readme}");
}

#[test]
fn postgresql_by_pgx_as_specified_passes_the_kit_with_no_edit() {
    let place = directory();
    let driver = built(&place, "pg", &format!("{SPECS}/postgresql-go.toml"));
    let url = postgres::shared().create_database("specified_go");
    let ended = kit(&[&format!("driver:env PG_CONNECTION={url} {driver}/driver")]);
    assert_green(&ended);
    let (_, contention) = step(&ended, "contention");
    assert!(contention.contains("attempts were aborted and retried"), "{contention}");
}

/// Ends its own connection from another one: before the commit, and on the way into it.
const LOSES_ITS_CONNECTION: &str = r#"package main

import (
	"errors"
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5"
	lydite "lydite.dev/driver"
)

func TestLost(t *testing.T) {
	s := &session{}
	if err := s.connect(); err != nil {
		t.Fatal(err)
	}
	for _, do := range []struct {
		what string
		call func() error
	}{
		{"get", func() error { _, err := s.Get("t", []byte("k")); return err }},
		{"commit", s.Commit},
	} {
		if err := s.Begin("write"); err != nil {
			t.Fatal(err)
		}
		if err := s.Put("t", []byte("k"), []byte("v")); err != nil {
			t.Fatal(err)
		}
		other, err := pgx.Connect(ctx, PG_CONNECTION)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := other.Exec(ctx, "SELECT pg_terminate_backend($1)", s.db.PgConn().PID()); err != nil {
			t.Fatal(err)
		}
		other.Close(ctx)
		var lost *lydite.Unavailable
		if err := do.call(); !errors.As(err, &lost) {
			t.Fatal(do.what, err)
		}
		fmt.Println(do.what, "committed surely not:", lost.NotCommitted)
		s.Abort()
	}
	if err := s.Begin("read"); err != nil {
		t.Fatal(err)
	}
	value, err := s.Get("t", []byte("k"))
	fmt.Println("another connection:", value, err)
	s.Close()
}
"#;

#[test]
fn a_lost_connection_is_unavailable_and_the_next_transaction_has_another_one() {
    let place = directory();
    let driver = built(&place, "losing", &format!("{SPECS}/postgresql-go.toml"));
    fs::write(format!("{driver}/lost_test.go"), LOSES_ITS_CONNECTION).expect("a test");
    let ended = Command::new("go")
        .args(["test", "-mod=mod", "-v", "."])
        .current_dir(&driver)
        .env("PG_CONNECTION", postgres::shared().create_database("losing_go"))
        .output()
        .expect("Go");
    let said = String::from_utf8_lossy(&ended.stdout);
    for words in [
        "get committed surely not: true\n",
        "commit committed surely not: false\n",
        "another connection: [] <nil>\n",
    ] {
        assert!(said.contains(words), "{words}: {said}{}", String::from_utf8_lossy(&ended.stderr));
    }
}

/// Keys as hexadecimal text behind their table's name, values in base64, an error for a key that is not there, one call for
/// both directions, errors in every form, a text over several lines: over maps in memory, one transaction at a time.
const EVERY_FORM: &str = r#"
[store]
language = "go"
name = "maps"
version = '''
const text = `1
2`
return text, nil
'''
guarantee = "serializable"
imports = ["errors", "io", "sort", "strings", 'mutex "sync"']
[options]
STORE_NAME = "maps"
[connect]
type = "*struct { mutex.Mutex; entries, before map[string]string }"
shared = true
open = '''
db := new(struct {
	mutex.Mutex
	entries, before map[string]string
})
db.entries = map[string]string{}
return db, nil
'''
setup = '''if STORE_NAME == "" { return errors.New("no name") } else { return nil }'''
[data]
tables = "prefix"
keys = "hex"
values = "base64"
missing = "io.EOF"
[operations]
get = '''
value, there := db.entries[key]
if !there {
	return "", io.EOF
}
return value, nil
'''
put = '''
tx[key] = value
db.entries[key] = value
return nil
'''
delete = '''
delete(db.entries, key)
return nil
'''
scan = '''
var found []entry
for key, value := range db.entries {
	if start <= key && key < end {
		found = append(found, entry{key, value})
	}
}
sort.Slice(found, func(i, j int) bool { return (found[i].Key < found[j].Key) != backward })
if len(found) > limit {
	found = found[:limit]
}
return found, nil
'''
put_many = '''
for _, each := range entries {
	db.entries[each.Key] = each.Value
}
return nil
'''
clear = '''
for key := range db.entries {
	if strings.HasPrefix(key, start) && key < end {
		delete(db.entries, key)
	}
}
return nil
'''
finish = "nil"
[transactions]
type = "map[string]string"
begin = '''
db.Lock()
db.before = map[string]string{}
for key, value := range db.entries {
	db.before[key] = value
}
return map[string]string{"access": access}, nil
'''
commit = '''
db.Unlock()
return nil
'''
abort = '''
db.entries = db.before
db.Unlock()
return nil
'''
[errors]
serialization = "io.ErrNoProgress"
deadlock = { as = "*mutexError" , where = 'err.code == 1 && db != nil' }
other = [{ where = 'strings.Contains(err.Error(), "again")' }, "io.ErrShortWrite"]
unavailable = "io.ErrClosedPipe"
"#;

/// What the errors of that specification mean, and that a transaction that is given up leaves nothing.
const MEANINGS: &str = r#"package main

import (
	"errors"
	"fmt"
	"io"
	"testing"

	lydite "lydite.dev/driver"
)

type mutexError struct{ code int }

func (e *mutexError) Error() string { return "mutex" }

func TestMeanings(t *testing.T) {
	s := &session{}
	if err := s.connect(); err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{
		fmt.Errorf("more: %w", io.ErrNoProgress), &mutexError{1}, &mutexError{2}, errors.New("try again"),
		io.ErrShortWrite, io.ErrClosedPipe,
	} {
		switch meant := s.explain(err).(type) {
		case *lydite.Aborted:
			fmt.Println("aborted:", meant.Reason)
		case *lydite.Unavailable:
			fmt.Println("unavailable:", meant.NotCommitted)
		default:
			fmt.Println("for good:", meant)
		}
	}
	do := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	do(s.Begin("write"))
	do(s.Write([]lydite.Write{{Table: "a", Key: []byte{1, 255}, Value: []byte("x")}, {Table: "a", Key: []byte{2}, Value: []byte{}}}))
	do(s.Put("b", []byte{1}, []byte("z")))
	do(s.Commit())
	do(s.Begin("write"))
	do(s.Write([]lydite.Write{{Table: "a", Key: []byte{2}}, {Table: "a", Key: []byte{3}, Value: []byte("y")}}))
	s.Abort()
	do(s.Begin("read"))
	for _, backward := range []bool{false, true} {
		found, err := s.Scan("a", []byte{0}, nil, 10, backward)
		fmt.Println("found:", found, err)
	}
	missing, err := s.Get("a", []byte{3})
	fmt.Println("missing:", missing == nil, err)
	s.Close()
	do(s.Clear("a"))
	do(s.Begin("read"))
	found, err := s.Scan("a", []byte{0}, []byte{9}, 10, false)
	fmt.Println("cleared:", found, err)
	value, err := s.Get("b", []byte{1})
	fmt.Printf("kept: %s %v %q\n", value, err, s.Info().Version)
	s.Close()
}
"#;

#[test]
fn a_specification_in_every_form_does_what_it_says() {
    let place = directory();
    let spec = place.path().join("every.toml");
    fs::write(&spec, EVERY_FORM).expect("a specification");
    scaffold(&place, "every", &["--lang", "go", "--spec", &spec.display().to_string()]);
    let driver = place.path().join("every");
    fs::write(driver.join("meanings_test.go"), MEANINGS).expect("a test");
    let ended = Command::new("go").args(["test", "-v", "."]).current_dir(&driver).output().expect("Go");
    let said = String::from_utf8_lossy(&ended.stdout);
    for words in [
        "aborted: serialization\naborted: deadlock\nfor good: mutex\naborted: other\naborted: other\nunavailable: true\n",
        "found: [{[1 255] [120]} {[2] []}] <nil>\nfound: [{[2] []} {[1 255] [120]}] <nil>\n",
        "missing: true <nil>\ncleared: [] <nil>\nkept: z <nil> \"1\\n2\"\n",
    ] {
        assert!(said.contains(words), "{words}: {said}{}", String::from_utf8_lossy(&ended.stderr));
    }
}

/// A specification as short as it can be. Tests put something wrong in its place.
const SHORT: &str = r#"[store]
language = "go"
name = "short"
version = '"1", nil'
guarantee = "none"
[connect]
type = "*store"
open = "openStore()"
[operations]
get = "db.get(table, key)"
put = "db.put(table, key, value)"
delete = "db.put(table, key, nil)"
scan = "db.scan(table, start, end, limit, backward)"
"#;

#[test]
fn what_is_wrong_with_a_specification_is_told_by_file_line_and_key() {
    let place = directory();
    let path = place.path().join("store.toml");
    let told = |text: &str| {
        fs::write(&path, text).expect("a specification");
        let made = Program::new(&["driver", "new", "x", "--spec", "store.toml"]);
        let ended = made.within(place.path()).run().code(2);
        assert!(!place.path().join("x").exists(), "something was written: {text}");
        ended.stderr
    };
    let cases: &[(&str, &str, &str)] = &[
        ("\"go\"", "\"rust\"", "line 2, store.language: \"rust\" is not known: use python or go"),
        (
            "type = \"*store\"",
            "",
            "line 6, connect.type: is missing: write for example type = \"*mystore.DB\"",
        ),
        ("\"*store\"", "\"map[string\"", "line 7, connect.type: Go does not read it: '[' was never closed"),
        (
            "\"*store\"",
            "\"*store\"\nclose = \"nil\"\nshared = true",
            "line 8, connect.close: has no use with shared",
        ),
        (
            "\"none\"",
            "\"none\"\nimports = [\"import x;\"]",
            "line 6, store.imports: \"import x;\": is no import: ",
        ),
        (
            "\"none\"",
            "\"none\"\npackages = [\"a.b/c\"]",
            "line 6, store.packages: \"a.b/c\" is no module with its version: write for example ",
        ),
        ("openStore()", "openStore(", "line 8, connect.open: Go does not read it: '(' was never closed"),
        ("get(table, key)", "get(table)", "line 10, operations.get: does not use `key`: hand it on"),
        (
            "get = \"db.get(table, key)\"",
            "get = '''\nx := db.get(table, key)\nuse(x)'''",
            "line 10, operations.get: returns no value: `return` the result, and an error last",
        ),
        (
            "get = \"db.get(table, key)\"",
            "get = '''\nx := table\nreturn key[x'''",
            "line 10, operations.get: Go does not read it: line 2 of it: '[' was never closed",
        ),
        (", backward", "", "line 13, operations.scan: goes one way only: use `backward` in it, or"),
        (
            "limit, ",
            "",
            "line 13, operations.scan: does not use `limit`, the maximum number of entries: hand it on, or stop",
        ),
        (
            "[connect]",
            "[data]\nvalue = \"found\"\n[connect]",
            "line 7, data.value: is for specifications in Python only",
        ),
        ("[connect]", "[data]\nvalues = \"hex\"\n[connect]", "line 7, data.values: a text can't be nil"),
        (
            "[connect]",
            "[transactions]\ntype = \"int\"\n[connect]",
            "transactions.type: is the type of what begin gives",
        ),
        (
            "[connect]",
            "[errors]\ndeadlock = { class = \"x\" }\n[connect]",
            "is not known: an error has as and where",
        ),
        (
            "[connect]",
            "[errors]\ndeadlock = 1\n[connect]",
            "line 7, errors.deadlock: has to be an error, { as = ",
        ),
        ("name = \"short\"", "", "line 1, store.name: is missing"),
        (
            "get = \"db.get(table, key)\"",
            "",
            "line 9, operations.get: is missing: write for example get = \"db.Get(",
        ),
    ];
    assert_each_is_named(SHORT, cases, told);
    // All at once, and each once.
    let errors =
        told(&SHORT.replace("\"none\"", "\"much\"").replace("openStore()", "(").replace("value)", "v)"));
    assert_eq!(errors.lines().count(), 3, "{errors}");
}

#[test]
fn what_is_wrong_inside_of_the_code_the_compiler_tells_by_key_and_line_of_the_specification() {
    let place = directory();
    let spec = place.path().join("store.toml");
    // Of a piece in one line, of one in several, of a type, and of an error.
    let wrong = SHORT
        .replace("\"none\"", "\"none\"\nimports = [\"bufio\"]")
        .replace(
            "delete = \"db.put(table, key, nil)\"",
            "delete = '''\n// lines\n_, err := db.put(table, key)\nreturn failed'''",
        )
        .replace("\"openStore()\"", "'''openStore()'''")
        + "[errors]\ndeadlock = { where = \"err.Oops()\" }\n";
    fs::write(&spec, wrong).expect("a specification");
    scaffold(&place, "wrong", &["--spec", &spec.display().to_string()]);
    let ended = Command::new(place.path().join("wrong/build")).output().expect("its build script");
    assert!(!ended.status.success());
    let said = String::from_utf8_lossy(&ended.stderr);
    for words in [
        "store.imports in spec.toml:6: \"bufio\" imported and not used",
        "connect.type in spec.toml:8: undefined: store",
        "connect.open in spec.toml:9: ",
        "operations.delete in spec.toml:16: undefined: failed",
        "errors.deadlock in spec.toml:19: err.Oops undefined",
    ] {
        assert!(said.contains(words), "{words:?} is wanted: {said}");
    }
    // And Lydite hands it on.
    let ended = kit(&[&format!("driver:{}", place.path().join("wrong").display())]).code(1);
    assert!(ended.stdout.contains(" in spec.toml:"), "{}", ended.stdout);
}
