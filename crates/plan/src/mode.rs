//! The mode of a run: the senders of transactions and their timing.

use crate::destination::{Destination, apart};
use crate::entries::Entries;
use crate::error::PlanError;
use crate::key::Key;
use crate::problem::Problem;
use crate::values::{MAX_RATE, MAX_SESSIONS, number, time, whole};
use lydite_bench::{Arrival, MicroMode, Mode};
use lydite_families::TargetSpec;
use lydite_report::figures::plural;
use std::path::PathBuf;
use std::time::Duration;

/// Keys of a plan that set the mode.
pub(crate) const KEYS: &[Key] = &[
    Key::new("terminals")
        .flag(
            "N",
            "Sessions (direct, open) or emulated users (rte) [default: direct 1 per warehouse up to 8, \
             open 8, rte 10 per warehouse]",
        )
        .short('t'),
    Key::new("sessions").flag(
        "N",
        "Sessions of the pool behind the emulated users (rte), or the same as --terminals (open) \
             [default: rte 16, open 8]",
    ),
    Key::new("mode")
        .flag(
            "MODE",
            "direct: no waiting; rte: emulated users with keying and think times; open: a given rate \
             [default: direct]",
        )
        .short('m'),
    Key::new("rate").flag("R", "Transactions per second (open)"),
    Key::new("arrival").flag("KIND", "poisson or constant arrivals (open) [default: poisson]"),
    Key::new("was").flag(
        "HOST:PORT",
        "Give each emulated user a line to the WAS that listens there (rte): see `lydite was`",
    ),
    Key::new("display_delay").flag(
        "TIME",
        "Time that a real terminal would take to display an answer (rte): users wait it too, and the \
             rules judge response times with it; the standard's is 100ms [default: 0s]",
    ),
    Key::new("rte.wait_factor"),
    Key::new("rte.delivery_log"),
];

/// Keys that only emulated users have.
const RTE_KEYS: &[&str] = &["was", "display_delay", "rte.wait_factor", "rte.delivery_log"];

/// The longest display delay.
const MAX_DISPLAY_DELAY: Duration = Duration::from_secs(10);

/// The greatest factor on waiting times.
const MAX_WAIT_FACTOR: f64 = 1_000.0;
/// The default number of sessions.
const DEFAULT_SESSIONS: u32 = 8;
/// The default number of sessions with `--mode rte`.
const DEFAULT_POOL: u32 = 16;

/// Numbers of the servers that sessions are spread over.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Servers {
    /// Endpoints, at least 1.
    endpoints: u32,
    /// Replicas that sessions read on.
    replicas: u32,
}

impl Servers {
    fn read(entries: &Entries, target: Option<&TargetSpec>) -> Self {
        let replicas = entries.text("replicas").map_or(0, |list| list.matches("://").count());
        let endpoints = target.map_or(1, TargetSpec::endpoints).max(1);
        Self { endpoints: endpoints as u32, replicas: replicas as u32 }
    }

    /// Returns the least number of sessions from `usual` on that leaves no server without one, and gives each endpoint
    /// as many as any other.
    fn fill(self, usual: u32) -> u32 {
        let least = usual.max(self.replicas);
        least.checked_next_multiple_of(self.endpoints).unwrap_or(least)
    }
}

/// The mode in the plan. [`ModeAsked::on`] settles the numbers that depend on the database.
#[derive(Debug)]
pub(crate) enum ModeAsked {
    /// Each terminal sends without waiting. Without a number of terminals, every one of `servers` gets one at least.
    Direct { terminals: Option<u32>, servers: Servers },
    /// Emulated users with keying and think times.
    Rte {
        terminals: Option<u32>,
        sessions: u32,
        wait_factor: f64,
        display_delay: Duration,
        was: Option<String>,
        delivery_log: Option<PathBuf>,
    },
    /// Requests come at a rate.
    Open { rate: f64, arrival: Arrival, sessions: u32 },
}

