//! The thread that accepts and reads all lines.

use super::contexts::Line;
use super::input::Home;
use super::queue::Job;
use super::shared::Shared;
use crate::frame::{self, BadFrame, REQUEST_MAX};
use crate::message::{Answer, Hello, Request, TerminalId};
use lydite_tpcc::{DistrictId, Standard, WarehouseId};
use rustix::event::Timespec;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use std::collections::{HashMap, VecDeque};
use std::io::{self, Read};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Number of the listener among the connections.
const LISTENER: u64 = 0;
/// Longest wait, so that the thread notices the end.
const NAP: Timespec = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };
/// Time between two looks for lost terminals and silent lines.
const LOOK: Duration = Duration::from_millis(200);
/// Time within which a line must say what it is.
const GREETING_WITHIN: Duration = Duration::from_secs(10);
/// Pause after the system could not give a line, for example because all files are open.
const NO_LINE: Duration = Duration::from_millis(10);

/// Role of a connection.
#[derive(Clone, Copy, Debug)]
enum Role {
    /// It has not said yet.
    New,
    Terminal(TerminalId),
    Operator(u32),
}

#[derive(Debug)]
struct Connection {
    stream: Arc<TcpStream>,
    role: Role,
    /// Bytes of an incomplete frame.
    partial: Vec<u8>,
}

struct Lines<'a> {
    poll: OwnedFd,
    listener: TcpListener,
    connections: HashMap<u64, Connection>,
    last: u64,
    /// Connections by the time of their begin, until it is clear that they said what they are.
    new: VecDeque<(Instant, u64)>,
    shared: &'a Shared,
}

/// Serves lines until `enough` returns true.
pub(super) fn serve(listener: TcpListener, shared: &Shared, enough: &dyn Fn() -> bool) -> io::Result<()> {
    let poll = epoll::create(CreateFlags::CLOEXEC)?;
    epoll::add(&poll, &listener, EventData::new_u64(LISTENER), EventFlags::IN)?;
    let mut lines =
        Lines { poll, listener, connections: HashMap::new(), last: LISTENER, new: VecDeque::new(), shared };
    let mut events: Vec<Event> = Vec::with_capacity(1_024);
    let mut scratch = vec![0; 16 * 1_024];
    let mut looked = Instant::now();
    while !enough() {
        events.clear();
        match epoll::wait(&lines.poll, rustix::buffer::spare_capacity(&mut events), Some(&NAP)) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        for event in &events {
            match event.data.u64() {
                LISTENER => lines.accept(),
                number => lines.read(number, &mut scratch),
            }
        }
        let now = Instant::now();
        if now.saturating_duration_since(looked) >= LOOK {
            looked = now;
            shared.contexts.lock().drop_lost(now);
            lines.drop_silent(now);
        }
    }
    Ok(())
}

