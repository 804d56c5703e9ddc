//! The contexts of terminals (clause 6.6.2), and the lines over which they are answered.

use super::counts::Counts;
use super::input::Home;
use crate::frame::BadFrame;
use crate::message::{Answer, TerminalId};
use std::collections::{HashMap, VecDeque};
use std::io::Write;
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A connected line. The stream does not wait.
#[derive(Clone, Debug)]
pub(super) struct Line {
    /// Number of the connection.
    pub(super) connection: u64,
    pub(super) stream: Arc<TcpStream>,
}

impl Line {
    /// Sends a frame. A terminal has one answer outstanding, so the system's buffer has room. A line without room does
    /// not read its answers, and is closed; the thread that reads lines sees its end.
    pub(super) fn send(&self, frame: &[u8]) {
        if !matches!((&*self.stream).write(frame), Ok(sent) if sent == frame.len()) {
            let _ = self.stream.shutdown(Shutdown::Both);
        }
    }
}

/// The context of one terminal.
#[derive(Debug)]
pub(super) struct Context {
    pub(super) home: Home,
    /// Number of its last request; 0 before the first.
    number: u32,
    /// True while that request has no answer.
    busy: bool,
    /// The last screen, as a frame.
    screen: Box<[u8]>,
    /// The line; `None` once it is lost.
    line: Option<Line>,
    lost: Option<Instant>,
}

/// All contexts.
#[derive(Debug)]
pub(super) struct Contexts {
    of: HashMap<TerminalId, Context>,
    operators: HashMap<u32, Line>,
    last_operator: u32,
    /// Losses in their order. Some of the terminals have come back since.
    losses: VecDeque<(Instant, TerminalId)>,
    keep: Duration,
    pub(super) counts: Counts,
}

impl Contexts {
    pub(super) fn new(keep: Duration) -> Self {
        Self {
            of: HashMap::new(),
            operators: HashMap::new(),
            last_operator: 0,
            losses: VecDeque::new(),
            keep,
            counts: Counts::new(),
        }
    }

    /// Adds an operator and returns its number.
    pub(super) fn add_operator(&mut self, line: Line) -> u32 {
        self.last_operator += 1;
        self.operators.insert(self.last_operator, line);
        self.last_operator
    }

    pub(super) fn remove_operator(&mut self, number: u32) {
        self.operators.remove(&number);
    }

    /// Sends a result to an operator.
    pub(super) fn deliver(&mut self, operator: u32, frame: &[u8]) {
        match self.operators.get(&operator) {
            Some(line) => line.send(frame),
            None => self.counts.results_dropped += 1,
        }
    }

    /// Connects a terminal to its context, or makes it one, and greets it. `pending` is the number of the request whose
    /// answer it lacks.
    pub(super) fn connect(
        &mut self,
        id: TerminalId,
        home: Home,
        pending: u32,
        line: Line,
    ) -> Result<(), BadFrame> {
        home.check()?;
        let Some(context) = self.of.get_mut(&id) else {
            line.send(&Answer::Terminal { known: false, number: 0 }.frame());
            let screen = Box::default();
            let context = Context { home, number: 0, busy: false, screen, line: Some(line), lost: None };
            self.of.insert(id, context);
            self.counts.terminals += 1;
            self.counts.terminals_most = self.counts.terminals_most.max(self.of.len() as u64);
            return Ok(());
        };
        if (context.home.w_id, context.home.d_id) != (home.w_id, home.d_id) {
            return Err(BadFrame::new(format!(
                "terminal {} belongs to district {} of warehouse {}, and asks for district {} of warehouse {}",
                id.terminal, context.home.d_id, context.home.w_id, home.d_id, home.w_id
            )));
        }
        if let Some(old) = context.line.take() {
            // The terminal knows of the loss earlier than this side.
            let _ = old.stream.shutdown(Shutdown::Both);
            self.counts.lines_lost += 1;
        }
        context.lost = None;
        line.send(&Answer::Terminal { known: true, number: context.number }.frame());
        if pending != 0 && pending == context.number && !context.busy {
            line.send(&context.screen);
        }
        context.line = Some(line);
        self.counts.reconnected += 1;
        Ok(())
    }

    /// True if `connection` is the current line of a terminal. Requests of an older one are ignored, since the terminal
    /// sends them again.
    pub(super) fn is_current(&self, id: TerminalId, connection: u64) -> bool {
        let line = self.of.get(&id).and_then(|context| context.line.as_ref());
        line.is_some_and(|line| line.connection == connection)
    }

    /// Begins the request `number` of a terminal, if `check` accepts it.
    pub(super) fn begin(
        &mut self,
        id: TerminalId,
        number: u32,
        check: impl FnOnce(&Home) -> Result<(), BadFrame>,
    ) -> Result<(), BadFrame> {
        let Some(context) = self.of.get_mut(&id) else {
            return Err(BadFrame::new("the terminal's context was dropped"));
        };
        if context.busy {
            return Err(BadFrame::new("a request before the answer to the last one"));
        }
        if context.number.checked_add(1) != Some(number) {
            let last = context.number;
            return Err(BadFrame::new(format!("request {number} after request {last}")));
        }
        check(&context.home)?;
        (context.number, context.busy) = (number, true);
        Ok(())
    }

    /// Ends the current request of a terminal with the screen that `answer` makes of its number. A terminal that lost
    /// its line gets the screen when it comes back.
    pub(super) fn end(&mut self, id: TerminalId, answer: impl FnOnce(u32) -> Answer) {
        let Some(context) = self.of.get_mut(&id) else { return };
        context.busy = false;
        context.screen = answer(context.number).frame().into();
        if let Some(line) = &context.line {
            line.send(&context.screen);
        }
    }

    /// Notes the end of a terminal's line. The line of a terminal that has a newer one counts as lost already.
    pub(super) fn lose(&mut self, id: TerminalId, connection: u64, now: Instant) {
        if let Some(context) = self.of.get_mut(&id)
            && context.line.take_if(|line| line.connection == connection).is_some()
        {
            context.lost = Some(now);
            self.losses.push_back((now, id));
            self.counts.lines_lost += 1;
        }
    }

    /// Drops the context of a terminal that says goodbye.
    pub(super) fn say_goodbye(&mut self, id: TerminalId) {
        self.counts.ended += u64::from(self.of.remove(&id).is_some());
    }

    /// Drops the contexts of terminals that were lost for too long.
    pub(super) fn drop_lost(&mut self, now: Instant) {
        while let Some(&(lost, id)) = self.losses.front()
            && now.saturating_duration_since(lost) >= self.keep
        {
            self.losses.pop_front();
            if self.of.get(&id).is_some_and(|context| context.lost == Some(lost)) {
                self.of.remove(&id);
                self.counts.contexts_dropped += 1;
            }
        }
    }
}
