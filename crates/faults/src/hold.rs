//! The helper of faults that hold packets: it takes them from a queue of the kernel (NFQUEUE), and gives them back when
//! their time has come.

use crate::error::FaultError;
use crate::nfqueue::{Packet, Queue, open_queues};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap};
use std::io::{self, ErrorKind, Write};
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

/// The line of a helper that waits for packets. Any other line is the reason why it can't.
pub(crate) const READY: &str = "ready";
/// Most packets that are taken before those whose time has come go on.
const BATCH: usize = 256;

/// Holding time of packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Shape {
    /// A time drawn from `delay` ± `jitter` for each packet. Packets of one connection keep their order.
    Delay { delay: Duration, jitter: Duration },
    /// A rate that all packets share.
    Rate { bytes_per_s: u64 },
}

/// The addresses and ports of a packet's connection, as they stand in its headers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Connection(Vec<u8>);

impl Connection {
    /// Reads the headers of a packet of IPv4 or IPv6. Packets without ports count as of one connection.
    fn of(packet: &[u8]) -> Self {
        let (addresses, ports) = match packet.first().map(|byte| byte >> 4) {
            Some(4) => (12..20, usize::from(packet[0] & 0xF) * 4),
            Some(6) => (8..40, 40),
            _ => return Self::default(),
        };
        let parts = packet.get(addresses).zip(packet.get(ports..ports + 4));
        Self(parts.map(|(addresses, ports)| [addresses, ports].concat()).unwrap_or_default())
    }
}

/// Held packets, in the order of their release. All times count from one moment.
#[derive(Debug)]
struct Held<T> {
    shape: Shape,
    /// Packets by the time when they go on, then by their order.
    packets: BTreeMap<(Duration, u64), (Connection, T)>,
    /// Time when the last packet of each connection goes on. A rate has one for all.
    last: HashMap<Connection, Duration>,
    /// Packets that have come.
    count: u64,
}

impl<T> Held<T> {
    fn new(shape: Shape) -> Self {
        Self { shape, packets: BTreeMap::new(), last: HashMap::new(), count: 0 }
    }

    /// Takes a packet of so many bytes that has come now.
    fn push(&mut self, now: Duration, connection: Connection, bytes: usize, packet: T) {
        self.count += 1;
        let (connection, until) = match self.shape {
            Shape::Delay { delay, jitter } => {
                let until = (now + delay + jitter.mul_f64(2.0 * share(self.count))).saturating_sub(jitter);
                // Never before the one ahead: TCP takes a changed order for a loss.
                let ahead = self.last.get(&connection).copied().unwrap_or_default();
                (connection, until.max(ahead))
            }
            Shape::Rate { bytes_per_s } => {
                let all = Connection::default();
                let begins = self.last.get(&all).copied().unwrap_or_default().max(now);
                (all, begins + Duration::from_secs_f64(bytes as f64 / bytes_per_s as f64))
            }
        };
        self.last.insert(connection.clone(), until);
        self.packets.insert((until, self.count), (connection, packet));
    }

    /// Returns the time when the next packet goes on.
    fn next(&self) -> Option<Duration> {
        self.packets.first_key_value().map(|((until, _), _)| *until)
    }

    /// Gives back the next packet whose time has come.
    fn pop(&mut self, now: Duration) -> Option<T> {
        if self.next()? > now {
            return None;
        }
        let ((until, _), (connection, packet)) = self.packets.pop_first()?;
        // It holds nobody back any more. So only connections with held packets are remembered.
        if self.last.get(&connection) == Some(&until) {
            self.last.remove(&connection);
        }
        Some(packet)
    }
}

