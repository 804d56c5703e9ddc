//! The other side of the protocol: a store of this process, served to the sessions of others over TCP.
//!
//! Each connection has a thread and plays one transaction at a time. A transaction whose connection ends is rolled
//! back.

use super::channel::LONGEST;
use super::messages::{
    Answer, Clear, Entries, Get, Got, Hello, HelloRequest, Nothing, Purpose, Reason, Refusal, RefusalKind,
    Scan, WasCommitted, Write, Writes,
};
use lydite_database::kv::{Access, Direction, KeyRange, KvTable, Pending, Store, StoreError, StoreTx};
use lydite_database::{AbortReason, Committed};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use serde_bytes::ByteBuf;
use std::collections::BTreeMap;
use std::io::{self, BufReader, ErrorKind, Read, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::ops::ControlFlow;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

/// Time between two looks for a new connection or the end.
const LOOK: Duration = Duration::from_millis(10);
/// Longest message of a connection that has not given the password.
const LONGEST_GREETING: usize = 4 << 10;
/// Time between two messages about a request at work.
const ALIVE: Duration = Duration::from_secs(5);

/// Serves a store until `enough` returns true. Requests that were begun are finished, and open transactions are rolled
/// back.
///
/// # Errors
/// The listener can't be set up.
pub(crate) fn serve<S: Store>(
    store: &S,
    hello: &Hello,
    password: &str,
    listener: &TcpListener,
    enough: &dyn Fn() -> bool,
) -> io::Result<()> {
    listener.set_nonblocking(true)?;
    let streams = Mutex::new(BTreeMap::new());
    thread::scope(|scope| {
        let mut number = 0_u64;
        while !enough() {
            // There may be no connection, or no free descriptor until a session has ended.
            let Ok((stream, _)) = listener.accept() else {
                thread::sleep(LOOK);
                continue;
            };
            number += 1;
            let kept = stream.set_nonblocking(false).and_then(|()| stream.set_nodelay(true));
            let Ok(again) = kept.and_then(|()| stream.try_clone()) else { continue };
            streams.lock().insert(number, again);
            let streams = &streams;
            let play = move || {
                // An error is the client's end.
                let _ended = Session { store, hello, password, stream: &stream, tx: None }.play();
                streams.lock().remove(&number);
            };
            // Without a thread the client sees the end of its connection.
            if thread::Builder::new().name("session".into()).spawn_scoped(scope, play).is_err() {
                streams.lock().remove(&number);
            }
        }
        for stream in streams.lock().values() {
            let _ended = stream.shutdown(Shutdown::Both);
        }
    });
    Ok(())
}

/// The session of a connection.
struct Session<'a, S: Store> {
    store: &'a S,
    hello: &'a Hello,
    password: &'a str,
    stream: &'a TcpStream,
    tx: Option<S::Tx<'a>>,
}

/// Number and name of a request.
#[derive(Deserialize)]
struct Head<'a> {
    id: u64,
    #[serde(rename = "do")]
    what: &'a str,
}

/// Fields of a request.
#[derive(Deserialize)]
struct Fields<T> {
    with: T,
}

impl<'a, S: Store> Session<'a, S> {
    /// Answers requests until the connection ends.
    fn play(mut self) -> io::Result<()> {
        let mut input = BufReader::new(self.stream);
        let mut body = Vec::new();
        let mut longest = LONGEST_GREETING;
        loop {
            receive(&mut input, &mut body, longest)?;
            let head: Head = rmp_serde::from_slice(&body).map_err(io::Error::other)?;
            if longest == LONGEST_GREETING {
                let welcome = self.greet(&head, &body);
                let rejected = welcome.is_err();
                self.answer(head.id, welcome)?;
                if rejected {
                    return Ok(());
                }
                longest = LONGEST;
                continue;
            }
            match head.what {
                "get" => {
                    let answer = self.get(&body);
                    self.answer(head.id, answer)?;
                }
                "scan" => {
                    let answer = self.scan(&body);
                    self.answer(head.id, answer)?;
                }
                what => {
                    let answer = match what {
                        "write" => self.write(&body),
                        "commit" => self.commit(&body),
                        "abort" => Ok(()),
                        "clear" => self.clear(&body),
                        "finish" => self.finish(head.id),
                        _ => Err(refusal(RefusalKind::Unsupported, format!("{what} is not known"))),
                    };
                    if what != "write" {
                        self.tx = None;
                    }
                    self.answer(head.id, answer.map(|()| Nothing {}))?;
                }
            }
        }
    }

