//! The line of one terminal.

use crate::frame::{self, ANSWER_MAX};
use crate::message::{Answer, Hello, Request, TerminalId};
use lydite_tpcc::{DistrictId, WarehouseId};
use std::io::{self, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;

/// State of a line between two requests.
#[derive(Debug, Default)]
pub(super) struct Line {
    /// `None` before the first connection, and while it is lost.
    pub(super) stream: Option<TcpStream>,
    /// Number of the last request.
    pub(super) number: u32,
}

/// The tier's knowledge of a terminal that connects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Greeting {
    pub(super) known: bool,
    pub(super) number: u32,
}

/// Connects and says hello. Returns the stream with the tier's answer.
pub(super) fn greet(to: &[std::net::SocketAddr], hello: Hello) -> io::Result<(TcpStream, Answer)> {
    let mut stream = TcpStream::connect(to)?;
    // Requests are small and waited for.
    stream.set_nodelay(true)?;
    send(&mut stream, &Request::Hello(hello))?;
    let answer = receive(&mut stream)?;
    Ok((stream, answer))
}

pub(super) fn send(stream: &mut TcpStream, request: &Request) -> io::Result<()> {
    stream.write_all(&request.frame())
}

/// Receives an answer. A rejection is an error.
pub(super) fn receive(stream: &mut TcpStream) -> io::Result<Answer> {
    match Answer::read(&frame::read(stream, ANSWER_MAX)?)? {
        Answer::Rejected { why } => Err(io::Error::new(io::ErrorKind::InvalidData, why)),
        answer => Ok(answer),
    }
}

impl Line {
    /// Connects a terminal. `pending` is the number of the request whose answer it lacks, or 0.
    pub(super) fn connect(&mut self, place: &Place, id: TerminalId, pending: u32) -> io::Result<Greeting> {
        let hello = Hello::Terminal { id, w_id: place.w_id, d_id: place.d_id, pending };
        let (stream, answer) = greet(&place.tier, hello)?;
        let Answer::Terminal { known, number } = answer else { return Err(unexpected(&answer)) };
        self.stream = Some(stream);
        Ok(Greeting { known, number })
    }

    pub(super) fn send(&mut self, request: &Request) -> io::Result<()> {
        send(self.connected()?, request)
    }

    /// Receives the answer to the last request.
    pub(super) fn receive(&mut self) -> io::Result<Answer> {
        let answer = receive(self.connected()?)?;
        if answer.number() == Some(self.number) { Ok(answer) } else { Err(unexpected(&answer)) }
    }

    fn connected(&mut self) -> io::Result<&mut TcpStream> {
        self.stream.as_mut().ok_or_else(|| io::ErrorKind::NotConnected.into())
    }

    /// Returns true if the other end has closed the line. Only while no answer is outstanding.
    pub(super) fn is_dead(&self) -> bool {
        let Some(stream) = &self.stream else { return true };
        let peeked = stream.set_nonblocking(true).and_then(|()| stream.peek(&mut [0]));
        let waits_again = stream.set_nonblocking(false);
        let silent = matches!(&peeked, Err(error) if error.kind() == io::ErrorKind::WouldBlock);
        !silent || waits_again.is_err()
    }
}

/// Returns the error of an answer that belongs to no request.
pub(super) fn unexpected(answer: &Answer) -> io::Error {
    io::Error::new(
        io::ErrorKind::InvalidData,
        format!("the tier sent an answer that nobody waits for: {answer:?}"),
    )
}

/// Place of a terminal: its warehouse and district, and the tier's addresses.
#[derive(Clone, Debug)]
pub(super) struct Place {
    pub(super) w_id: WarehouseId,
    pub(super) d_id: DistrictId,
    pub(super) tier: Arc<[SocketAddr]>,
}
