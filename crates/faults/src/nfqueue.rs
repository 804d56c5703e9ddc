//! A queue of packets that the kernel hands to a program (NFQUEUE), by its netlink protocol: `linux/netlink.h` and
//! `linux/netfilter/nfnetlink_queue.h`.

use libc::c_int;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

/// Most packets that the kernel holds for the program. It drops those above, as a full interface does.
const MOST: u32 = 100_000;
/// Bytes of each packet that the kernel copies: its addresses and ports.
const HEADERS: u32 = 64;
/// Room for packets that the program has not read yet, in bytes.
const ROOM: c_int = 32 << 20;
/// Bytes of the longest message: the headers with their attributes.
const LONGEST: usize = 8192;
/// Bytes of a message before its attributes: `nlmsghdr` and `nfgenmsg`.
const START: usize = 20;
/// The kernel's list of queues.
const LIST: &str = "/proc/net/netfilter/nfnetlink_queue";

/// An open queue. The kernel drops the packets that are in it when it is closed.
#[derive(Debug)]
pub(crate) struct Queue {
    socket: File,
    number: u16,
}

/// A packet in a queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Packet {
    /// Number within the queue, in the order of bytes of the network.
    id: [u8; 4],
    /// First bytes of the packet, from the header of IP on.
    pub(crate) headers: Vec<u8>,
    /// Length in bytes.
    pub(crate) bytes: usize,
}

impl Queue {
    /// Opens the queue of this number.
    ///
    /// # Errors
    /// This user may not, the kernel has no queues, or somebody else has opened this one.
    pub(crate) fn open(number: u16) -> io::Result<Self> {
        let kind = libc::SOCK_RAW | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
        // SAFETY: socket takes three numbers and has no memory preconditions.
        let socket = unsafe { libc::socket(libc::AF_NETLINK, kind, libc::NETLINK_NETFILTER) };
        if socket < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the descriptor was opened above, and nobody else has it.
        let queue = Self { socket: File::from(unsafe { OwnedFd::from_raw_fd(socket) }), number };
        let (room, size) = (ROOM, size_of::<c_int>() as libc::socklen_t);
        let value = (&raw const room).cast();
        // SAFETY: the descriptor is open, and the value is a c_int that lives until the call returns.
        if unsafe { libc::setsockopt(socket, libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, value, size) } != 0 {
            return Err(io::Error::last_os_error());
        }
        let mut copied = HEADERS.to_be_bytes().to_vec();
        copied.push(libc::NFQNL_COPY_PACKET as u8);
        // Packets of the loopback have up to 64 KiB. They stay whole.
        let whole = (libc::NFQA_CFG_F_GSO as u32).to_be_bytes();
        queue.send(
            libc::NFQNL_MSG_CONFIG,
            libc::NLM_F_REQUEST | libc::NLM_F_ACK,
            &[
                (libc::NFQA_CFG_CMD, &[libc::NFQNL_CFG_CMD_BIND as u8, 0, 0, 0]),
                (libc::NFQA_CFG_PARAMS, &copied),
                (libc::NFQA_CFG_QUEUE_MAXLEN, &MOST.to_be_bytes()),
                (libc::NFQA_CFG_FLAGS, &whole),
                (libc::NFQA_CFG_MASK, &whole),
            ],
        )?;
        // The kernel has answered before the request returns.
        match read(&queue.message()?)? {
            None => Ok(queue),
            Some(_) => Err(io::Error::other("the kernel sent a packet before its answer")),
        }
    }

    /// Returns the next packet.
    ///
    /// # Errors
    /// No packet has come (`WouldBlock`), or the kernel has none for an answer of this program.
    pub(crate) fn receive(&self) -> io::Result<Packet> {
        loop {
            if let Some(packet) = read(&self.message()?)? {
                return Ok(packet);
            }
        }
    }

    /// Lets a packet go on.
    ///
    /// # Errors
    /// The kernel does not take the message.
    pub(crate) fn pass(&self, packet: &Packet) -> io::Result<()> {
        let verdict = [(libc::NF_ACCEPT as u32).to_be_bytes(), packet.id].concat();
        self.send(libc::NFQNL_MSG_VERDICT, libc::NLM_F_REQUEST, &[(libc::NFQA_VERDICT_HDR, &verdict)])
    }

    /// Returns the descriptor that can be read once packets have come.
    pub(crate) fn descriptor(&self) -> RawFd {
        self.socket.as_raw_fd()
    }

    /// Sends a message with these attributes.
    fn send(&self, kind: c_int, flags: c_int, attributes: &[(c_int, &[u8])]) -> io::Result<()> {
        let mut message = vec![0; 4];
        message.extend(((libc::NFNL_SUBSYS_QUEUE << 8 | kind) as u16).to_ne_bytes());
        message.extend((flags as u16).to_ne_bytes());
        // No sequence and no sender: the kernel fills the latter in.
        message.extend([0; 8]);
        message.extend([libc::AF_UNSPEC as u8, libc::NFNETLINK_V0 as u8]);
        message.extend(self.number.to_be_bytes());
        for (kind, value) in attributes {
            message.extend((value.len() as u16 + 4).to_ne_bytes());
            message.extend((*kind as u16).to_ne_bytes());
            message.extend(*value);
            message.resize(message.len().next_multiple_of(4), 0);
        }
        let length = (message.len() as u32).to_ne_bytes();
        message[..4].copy_from_slice(&length);
        (&self.socket).write_all(&message)
    }