impl ModeAsked {
    /// Reads the mode; none if it has an error. `warehouses` is the number in the plan.
    pub(crate) fn read(
        entries: &mut Entries,
        warehouses: Option<u32>,
        target: Option<&TargetSpec>,
    ) -> Option<Self> {
        let name = match entries.read("mode", |text| match text {
            "direct" | "rte" | "open" => Ok(text.to_string()),
            _ => Err(Problem::from("is not known: use direct, rte or open")),
        }) {
            Some(name) => name,
            None if entries.text("mode").is_none() => "direct".into(),
            // Which keys belong to the mode is unknown then, but each can still be wrong in itself.
            None => String::new(),
        };
        let keys = Keys::read(entries, &name, target);
        match name.as_str() {
            "direct" => Some(keys.direct(entries)),
            "rte" => Some(keys.rte(entries, warehouses)),
            "open" => keys.open(entries),
            _ => None,
        }
    }

    /// Returns true if users are emulated.
    pub(crate) fn is_rte(&self) -> bool {
        matches!(self, Self::Rte { .. })
    }

    /// Returns true if requests come at a rate.
    pub(crate) fn is_open(&self) -> bool {
        matches!(self, Self::Open { .. })
    }

    /// Returns the address of the WAS that terminals have lines to, if they have.
    pub(crate) fn was(&self) -> Option<&str> {
        match self {
            Self::Rte { was, .. } => was.as_deref(),
            Self::Direct { .. } | Self::Open { .. } => None,
        }
    }

    /// Returns the number of sessions, or 1 if it depends on the warehouses. `micro` is true for the microbenchmark.
    pub(crate) fn sessions(&self, micro: bool) -> u32 {
        match self {
            Self::Direct { terminals: None, servers } if micro => servers.fill(DEFAULT_SESSIONS),
            Self::Direct { terminals, servers } => terminals.unwrap_or(servers.fill(1)),
            Self::Rte { sessions, .. } | Self::Open { sessions, .. } => *sessions,
        }
    }

    /// Returns the mode on a database with this number of active warehouses.
    ///
    /// # Errors
    /// The plan has more than ten emulated users for each warehouse.
    pub(crate) fn on(&self, warehouses: u32) -> Result<Mode, PlanError> {
        Ok(match self {
            Self::Direct { terminals, servers } => {
                // More sessions would compete for the rows of the same warehouses.
                let usual = || servers.fill(DEFAULT_SESSIONS.min(warehouses));
                Mode::Direct { terminals: terminals.unwrap_or_else(usual) }
            }
            Self::Rte { terminals, sessions, wait_factor, display_delay, was, delivery_log } => {
                if let Some(problem) =
                    terminals.and_then(|terminals| too_many_terminals(terminals, warehouses))
                {
                    return Err(PlanError::usage(format!("terminals: {problem}")));
                }
                Mode::Rte {
                    terminals: terminals.unwrap_or(warehouses.saturating_mul(10)),
                    sessions: *sessions,
                    wait_factor: *wait_factor,
                    display_delay: *display_delay,
                    lines: was.is_some(),
                    delivery_log: delivery_log.clone(),
                }
            }
            Self::Open { rate, arrival, sessions } => {
                Mode::Open { rate: *rate, arrival: *arrival, sessions: *sessions }
            }
        })
    }

    /// Returns the mode of the microbenchmark.
    ///
    /// # Errors
    /// The mode is `rte`.
    pub(crate) fn of_micro(&self) -> Result<MicroMode, PlanError> {
        match self {
            Self::Direct { terminals, servers } => {
                let terminals = terminals.unwrap_or_else(|| servers.fill(DEFAULT_SESSIONS));
                Ok(MicroMode::Direct { terminals })
            }
            Self::Open { rate, arrival, sessions } => {
                Ok(MicroMode::Open { rate: *rate, arrival: *arrival, sessions: *sessions })
            }
            Self::Rte { .. } => Err(PlanError::usage("--mode rte is for --workload tpcc only")),
        }
    }
}

