//! TCP ports of this machine, and the processes that listen on them.

use crate::error::FaultError;
use crate::process::{ProcessId, Processes};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fs;
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::thread;
use std::time::{Duration, Instant};

/// State of a listening socket in `/proc/net/tcp`.
const LISTEN: &str = "0A";
/// Longest wait for the answer to one connection.
const CONNECT: Duration = Duration::from_secs(1);
/// Time between two connections.
const LOOK: Duration = Duration::from_millis(10);

/// A TCP socket of this machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Socket {
    local: SocketAddr,
    peer: SocketAddr,
    listens: bool,
    /// Number of the socket in the descriptors of processes.
    inode: u64,
}

impl Socket {
    /// Returns all TCP sockets.
    fn all() -> Vec<Self> {
        let tables =
            ["/proc/net/tcp", "/proc/net/tcp6"].map(|path| fs::read_to_string(path).unwrap_or_default());
        tables.iter().flat_map(|table| table.lines().filter_map(Self::read)).collect()
    }

    /// Reads a line of `/proc/net/tcp` or `/proc/net/tcp6`; none if it is the heading.
    fn read(line: &str) -> Option<Self> {
        let fields: Vec<&str> = line.split_whitespace().collect();
        Some(Self {
            local: socket_address(fields.get(1)?)?,
            peer: socket_address(fields.get(2)?)?,
            listens: *fields.get(3)? == LISTEN,
            inode: fields.get(9)?.parse().ok()?,
        })
    }
}

/// Reads `ADDRESS:PORT` as the kernel writes it: in hexadecimal, the address in words of 32 bits in the machine's
/// order of bytes.
fn socket_address(text: &str) -> Option<SocketAddr> {
    let (address, port) = text.split_once(':')?;
    let words = address.as_bytes().chunks(8).map(|word| {
        let word = u32::from_str_radix(std::str::from_utf8(word).ok()?, 16).ok()?;
        Some(word.to_ne_bytes())
    });
    let bytes = words.collect::<Option<Vec<_>>>()?.concat();
    let ip = match bytes.len() {
        4 => IpAddr::from(<[u8; 4]>::try_from(bytes).ok()?),
        _ => IpAddr::from(<[u8; 16]>::try_from(bytes).ok()?),
    };
    Some(SocketAddr::new(ip.to_canonical(), u16::from_str_radix(port, 16).ok()?))
}

/// Returns the numbers of the sockets that a process holds.
fn held_by(process: ProcessId) -> impl Iterator<Item = u64> {
    let descriptors = fs::read_dir(format!("/proc/{}/fd", process.pid)).into_iter().flatten().flatten();
    let links = descriptors.filter_map(|entry| fs::read_link(entry.path()).ok());
    links.filter_map(|link| link.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?.parse().ok())
}

/// An end of TCP connections that some processes hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Endpoint {
    /// The end on this machine; its address is unspecified if the processes listen on all.
    pub local: SocketAddr,
    /// The other end of a connection that the processes opened; none for a port that they listen on.
    pub peer: Option<SocketAddr>,
}

/// Returns the ports that these processes listen on, and the connections that they have opened to others.
#[must_use]
pub fn endpoints(processes: &[ProcessId]) -> BTreeSet<Endpoint> {
    let held: BTreeSet<u64> = processes.iter().copied().flat_map(held_by).collect();
    let (ports, connections): (Vec<Socket>, Vec<Socket>) = Socket::all()
        .into_iter()
        .filter(|socket| held.contains(&socket.inode))
        .partition(|socket| socket.listens);
    // A connection that was accepted has the port of its listener.
    let opened = connections
        .iter()
        .filter(|one| !ports.iter().any(|port| port.local.port() == one.local.port()))
        .map(|one| Endpoint { local: one.local, peer: Some(one.peer) });
    ports.iter().map(|port| Endpoint { local: port.local, peer: None }).chain(opened).collect()
}

