//! Rules of the kernel's packet filter for the TCP connections of some processes, by `iptables` and `ip6tables`.
//!
//! A fault has chains of its own in one table: `NAME` has the action, the others send it packets that leave or reach the
//! processes. `NAME-lo` sees those of the loopback, on their way in, `NAME-out` and `NAME-in` see the others. The action
//! meets each packet once, also one between two processes of the fault: a chain goes to `NAME` (`-g`) and does not go on
//! after it. All changes of a table are one transaction.

use crate::error::FaultError;
use crate::programs::program;
use crate::sockets::Endpoint;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::io::Write;
use std::net::IpAddr;
use std::process::{Command, Stdio};
use std::thread;

/// Longest wait for the lock that programs of the packet filter hold, in seconds.
const LOCK_S: &str = "5";
/// Package of the programs.
const PACKAGE: &str = "iptables";

/// A family of addresses, with rules of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Family {
    V4,
    V6,
}

impl Family {
    const ALL: [Self; 2] = [Self::V4, Self::V6];

    fn program(self) -> &'static str {
        match self {
            Self::V4 => "iptables",
            Self::V6 => "ip6tables",
        }
    }

    fn restore(self) -> &'static str {
        match self {
            Self::V4 => "iptables-restore",
            Self::V6 => "ip6tables-restore",
        }
    }

    /// Returns true if connections of the endpoint may be of the family.
    fn has(self, endpoint: &Endpoint) -> bool {
        match endpoint.local.ip() {
            IpAddr::V4(_) => self == Self::V4,
            // Also takes connections over IPv4.
            IpAddr::V6(ip) => self == Self::V6 || (ip.is_unspecified() && endpoint.peer.is_none()),
        }
    }
}

/// The position of a fault's chains among the other rules of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Position {
    /// Before them: no other rule accepts a packet before.
    First,
    /// After them: they see a packet before the action takes it out of the table.
    Last,
}

/// The rules of a fault.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Rules {
    /// The table, as `mangle`.
    pub(crate) table: String,
    /// Name of the chains: of at most 24 characters, and of this fault only.
    pub(crate) name: String,
    /// Position of the chains in the table.
    pub(crate) position: Position,
    /// Endpoints of the processes.
    pub(crate) endpoints: BTreeSet<Endpoint>,
    /// True if packets that reach the processes are meant too, not only those that leave them.
    pub(crate) arriving: bool,
    /// Match and target of the action, as `-j DROP`.
    pub(crate) action: String,
}

/// Packets that the rules saw.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    /// Packets of the endpoints.
    pub(crate) matched: u64,
    /// Packets that the action took.
    pub(crate) taken: u64,
    /// Bytes of the taken packets.
    pub(crate) bytes: u64,
}

impl Rules {
    /// Returns the problems of the rules on this machine. Nothing is changed: the transaction makes the chains and
    /// removes them again.
    pub(crate) fn rehearse(&self) -> Vec<FaultError> {
        let problem = |family: Family| {
            let lines = [self.chains(family), removal(&self.names())].concat();
            self.commit(family, &lines).and_then(|()| self.list(family)).err()
        };
        self.families().filter_map(problem).collect()
    }

    /// Makes the chains, which no packet meets yet.
    ///
    /// # Errors
    /// A family's rules are rejected.
    pub(crate) fn make(&self) -> Result<(), FaultError> {
        self.families().try_for_each(|family| self.commit(family, &self.chains(family)))
    }

    /// Puts the chains in force.
    ///
    /// # Errors
    /// A family's rules are rejected.
    pub(crate) fn enforce(&self) -> Result<(), FaultError> {
        for family in self.families() {
            self.commit(family, &self.jumps())?;
        }
        for family in self.families() {
            let found = Found::of(&self.list(family)?, &self.names());
            if found.jumps.is_empty() {
                return Err(FaultError::Failed(format!(
                    "{} does not list the rules of {}",
                    family.program(),
                    self.name
                )));
            }
        }
        Ok(())
    }

    /// Removes what is in force of the rules. Returns what they counted; none if nothing was in force.
    ///
    /// # Errors
    /// The rules can't be listed or removed.
    pub(crate) fn remove(&self) -> Result<Option<Counts>, FaultError> {
        let mut counts = None;
        for family in self.families() {
            let found = Found::of(&self.list(family)?, &self.names());
            if found.chains.is_empty() {
                continue;
            }
            self.commit(family, &[found.jumps, removal(&found.chains)].concat())?;
            let sum: &mut Counts = counts.get_or_insert_default();
            sum.matched += found.counts.matched;
            sum.taken += found.counts.taken;
            sum.bytes += found.counts.bytes;
        }
        Ok(counts)
    }

    fn families(&self) -> impl Iterator<Item = Family> {
        let used = |family: &Family| self.endpoints.iter().any(|endpoint| family.has(endpoint));
        Family::ALL.into_iter().filter(used)
    }

    /// Returns the names of the chains, that of the action first.
    fn names(&self) -> Vec<String> {
        let of = |way: &str| format!("{}-{way}", self.name);
        let mut names = vec![self.name.clone(), of("lo"), of("out")];
        names.extend(self.arriving.then(|| of("in")));
        names
    }

