//! Round trips under a limit, over a pair of sockets in place of a server.
#![allow(clippy::expect_used, reason = "a test may panic")]

use super::*;
use std::io::{Read, Write};
use std::sync::atomic::AtomicUsize;

/// A session whose server is the other end of a pair of sockets. The cancel is one byte from that end.
fn session(longest: Duration, hears: bool) -> (Arc<Watched>, UnixStream, UnixStream, Arc<AtomicUsize>) {
    let (ours, theirs) = UnixStream::pair().expect("a pair of sockets");
    let sent = Arc::new(AtomicUsize::new(0));
    let (count, answer) = (Arc::clone(&sent), theirs.try_clone().expect("a socket"));
    let cancel = move || {
        // Only the first one meets the statement.
        if count.fetch_add(1, Ordering::SeqCst) == 0 && hears {
            (&answer).write_all(b"c").expect("an answer");
        }
        true
    };
    let line = Line::Unix(ours.try_clone().expect("a socket"));
    let watched = Limit::new(longest).watch(line, Box::new(cancel)).expect("a thread");
    (watched, ours, theirs, sent)
}

/// Waits for one byte of the server: `c` is the error of a cancelled statement.
fn read(mut stream: &UnixStream) -> Result<(), SqlError> {
    let mut byte = [0];
    match stream.read(&mut byte) {
        Ok(1) if byte[0] == b'c' => Err(SqlError::Database {
            retry: Some(AbortReason::Other),
            unavailable: false,
            doubtful: false,
            code: "57014".into(),
            message: "cancelled".into(),
            detail: None,
        }),
        Ok(1) => Ok(()),
        _ => Err(SqlError::Lost("closed".into())),
    }
}

fn is_cancel(error: &SqlError) -> bool {
    matches!(error, SqlError::Database { code, .. } if code == "57014")
}

#[test]
fn a_late_statement_is_cancelled_and_the_session_goes_on() {
    let (watched, ours, mut theirs, sent) = session(Duration::from_millis(20), true);
    let trip = watched.trip(false, is_cancel, || read(&ours));
    assert!(trip.cancelled);
    let error = trip.result.expect_err("a cancelled statement");
    assert!(
        matches!(&error, SqlError::Database { retry: Some(AbortReason::StatementTimeout), .. }),
        "{error:?}"
    );
    assert!(error.line().contains("statement_timeout=20ms"), "{}", error.line());
    let cancels = sent.load(Ordering::SeqCst);
    theirs.write_all(b"o").expect("an answer");
    let next = watched.trip(false, is_cancel, || read(&ours));
    assert_eq!((next.result, next.cancelled), (Ok(()), false));
    // The cancels of a statement end with it.
    thread::sleep(2 * AGAIN);
    assert_eq!(sent.load(Ordering::SeqCst), cancels);
}

#[test]
fn a_server_that_ignores_cancels_loses_the_session() {
    let (watched, ours, _theirs, sent) = session(Duration::from_millis(20), false);
    let trip = watched.trip(false, is_cancel, || read(&ours));
    let error = trip.result.expect_err("a lost connection").line();
    assert!(error.contains("after the cancel") && error.contains("closed the connection"), "{error}");
    assert!(sent.load(Ordering::SeqCst) >= 1);
    let next = watched.trip(false, is_cancel, || panic!("the session is over")).result;
    assert!(matches!(next, Err(SqlError::Lost(_))), "{next:?}");
}

#[test]
fn a_cancel_that_the_server_may_act_on_later_ends_the_session() {
    let (ours, theirs) = UnixStream::pair().expect("a pair of sockets");
    let cancel = move || {
        // The statement ends by itself meanwhile. Nobody knows what became of the cancel.
        (&theirs).write_all(b"o").expect("an answer");
        false
    };
    let line = Line::Unix(ours.try_clone().expect("a socket"));
    let watched = Limit::new(Duration::from_millis(20)).watch(line, Box::new(cancel)).expect("a thread");
    let trip = watched.trip(false, is_cancel, || read(&ours));
    assert_eq!((trip.result, trip.cancelled), (Ok(()), true));
    let next = watched.trip(false, is_cancel, || panic!("the session is over")).result;
    assert!(matches!(next, Err(SqlError::Lost(_))), "{next:?}");
}

#[test]
fn a_spared_round_trip_is_never_cancelled_but_ends() {
    let (watched, ours, _theirs, sent) = session(Duration::from_millis(20), true);
    let trip = watched.trip(true, is_cancel, || read(&ours));
    let error = trip.result.expect_err("a lost connection").line();
    assert!(error.contains("500ms later") && !error.contains("cancel"), "{error}");
    assert_eq!(sent.load(Ordering::SeqCst), 0);
}

#[test]
fn an_error_of_the_servers_own_stays_its_own() {
    let (watched, ours, mut theirs, _sent) = session(Duration::from_secs(60), true);
    theirs.write_all(b"c").expect("an answer");
    let trip = watched.trip(false, is_cancel, || read(&ours));
    assert!(matches!(trip.result, Err(SqlError::Database { retry: Some(AbortReason::Other), .. })));
    assert!(!trip.cancelled);
}
