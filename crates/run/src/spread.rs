//! The spread of the sessions of a run over servers, and warnings about those that get none: endpoints, replicas, and
//! servers of a fault that no session needs.

use lydite_bench::{Mode, RunPlan};
use lydite_database::{Endpoints, Placement, Target};
use lydite_faults::process::Processes;
use lydite_faults::sockets::{Address, Listeners, addresses, listeners};
use lydite_faults::{Fault, Site};
use lydite_plan::Plan;
use lydite_plan::controls::faults::addresses_of;
use lydite_report::figures::plural;
use std::sync::Arc;

/// A run before it begins.
pub(crate) struct Spread<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) target: &'a dyn Target,
    /// Number of sessions.
    pub(crate) sessions: u32,
    /// Least number of sessions that play at one time, if some rest.
    pub(crate) least: u32,
    /// The flag that sets the number of sessions.
    pub(crate) flag: &'static str,
    /// URLs of the replicas.
    pub(crate) replicas: Vec<&'a str>,
    /// The placement that the database reports.
    pub(crate) placement: Option<&'a Placement>,
    /// The first of the active warehouses, and their number.
    pub(crate) active: (u32, u32),
}

/// Returns the flag that sets the number of sessions in a mode.
pub(crate) fn flag_of(mode: &Mode) -> &'static str {
    match mode {
        Mode::Direct { .. } => "--terminals",
        Mode::Rte { .. } | Mode::Open { .. } => "--sessions",
    }
}

/// Returns the least number of sessions that play at one time.
pub(crate) fn least_sessions(plan: &RunPlan) -> u32 {
    let playing = plan.steps.iter().filter_map(|step| step.sessions);
    playing.min().unwrap_or(u32::MAX).min(plan.sessions())
}

/// Returns the default number of sessions of a command whose target has so many endpoints: `usual`, or as many more as give
/// each endpoint the same number.
pub fn usual_sessions(usual: u32, endpoints: usize) -> u32 {
    usual.checked_next_multiple_of(endpoints as u32).unwrap_or(usual)
}

/// Returns the warning about endpoints that have no session, because a command has too few; none for a single endpoint.
/// `more` is the flag that gives more.
pub fn few_sessions(endpoints: &Endpoints, sessions: u32, more: &str) -> Option<String> {
    let names = endpoints.names();
    let idle = names.get(sessions as usize..).filter(|idle| !idle.is_empty())?;
    Some(format!(
        "{} for {} endpoints: {} {} none: use {more} {} or more",
        plural(sessions.into(), "session"),
        names.len(),
        idle.join(", "),
        if idle.len() == 1 { "gets" } else { "get" },
        names.len()
    ))
}

impl Spread<'_> {
    /// Returns the warnings about servers without sessions, and about faults on them.
    pub(crate) fn warnings(&self, faults: &[Fault]) -> Vec<String> {
        let mut warnings = Vec::new();
        let flag = self.flag;
        if let Some(endpoints) = self.endpoints() {
            warnings.extend(few_sessions(endpoints, self.sessions, flag));
            let count = endpoints.names().len();
            if self.least < self.sessions.min(count as u32) {
                warnings.push(format!(
                    "In a part of the run only {} of {count} endpoints have a session that plays: let at least {count} \
                     sessions play in every phase",
                    self.least
                ));
            }
        }
        if let Some(idle) = self.replicas.get(self.sessions as usize..).filter(|idle| !idle.is_empty()) {
            warnings.push(format!(
                "{} for {} replicas: nobody reads on {}: use {flag} {} or more",
                plural(self.sessions.into(), "session"),
                self.replicas.len(),
                idle.join(", "),
                self.replicas.len()
            ));
        }
        warnings.extend(faults.iter().filter_map(|fault| self.without_effect(fault)));
        warnings
    }

    /// Returns the endpoints, if there are several.
    fn endpoints(&self) -> Option<&Arc<Endpoints>> {
        self.target.capabilities().endpoints.filter(|endpoints| endpoints.names().len() > 1)
    }

    /// Returns the warning about a fault whose servers are all without sessions and active warehouses.
    fn without_effect(&self, fault: &Fault) -> Option<String> {
        let hit = servers_of(fault, &self.plan.controls.faults.addresses);
        let idle: Vec<&str> = hit.iter().map(|address| self.why_idle(address)).collect::<Option<_>>()?;
        let why = idle.first()?;
        let places: Vec<String> = hit.iter().map(|Address { host, port }| format!("{host}:{port}")).collect();
        Some(format!(
            "fault {}: {} {why}: the run can only show its effect on the other servers",
            fault.spec,
            places.join(", ")
        ))
    }

    /// Returns the reason why the run does not need a server; none if it does, or if nobody knows.
    fn why_idle(&self, server: &Address) -> Option<&'static str> {
        let (first, count) = self.active;
        let active = first as usize - 1..(first - 1 + count) as usize;
        if let Some(endpoints) = self.endpoints() {
            let at = endpoints.names().iter().position(|name| is_at(name, server));
            if let Some(at) = at {
                let busy = at < self.sessions as usize || endpoints.leads(at, active);
                return (!busy).then_some("has no session");
            }
        }
        if let Some(at) = self.replicas.iter().position(|url| is_at(url, server)) {
            return (at >= self.sessions as usize).then_some("has no session that reads there");
        }
        let placement = self.placement?;
        let mut of_server = (0..).zip(&placement.nodes).filter(|(_, node)| is_at(node, server));
        let (node, _) = of_server.next()?;
        let busy = placement.node_of.get(active)?.contains(&node);
        (!busy).then_some("has no active warehouse")
    }
}