    /// Returns the lines that make the chains, without effect yet.
    fn chains(&self, family: Family) -> Vec<String> {
        let mut lines: Vec<String> = self.names().iter().map(|name| format!(":{name} - [0:0]")).collect();
        lines.push(format!("-A {} {}", self.name, self.action));
        for endpoint in self.endpoints.iter().filter(|endpoint| family.has(endpoint)) {
            let (local, port) = (endpoint.local.ip(), endpoint.local.port());
            let (mut leaving, mut arriving) = (String::new(), String::new());
            if !local.is_unspecified() {
                leaving += &format!(" -s {local}");
                arriving += &format!(" -d {local}");
            }
            if let Some(peer) = endpoint.peer {
                leaving += &format!(" -d {} --dport {}", peer.ip(), peer.port());
                arriving += &format!(" -s {} --sport {}", peer.ip(), peer.port());
            }
            let name = &self.name;
            let mut add =
                |way: &str, rule: &str| lines.push(format!("-A {name}-{way} -p tcp {rule} -g {name}"));
            let (leaving, arriving) =
                (format!("--sport {port}{leaving}"), format!("--dport {port}{arriving}"));
            add("lo", &leaving);
            add("out", &leaving);
            if self.arriving {
                add("lo", &arriving);
                add("in", &arriving);
            }
        }
        lines
    }

    /// Returns the lines that send packets into the chains.
    fn jumps(&self) -> Vec<String> {
        let (add, name) = (if self.position == Position::First { "-I" } else { "-A" }, &self.name);
        let mut lines = vec![
            // On its way in, a packet of the loopback no longer counts against what its socket may have on the way:
            // while it is held, the sender goes on.
            format!("{add} INPUT -i lo -j {name}-lo"),
            format!("{add} OUTPUT ! -o lo -j {name}-out"),
        ];
        lines.extend(self.arriving.then(|| format!("{add} INPUT ! -i lo -j {name}-in")));
        lines
    }

    /// Returns the rules of the table with their counters.
    fn list(&self, family: Family) -> Result<String, FaultError> {
        run(family.program(), &["-w", LOCK_S, "-t", &self.table, "-v", "-S"], "")
    }

    /// Changes the table by these lines, by all or by none.
    fn commit(&self, family: Family, lines: &[String]) -> Result<(), FaultError> {
        let text = format!("*{}\n{}\nCOMMIT\n", self.table, lines.join("\n"));
        run(family.restore(), &["-w", LOCK_S, "--noflush"], &text).map(drop)
    }
}

/// Returns the lines that remove chains without jumps.
fn removal(chains: &[String]) -> Vec<String> {
    // All are emptied first: a chain that another one jumps to can't be deleted.
    let lines = |command: &'static str| chains.iter().map(move |name| format!("{command} {name}"));
    lines("-F").chain(lines("-X")).collect()
}

/// The chains and counters that a table lists of a fault.
#[derive(Debug, Default, PartialEq, Eq)]
struct Found {
    /// The chains that exist.
    chains: Vec<String>,
    /// The lines that delete the jumps into them.
    jumps: Vec<String>,
    counts: Counts,
}

impl Found {
    /// Reads what `-v -S` lists. `names` are those of the chains, that of the action first.
    fn of(listed: &str, names: &[String]) -> Self {
        let mut found = Self::default();
        let is_ours = |name: &str| names.iter().any(|own| own == name);
        for line in listed.lines() {
            let mut words: Vec<&str> = line.split_whitespace().collect();
            let (mut packets, mut bytes) = (0, 0);
            if let Some(at) = words.iter().position(|word| *word == "-c") {
                let count = |at: usize| words.get(at).and_then(|word| word.parse().ok()).unwrap_or(0);
                (packets, bytes) = (count(at + 1), count(at + 2));
                words.drain(at..words.len().min(at + 3));
            }
            let target = words.iter().position(|word| *word == "-j").and_then(|at| words.get(at + 1));
            match words[..] {
                ["-N", name] if is_ours(name) => found.chains.push(name.to_owned()),
                ["-A", name, ..] if names.first().is_some_and(|action| action == name) => {
                    found.counts.taken += packets;
                    found.counts.bytes += bytes;
                }
                ["-A", name, ..] if is_ours(name) => {
                    found.counts.matched += packets;
                }
                ["-A", _, ..] if target.is_some_and(|name| is_ours(name)) => {
                    found.jumps.push(format!("-D {}", words[1..].join(" ")));
                }
                _ => {}
            }
        }
        found
    }
}

