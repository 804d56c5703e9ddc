//! One connection to a driver: requests, their answers, and every event that can come instead of an answer.

use super::messages::{Answer, Refusal, RefusalKind};
use super::process::Process;
use crate::net::Transport;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::io::ErrorKind;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// Longest message in bytes. Printed text, read as a length, is longer: its letters are the upper bits.
pub(super) const LONGEST: usize = 64 << 20;
/// Bytes per read.
const CHUNK: usize = 64 << 10;
/// Bytes of garbage that an error shows.
const SHOWN: usize = 60;

/// Reason why a call has no answer of the expected type.
#[derive(Clone, Debug)]
pub(super) enum CallError {
    /// The driver reports an error, as the protocol defines it.
    Refused(Refusal),
    /// The connection is unusable. Contains the whole message.
    Lost(String),
    /// The answer has a wrong shape. Contains the whole message. The connection remains usable.
    Malformed(String),
}

impl CallError {
    /// True if the driver does not know the request.
    pub(super) fn is_unsupported(&self) -> bool {
        matches!(self, Self::Refused(refusal) if refusal.kind == RefusalKind::Unsupported)
    }
}

/// A connection to a driver. See the module.
pub(super) struct Channel {
    // Closed before the wait for the process.
    stream: Transport,
    /// Process that Lydite started; `None` for a server.
    process: Option<Arc<Process>>,
    place: Arc<str>,
    timeout: Duration,
    output: Vec<u8>,
    input: Vec<u8>,
    /// Bytes of `input` that hold the current message, including its length.
    taken: usize,
    last: u64,
    broken: bool,
    /// True for the process's standard streams.
    first: bool,
    /// True if it serves no session and only keeps the process alive.
    kept: bool,
}

