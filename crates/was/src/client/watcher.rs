//! The watch over lines that wait for nothing, so that a lost terminal reconnects at once (clause 6.6.2).

use super::lines::Lines;
use rustix::event::Timespec;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::fd::OwnedFd;
use std::io;
use std::net::TcpStream;
use std::sync::{Arc, Weak};

/// Longest wait, so that the thread notices the end of the lines.
const NAP: Timespec = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };

/// Watched lines. The system forgets a line when it is closed.
#[derive(Debug)]
pub(super) struct Watcher {
    poll: OwnedFd,
}

impl Watcher {
    pub(super) fn new() -> io::Result<Self> {
        Ok(Self { poll: epoll::create(CreateFlags::CLOEXEC)? })
    }

    /// Watches for the end of a line.
    pub(super) fn watch(&self, stream: &TcpStream, terminal: u32) -> io::Result<()> {
        let ends = EventFlags::RDHUP | EventFlags::ET;
        Ok(epoll::add(&self.poll, stream, EventData::new_u64(terminal.into()), ends)?)
    }

    /// Starts the thread that connects lost lines again. It ends with the lines.
    pub(super) fn start(lines: &Arc<Lines>) -> io::Result<()> {
        let lines = Arc::downgrade(lines);
        std::thread::Builder::new().spawn(move || work(&lines)).map(drop)
    }
}

fn work(lines: &Weak<Lines>) {
    let mut events: Vec<Event> = Vec::with_capacity(256);
    while let Some(lines) = lines.upgrade().filter(|lines| !lines.is_over()) {
        events.clear();
        // An interrupted wait is repeated.
        let _ = epoll::wait(&lines.watcher().poll, rustix::buffer::spare_capacity(&mut events), Some(&NAP));
        for event in &events {
            lines.mend(event.data.u64() as u32);
        }
    }
}
