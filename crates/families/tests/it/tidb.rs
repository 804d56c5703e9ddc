//! TiDB's features within MySQL's family, against a server of a few lines that reports to be TiDB and records what it
//! receives. Syntax that only the real product knows is not tested here.

use crate::playing::{open, population};
use lydite_database::{LoadProgress, LoadUnit, TargetErrorKind, TxMode};
use lydite_testkit::mariadb;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

/// Most rows in a transaction.
const LIMIT: usize = 4_000;

/// Received statements, and the rows of each transaction that the server accepted and rejected.
#[derive(Default)]
struct Heard {
    statements: Vec<String>,
    taken: Vec<usize>,
    refused: Vec<usize>,
}

struct Connection {
    stream: TcpStream,
    sequence: u8,
}

impl Connection {
    fn send(&mut self, payload: &[u8]) {
        let length = (payload.len() as u32).to_le_bytes();
        let header = [length[0], length[1], length[2], self.sequence];
        // A client that has ended needs no answer.
        let _gone = self.stream.write_all(&[&header[..], payload].concat());
        self.sequence = self.sequence.wrapping_add(1);
    }

    /// Returns the next packet, or `None` after the client has closed the connection.
    fn packet(&mut self) -> Option<Vec<u8>> {
        let mut header = [0; 4];
        self.stream.read_exact(&mut header).ok()?;
        let mut payload = vec![0; u32::from_le_bytes([header[0], header[1], header[2], 0]) as usize];
        self.stream.read_exact(&mut payload).ok()?;
        self.sequence = header[3].wrapping_add(1);
        Some(payload)
    }

    fn ok(&mut self, affected: usize) {
        let count = (affected as u32).to_le_bytes();
        self.send(&[0, 0xfd, count[0], count[1], count[2], 0, 2, 0, 0, 0]);
    }

    fn rows(&mut self, columns: u8, rows: &[&[&str]]) {
        const END: [u8; 5] = [0xfe, 0, 0, 2, 0];
        self.send(&[columns]);
        // No client reads the names of the columns.
        (0..columns).for_each(|_| self.send(b"column"));
        self.send(&END);
        for row in rows {
            let fields = row.iter().flat_map(|field| [&[field.len() as u8], field.as_bytes()].concat());
            self.send(&fields.collect::<Vec<u8>>());
        }
        self.send(&END);
    }

    fn serve(mut self, heard: &Mutex<Heard>) -> Option<()> {
        // Protocol 4.1, database, local files, transactions, authentication as of 4.1, several statements.
        let (low, high) =
            ((1_u16 << 3 | 1 << 7 | 1 << 9 | 1 << 13 | 1 << 15).to_le_bytes(), 0b111_u16.to_le_bytes());
        let greeting = [
            &b"\x0a8.0.11-TiDB-v8.5.0\0\x07\0\0\0abcdefgh\0"[..],
            &low,
            &[46, 2, 0],
            &high,
            &[21, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
            b"ijklmnopqrst\0",
        ];
        self.send(&greeting.concat());
        self.packet()?;
        self.ok(0);
        let mut mode = "pessimistic".to_string();
        loop {
            let packet = self.packet()?;
            let sql = String::from_utf8(packet.get(1..)?.to_vec()).expect("a statement");
            heard.lock().expect("a lock").statements.push(sql.clone());
            if let Some((_, set)) = sql.split_once("tidb_txn_mode = ") {
                mode = set.trim_matches('\'').to_string();
            }
            if sql.starts_with("SELECT version()") {
                self.rows(2, &[&["8.0.11-TiDB-v8.5.0", "TiDB Server"]]);
            } else if sql.starts_with("SELECT @@GLOBAL.local_infile") {
                self.rows(1, &[&["ON"]]);
            } else if sql.starts_with("SHOW VARIABLES") {
                self.rows(2, &[&["tidb_txn_mode", &mode]]);
            } else if sql.starts_with("SELECT") {
                self.rows(1, &[]);
            } else if sql.contains("LOAD DATA") {
                self.send(b"\xfbrows");
                let mut rows = 0;
                loop {
                    let part = self.packet()?;
                    if part.is_empty() {
                        break;
                    }
                    rows += part.iter().filter(|byte| **byte == b'\n').count();
                }
                let mut heard = heard.lock().expect("a lock");
                if rows > LIMIT {
                    heard.refused.push(rows);
                    self.send(b"\xff\x44\x1f#HY000Transaction is too large, size: 104857601");
                } else {
                    heard.taken.push(rows);
                    self.ok(rows);
                }
            } else {
                self.ok(0);
            }
        }
    }
}

/// Starts the server. Returns its URL and its record.
fn pretender() -> (String, Arc<Mutex<Heard>>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("its address").port();
    let heard = Arc::new(Mutex::new(Heard::default()));
    let shared = Arc::clone(&heard);
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let heard = Arc::clone(&shared);
            std::thread::spawn(move || Connection { stream, sequence: 0 }.serve(&heard));
        }
    });
    (format!("tidb://root@127.0.0.1:{port}/tpcc"), heard)
}

#[test]
fn the_mode_of_transactions_is_set_on_every_connection_and_told_as_the_server_has_it() {
    let (url, heard) = pretender();
    for (option, mode) in [("", "pessimistic"), ("?transactions=optimistic", "optimistic")] {
        let told = open(&format!("{url}{option}"), TxMode::Statements).describe().expect("a description");
        assert_eq!(told.settings["tidb_txn_mode"], mode);
        assert!(told.durable, "{told:?}");
    }
    let set = heard
        .lock()
        .expect("a lock")
        .statements
        .iter()
        .filter(|sql| sql.contains("SET SESSION tidb"))
        .count();
    assert_eq!(set, 1, "left to the server where the URL says nothing");
}

#[test]
fn modes_are_refused_by_a_server_that_has_none() {
    let url = mariadb::shared().create_database("no_modes").replace("mariadb:", "mysql:");
    let target = open(&format!("{url}?transactions=optimistic"), TxMode::Statements);
    let refused = target.state().expect_err("MariaDB has no such modes");
    assert_eq!(refused.kind, TargetErrorKind::Usage);
    assert!(refused.message.contains("MariaDB does not have these modes of TiDB"), "{refused}");
}

#[test]
fn rows_go_in_transactions_of_ten_thousand_and_in_halves_when_these_are_too_large() {
    let (url, heard) = pretender();
    let progress = LoadProgress::default();
    let mut loader = open(&url, TxMode::Statements).loader().expect("a loader");
    loader.load(LoadUnit::Items, &population(1), &progress).expect("ITEM");
    assert_eq!(progress.rows(), 10_000);
    let heard = heard.lock().expect("a lock");
    assert_eq!(heard.refused, [10_000, 5_000], "halved, and no larger one afterwards");
    assert_eq!(heard.taken, vec![2_500; 4]);
    let count = |sql: &str| heard.statements.iter().filter(|statement| *statement == sql).count();
    assert_eq!((count("START TRANSACTION"), count("COMMIT"), count("ROLLBACK")), (6, 4, 2));
    let note = heard.statements.iter().position(|sql| sql == "INSERT INTO lydite_load VALUES (-1)");
    assert!(
        note < heard.statements.iter().position(|sql| sql.contains("LOAD DATA")),
        "noted as begun before"
    );
}
