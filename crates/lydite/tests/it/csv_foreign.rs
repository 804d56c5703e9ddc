//! Files of rows that another program wrote: their keys are checked before the first row, and they must not change while
//! they are loaded.

use crate::csv::{TABLES, change, sqlite, written};
use crate::program::{Program, checksums, lydite, scratch, text};
use std::fs::{self, File, OpenOptions};
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// Writes two warehouses as another program would: a file for each table, of this size.
fn foreign(directory: &Path, size: &str) -> PathBuf {
    let own = directory.join("own");
    lydite(&["load", "--csv", text(&own), "-w", "2", "--size", size, "--seed", "5", "--quiet"]).code(0);
    let files = directory.join("foreign");
    fs::create_dir(&files).expect("a directory");
    for table in TABLES {
        let of = |w: u32| fs::read_to_string(own.join(format!("{table}.{w}.csv"))).expect("a file");
        let all = if table == "item" {
            fs::read_to_string(own.join("item.csv")).expect("a file")
        } else {
            of(1) + &of(2)
        };
        fs::write(files.join(format!("{table}.csv")), all).expect("a file");
    }
    files
}

/// Replaces a field of a line, counted from 0.
fn field(number: usize, value: &str) -> impl FnOnce(&str) -> String {
    move |line| {
        let mut fields: Vec<&str> = line.split(',').collect();
        fields[number] = value;
        fields.join(",")
    }
}