/// The processes that listen on a port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Listeners {
    /// Nobody listens.
    Nobody,
    /// Somebody listens, in a process whose descriptors this user must not see.
    Hidden,
    /// These processes; at least one.
    Seen(Vec<ProcessId>),
}

/// Returns the processes that listen on a port of this machine.
#[must_use]
pub fn listeners(port: u16, processes: &Processes) -> Listeners {
    let on_port = |socket: &Socket| socket.listens && socket.local.port() == port;
    let sockets: BTreeSet<u64> =
        Socket::all().iter().filter(|one| on_port(one)).map(|one| one.inode).collect();
    if sockets.is_empty() {
        return Listeners::Nobody;
    }
    let holds = |process: &ProcessId| held_by(*process).any(|inode| sockets.contains(&inode));
    match processes.all().filter(holds).collect::<Vec<_>>() {
        seen if seen.is_empty() => Listeners::Hidden,
        seen => Listeners::Seen(seen),
    }
}

/// Returns the server of a port: the process that listens, or of several the one above the others.
///
/// # Errors
/// Nobody listens, or this user must not see who does.
pub fn server(port: u16) -> Result<ProcessId, FaultError> {
    let now = Processes::now();
    match listeners(port, &now) {
        Listeners::Nobody => Err(FaultError::Lacks(format!("no process listens on port {port}"))),
        Listeners::Hidden => Err(FaultError::Lacks(format!(
            "the process that listens on port {port} belongs to another user: run lydite as that user or as root"
        ))),
        Listeners::Seen(seen) => {
            let top = |one: &&ProcessId| seen.iter().all(|other| now.is_within(*other, **one));
            seen.iter()
                .find(top)
                .or(seen.first())
                .copied()
                .ok_or_else(|| FaultError::Lacks(format!("nobody listens on port {port}")))
        }
    }
}

/// Returns true if a server on this machine accepts connections to the port.
#[must_use]
pub fn accepts(port: u16) -> bool {
    TcpStream::connect_timeout(&SocketAddr::from(([127, 0, 0, 1], port)), CONNECT).is_ok()
}

/// Waits until the port accepts connections, at most for `patience` or while `alive`. Returns true if it does.
pub(crate) fn wait_until_accepts(port: u16, patience: Duration, mut alive: impl FnMut() -> bool) -> bool {
    let begun = Instant::now();
    loop {
        if accepts(port) {
            return true;
        }
        if begun.elapsed() >= patience || !alive() {
            return false;
        }
        thread::sleep(LOOK);
    }
}

/// An address of a database's URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    /// Host name or IP address.
    pub host: String,
    /// TCP port.
    pub port: u16,
}

impl Address {
    /// Returns true if the host is this machine.
    #[must_use]
    pub fn is_here(&self) -> bool {
        // Only addresses of this machine can be bound.
        let own = |ip: IpAddr| TcpListener::bind((ip, 0)).is_ok();
        (self.host.as_str(), 0).to_socket_addrs().is_ok_and(|found| found.map(|found| found.ip()).any(own))
    }
}

/// Returns the addresses in a database's URL: that of its server, and those in its options, as
/// `shards=HOST:PORT,HOST:PORT`. `usual` is the port of a server without one; without both, a server has no address.
#[must_use]
pub fn addresses(url: &str, usual: Option<u16>) -> Vec<Address> {
    let (base, query) = url.split_once('?').unwrap_or((url, ""));
    let Some((_, rest)) = base.split_once("://") else { return Vec::new() };
    let authority = rest.split('/').next().unwrap_or_default();
    let hosts = authority.rsplit_once('@').map_or(authority, |(_, hosts)| hosts);
    let options = query.split('&').filter_map(|option| option.split_once('=')).map(|(_, value)| value);
    let of_options = options.map(|value| value.replace("%3A", ":").replace("%3a", ":").replace("%2C", ","));
    let of_options = of_options
        .flat_map(|value| value.split(',').filter_map(|text| address(text, None)).collect::<Vec<_>>());
    hosts.split(',').filter_map(|text| address(text, usual)).chain(of_options).collect()
}