/// The values of all keys, before those of other modes are rejected.
struct Keys {
    terminals: Option<u32>,
    sessions: Option<u32>,
    rate: Option<f64>,
    arrival: Option<Arrival>,
    wait_factor: Option<f64>,
    display_delay: Option<Duration>,
    was: Option<String>,
    delivery_log: Option<PathBuf>,
    servers: Servers,
}

impl Keys {
    fn read(entries: &mut Entries, mode: &str, target: Option<&TargetSpec>) -> Self {
        let most = if mode == "rte" { u32::MAX } else { MAX_SESSIONS };
        Self {
            terminals: entries.read("terminals", |text| whole(text, 1, most)),
            sessions: entries.read("sessions", |text| whole(text, 1, MAX_SESSIONS)),
            rate: entries.read("rate", rate),
            arrival: entries.read("arrival", arrival),
            wait_factor: entries.read("rte.wait_factor", wait_factor),
            display_delay: entries.read("display_delay", display_delay),
            was: entries.read("was", was),
            delivery_log: delivery_log(entries, target),
            servers: Servers::read(entries, target),
        }
    }

    fn direct(self, entries: &mut Entries) -> ModeAsked {
        only(entries, &["rate", "arrival"], "open", "");
        only(entries, RTE_KEYS, "rte", "");
        only(entries, &["sessions"], "rte or open", ": in direct mode --terminals are sessions");
        ModeAsked::Direct { terminals: self.terminals, servers: self.servers }
    }

    fn rte(self, entries: &mut Entries, warehouses: Option<u32>) -> ModeAsked {
        only(entries, &["rate", "arrival"], "open", "");
        if let (Some(terminals), Some(warehouses)) = (self.terminals, warehouses)
            && let Some(problem) = too_many_terminals(terminals, warehouses)
        {
            entries.wrong("terminals", &problem);
        }
        if self.was.is_some() && entries.text("replicas").is_some() {
            entries.wrong(
                "was",
                "sends all transactions to the WAS, which has no replicas: leave --replicas out",
            );
        }
        ModeAsked::Rte {
            terminals: self.terminals,
            sessions: self.sessions.unwrap_or_else(|| self.servers.fill(DEFAULT_POOL)),
            wait_factor: self.wait_factor.unwrap_or(1.0),
            display_delay: self.display_delay.unwrap_or_default(),
            was: self.was,
            delivery_log: self.delivery_log,
        }
    }

    fn open(self, entries: &mut Entries) -> Option<ModeAsked> {
        only(entries, RTE_KEYS, "rte", "");
        if self.terminals.is_some() && self.sessions.is_some() {
            entries.wrong("sessions", "means the same as --terminals in open mode: give one");
        }
        if entries.text("rate").is_none() {
            entries.errors.push("--mode open needs --rate, in transactions per second".into());
        }
        Some(ModeAsked::Open {
            rate: self.rate?,
            arrival: self.arrival.unwrap_or(Arrival::Poisson),
            sessions: self.sessions.or(self.terminals).unwrap_or_else(|| self.servers.fill(DEFAULT_SESSIONS)),
        })
    }
}

/// Rejects keys of another mode.
fn only(entries: &mut Entries, keys: &[&str], mode: &str, hint: &str) {
    for key in keys {
        if entries.text(key).is_some() {
            entries.wrong(key, &format!("is for --mode {mode} only{hint}"));
        }
    }
}

fn rate(text: &str) -> Result<f64, Problem> {
    let rate: f64 =
        number(text, "must be a number of transactions per second, as 100, or a curve, as ramp(100,200)")?;
    if rate > 0.0 && rate <= MAX_RATE {
        Ok(rate)
    } else {
        Err(format!("must be more than 0 and at most {MAX_RATE}").into())
    }
}

fn arrival(text: &str) -> Result<Arrival, Problem> {
    match text {
        "poisson" => Ok(Arrival::Poisson),
        "constant" => Ok(Arrival::Constant),
        _ => Err("is not known: use poisson or constant".into()),
    }
}