impl Drop for Channel {
    fn drop(&mut self) {
        if !self.kept
            && let Some(process) = &self.process
        {
            process.sessions.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

impl Channel {
    /// Makes a connection to a server, or to a process that has counted its session already.
    pub(super) fn new(
        stream: Transport,
        process: Option<Arc<Process>>,
        (place, timeout, first): (Arc<str>, Duration, bool),
    ) -> Result<Self, String> {
        let mut channel = Self {
            stream,
            process,
            place,
            timeout,
            output: Vec::new(),
            input: Vec::new(),
            taken: 0,
            last: 0,
            broken: false,
            first,
            kept: false,
        };
        channel.wait_at_most(timeout)?;
        Ok(channel)
    }

    /// Sets the longest silence while an answer is awaited.
    pub(super) fn wait_at_most(&mut self, timeout: Duration) -> Result<(), String> {
        self.timeout = timeout;
        self.stream
            .limit(Some(timeout))
            .map_err(|error| format!("{}: can't set the timeouts of its stream: {error}", self.place))
    }

    /// Makes it serve no session. It stays open because a process ends with its standard streams, and other sessions
    /// use the process.
    pub(super) fn keep(&mut self) {
        self.kept = true;
        if let Some(process) = &self.process {
            process.sessions.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// True if the process ends with this connection.
    pub(super) fn is_first(&self) -> bool {
        self.first
    }

    /// True if it can take no more requests.
    pub(super) fn is_broken(&self) -> bool {
        self.broken
    }

    /// Returns the process that Lydite started; `None` for a server.
    pub(super) fn process(&self) -> Option<&Arc<Process>> {
        self.process.as_ref()
    }

    /// True if its process has ended. A server's end shows at the next request.
    pub(super) fn has_ended(&self) -> bool {
        self.process.as_ref().is_some_and(|process| process.has_ended())
    }

    /// Sends a request and waits for its answer.
    pub(super) fn call<T: DeserializeOwned>(
        &mut self,
        what: &'static str,
        with: &impl Serialize,
    ) -> Result<T, CallError> {
        self.call_watched(what, with, &|_, _| ())
    }

    /// Sends a request and waits for its answer as [`Channel::call`] does. `alive` gets the progress messages of a slow
    /// driver, and the rows that it stored since the last one.
    pub(super) fn call_watched<T: DeserializeOwned>(
        &mut self,
        what: &'static str,
        with: &impl Serialize,
        alive: &dyn Fn(&str, u64),
    ) -> Result<T, CallError> {
        let place = Arc::clone(&self.place);
        self.ask(what, |bytes| {
            rmp_serde::encode::write_named(bytes, with)
                .map_err(|error| CallError::Malformed(format!("{place}: {what} can't be sent: {error}")))
        })?;
        self.answer(what, alive, |body| decode(body))
    }

    /// Sends a request. `with` writes its fields.
    pub(super) fn ask(
        &mut self,
        what: &'static str,
        with: impl FnOnce(&mut Vec<u8>) -> Result<(), CallError>,
    ) -> Result<(), CallError> {
        if self.broken {
            return Err(CallError::Lost(format!("{}: the connection was lost earlier", self.place)));
        }
        self.last += 1;
        self.output.clear();
        self.output.extend([0; 4]);
        head(&mut self.output, self.last, what);
        with(&mut self.output)?;
        let length = self.output.len() - 4;
        if length > LONGEST {
            return Err(CallError::Malformed(format!(
                "{}: {what} is longer than {LONGEST} bytes",
                self.place
            )));
        }
        self.output[..4].copy_from_slice(&(length as u32).to_be_bytes());
        match self.stream.stream().write_all(&self.output) {
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                let why = format!("did not take the request for {} s", self.timeout.as_secs());
                Err(self.lost(what, &why, false))
            }
            // A write may fail because the driver has ended. Its last messages then say more than this error.
            Ok(()) | Err(_) => Ok(()),
        }
    }

    /// Waits for the answer to the last request and decodes it by `decode`.
    pub(super) fn answer<T>(
        &mut self,
        what: &'static str,
        alive: &dyn Fn(&str, u64),
        decode: impl Fn(&[u8]) -> Result<Answer<T>, String>,
    ) -> Result<T, CallError> {
        loop {
            self.receive(what)?;
            let body = &self.input[4..self.taken];
            let answer = decode(body);
            let id = match &answer {
                Ok(answer) => Ok(answer.id),
                Err(_) => rmp_serde::from_slice::<Head>(body).map(|head| head.id),
            };
            let Ok(id) = id else {
                let why = format!("sent {} instead of a message of the protocol", shown(body));
                return Err(self.lost(what, &why, false));
            };
            let last = self.last;
            if id != last {
                let why = match id {
                    id if id == last - 1 && last > 1 => "answered the request before it twice".to_string(),
                    id => format!("answered request {id} instead of {last}"),
                };
                return Err(self.lost(what, &why, false));
            }
            let malformed = |why: String| {
                Err(CallError::Malformed(format!(
                    "{}: the answer to {what} has a wrong shape: {why}",
                    self.place
                )))
            };
            return match answer {
                Ok(Answer { error: Some(refusal), ok: None, alive: None, .. }) => {
                    Err(CallError::Refused(refusal))
                }
                Ok(Answer { ok: Some(answer), error: None, alive: None, .. }) => Ok(answer),
                Ok(Answer { alive: Some(doing), ok: None, error: None, stored, .. }) => {
                    alive(&doing, stored);
                    continue;
                }
                Ok(_) => malformed("it must have exactly one of ok, error and alive".into()),
                Err(why) => malformed(why),
            };
        }
    }

    /// Reads one message into `input`.
    fn receive(&mut self, what: &'static str) -> Result<(), CallError> {
        self.input.drain(..self.taken);
        self.taken = 0;
        let deadline = Instant::now() + self.timeout;
        loop {
            if let Some(length) = self.input.first_chunk().map(|bytes| u32::from_be_bytes(*bytes) as usize) {
                if length > LONGEST {
                    let why = format!(
                        "wrote {} to its standard output, which is not a message: it must print to standard error",
                        shown(&self.input)
                    );
                    return Err(self.lost(what, &why, false));
                }
                if self.input.len() >= 4 + length {
                    self.taken = 4 + length;
                    return Ok(());
                }
            }
            let before = self.input.len();
            self.input.resize(before + CHUNK, 0);
            let read = self.stream.stream().read(&mut self.input[before..]);
            self.input.truncate(before + *read.as_ref().unwrap_or(&0));
            match read {
                Ok(0) if before > 0 => {
                    let why = format!("ended in the middle of its answer, {}", shown(&self.input));
                    return Err(self.lost(what, &why, true));
                }
                Ok(0) => return Err(self.lost(what, "gave no answer", true)),
                Ok(_) if Instant::now() < deadline => {}
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                // The deadline has passed, or the stream waited that long.
                Ok(_) => return Err(self.silent(what)),
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                    return Err(self.silent(what));
                }
                Err(_) => return Err(self.lost(what, "gave no answer", true)),
            }
        }
    }

    fn silent(&mut self, what: &'static str) -> CallError {
        let why = format!("gave no answer for {} s, the timeout of its URL", self.timeout.as_secs());
        self.lost(what, &why, false)
    }

    /// Returns the error of a connection that is unusable. `ending` is true if the process is expected to end by
    /// itself.
    fn lost(&mut self, what: &'static str, why: &str, ending: bool) -> CallError {
        self.broken = true;
        let mut epitaph = String::new();
        if let Some(process) = &self.process {
            epitaph = process.epitaph(ending);
            // Nobody will use its standard streams again, so the process gets no time to end by itself.
            if self.first {
                process.kill();
            }
        }
        CallError::Lost(format!("{}: asked for {what} it {why}{epitaph}", self.place))
    }
}

/// The id that an answer is for. Other fields are skipped.
#[derive(Deserialize)]
struct Head {
    id: u64,
}

/// Writes the beginning of a request: `{"id": …, "do": …, "with": `.
fn head(bytes: &mut Vec<u8>, id: u64, what: &str) {
    // Writing to memory can't fail.
    let _infallible = rmp::encode::write_map_len(bytes, 3);
    let _infallible = rmp::encode::write_str(bytes, "id");
    let _infallible = rmp::encode::write_uint(bytes, id);
    let _infallible = rmp::encode::write_str(bytes, "do");
    let _infallible = rmp::encode::write_str(bytes, what);
    let _infallible = rmp::encode::write_str(bytes, "with");
}

/// Decodes an answer. An error names the field.
pub(super) fn decode<'de, T: Deserialize<'de>>(body: &'de [u8]) -> Result<Answer<T>, String> {
    match rmp_serde::from_slice(body) {
        Ok(answer) => Ok(answer),
        // A second and slower pass finds the field.
        Err(_) => {
            let mut deserializer = rmp_serde::Deserializer::from_read_ref(body);
            let mut track = serde_path_to_error::Track::new();
            let tracked = serde_path_to_error::Deserializer::new(&mut deserializer, &mut track);
            // Behind a trait object, this pass is compiled once, not once for each type of answer.
            let mut tracked = <dyn erased_serde::Deserializer>::erase(tracked);
            erased_serde::deserialize(&mut tracked).map_err(|error| {
                let path = track.path().to_string();
                let path = path.strip_prefix("ok.").unwrap_or(&path);
                let why = plain(&error.to_string());
                match path {
                    "." | "ok" => why,
                    path => format!("{path}: {why}"),
                }
            })
        }
    }
}

/// Returns an error of the decoder without names of Lydite's own types, and with texts as they came.
fn plain(why: &str) -> String {
    let Some((found, expected)) = why.split_once("expected ") else { return why.replace("\\\"", "\"") };
    let kinds = [("struct ", "a map"), ("tuple struct ", "an array"), ("enum ", "a name")];
    let of_type = kinds.iter().find_map(|(kind, words)| Some((expected.strip_prefix(kind)?, *words)));
    let expected = match of_type {
        Some((named, words)) => {
            named.split_once(' ').map_or(words.to_owned(), |(_, more)| format!("{words} {more}"))
        }
        None => expected.to_owned(),
    };
    format!("{found}expected {expected}").replace("\\\"", "\"")
}

/// Returns the first bytes of a message, printable on one line.
fn shown(bytes: &[u8]) -> String {
    let some = &bytes[..bytes.len().min(SHOWN)];
    let text = String::from_utf8_lossy(some);
    let readable: String =
        text.trim().chars().map(|letter| if letter.is_control() { '\u{fffd}' } else { letter }).collect();
    format!("\"{readable}\"")
}

#[cfg(test)]
mod tests {
    use super::plain;

    #[test]
    fn errors_of_the_decoder_name_no_types_of_rust() {
        for (why, plainly) in [
            (
                "invalid type: integer `5`, expected struct StockLevelOutcome",
                "invalid type: integer `5`, expected a map",
            ),
            (
                "invalid length 2, expected struct Address with 5 elements",
                "invalid length 2, expected a map with 5 elements",
            ),
            (r#"invalid type: string "a\"b", expected u32"#, r#"invalid type: string "a"b", expected u32"#),
            ("missing field `total`", "missing field `total`"),
        ] {
            assert_eq!(plain(why), plainly);
        }
    }
}