/// Runs a program with an input, and returns its output.
fn run(name: &str, arguments: &[&str], input: &str) -> Result<String, FaultError> {
    let failed = |error| FaultError::system(format!("{name} can't be run"), error);
    let mut command = Command::new(program(name, PACKAGE)?);
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(failed)?;
    let written = child.stdin.take().map(|mut stdin| {
        let input = input.to_owned();
        // On a thread of its own: the program may write much before it has read all.
        thread::spawn(move || stdin.write_all(input.as_bytes()))
    });
    let output = child.wait_with_output().map_err(failed)?;
    // A program that fails may not read its input; then its own words say more.
    let _read = written.map(thread::JoinHandle::join);
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let words = String::from_utf8_lossy(&output.stderr);
    let words: Vec<&str> = words.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    // SAFETY: geteuid has no preconditions.
    let advice = if unsafe { libc::geteuid() } == 0 { "" } else { ": run lydite as root" };
    let reason = words.first().unwrap_or(&"without a reason");
    Err(FaultError::Lacks(format!("{name} failed ({reason}){advice}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(endpoints: &[(&str, Option<&str>)], arriving: bool) -> Rules {
        let endpoint = |(local, peer): &(&str, Option<&str>)| Endpoint {
            local: local.parse().unwrap(),
            peer: peer.map(|peer| peer.parse().unwrap()),
        };
        Rules {
            table: "mangle".into(),
            name: "lydite-fault-7".into(),
            position: Position::Last,
            endpoints: endpoints.iter().map(endpoint).collect(),
            arriving,
            action: "-j DROP".into(),
        }
    }

    #[test]
    fn rules_match_ports_at_their_address_and_opened_connections_at_both_ends() {
        let both = rules(&[("127.0.0.1:5433", None), ("127.0.0.1:40000", Some("127.0.0.1:5434"))], true);
        assert_eq!(both.families().collect::<Vec<_>>(), [Family::V4]);
        assert_eq!(
            both.chains(Family::V4)[4..],
            [
                "-A lydite-fault-7 -j DROP",
                "-A lydite-fault-7-lo -p tcp --sport 5433 -s 127.0.0.1 -g lydite-fault-7",
                "-A lydite-fault-7-out -p tcp --sport 5433 -s 127.0.0.1 -g lydite-fault-7",
                "-A lydite-fault-7-lo -p tcp --dport 5433 -d 127.0.0.1 -g lydite-fault-7",
                "-A lydite-fault-7-in -p tcp --dport 5433 -d 127.0.0.1 -g lydite-fault-7",
                "-A lydite-fault-7-lo -p tcp --sport 40000 -s 127.0.0.1 -d 127.0.0.1 --dport 5434 -g lydite-fault-7",
                "-A lydite-fault-7-out -p tcp --sport 40000 -s 127.0.0.1 -d 127.0.0.1 --dport 5434 -g lydite-fault-7",
                "-A lydite-fault-7-lo -p tcp --dport 40000 -d 127.0.0.1 -s 127.0.0.1 --sport 5434 -g lydite-fault-7",
                "-A lydite-fault-7-in -p tcp --dport 40000 -d 127.0.0.1 -s 127.0.0.1 --sport 5434 -g lydite-fault-7",
            ]
        );
    }

    #[test]
    fn a_port_on_all_addresses_of_ipv6_is_one_of_ipv4_too() {
        let all = rules(&[("[::]:5433", None)], false);
        assert_eq!(all.families().collect::<Vec<_>>(), Family::ALL);
        for family in Family::ALL {
            let last = all.chains(family).pop().unwrap();
            assert_eq!(last, "-A lydite-fault-7-out -p tcp --sport 5433 -g lydite-fault-7");
        }
        let one = rules(&[("[::1]:5433", None)], false);
        assert_eq!(one.families().collect::<Vec<_>>(), [Family::V6]);
    }

    #[test]
    fn only_chains_and_jumps_of_the_fault_are_found_in_a_table_with_their_counts() {
        let listed = "-P INPUT ACCEPT -c 9 9\n-N lydite-fault-7\n-N lydite-fault-7-out\n-N lydite-fault-70\n\
            -A INPUT -i lo -c 9 9 -j lydite-fault-7-out\n-A INPUT -c 9 9 -j lydite-fault-70\n\
            -A OUTPUT ! -o lo -c 0 0 -j lydite-fault-7-out\n\
            -A lydite-fault-7 -m statistic --mode random --probability 0.04999999981 -c 3 300 -j DROP\n\
            -A lydite-fault-7-out -s 127.0.0.1/32 -p tcp -m tcp --sport 5433 -c 5 500 -g lydite-fault-7\n\
            -A lydite-fault-7-out -p tcp -m tcp --sport 5434 -c 2 200 -g lydite-fault-7\n\
            -A lydite-fault-70 -c 9 9 -j DROP\n";
        let rules = rules(&[("127.0.0.1:5433", None)], true);
        let found = Found::of(listed, &rules.names());
        assert_eq!(found.chains, ["lydite-fault-7", "lydite-fault-7-out"]);
        assert_eq!(
            found.jumps,
            ["-D INPUT -i lo -j lydite-fault-7-out", "-D OUTPUT ! -o lo -j lydite-fault-7-out"]
        );
        assert_eq!(found.counts, Counts { matched: 7, taken: 3, bytes: 300 });
        assert_eq!(Found::of("-P INPUT ACCEPT\n", &rules.names()), Found::default());
    }
}