/// True if a text (a host and a port, a URL, or a node such as `s1 (host=h port=1)`) names a server. Two names of this
/// machine are one host.
fn is_at(text: &str, server: &Address) -> bool {
    let is_host =
        |host: &Address| host.host.eq_ignore_ascii_case(&server.host) || host.is_here() && server.is_here();
    named_in(text).iter().any(|address| address.port == server.port && is_host(address))
}

/// Returns the addresses that a text names.
fn named_in(text: &str) -> Vec<Address> {
    if text.contains("://") {
        return addresses_of(text);
    }
    let of = |name: &str| {
        let word = |word: &str| {
            word.trim_end_matches(')').trim_start_matches('(').strip_prefix(name).map(str::to_owned)
        };
        text.split_whitespace().find_map(word)
    };
    match (of("host="), of("port=")) {
        (Some(host), Some(port)) => {
            port.parse().ok().map(|port| Address { host, port }).into_iter().collect()
        }
        // A word of a node's name may have a port, too: `n1 (db:26257)`.
        _ => text
            .split(|letter: char| letter.is_whitespace() || "(),".contains(letter))
            .filter(|word| word.contains(':'))
            .flat_map(|word| addresses(&format!("server://{word}/"), Some(0)))
            .collect(),
    }
}

/// Returns the addresses of the database whose servers a fault hits, as far as this machine knows.
fn servers_of<'a>(fault: &Fault, addresses: &'a [Address]) -> Vec<&'a Address> {
    let here = || addresses.iter().filter(|address| address.is_here());
    if fault.spec.host.is_some() {
        // The processes are on another machine.
        return Vec::new();
    }
    let now = Processes::now();
    let mut hit = Vec::new();
    for site in &fault.sites {
        match site {
            Site::Machine => return Vec::new(),
            Site::Server(server) => hit.extend(here().filter(|address| address.port == server.port)),
            Site::Process(process) => {
                hit.extend(here().filter(|address| match listeners(address.port, &now) {
                    Listeners::Seen(seen) => {
                        seen.iter().any(|one| now.is_within(*one, *process) || now.is_within(*process, *one))
                    }
                    Listeners::Nobody | Listeners::Hidden => false,
                }))
            }
        }
    }
    hit
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn endpoints(count: usize) -> Arc<Endpoints> {
        let names = (1..=count).map(|number| format!("h{number}:1")).collect();
        Endpoints::new(names, None::<Duration>, Box::new(|_| true))
    }

    #[test]
    fn too_few_sessions_name_the_endpoints_without_one_and_the_flag() {
        let few = |sessions, count| few_sessions(&endpoints(count), sessions, "--sessions");
        let expected = "2 sessions for 3 endpoints: h3:1 gets none: use --sessions 3 or more";
        assert_eq!(few(2, 3).as_deref(), Some(expected));
        let expected = "1 session for 3 endpoints: h2:1, h3:1 get none: use --sessions 3 or more";
        assert_eq!(few(1, 3).as_deref(), Some(expected));
        assert_eq!([few(3, 3), few(4, 3), few(1, 1)], [None, None, None]);
        assert_eq!([1, 2, 3].map(|count| usual_sessions(8, count)), [8, 8, 9]);
    }

    #[test]
    fn servers_are_found_by_their_ports_in_urls_nodes_and_endpoints() {
        let server = Address { host: "db1".into(), port: 5541 };
        for text in
            ["db1:5541", "DB1:5541", "postgres://u@db1:5541/d", "s1 (host=db1 port=5541)", "n1 (db1:5541)"]
        {
            assert!(is_at(text, &server), "{text}");
        }
        for text in [
            "db1:5542",
            "db2:5541",
            "db1:15541",
            "db11:5541",
            "postgres://db1@other:5541/d",
            "postgres://u@other:5541/db1",
            "s1 (host=olddb1 port=5541)",
            "db1:1 (host=other port=5541)",
        ] {
            assert!(!is_at(text, &server), "{text}");
        }
        let here = Address { host: "localhost".into(), port: 1 };
        assert!(is_at("127.0.0.1:1", &here) && is_at("[::1]:1", &here) && !is_at("192.0.2.1:1", &here));
    }
}