    /// Returns the next message of the kernel.
    fn message(&self) -> io::Result<Vec<u8>> {
        let mut message = vec![0; LONGEST];
        let length = (&self.socket).read(&mut message)?;
        message.truncate(length);
        Ok(message)
    }
}

/// Reads a message of the kernel: a packet, or none if it confirms a request.
///
/// # Errors
/// The message reports an error, or is cut short.
fn read(message: &[u8]) -> io::Result<Option<Packet>> {
    let short = || io::Error::other("a message of the kernel is too short");
    let kind = c_int::from(u16::from_ne_bytes(part(message, 4).ok_or_else(short)?));
    if kind == libc::NLMSG_ERROR {
        return match i32::from_ne_bytes(part(message, 16).ok_or_else(short)?) {
            0 => Ok(None),
            error => Err(io::Error::from_raw_os_error(-error)),
        };
    }
    let (mut id, mut headers, mut whole) = (None, Vec::new(), None);
    let mut rest = message.get(START..).ok_or_else(short)?;
    while let Some(length) = part(rest, 0).map(u16::from_ne_bytes) {
        let length = usize::from(length);
        let kind = u16::from_ne_bytes(part(rest, 2).ok_or_else(short)?);
        let value = rest.get(4..length).ok_or_else(short)?;
        match c_int::from(kind) & libc::NLA_TYPE_MASK {
            libc::NFQA_PACKET_HDR => id = part(value, 0),
            libc::NFQA_PAYLOAD => headers = value.to_vec(),
            // Only of packets that are longer than what is copied.
            libc::NFQA_CAP_LEN => whole = part(value, 0).map(u32::from_be_bytes),
            _ => {}
        }
        rest = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
    }
    let bytes = whole.map_or(headers.len(), |bytes| bytes as usize);
    Ok(Some(Packet { id: id.ok_or_else(short)?, headers, bytes }))
}

/// Returns some bytes from a place on; none if there are fewer.
fn part<const LENGTH: usize>(bytes: &[u8], from: usize) -> Option<[u8; LENGTH]> {
    bytes.get(from..from + LENGTH)?.try_into().ok()
}

/// Returns the numbers of the open queues with the packets that each has lost; empty if this user must not see them.
pub(crate) fn open_queues() -> BTreeMap<u16, u64> {
    lost(&fs::read_to_string(LIST).unwrap_or_default())
}

/// Reads the kernel's list of queues.
fn lost(list: &str) -> BTreeMap<u16, u64> {
    let read = |line: &str| {
        let fields: Vec<u64> = line.split_whitespace().map(str::parse).collect::<Result<_, _>>().ok()?;
        // Packets above the most, and those for which the program had no room.
        Some((u16::try_from(*fields.first()?).ok()?, fields.get(5)? + fields.get(6)?))
    };
    list.lines().filter_map(read).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A message of the kernel with these attributes.
    fn message(kind: c_int, attributes: &[(c_int, &[u8])]) -> Vec<u8> {
        let mut message = vec![0; START];
        message[4..6].copy_from_slice(&(kind as u16).to_ne_bytes());
        for (kind, value) in attributes {
            message.extend((value.len() as u16 + 4).to_ne_bytes());
            message.extend((*kind as u16).to_ne_bytes());
            message.extend(*value);
            message.resize(message.len().next_multiple_of(4), 0);
        }
        message
    }

    #[test]
    fn a_packet_has_its_number_its_headers_and_its_whole_length() {
        let head = (libc::NFQA_PACKET_HDR, &[0, 0, 1, 2, 8, 0, 1][..]);
        let queue = libc::NFNL_SUBSYS_QUEUE << 8;
        let short = read(&message(queue, &[head, (libc::NFQA_PAYLOAD, &[0x45, 0, 0])])).unwrap().unwrap();
        assert_eq!(short, Packet { id: [0, 0, 1, 2], headers: vec![0x45, 0, 0], bytes: 3 });
        let long = [head, (libc::NFQA_CAP_LEN, &[0, 1, 0, 0]), (libc::NFQA_PAYLOAD, &[0x45])];
        assert_eq!(read(&message(queue, &long)).unwrap().unwrap().bytes, 65_536);
        assert!(read(&message(queue, &[])).is_err(), "a packet without a number");
    }

    #[test]
    fn an_answer_confirms_a_request_or_reports_its_error() {
        let answer = |error: i32| {
            let mut message = message(libc::NLMSG_ERROR, &[]);
            message[16..20].copy_from_slice(&error.to_ne_bytes());
            read(&message)
        };
        assert_eq!(answer(0).unwrap(), None);
        assert_eq!(answer(-libc::EPERM).unwrap_err().kind(), io::ErrorKind::PermissionDenied);
        assert!(read(&[0; 5]).is_err());
    }

    #[test]
    fn open_queues_are_listed_with_the_packets_that_they_lost() {
        let list = "    7  12345     3 2    64     4     5      120  1\n\
                    \x20 900      1     0 2    64     0     0        0  1\n";
        assert_eq!(lost(list), BTreeMap::from([(7, 9), (900, 0)]));
        assert!(lost("").is_empty());
    }
}