fn wait_factor(text: &str) -> Result<f64, Problem> {
    let factor: f64 = number(text, "must be a number, 1 for the standard's waits")?;
    if (0.0..=MAX_WAIT_FACTOR).contains(&factor) {
        Ok(factor)
    } else {
        Err(format!("must be from 0 to {MAX_WAIT_FACTOR}").into())
    }
}

fn display_delay(text: &str) -> Result<Duration, Problem> {
    let most = MAX_DISPLAY_DELAY.as_secs();
    time(text)
        .ok()
        .filter(|delay| *delay <= MAX_DISPLAY_DELAY)
        .ok_or_else(|| format!("must be a time such as 100ms, at most {most}s").into())
}

/// Reads the address of a WAS. A name is looked up when the run begins.
fn was(text: &str) -> Result<String, Problem> {
    let port =
        text.rsplit_once(':').filter(|(host, _)| !host.is_empty()).map(|(_, port)| port.parse::<u16>());
    match port {
        Some(Ok(1..)) => Ok(text.to_owned()),
        _ => Err("must be HOST:PORT, where 'lydite was URL --listen ADDRESS:PORT' listens".into()),
    }
}

/// Reads the path of the log of deferred deliveries, which is written during the run.
fn delivery_log(entries: &mut Entries, target: Option<&TargetSpec>) -> Option<PathBuf> {
    let path = entries.text("rte.delivery_log")?;
    let place = Destination::new(&path);
    let config = entries.config.as_deref();
    if let Err(problem) = place.check_log().and_then(|()| apart(&place, target, config)) {
        entries.wrong("rte.delivery_log", &format!("{} {problem}", place.shown()));
    }
    Some(path.into())
}

/// Returns the error of more than ten terminals for each warehouse (clause 4.2.1).
fn too_many_terminals(terminals: u32, warehouses: u32) -> Option<String> {
    let most = warehouses.saturating_mul(10);
    (terminals > most).then(|| {
        format!(
            "{terminals} emulated users are more than ten for each of {} (clause 4.2.1): ask for at most {most}, or \
             load more warehouses",
            plural(warehouses.into(), "warehouse")
        )
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may panic")]

    use super::*;
    use lydite_database::TxMode;

    /// The sessions of a plan on a database with two warehouses.
    fn sessions(target: &str, values: &[(&str, &str)]) -> u32 {
        let mut entries = Entries::default();
        values.iter().for_each(|(key, value)| entries.put(key, (*value).to_owned()));
        let target = TargetSpec::parse(target, TxMode::Statements).unwrap();
        let mode = ModeAsked::read(&mut entries, None, Some(&target));
        assert_eq!(entries.errors, [""; 0]);
        match mode.unwrap().on(2).unwrap() {
            Mode::Direct { terminals: sessions }
            | Mode::Rte { sessions, .. }
            | Mode::Open { sessions, .. } => sessions,
        }
    }

    #[test]
    fn defaults_leave_no_server_without_a_session_and_given_numbers_stay() {
        let (one, three) = ("mariadb://a/t", "mariadb://a,b,c/t");
        let (rte, open) = (("mode", "rte"), [("mode", "open"), ("rate", "1")]);
        assert_eq!([one, three].map(|target| sessions(target, &[])), [2, 3]);
        assert_eq!([one, three].map(|target| sessions(target, &[rte])), [16, 18]);
        assert_eq!([one, three].map(|target| sessions(target, &open)), [8, 9]);
        assert_eq!(sessions(three, &[("terminals", "2")]), 2);
        assert_eq!(sessions(three, &[rte, ("sessions", "1")]), 1);
        let replicas = [("replicas", "mariadb://r/t,mariadb://s,t/t,mariadb://u/t,mariadb://v/t")];
        assert_eq!([one, three].map(|target| sessions(target, &replicas)), [4, 6]);
    }
}
