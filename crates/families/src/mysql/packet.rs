//! Elements of MySQL's packets: little-endian numbers, lengths of one to nine bytes, and answers that all commands
//! share.

/// Reads a packet from its beginning. Every method returns `None` if the packet is too short.
pub(crate) struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    pub(crate) fn new(packet: &'a [u8]) -> Self {
        Self { rest: packet }
    }

    /// Returns the next `count` bytes.
    pub(crate) fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(count)?;
        self.rest = rest;
        Some(taken)
    }

    /// Returns all remaining bytes.
    pub(crate) fn rest(self) -> &'a [u8] {
        self.rest
    }

    fn number(&mut self, bytes: usize) -> Option<u64> {
        Some(self.take(bytes)?.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte)))
    }

    pub(crate) fn u8(&mut self) -> Option<u8> {
        self.number(1).map(|number| number as u8)
    }

    pub(crate) fn u16(&mut self) -> Option<u16> {
        self.number(2).map(|number| number as u16)
    }

    pub(crate) fn u32(&mut self) -> Option<u32> {
        self.number(4).map(|number| number as u32)
    }

    pub(crate) fn u64(&mut self) -> Option<u64> {
        self.number(8)
    }

    /// Reads a length-encoded number.
    pub(crate) fn length(&mut self) -> Option<u64> {
        match self.u8()? {
            0xfc => self.number(2),
            0xfd => self.number(3),
            0xfe => self.number(8),
            0xfb | 0xff => None,
            short => Some(u64::from(short)),
        }
    }

    /// Reads length-prefixed bytes.
    pub(crate) fn bytes(&mut self) -> Option<&'a [u8]> {
        let length = self.length()?;
        self.take(usize::try_from(length).ok()?)
    }

    /// Reads length-prefixed bytes, or null.
    pub(crate) fn nullable(&mut self) -> Option<Option<&'a [u8]>> {
        if self.rest.first() == Some(&0xfb) {
            self.rest = &self.rest[1..];
            return Some(None);
        }
        self.bytes().map(Some)
    }

    /// Reads the bytes before a zero byte.
    pub(crate) fn until_zero(&mut self) -> Option<&'a [u8]> {
        let length = self.rest.iter().position(|byte| *byte == 0)?;
        let taken = self.take(length)?;
        self.take(1)?;
        Some(taken)
    }
}

/// Appends a length-encoded number.
pub(crate) fn put_length(length: usize, out: &mut Vec<u8>) {
    match length {
        0..=250 => out.push(length as u8),
        251..=0xffff => {
            out.push(0xfc);
            out.extend_from_slice(&(length as u16).to_le_bytes());
        }
        0x1_0000..=0xff_ffff => {
            out.push(0xfd);
            out.extend_from_slice(&(length as u32).to_le_bytes()[..3]);
        }
        _ => {
            out.push(0xfe);
            out.extend_from_slice(&(length as u64).to_le_bytes());
        }
    }
}

/// Appends length-prefixed bytes.
pub(crate) fn put_bytes(bytes: &[u8], out: &mut Vec<u8>) {
    put_length(bytes.len(), out);
    out.extend_from_slice(bytes);
}

/// The answer to a statement without rows, and the end of the rows of other statements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Done {
    /// Rows that the statement found and changed.
    pub(crate) affected: u64,
    /// True if another answer to the same command follows.
    pub(crate) more: bool,
    /// True if the connection is in a transaction.
    pub(crate) in_transaction: bool,
}

/// The flag of [`Done::in_transaction`].
const IN_TRANSACTION: u16 = 1;

/// The flag of [`Done::more`].
const MORE_RESULTS: u16 = 8;

impl Done {
    /// Reads an OK packet, or the packet of the same form that ends rows.
    pub(crate) fn of(packet: &[u8]) -> Option<Self> {
        let mut reader = Reader::new(packet);
        reader.u8()?;
        let affected = reader.length()?;
        reader.length()?;
        Some(Self::with(affected, reader.u16()?))
    }

    /// Reads the packet that ends rows for a client of the older protocol.
    pub(crate) fn of_eof(packet: &[u8]) -> Option<Self> {
        let mut reader = Reader::new(packet);
        reader.take(3)?;
        Some(Self::with(0, reader.u16()?))
    }

    fn with(affected: u64, flags: u16) -> Self {
        Self { affected, more: flags & MORE_RESULTS != 0, in_transaction: flags & IN_TRANSACTION != 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_survive_the_way_there_and_back() {
        for length in [0, 250, 251, 0xffff, 0x1_0000, 0xff_ffff, 0x100_0000] {
            let mut bytes = Vec::new();
            put_length(length, &mut bytes);
            assert_eq!(Reader::new(&bytes).length(), Some(length as u64));
            assert_eq!(Reader::new(&bytes[..bytes.len() - 1]).length(), None, "cut short");
        }
    }

    #[test]
    fn a_field_longer_than_its_packet_is_no_field() {
        assert_eq!(Reader::new(&[3, b'a', b'b']).bytes(), None);
        assert_eq!(Reader::new(&[0xfb]).nullable(), Some(None));
        assert_eq!(Reader::new(b"abc").until_zero(), None);
    }
}