/// Returns a number from 0 to 1 for each count: a mixing function (splitmix64), equal in all runs.
fn share(count: u64) -> f64 {
    let mut bits = count.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    ((bits ^ (bits >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
}

/// Returns the packets that a queue has lost, and the helper has never seen.
pub(crate) fn lost(number: u16) -> u64 {
    open_queues().get(&number).copied().unwrap_or(0)
}

/// Returns the number of a free queue, after a try that opens and closes it. Numbers near `wish` come first.
///
/// # Errors
/// This user may not open queues, or the kernel has none.
pub(crate) fn free(wish: u32) -> Result<u16, FaultError> {
    let taken = open_queues();
    let mut near = (0..=u16::MAX).map(|step| (wish as u16).wrapping_add(step));
    let number = near
        .find(|number| !taken.contains_key(number))
        .ok_or_else(|| FaultError::Lacks("needs a free NFQUEUE, and all are taken".into()))?;
    let problem = |error: io::Error| match error.kind() {
        ErrorKind::PermissionDenied => {
            format!("needs the right to hold packets in an NFQUEUE ({error}): run lydite as root")
        }
        _ => format!(
            "needs NFQUEUE of the kernel, which does not open ({error}): load the module nfnetlink_queue"
        ),
    };
    Queue::open(number).map(|_closed| number).map_err(|error| FaultError::Lacks(problem(error)))
}

/// Holds the packets of a queue until `stop` can be read, then lets all go on. `shape` is the time of each in the queue, in
/// JSON.
///
/// # Errors
/// The queue can't be opened, or fails.
pub fn hold(number: u16, shape: &str, stop: &UnixStream) -> io::Result<()> {
    let mut held: Held<Packet> = Held::new(serde_json::from_str(shape)?);
    let opened = Queue::open(number);
    let word = opened.as_ref().map_or_else(io::Error::to_string, |_| READY.into());
    let mut out = io::stdout().lock();
    writeln!(out, "{word}").and_then(|()| out.flush())?;
    let queue = opened?;
    let begun = Instant::now();
    loop {
        take(&queue, &mut held, begun, BATCH)?;
        while let Some(packet) = held.pop(begun.elapsed()) {
            queue.pass(&packet)?;
        }
        let sleep = held.next().map(|until| until.saturating_sub(begun.elapsed()));
        if wait([queue.descriptor(), stop.as_raw_fd()], sleep)? {
            break;
        }
    }
    // The rules are gone, so no more packets come after these.
    take(&queue, &mut held, begun, usize::MAX)?;
    while let Some(packet) = held.pop(Duration::MAX) {
        queue.pass(&packet)?;
    }
    Ok(())
}

/// Takes the packets that have come, at most so many.
fn take(queue: &Queue, held: &mut Held<Packet>, begun: Instant, most: usize) -> io::Result<()> {
    for _ in 0..most {
        match queue.receive() {
            Ok(packet) => {
                held.push(begun.elapsed(), Connection::of(&packet.headers), packet.bytes, packet);
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
            // An interface that went away took its packet with it, or packets were lost for lack of room.
            Err(error) if matches!(error.raw_os_error(), Some(libc::ENOENT | libc::ENOBUFS)) => {}
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Waits until one of two descriptors can be read, at most for this time. Returns true if the second one can.
fn wait(descriptors: [RawFd; 2], at_most: Option<Duration>) -> io::Result<bool> {
    let mut polled = descriptors.map(|fd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 });
    let time = at_most.map(|time| libc::timespec {
        tv_sec: time.as_secs() as libc::time_t,
        tv_nsec: time.subsec_nanos() as libc::c_long,
    });
    let limit = time.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
    // SAFETY: the descriptors are open, and both structures live until the call returns.
    if unsafe { libc::ppoll(polled.as_mut_ptr(), 2, limit, std::ptr::null()) } < 0 {
        let error = io::Error::last_os_error();
        if error.kind() != ErrorKind::Interrupted {
            return Err(error);
        }
    }
    Ok(polled[1].revents != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(milliseconds: u64) -> Duration {
        Duration::from_millis(milliseconds)
    }

    fn of(number: u8) -> Connection {
        Connection(vec![number])
    }

    /// All packets with the times when they go on.
    fn all(mut held: Held<u32>) -> Vec<(Duration, u32)> {
        std::iter::from_fn(|| held.next().and_then(|at| Some((at, held.pop(at)?)))).collect()
    }

    #[test]
    fn a_delayed_packet_goes_on_after_its_time_and_not_before() {
        let mut held = Held::new(Shape::Delay { delay: ms(50), jitter: ms(0) });
        held.push(ms(100), of(1), 60, "one");
        held.push(ms(110), of(2), 60, "two");
        assert_eq!(held.next(), Some(ms(150)));
        assert_eq!(held.pop(ms(149)), None);
        assert_eq!(held.pop(ms(155)), Some("one"));
        assert_eq!(held.pop(ms(155)), None);
        assert_eq!(held.pop(ms(160)), Some("two"));
        assert!(held.next().is_none() && held.last.is_empty(), "{held:?}");
    }

    #[test]
    fn jitter_stays_in_its_bounds_and_changes_the_order_of_connections_only() {
        let (delay, jitter) = (ms(50), ms(20));
        let mut held = Held::new(Shape::Delay { delay, jitter });
        for number in 0..1000 {
            held.push(ms(u64::from(number)), of((number % 2) as u8), 60, number);
        }
        let gone = all(held);
        assert_eq!(gone.len(), 1000);
        for connection in 0..2 {
            let own: Vec<u32> =
                gone.iter().map(|(_, number)| *number).filter(|one| one % 2 == connection).collect();
            assert!(own.is_sorted(), "{own:?}");
        }
        assert!(!gone.iter().map(|(_, number)| *number).is_sorted(), "other connections overtake");
        let delays = gone.iter().map(|(at, number)| *at - ms(u64::from(*number)));
        let (least, most) = delays.fold((Duration::MAX, Duration::ZERO), |(least, most), delay| {
            (least.min(delay), most.max(delay))
        });
        assert!(least >= delay - jitter && least < delay, "{least:?}");
        assert!(most <= delay + jitter && most > delay, "{most:?}");
    }

    #[test]
    fn a_rate_lets_bytes_go_on_one_after_the_other_over_all_connections() {
        let mut held = Held::new(Shape::Rate { bytes_per_s: 1000 });
        held.push(ms(0), of(1), 100, 1);
        held.push(ms(10), of(2), 50, 2);
        held.push(ms(400), of(1), 200, 3);
        assert_eq!(all(held), [(ms(100), 1), (ms(150), 2), (ms(600), 3)]);
    }

    #[test]
    fn connections_are_told_apart_by_addresses_and_ports() {
        let packet = |length: u8, from: u8, port: u8| {
            let mut bytes = vec![0; usize::from(length) * 4 + 20];
            bytes[0] = 0x40 | length;
            bytes[15] = from;
            bytes[usize::from(length) * 4 + 1] = port;
            // A changed byte of the payload.
            *bytes.last_mut().unwrap() = from ^ port ^ 1;
            Connection::of(&bytes)
        };
        assert_eq!(packet(5, 1, 2), packet(6, 1, 2));
        assert_ne!(packet(5, 1, 2), packet(5, 2, 2));
        assert_ne!(packet(5, 1, 2), packet(5, 1, 3));
        let mut six = vec![0; 60];
        six[0] = 0x60;
        let first = Connection::of(&six);
        six[41] = 1;
        assert_ne!(first, Connection::of(&six));
        assert_eq!(Connection::of(&[]), Connection::of(&[0x45, 0]));
    }
}