    /// Sends an answer. An error ends the transaction.
    fn answer<T: Serialize>(&mut self, id: u64, answer: Result<T, Refusal>) -> io::Result<()> {
        let (ok, error) = match answer {
            Ok(answer) => (Some(answer), None),
            Err(refusal) => {
                self.tx = None;
                (None, Some(refusal))
            }
        };
        send(self.stream, &Answer { id, ok, error, alive: None, stored: 0 })
    }

    fn greet(&self, head: &Head<'_>, body: &[u8]) -> Result<Hello, Refusal> {
        if head.what != "hello" {
            return Err(fatal("the first request must be hello"));
        }
        let request: HelloRequest<'_> = fields(body)?;
        if !same(request.password.unwrap_or_default(), self.password) {
            return Err(fatal("the password is wrong or missing: write it into the URL or LYDITE_PASSWORD"));
        }
        Ok(self.hello.clone())
    }

    /// Returns the open transaction. The first request of a transaction begins it.
    fn tx(&mut self, begin: Option<Purpose>) -> Result<&mut S::Tx<'a>, Refusal> {
        let access = match begin {
            None => return self.tx.as_mut().ok_or_else(|| fatal("no transaction is open")),
            Some(_) if self.tx.is_some() => return Err(fatal("a transaction is open already")),
            Some(Purpose::Read) => Access::Read,
            Some(Purpose::Write) => Access::Write,
            Some(Purpose::Load) => Access::Load,
        };
        Ok(self.tx.insert(self.store.begin(access).map_err(refused)?))
    }

    fn get(&mut self, body: &[u8]) -> Result<Got, Refusal> {
        let Get { begin, table, key } = fields(body)?;
        let table = named(table)?;
        let value = self.tx(begin)?.read(table, key, |value| ByteBuf::from(value));
        Ok(Got { value: value.map_err(refused)? })
    }

    fn scan(&mut self, body: &[u8]) -> Result<Entries, Refusal> {
        let Scan { begin, table, from, below, backward, limit } = fields(body)?;
        let table = named(table)?;
        let direction = if backward { Direction::Backward } else { Direction::Forward };
        let mut entries = Vec::new();
        if limit == 0 {
            return Err(fatal("the limit of a scan is 0"));
        }
        self.tx(begin)?
            .scan(table, KeyRange { from, below }, direction, &mut |key, value| {
                entries.push((ByteBuf::from(key), ByteBuf::from(value)));
                if entries.len() < limit as usize {
                    ControlFlow::Continue(())
                } else {
                    ControlFlow::Break(())
                }
            })
            .map_err(refused)?;
        Ok(Entries { entries })
    }

    fn write(&mut self, body: &[u8]) -> Result<(), Refusal> {
        let Writes::<Vec<Write<'_>>> { begin, writes } = fields(body)?;
        let tx = self.tx(begin)?;
        for Write(table, key, value) in &writes {
            let table = named(table)?;
            match value {
                Some(value) => tx.put(table, key, value),
                None => tx.delete(table, key),
            }
            .map_err(refused)?;
        }
        Ok(())
    }

    fn commit(&mut self, body: &[u8]) -> Result<(), Refusal> {
        self.write(body)?;
        let Some(tx) = self.tx.take() else { return Ok(()) };
        // An error of the wait leaves the outcome unknown.
        let unknown = |error: StoreError| {
            let committed = Committed::Unknown;
            refused(StoreError::Unavailable { committed, detail: error.line().to_owned() })
        };
        tx.commit().map_err(refused)?.wait().map_err(unknown)
    }

    fn clear(&self, body: &[u8]) -> Result<(), Refusal> {
        let Clear { table } = fields(body)?;
        self.store.clear(named(table)?).map_err(refused)
    }

    /// Prepares the store for a measurement, and reports meanwhile that it is at work.
    fn finish(&self, id: u64) -> Result<(), Refusal> {
        let stage = Mutex::new(String::new());
        let tell = || {
            let stage = stage.lock();
            // A client that is gone reads nothing.
            let _told = send(
                self.stream,
                &Answer::<Nothing> { id, ok: None, error: None, alive: Some(stage.clone()), stored: 0 },
            );
        };
        thread::scope(|scope| {
            let (done, over) = channel::<()>();
            let tell = &tell;
            scope.spawn(move || {
                while matches!(over.recv_timeout(ALIVE), Err(RecvTimeoutError::Timeout)) {
                    tell();
                }
            });
            let settled = self.store.settle(&|name| {
                name.clone_into(&mut stage.lock());
                tell();
            });
            drop(done);
            settled.map_err(refused)
        })
    }
}

