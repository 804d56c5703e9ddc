//! The ports of a lab's servers.

use lydite_console::exit::Failure;
use std::net::TcpListener;
use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering};

/// Ports for servers. They lie below the range that Linux uses for outgoing connections (32768 to 60999 by default).
const PORTS: Range<u16> = 26_000..32_000;

/// Returns distinct ports that are free now and that this process has not returned before.
pub(crate) fn free_ports(count: usize) -> Result<Vec<u16>, Failure> {
    /// Number of candidates that this process has tried.
    static TRIED: AtomicU32 = AtomicU32::new(0);
    let span = u32::from(PORTS.end - PORTS.start);
    // Labs that start at the same time have neighbouring process numbers: each tries its own hundred ports first.
    let first = std::process::id() % span * 101;
    let candidates = (0..span)
        .map(|_| PORTS.start + ((first + TRIED.fetch_add(1, Ordering::Relaxed)) % span) as u16)
        .filter(|&port| TcpListener::bind(("127.0.0.1", port)).is_ok());
    let ports: Vec<u16> = candidates.take(count).collect();
    if ports.len() < count {
        return Err(Failure::usage(format!(
            "fewer than {count} of the ports {} to {} on 127.0.0.1 are free: end a lab or a server",
            PORTS.start,
            PORTS.end - 1
        )));
    }
    Ok(ports)
}
