//! The note about a limit of statements (`statement_timeout`) that is below the round trip to the server.

use crate::playing::open;
use lydite_database::{Demand, TxMode};
use lydite_testkit::{mariadb, postgres};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

/// Time that an answer takes on its way.
const DELAY: Duration = Duration::from_millis(10);

/// Returns the port of a long way to a server on this machine.
fn far_away(port: u16) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let own = listener.local_addr().expect("an address").port();
    thread::spawn(move || {
        for client in listener.incoming().flatten() {
            let Ok(server) = TcpStream::connect(("127.0.0.1", port)) else { continue };
            let (there, back) =
                (client.try_clone().expect("a socket"), server.try_clone().expect("a socket"));
            thread::spawn(move || pass(there, server, Duration::ZERO));
            thread::spawn(move || pass(back, client, DELAY));
        }
    });
    own
}

fn pass(mut from: TcpStream, mut to: TcpStream, delay: Duration) {
    let mut buffer = vec![0; 1 << 16];
    while let Ok(count @ 1..) = from.read(&mut buffer) {
        thread::sleep(delay);
        if to.write_all(&buffer[..count]).is_err() {
            break;
        }
    }
    let _closed = to.shutdown(std::net::Shutdown::Both);
}

#[test]
fn a_limit_below_the_measured_round_trip_is_noted_before_a_run() {
    let (postgres, mariadb) = (postgres::shared(), mariadb::shared());
    for (url, port) in [
        (postgres.create_database("far_away"), postgres.port()),
        (mariadb.create_database("far_away"), mariadb.port()),
    ] {
        let url = url.replace(&format!(":{port}/"), &format!(":{}/", far_away(port)));
        let notes = |limit: &str| {
            let target = open(&format!("{url}?statement_timeout={limit}"), TxMode::Statements);
            target.admit(&Demand::Sessions(1)).expect("a server that takes sessions")
        };
        let notes_of_short = notes("2ms");
        assert!(
            matches!(&notes_of_short[..], [note] if note.contains("statement_timeout=2ms is below the round trip")),
            "{notes_of_short:?}"
        );
        assert_eq!(notes("1m"), Vec::<String>::new());
    }
}