/// Reads a message.
fn receive(input: &mut impl Read, body: &mut Vec<u8>, longest: usize) -> io::Result<()> {
    let mut length = [0; 4];
    input.read_exact(&mut length)?;
    let length = u32::from_be_bytes(length) as usize;
    if length > longest {
        return Err(ErrorKind::InvalidData.into());
    }
    body.clear();
    // Not allocated at once: the length is only what the client says.
    let read = input.take(length as u64).read_to_end(body)?;
    if read < length { Err(ErrorKind::UnexpectedEof.into()) } else { Ok(()) }
}

/// Sends a message.
fn send(mut stream: &TcpStream, message: &impl Serialize) -> io::Result<()> {
    let mut bytes = vec![0; 4];
    rmp_serde::encode::write_named(&mut bytes, message).map_err(io::Error::other)?;
    let length = u32::try_from(bytes.len() - 4).map_err(io::Error::other)?;
    bytes[..4].copy_from_slice(&length.to_be_bytes());
    stream.write_all(&bytes)
}

fn fields<'de, T: Deserialize<'de>>(body: &'de [u8]) -> Result<T, Refusal> {
    let fields: Result<Fields<T>, _> = rmp_serde::from_slice(body);
    fields.map(|fields| fields.with).map_err(|error| fatal(&error.to_string()))
}

/// Returns the table of this name.
fn named(name: &str) -> Result<KvTable, Refusal> {
    KvTable::ALL
        .into_iter()
        .find(|table| table.name() == name)
        .ok_or_else(|| fatal(&format!("table {name:?} is not known")))
}

/// Compares passwords in a time that depends on their lengths alone.
fn same(given: &str, expected: &str) -> bool {
    let differences = given.bytes().zip(expected.bytes()).fold(0, |all, (one, other)| all | (one ^ other));
    given.len() == expected.len() && differences == 0
}

fn refusal(kind: RefusalKind, detail: String) -> Refusal {
    Refusal { kind, detail, reason: None, committed: None, order: None }
}

fn fatal(detail: &str) -> Refusal {
    refusal(RefusalKind::Fatal, detail.to_owned())
}

/// Returns the error of a store, as the protocol has it.
fn refused(error: StoreError) -> Refusal {
    let detail = error.line().to_owned();
    match error {
        StoreError::Retry { reason, .. } => {
            let reason = match reason {
                AbortReason::Serialization => Reason::Serialization,
                AbortReason::Deadlock => Reason::Deadlock,
                AbortReason::LockTimeout => Reason::LockTimeout,
                AbortReason::Csr | AbortReason::Other | AbortReason::StatementTimeout => Reason::Other,
            };
            Refusal { reason: Some(reason), ..refusal(RefusalKind::Aborted, detail) }
        }
        StoreError::Unavailable { committed, .. } => {
            let committed = match committed {
                Committed::No => WasCommitted::No,
                Committed::Unknown => WasCommitted::Unknown,
            };
            Refusal { committed: Some(committed), ..refusal(RefusalKind::Unavailable, detail) }
        }
        StoreError::Broken(_) | StoreError::Failed(_) => refusal(RefusalKind::Fatal, detail),
    }
}