impl Lines<'_> {
    fn accept(&mut self) {
        loop {
            let stream = match self.listener.accept() {
                Ok((stream, _)) => stream,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(_) => {
                    // The system still has the line, so the next look would come at once.
                    std::thread::sleep(NO_LINE);
                    return;
                }
            };
            // Answers are small and waited for.
            let usable = stream.set_nonblocking(true).and_then(|()| stream.set_nodelay(true));
            let number = self.last + 1;
            let watched = epoll::add(
                &self.poll,
                &stream,
                EventData::new_u64(number),
                EventFlags::IN | EventFlags::RDHUP,
            );
            // A line that fails now is closed, and its terminal tries again.
            if usable.is_ok() && watched.is_ok() {
                self.last = number;
                let connection =
                    Connection { stream: Arc::new(stream), role: Role::New, partial: Vec::new() };
                self.connections.insert(number, connection);
                self.new.push_back((Instant::now(), number));
            }
        }
    }

    /// Reads a line once and plays its complete frames.
    fn read(&mut self, number: u64, scratch: &mut [u8]) {
        let Some(connection) = self.connections.get_mut(&number) else { return };
        let mut bytes = match (&*connection.stream).read(scratch) {
            Ok(0) => return self.close(number),
            Ok(count) => &scratch[..count],
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {
                return;
            }
            Err(_) => return self.close(number),
        };
        let joined;
        if !connection.partial.is_empty() {
            let mut whole = std::mem::take(&mut connection.partial);
            whole.extend_from_slice(bytes);
            joined = whole;
            bytes = &joined;
        }
        loop {
            match frame::cut(bytes, REQUEST_MAX) {
                Ok(Some((frame, rest))) => {
                    bytes = rest;
                    match Request::read(frame).and_then(|request| self.play(number, request)) {
                        Ok(true) => {}
                        Ok(false) => return self.close(number),
                        Err(bad) => return self.reject(number, bad),
                    }
                }
                Ok(None) => break,
                Err(bad) => return self.reject(number, bad),
            }
        }
        if let Some(connection) = self.connections.get_mut(&number) {
            connection.partial = bytes.to_vec();
        }
    }

    /// Plays a request. Returns false if it ends the line.
    fn play(&mut self, number: u64, request: Request) -> Result<bool, BadFrame> {
        let shared = self.shared;
        let Some(connection) = self.connections.get_mut(&number) else { return Ok(false) };
        let line = || Line { connection: number, stream: Arc::clone(&connection.stream) };
        if let Role::Terminal(id) = connection.role
            && !shared.contexts.lock().is_current(id, number)
        {
            return Ok(false);
        }
        match (connection.role, request) {
            (Role::New, Request::Hello(Hello::Operator)) => {
                let mut contexts = shared.contexts.lock();
                let line = line();
                let operator = contexts.add_operator(line.clone());
                line.send(&Answer::Operator { number: operator, served: shared.served.clone() }.frame());
                connection.role = Role::Operator(operator);
            }
            (Role::New, Request::Hello(Hello::Terminal { id, w_id, d_id, pending })) => {
                let home = self::home(shared, w_id, d_id);
                shared.contexts.lock().connect(id, home, pending, line())?;
                connection.role = Role::Terminal(id);
            }
            (Role::Terminal(id), Request::Menu { number, kind }) => {
                let mut contexts = shared.contexts.lock();
                contexts.begin(id, number, |_| Ok(()))?;
                contexts.counts.menus += 1;
                contexts.end(id, |number| Answer::Menu { number, kind });
            }
            (Role::Terminal(id), Request::Enter { number, operator, transaction }) => {
                shared.contexts.lock().begin(id, number, |home| home.check_input(&transaction))?;
                // Waiting for room here stops the reading of all lines.
                let push = |job| shared.queue.push(job, || shared.is_stopping());
                match transaction {
                    Standard::Delivery(delivery) => {
                        push(Job::Deferred(operator, delivery));
                        shared.contexts.lock().end(id, |number| Answer::Queued { number });
                    }
                    transaction => push(Job::Interactive(id, Box::new(transaction.into()))),
                }
            }
            (Role::Operator(operator), Request::Repeat(delivery)) => {
                self::home(shared, delivery.w_id, DistrictId(1)).delivery(&delivery)?;
                shared.queue.push(Job::Deferred(operator, delivery), || shared.is_stopping());
            }
            (Role::Terminal(id), Request::Bye) => {
                shared.contexts.lock().say_goodbye(id);
                return Ok(false);
            }
            (role, _) => {
                return Err(BadFrame::new(format!("a line with the role {role:?} sent another's request")));
            }
        }
        Ok(true)
    }

    fn reject(&mut self, number: u64, bad: BadFrame) {
        if let Some(Connection { stream, .. }) = self.connections.get(&number) {
            let line = Line { connection: number, stream: Arc::clone(stream) };
            line.send(&Answer::Rejected { why: bad.0 }.frame());
            self.shared.contexts.lock().counts.lines_rejected += 1;
        }
        self.close(number);
    }

    fn close(&mut self, number: u64) {
        let Some(connection) = self.connections.remove(&number) else { return };
        let mut contexts = self.shared.contexts.lock();
        match connection.role {
            Role::New => {}
            Role::Terminal(id) => contexts.lose(id, number, Instant::now()),
            Role::Operator(operator) => contexts.remove_operator(operator),
        }
        drop(contexts);
        // A session's thread may hold the stream for a moment longer.
        let _ = connection.stream.shutdown(Shutdown::Both);
    }

    /// Closes lines that did not say what they are.
    fn drop_silent(&mut self, now: Instant) {
        while let Some(&(begun, number)) = self.new.front()
            && now.saturating_duration_since(begun) >= GREETING_WITHIN
        {
            self.new.pop_front();
            if self.connections.get(&number).is_some_and(|connection| matches!(connection.role, Role::New)) {
                self.reject(number, BadFrame::new("the line did not say what it is"));
            }
        }
    }
}

fn home(shared: &Shared, w_id: WarehouseId, d_id: DistrictId) -> Home {
    Home { w_id, d_id, warehouses: shared.served.warehouses }
}