/// The file of a table, a line, and its field and new value, with the words of the error.
type Damage<'a> = (&'a str, usize, usize, &'a str, &'a [&'a str]);

#[test]
fn ids_out_of_bounds_and_keys_of_two_rows_are_named_with_their_lines_before_the_first_row() {
    let directory = scratch();
    let files = foreign(directory.path(), "tiny");
    let (path, url) = sqlite(directory.path(), "never.sqlite");
    let cases: [Damage<'_>; 16] = [
        ("customer", 5, 13, "XX", &["customer.csv line 5: c_credit is \"XX\", and must be GC or BC"]),
        ("item", 7, 0, "1001", &["item.csv line 7: i_id is 1001, and must be from 1 to 1000"]),
        ("item", 7, 0, "6", &["item.csv line 7: has the key of another row: i_id 6"]),
        ("district", 3, 0, "11", &["district.csv line 3: d_id is 11, and must be from 1 to 10"]),
        ("district", 3, 10, "30", &["district.csv line 3: d_next_o_id is 30, and must be from 31 to 31"]),
        ("customer", 5, 0, "31", &["customer.csv line 5: c_id is 31"]),
        (
            "customer",
            5,
            2,
            "3",
            &["customer.csv line 5: is of warehouse 3, and the rows of WAREHOUSE end with 2"],
        ),
        ("history", 5, 0, "0", &["history.csv line 5: h_c_id is 0, and must be from 1 to 30"]),
        ("orders", 9, 0, "8", &["orders.csv line 9: has the key of another row: o_w_id 1, o_d_id 1, o_id 8"]),
        ("orders", 9, 3, "31", &["orders.csv line 9: o_c_id is 31"]),
        ("orders", 9, 6, "16", &["orders.csv line 9: o_ol_cnt is 16, and must be from 5 to 15"]),
        ("new_order", 2, 0, "21", &["new_order.csv line 2: no_o_id is 21, and must be from 22 to 30"]),
        ("order_line", 2, 4, "1001", &["order_line.csv line 2: ol_i_id is 1001"]),
        ("order_line", 2, 5, "3", &["order_line.csv line 2: ol_supply_w_id is 3, and must be from 1 to 2"]),
        ("order_line", 2, 3, "1", &["order_line.csv line 2: has the key of another row", "ol_number 1"]),
        (
            "stock",
            1_500,
            0,
            "499",
            &["stock.csv line 1500: has the key of another row: s_w_id 2, s_i_id 499"],
        ),
    ];
    for (table, line, number, value, words) in cases {
        let file = files.join(format!("{table}.csv"));
        let whole = fs::read(&file).expect("a file");
        change(&file, line, field(number, value));
        let refused = lydite(&["load", &url, "--from", text(&files)]).code(2);
        let told = |error: &&str| words.iter().all(|word| error.contains(word));
        assert!(refused.errors().iter().any(told), "{words:?}: {refused:?}");
        assert!(!path.exists());
        fs::write(&file, whole).expect("a file");
    }
    // An order whose count is not that of its lines, while the sums agree.
    let orders = files.join("orders.csv");
    let all = fs::read_to_string(&orders).expect("a file");
    let count = |line: usize| -> u32 {
        let line = all.lines().nth(line - 1).expect("a line");
        line.split(',').nth(6).expect("a field").parse().expect("a count")
    };
    let fewer = (1..=60).find(|line| count(*line) > 5).expect("an order");
    let more = (1..=60).find(|line| *line != fewer && count(*line) < 15).expect("an order");
    for (line, changed) in [(fewer, count(fewer) - 1), (more, count(more) + 1)] {
        change(&orders, line, field(6, &changed.to_string()));
    }
    let refused = lydite(&["load", &url, "--from", text(&files)]).code(2);
    for line in [fewer, more] {
        let place = format!("orders.csv line {line}: order ");
        assert!(refused.errors().iter().any(|error| error.contains(&place)), "{place}: {refused:?}");
    }
    assert_eq!(refused.errors().len(), 2, "{refused:?}");
    assert!(refused.stderr.contains("lines by o_ol_cnt"), "{refused:?}");
    assert!(!path.exists());
}

#[test]
fn a_last_line_without_its_end_is_refused_if_other_files_have_theirs() {
    let directory = scratch();
    let files = foreign(directory.path(), "tiny");
    let (path, url) = sqlite(directory.path(), "tpcc.sqlite");
    let cut = |table: &str, bytes: usize| {
        let file = files.join(format!("{table}.csv"));
        let whole = fs::read(&file).expect("a file");
        fs::write(&file, &whole[..whole.len() - bytes]).expect("a file");
    };
    // The last column is a text, so that what is left of the line is a row.
    cut("customer", 5);
    let refused = lydite(&["load", &url, "--from", text(&files)]).code(2);
    assert!(
        refused.only_error().contains("customer.csv line 600: is the last one and has no end"),
        "{refused:?}"
    );
    assert!(!path.exists());
    // A program that never ends its last lines.
    TABLES.into_iter().filter(|table| *table != "customer").for_each(|table| cut(table, 1));
    lydite(&["load", &url, "--from", text(&files), "--quiet"]).code(0);
}

#[test]
fn a_file_whose_rows_change_the_warehouse_with_each_line_is_refused_with_the_command_that_sorts_it() {
    let directory = scratch();
    let files = foreign(directory.path(), "small");
    let file = files.join("order_line.csv");
    let all = fs::read_to_string(&file).expect("a file");
    let (one, two): (Vec<&str>, Vec<&str>) =
        all.lines().partition(|line| line.split(',').nth(2) == Some("1"));
    let pairs = one.len().min(two.len());
    let mixed: String = one.iter().zip(&two).map(|(one, two)| format!("{one}\n{two}\n")).collect();
    let rest: String =
        one[pairs..].iter().chain(&two[pairs..]).map(|line| (*line).to_owned() + "\n").collect();
    fs::write(&file, mixed + &rest).expect("a file");
    let (path, url) = sqlite(directory.path(), "tpcc.sqlite");
    let refused = lydite(&["load", &url, "--from", text(&files), "--quiet"]).code(2);
    let error = refused.only_error();
    assert!(
        error.contains("order_line.csv line 32769: the rows up to it change the warehouse 32769 times"),
        "{error}"
    );
    assert!(error.contains("sort the file by ol_w_id, as with `sort -t, -s -k3,3n`"), "{error}");
    assert!(!path.exists());
    // What the advice makes is loaded.
    let sorted =
        std::process::Command::new("sort").args(["-t,", "-s", "-k3,3n"]).arg(&file).output().expect("sort");
    fs::write(&file, sorted.stdout).expect("a file");
    lydite(&["load", &url, "--from", text(&files), "--quiet"]).code(0);
}

/// Returns the arguments of the command that an error advises.
fn advised(error: &str) -> Vec<String> {
    let (_, advised) = error.split_once("`lydite ").expect("an advice");
    let (advised, _) = advised.split_once('`').expect("its end");
    advised.split(' ').map(str::to_owned).chain(["--quiet".to_owned()]).collect()
}

#[test]
fn a_foreign_file_that_changes_after_the_check_ends_the_load_which_the_advised_command_resumes() {
    let directory = scratch();
    let files = foreign(directory.path(), "tiny");
    let (path, url) = sqlite(directory.path(), "tpcc.sqlite");
    // Another writer keeps the load waiting behind the check.
    let other = rusqlite::Connection::open(&path).expect("a database");
    other.execute_batch("PRAGMA journal_mode = wal; BEGIN IMMEDIATE").expect("a lock");
    let mut running = Program::new(&["load", &url, "--from", text(&files), "--jobs", "1", "--quiet"]).start();
    let said = running.said();
    running.wait_until("the check is over", || said.has("checked in"));
    // A text of the last row, which is loaded last: neither its length nor its type changes.
    let stock = files.join("stock.csv");
    let whole = fs::read(&stock).expect("a file");
    let mut file = OpenOptions::new().write(true).open(&stock).expect("a file");
    file.seek(SeekFrom::Start(whole.len() as u64 - 4)).expect("a place");
    file.write_all(b"###").expect("a write");
    other.execute_batch("ROLLBACK").expect("the end of the lock");
    let ended = running.wait().code(3);
    // A note about the check comes before it.
    let errors = ended.errors();
    assert_eq!(errors.len(), 2, "{errors:?}");
    let error = errors[1];
    assert!(error.contains("stock.csv") && error.contains("was changed since it was checked"), "{error}");
    assert!(error.contains("complete: 1 of 2"), "{error}");
    let by_load = advised(error);
    // Another command that meets the unfinished load advises the same.
    let refused = lydite(&["run", &url, "--duration", "1s", "--quiet"]).code(2);
    let by_run = advised(refused.only_error());
    for command in [&by_load, &by_run] {
        let from = ["--from", text(&files)];
        assert!(command.windows(2).any(|pair| pair == from), "{command:?}");
        assert!(!command.iter().any(|argument| argument == "--seed"), "{command:?}");
    }
    let refused = lydite(&by_run).code(2);
    assert!(refused.stderr.contains("in other files"), "{refused:?}");
    fs::write(&stock, whole).expect("a file");
    lydite(&by_run).code(0);
    let (_, direct) = sqlite(directory.path(), "direct.sqlite");
    lydite(&["load", &direct, "-w", "2", "--size", "tiny", "--seed", "5", "--quiet"]).code(0);
    assert_eq!(checksums(&url), checksums(&direct));
}

#[test]
fn a_second_writer_changes_nothing_in_a_directory_whose_writer_is_at_work() {
    let directory = scratch();
    let files = written(directory.path());
    let manifest = fs::read(files.join("manifest.json")).expect("a manifest");
    let journal = File::create(files.join(".journal")).expect("a file");
    journal.lock().expect("a lock");
    let write = ["load", "--csv", text(&files), "-w", "2", "--size", "tiny", "--seed", "5", "--quiet"];
    let refused = lydite(&write).code(2);
    assert!(refused.only_error().contains("another lydite writes files there"), "{refused:?}");
    assert_eq!(fs::read(files.join("manifest.json")).expect("a manifest"), manifest);
    drop(journal);
    lydite(&write).code(0);
}