/// Reads `HOST[:PORT]`; the port may be left out if there is a usual one.
fn address(text: &str, usual: Option<u16>) -> Option<Address> {
    let (host, port) = match text.rsplit_once(':') {
        Some((host, port)) if !port.contains(']') => (host, port.parse().ok()?),
        _ => (text, usual?),
    };
    let host = host.trim_start_matches('[').trim_end_matches(']');
    // A path, also an escaped one, names a Unix socket.
    (!host.is_empty() && !host.contains(['/', '%'])).then(|| Address { host: host.to_owned(), port })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_addresses_of_a_url_are_its_server_and_those_of_its_options() {
        let ports = |url: &str| -> Vec<u16> {
            addresses(url, Some(5432)).iter().map(|address| address.port).collect()
        };
        assert_eq!(ports("postgres://u:p@127.0.0.1:26000/db"), [26_000]);
        assert_eq!(ports("postgres://localhost/db?sslmode=off"), [5432]);
        assert_eq!(ports("postgres://u@[::1]/db"), [5432]);
        assert_eq!(ports("postgres://u:p@h:1/db?shards=h:2,h%3A3"), [1, 2, 3]);
        assert!(addresses("mine://localhost/db", None).is_empty(), "a scheme without a usual port");
        for no_port in
            ["gemel:", "postgres:///db?host=/run/postgresql", "postgres://u@%2Frun%2Fpostgresql/db"]
        {
            assert!(ports(no_port).is_empty(), "{no_port}");
        }
        assert!(addresses("postgres://127.0.0.1/db", Some(1))[0].is_here());
        assert!(!Address { host: "192.0.2.1".into(), port: 1 }.is_here(), "a documentation address");
    }

    #[test]
    fn addresses_of_the_kernel_are_read() {
        let read = |text: &str| socket_address(text).map(|address| address.to_string());
        // Words as this machine writes them, whatever its order of bytes.
        let word = |bytes: [u8; 4]| format!("{:08X}", u32::from_ne_bytes(bytes));
        let (zero, one) = (word([0; 4]), word([0, 0, 0, 1]));
        let loopback = word([127, 0, 0, 1]);
        assert_eq!(read(&format!("{loopback}:1538")).as_deref(), Some("127.0.0.1:5432"));
        assert_eq!(read(&format!("{zero}{zero}{zero}{one}:1538")).as_deref(), Some("[::1]:5432"));
        let mapped = word([0, 0, 0xFF, 0xFF]);
        assert_eq!(read(&format!("{zero}{zero}{mapped}{loopback}:1538")).as_deref(), Some("127.0.0.1:5432"));
        assert_eq!(read("local_address"), None);
    }

    #[test]
    fn the_endpoints_of_a_process_are_its_ports_and_the_connections_that_it_opened() {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let at = listener.local_addr().unwrap();
        let opened = TcpStream::connect(at).unwrap();
        let (accepted, _) = listener.accept().unwrap();
        let found = endpoints(&[ProcessId::own().unwrap()]);
        assert!(found.contains(&Endpoint { local: at, peer: None }), "{found:?}");
        let own = Endpoint { local: opened.local_addr().unwrap(), peer: Some(at) };
        assert!(found.contains(&own), "{found:?}");
        let other = Endpoint { local: at, peer: Some(accepted.peer_addr().unwrap()) };
        assert!(!found.contains(&other), "{found:?}");
        assert!(endpoints(&[]).is_empty());
    }

    #[test]
    fn the_process_that_listens_is_found() {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        assert_eq!(server(port).unwrap(), ProcessId::own().unwrap());
        assert!(accepts(port));
        drop(listener);
        assert_eq!(server(port).unwrap_err().to_string(), format!("no process listens on port {port}"));
        assert!(!wait_until_accepts(port, Duration::ZERO, || true));
    }
}
