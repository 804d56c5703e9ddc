//! Writing documents to their places. A regular file is replaced as a whole; other places are written into.

use crate::exit::Failure;
use crate::interrupt::Interrupt;
use crate::output::complain;
use lydite_plan::destination::{Destination, PathKind, kind, own};
use lydite_report::store::write_atomically;
use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

/// Time between two attempts to write while nobody reads.
const LOOK: Duration = Duration::from_millis(5);
/// Time without progress after which the wait is reported.
const SILENCE: Duration = Duration::from_secs(1);

/// Writes a document. Waits for the reader of a FIFO, unless the user has interrupted before.
///
/// # Errors
/// The system's error; [`Failure::Interrupted`] if the user ends the wait.
pub fn write(place: &Destination, document: &[u8], interrupt: Option<&Interrupt>) -> Result<(), Failure> {
    let waiting = Waiting { place: place.shown(), interrupt, before: asked(interrupt) };
    let failed = |error: io::Error| {
        if error.kind() == ErrorKind::Interrupted {
            return Failure::Interrupted(format!("interrupted: nobody reads {}", place.shown()));
        }
        Failure::usage(format!("cannot write {}: {error}", place.shown()))
    };
    match place {
        Destination::Descriptor(number) => {
            // Text that was printed before stays before the document.
            let flushed = io::stdout().flush();
            flushed.and_then(|()| waiting.write(own(*number)?, document)).map_err(failed)
        }
        Destination::Path(path) => match kind(path) {
            Ok(PathKind::File) => write_atomically(path, document).map_err(failed),
            Ok(PathKind::Fifo | PathKind::Device) => {
                waiting.open(path).and_then(|file| waiting.write(file, document)).map_err(failed)
            }
            Err(problem) => Err(Failure::usage(format!("{} {problem}", place.shown()))),
        },
    }
}

fn asked(interrupt: Option<&Interrupt>) -> bool {
    interrupt.is_some_and(Interrupt::asked)
}

/// A wait for a reader.
struct Waiting<'a> {
    place: String,
    /// The watch for Ctrl-C; without one Ctrl-C ends the process.
    interrupt: Option<&'a Interrupt>,
    /// True if the user interrupted before the wait.
    before: bool,
}

impl Waiting<'_> {
    /// Opens a FIFO or a device for writing.
    fn open(&self, path: &Path) -> io::Result<File> {
        let mut reported = false;
        loop {
            let flags = libc::O_NONBLOCK | libc::O_NOCTTY;
            match OpenOptions::new().write(true).custom_flags(flags).open(path) {
                // A FIFO without a reader.
                Err(error) if error.raw_os_error() == Some(libc::ENXIO) => {
                    if self.before {
                        return Err(io::Error::other("nobody reads it"));
                    }
                    self.pause(!reported)?;
                    reported = true;
                }
                opened => return opened,
            }
        }
    }

    /// Writes all of a document.
    fn write(&self, mut file: File, mut document: &[u8]) -> io::Result<()> {
        let (mut progress, mut reported) = (Instant::now(), false);
        while !document.is_empty() {
            // A descriptor may block, and Ctrl-C does not end a blocked write. PIPE_BUF bytes fit whenever there is
            // room.
            let part = document.get(..libc::PIPE_BUF).unwrap_or(document);
            let written = if has_room(&file)? { file.write(part) } else { Err(ErrorKind::WouldBlock.into()) };
            match written {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(count) => {
                    document = document.get(count..).unwrap_or_default();
                    progress = Instant::now();
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    let silent = progress.elapsed() >= SILENCE;
                    if self.before && silent {
                        return Err(io::Error::other("its reader does not read"));
                    }
                    let report = !reported && silent;
                    reported |= report;
                    self.pause(report)?;
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Waits for a moment, and reports the wait if `report` is true.
    ///
    /// # Errors
    /// [`ErrorKind::Interrupted`] if the user ends the wait.
    fn pause(&self, report: bool) -> io::Result<()> {
        if report {
            complain(&format!("waiting for a reader of {}: Ctrl-C gives up", self.place));
        }
        if !self.before && asked(self.interrupt) {
            return Err(ErrorKind::Interrupted.into());
        }
        thread::sleep(LOOK);
        Ok(())
    }
}

/// Returns true if a write of [`libc::PIPE_BUF`] bytes would not block: there is room, or it would fail.
fn has_room(file: &File) -> io::Result<bool> {
    let mut asked = libc::pollfd { fd: file.as_raw_fd(), events: libc::POLLOUT, revents: 0 };
    // SAFETY: one entry, which outlives the call; it does not wait.
    let ready = unsafe { libc::poll(&raw mut asked, 1, 0) };
    match io::Error::last_os_error() {
        error if ready == -1 && error.kind() != ErrorKind::Interrupted => Err(error),
        _ => Ok(ready > 0),
    }
}
