//! Frames: two bytes with the length of the rest, most significant first, then a tag and a body.

use std::fmt;
use std::io::{self, Read};

/// Bytes of a length.
const HEAD: usize = 2;
/// Longest frame of a terminal without its length: the screen of an order of 15 lines takes less than 200 bytes.
pub(crate) const REQUEST_MAX: usize = 1_024;
/// Longest frame to a terminal without its length: the answer to an order of 15 lines takes less than 900 bytes.
pub(crate) const ANSWER_MAX: usize = 8_192;
/// Longest text of an error, in bytes.
pub(crate) const TEXT_MAX: usize = 1_000;

/// A frame that breaks the protocol. The text says how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadFrame(pub String);

impl fmt::Display for BadFrame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for BadFrame {}

impl From<BadFrame> for io::Error {
    fn from(bad: BadFrame) -> Self {
        io::Error::new(io::ErrorKind::InvalidData, bad)
    }
}

impl BadFrame {
    pub(crate) fn new(why: impl Into<String>) -> Self {
        Self(why.into())
    }
}

/// Makes a frame of a tag and the body that `body` appends.
pub(crate) fn frame(tag: u8, body: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut frame = vec![0, 0, tag];
    body(&mut frame);
    let length = frame.len() - HEAD;
    assert!(length <= ANSWER_MAX, "every field of a frame is bounded");
    frame[..HEAD].copy_from_slice(&(length as u16).to_be_bytes());
    frame
}

fn length(head: [u8; HEAD], most: usize) -> Result<usize, BadFrame> {
    match usize::from(u16::from_be_bytes(head)) {
        0 => Err(BadFrame::new("a frame without a tag")),
        length if length > most => {
            Err(BadFrame::new(format!("a frame of {length} bytes, at most {most} are allowed")))
        }
        length => Ok(length),
    }
}

/// A frame without its length, and the bytes behind it.
type Cut<'a> = (&'a [u8], &'a [u8]);

/// Cuts the first frame of at most `most` bytes from `bytes`. Returns it without its length, and the bytes behind it;
/// `None` while it is incomplete.
///
/// # Errors
/// The length is zero or too great.
pub(crate) fn cut(bytes: &[u8], most: usize) -> Result<Option<Cut<'_>>, BadFrame> {
    let Some((&head, rest)) = bytes.split_first_chunk::<HEAD>() else { return Ok(None) };
    let length = length(head, most)?;
    Ok((rest.len() >= length).then(|| rest.split_at(length)))
}

/// Reads one frame of at most `most` bytes, without its length.
pub(crate) fn read(from: &mut impl Read, most: usize) -> io::Result<Vec<u8>> {
    let mut head = [0; HEAD];
    from.read_exact(&mut head)?;
    let mut frame = vec![0; length(head, most)?];
    from.read_exact(&mut frame)?;
    Ok(frame)
}
