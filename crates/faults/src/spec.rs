//! The specification of a fault as data, and its text: `KIND[:ARGS]@FROM[..TO]/WHERE`.

use crate::kinds::{self, Acts};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::num::NonZeroU32;
use std::time::Duration;

/// A fault of a plan. Times count from the start of the window.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FaultSpec {
    /// Name of the kind.
    pub kind: String,
    /// Arguments of the kind, as the user wrote them.
    pub arguments: Option<String>,
    /// Begin.
    pub from: Duration,
    /// End, if it is set.
    pub to: Option<Duration>,
    /// Host of the places, as `USER@HOST` or a name that ssh knows; this machine if none.
    pub host: Option<String>,
    /// Places, at least one.
    pub places: Vec<Where>,
    /// The user's own commands, for the kind `command`.
    pub commands: Option<Commands>,
}

/// A place of a fault, on its host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Where {
    /// The machine itself.
    Local,
    /// The servers of a lab, or one of them.
    Lab {
        /// Name of the lab.
        name: String,
        /// Number of the server, from 0; all if none.
        node: Option<u32>,
    },
    /// Servers of the lab that the URL of the database names: so many of the last ones, or all if none.
    Nodes(Option<NonZeroU32>),
    /// A process.
    Process(u32),
    /// The main process of a systemd unit.
    Service(String),
}

/// The user's own commands, for the kind `command`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Commands {
    /// Shell command that begins the fault.
    pub begin: String,
    /// Shell command that ends it.
    pub end: Option<String>,
    /// Longest time of each.
    pub limit: Duration,
}

/// The parts of a fault's text that depend on the reader: times, and words about an unknown kind.
pub struct Reader<'a> {
    /// Reads a time; its error continues "has a time TEXT that".
    pub time: &'a dyn Fn(&str) -> Result<Duration, String>,
    /// Returns the problem of an unknown kind among the known ones.
    pub unknown_kind: &'a dyn Fn(&str, &[&str]) -> String,
    /// Places of faults that name none, separated by commas.
    pub places: Option<&'a str>,
}

impl fmt::Display for Where {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Local => f.write_str("local"),
            Self::Lab { name, node: None } => write!(f, "lab:{name}"),
            Self::Lab { name, node: Some(node) } => write!(f, "lab:{name}/{node}"),
            Self::Nodes(None) => f.write_str("nodes=all"),
            Self::Nodes(Some(count)) => write!(f, "nodes={count}"),
            Self::Process(pid) => write!(f, "pid:{pid}"),
            Self::Service(name) => write!(f, "service:{name}"),
        }
    }
}

/// Start of a place on another host.
const SSH: &str = "ssh://";

impl Where {
    /// Reads a place with its host: `local`, `lab:NAME[/NODE]`, `nodes=N`, `nodes=all`, `pid:N`, `service:NAME`, or on
    /// another host `ssh://HOST`, `ssh://HOST/pid:N` and `ssh://HOST/service:NAME`.
    ///
    /// # Errors
    /// The text is no place. The error continues "has a place TEXT that".
    pub fn parse(text: &str) -> Result<(Option<String>, Self), String> {
        let Some(rest) = text.strip_prefix(SSH) else { return Ok((None, Self::parse_there(text)?)) };
        let (host, place) = rest.split_once('/').map_or((rest, None), |(host, place)| (host, Some(place)));
        // A name that begins with a hyphen would be an option of ssh.
        if host.is_empty() || host.starts_with('-') || host.contains(char::is_whitespace) {
            return Err("needs a host, as ssh://root@db1".into());
        }
        // Every user of this machine would see it in the list of processes.
        if host.rsplit_once('@').is_some_and(|(login, _)| login.contains(':')) {
            return Err("has a password, which ssh does not take: use ssh://USER@HOST and a key".into());
        }
        let place = match place.filter(|place| !place.is_empty()) {
            None => Self::Local,
            Some(place) => match Self::parse_there(place)? {
                place @ (Self::Process(_) | Self::Service(_)) => place,
                _ => return Err("can only be a process there: use pid:N or service:NAME".into()),
            },
        };
        Ok((Some(host.to_owned()), place))
    }

    /// Reads a place on its host.
    fn parse_there(text: &str) -> Result<Self, String> {
        if text == "local" {
            return Ok(Self::Local);
        }
        if let Some(name) = text.strip_prefix("service:") {
            // Other characters would have a meaning for the shell of another host.
            let plain = |letter: char| letter.is_ascii_alphanumeric() || "@._:-".contains(letter);
            return if name.is_empty() || name.starts_with('-') || !name.chars().all(plain) {
                Err("needs the name of a systemd unit, as service:postgresql".into())
            } else {
                Ok(Self::Service(name.to_owned()))
            };
        }
        if let Some(pid) = text.strip_prefix("pid:") {
            let pid = pid.parse().ok().filter(|pid| *pid > 0);
            return pid.map(Self::Process).ok_or_else(|| "needs the number of a process, as pid:4711".into());
        }
        if let Some(count) = text.strip_prefix("nodes=") {
            return match (count, count.parse()) {
                ("all", _) => Ok(Self::Nodes(None)),
                (_, Ok(count)) => Ok(Self::Nodes(Some(count))),
                _ => Err("needs a number of nodes, as nodes=1 or nodes=all".into()),
            };
        }
        let Some(lab) = text.strip_prefix("lab:") else {
            return Err("is not known: use local, lab:NAME[/NODE], nodes=N, nodes=all, pid:N, service:NAME or ssh://HOST".into());
        };
        let (name, node) = lab.split_once('/').map_or((lab, None), |(name, node)| (name, Some(node)));
        let node =
            node.map(|node| node.parse().map_err(|_| "needs a node's number from 0, as lab:pg-sharded/1"));
        if name.is_empty() {
            return Err("needs the name of a lab, as lab:pg (see lydite lab list)".into());
        }
        Ok(Self::Lab { name: name.to_owned(), node: node.transpose()? })
    }

    /// Reads places of one host with commas between them.
    ///
    /// # Errors
    /// The first text that is no place, or several hosts.
    pub fn list(text: &str) -> Result<(Option<String>, Vec<Self>), String> {
        let place = |text: &str| {
            let text = text.trim();
            Self::parse(text).map_err(|problem| format!("has a place {text:?} that {problem}"))
        };
        let (hosts, places): (Vec<_>, Vec<_>) =
            text.split(',').map(place).collect::<Result<Vec<_>, _>>()?.into_iter().unzip();
        if hosts.windows(2).any(|pair| pair[0] != pair[1]) {
            return Err("has places on several hosts: write a fault for each host".into());
        }
        Ok((hosts.into_iter().next().flatten(), places))
    }

    /// Returns true if the two may name a common place.
    #[must_use]
    pub fn meets(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Lab { name, node }, Self::Lab { name: name_2, node: node_2 }) => {
                name == name_2 && (node == node_2 || node.is_none() || node_2.is_none())
            }
            // The nodes of the database are servers of a lab; the text alone does not say of which one.
            (Self::Nodes(_), Self::Nodes(_) | Self::Lab { .. }) | (Self::Lab { .. }, Self::Nodes(_)) => true,
            _ => self == other,
        }
    }
}

impl fmt::Display for FaultSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.kind)?;
        if let Some(arguments) = &self.arguments {
            write!(f, ":{arguments}")?;
        }
        write!(f, "@{}s", self.from.as_secs_f64())?;
        if let Some(to) = self.to {
            write!(f, "..{}s", to.as_secs_f64())?;
        }
        write!(f, "/{}", self.place())
    }
}

impl FaultSpec {
    /// Reads `KIND[:ARGS]@FROM[..TO]/WHERE`. Without `/WHERE` a kind that acts on the machine is `local`.
    ///
    /// # Errors
    /// The first problem of the text; it continues "TEXT".
    pub fn parse(text: &str, reader: &Reader<'_>) -> Result<Self, String> {
        let (head, rest) = text
            .split_once('@')
            .ok_or("has no time: write KIND[:ARGS]@FROM[..TO]/WHERE, as stop@8s..11s/lab:pg")?;
        let (times, place) = rest.split_once('/').map_or((rest, None), |(times, place)| (times, Some(place)));
        let (from, to) = times.split_once("..").map_or((times, None), |(from, to)| (from, Some(to)));
        let (kind, arguments) = head.split_once(':').map_or((head, None), |(kind, rest)| (kind, Some(rest)));
        Self::of_parts(
            &Parts { kind: kind.trim(), arguments, from, to, places: place, commands: None },
            reader,
        )
    }

    /// Makes a fault of its parts, as tables of a plan file have them.
    ///
    /// # Errors
    /// The first problem; it continues the fault's name.
    pub fn of_parts(parts: &Parts<'_>, reader: &Reader<'_>) -> Result<Self, String> {
        if let Some((kind, arguments)) = parts.kind.split_once(':') {
            return Err(format!("has arguments in its kind: write kind = {kind:?} and args = {arguments:?}"));
        }
        let Some(kind) = kinds::named(parts.kind) else {
            return Err(format!(
                "has a kind {:?} that {}",
                parts.kind,
                (reader.unknown_kind)(parts.kind, &kinds::names())
            ));
        };
        let time = |text: &str| {
            (reader.time)(text.trim()).map_err(|problem| format!("has a time {text:?} that {problem}"))
        };
        let from = time(parts.from)?;
        let to = parts.to.map(time).transpose()?;
        match to {
            Some(to) if to < from => return Err("ends before it begins: write FROM..TO".into()),
            Some(to) if to == from => return Err("has no length: let it end later than it begins".into()),
            _ => {}
        }
        let (host, places) = match parts.places.or(reader.places.filter(|_| kind.acts() != Acts::Locally)) {
            Some(places) => Where::list(places)?,
            None if kind.acts() == Acts::Locally => (None, vec![Where::Local]),
            None => return Err("has no place: add /WHERE, as /lab:pg, /nodes=1 or /pid:4711".into()),
        };
        let fault = Self {
            kind: kind.name().to_owned(),
            arguments: parts.arguments.map(|text| text.trim().to_owned()),
            from,
            to,
            host,
            places,
            commands: parts.commands.clone(),
        };
        fault.check_places(kind.acts())?;
        kind.read(&fault)?;
        Ok(fault)
    }

    /// Rejects places where the kind can't act.
    fn check_places(&self, acts: Acts) -> Result<(), String> {
        let fits = |place: &Where| match acts {
            Acts::Locally => *place == Where::Local,
            Acts::OnProcesses => *place != Where::Local,
            Acts::OnLabs => matches!(place, Where::Lab { .. } | Where::Nodes(_)),
        };
        let use_it = match acts {
            Acts::Locally => "local or ssh://HOST",
            Acts::OnProcesses => "lab:NAME[/NODE], nodes=N, pid:N or service:NAME",
            Acts::OnLabs => "lab:NAME[/NODE] or nodes=N",
        };
        let there = self.host.as_ref().filter(|_| acts == Acts::OnProcesses);
        let use_it = there.map_or_else(
            || use_it.to_owned(),
            |host| format!("{SSH}{host}/pid:N or {SSH}{host}/service:NAME"),
        );
        if let Some(wrong) = self.places.iter().find(|place| !fits(place)) {
            return Err(format!("can't be on {}: use {use_it}", self.written(wrong)));
        }
        let twice =
            |(number, place): (usize, &Where)| self.places[..number].iter().any(|other| other.meets(place));
        match self.places.iter().enumerate().find(|each| twice(*each)) {
            Some((_, place)) => Err(format!("names {place} twice: name it once")),
            None => Ok(()),
        }
    }

    /// Returns the places as the user wrote them.
    #[must_use]
    pub fn place(&self) -> String {
        self.places.iter().map(|place| self.written(place)).collect::<Vec<_>>().join(",")
    }

    /// Returns one of the places with the host.
    fn written(&self, place: &Where) -> String {
        match (&self.host, place) {
            (None, place) => place.to_string(),
            (Some(host), Where::Local) => format!("{SSH}{host}"),
            (Some(host), place) => format!("{SSH}{host}/{place}"),
        }
    }

    /// Returns the moment when the fault is undone in a window of this length; none if it stays.
    #[must_use]
    pub fn undone_at(&self, window: Duration) -> Option<Duration> {
        let stays = kinds::named(&self.kind).is_some_and(kinds::AnyKind::stays_without_end);
        self.to.or((!stays).then_some(window))
    }

    /// Returns true if both are of one kind, or both end servers, and act on one host at the same time, in a window of this
    /// length.
    #[must_use]
    pub fn coincides(&self, other: &Self, window: Duration) -> bool {
        let ends = |fault: &Self| fault.to.unwrap_or(window);
        // Only kinds that end servers stay without an end.
        let ends_servers =
            |fault: &Self| kinds::named(&fault.kind).is_some_and(|kind| kind.stays_without_end());
        (self.kind == other.kind || ends_servers(self) && ends_servers(other))
            && self.host == other.host
            && self.from < ends(other)
            && other.from < ends(self)
    }

    /// Returns true if both coincide and name a common place.
    #[must_use]
    pub fn overlaps(&self, other: &Self, window: Duration) -> bool {
        self.coincides(other, window)
            && self.places.iter().any(|place| other.places.iter().any(|there| place.meets(there)))
    }
}

/// The parts of a fault as texts.
pub struct Parts<'a> {
    /// Name of the kind.
    pub kind: &'a str,
    /// Arguments of the kind.
    pub arguments: Option<&'a str>,
    /// Begin.
    pub from: &'a str,
    /// End.
    pub to: Option<&'a str>,
    /// Places, separated by commas.
    pub places: Option<&'a str>,
    /// Commands of the kind `command`.
    pub commands: Option<Commands>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<FaultSpec, String> {
        let time = |text: &str| {
            let seconds = text.strip_suffix('s').and_then(|text| text.parse().ok());
            seconds.map(Duration::from_secs_f64).ok_or_else(|| "must be a time".to_owned())
        };
        let unknown_kind = |_: &str, known: &[&str]| format!("is not known: use {}", known.join(", "));
        FaultSpec::parse(text, &Reader { time: &time, unknown_kind: &unknown_kind, places: None })
    }

    #[test]
    fn faults_are_read_and_written_in_the_same_form() {
        for text in [
            "stop@8s..11s/lab:pg",
            "stop@8.5s/lab:pg-sharded/1,pid:7",
            "kill@8s/pid:123",
            "kill@8s..11s/lab:pg",
            "shutdown@1s..2s/lab:pg/0",
            "shutdown@1s..2s/nodes=1",
            "stop@1s..2s/nodes=all",
            "stop@1s..2s/service:postgresql",
            "cpu-burn:1@5s..10s/ssh://root@db1",
            "stop@1s..2s/ssh://db1/pid:7,ssh://db1/service:pg",
            "cpu-burn:1@5s..10s/local",
            "clock-jump:-30s@5s..10s/lab:pg",
            "net-delay:50ms,10ms@5s..10s/lab:pg/0",
            "net-loss:0.5@5s..10s/pid:7",
            "net-loss:5%@5s..10s/pid:7",
            "net-partition@5s..10s/lab:pg",
            "net-rate:1Mi@5s..10s/lab:pg",
        ] {
            assert_eq!(parse(text).unwrap().to_string(), text);
        }
        assert_eq!(parse("cpu-burn:1@5s..10s").unwrap().places, [Where::Local]);
    }

    #[test]
    fn wrong_faults_are_rejected_with_the_reason() {
        for (text, words) in [
            ("stop", "has no time"),
            ("stpo@1s/lab:pg", "has a kind \"stpo\" that is not known: use stop, kill"),
            ("stop@one/lab:pg", "has a time \"one\" that must be a time"),
            ("stop@3s..2s/lab:pg", "ends before it begins"),
            ("stop@3s..3s/lab:pg", "has no length: let it end later than it begins"),
            ("stop@3s..4s", "has no place"),
            (
                "stop@3s..4s/",
                "has a place \"\" that is not known: use local, lab:NAME[/NODE], nodes=N, nodes=all, pid:N, service:NAME or ssh://HOST",
            ),
            ("stop@3s..4s/lab:", "needs the name of a lab"),
            ("stop@3s..4s/lab:pg/x", "needs a node's number"),
            ("stop@3s..4s/pid:0", "needs the number of a process"),
            ("stop@3s..4s/ssh://", "needs a host, as ssh://root@db1"),
            ("stop@3s..4s/ssh://-oProxyCommand=x", "needs a host"),
            ("stop@3s..4s/ssh://root:secret@db1/pid:7", "has a password, which ssh does not take"),
            ("stop@3s..4s/ssh://root@db", "can't be on ssh://root@db: use ssh://root@db/pid:N or"),
            ("stop@3s..4s/ssh://db/lab:pg", "can only be a process there: use pid:N or service:NAME"),
            ("stop@3s..4s/ssh://a/pid:1,ssh://b/pid:1", "a fault for each host"),
            ("stop@3s..4s/service:", "needs the name of a systemd unit"),
            ("stop@3s..4s/ssh://db1/service:x;reboot", "needs the name of a systemd unit"),
            ("stop@3s..4s/local", "can't be on local: use lab:NAME[/NODE], nodes=N, pid:N or service:NAME"),
            ("stop@3s..4s/lab:pg,lab:pg/0", "names lab:pg/0 twice"),
            ("stop:1@3s..4s/lab:pg", "takes no arguments"),
            ("kill@3s..4s/pid:7", "can't be started again"),
            ("shutdown@3s..4s/pid:7", "can't be on pid:7: use lab:NAME[/NODE] or nodes=N"),
            ("stop@3s..4s/nodes=0", "needs a number of nodes"),
            ("stop@3s..4s/nodes=1,lab:pg", "names lab:pg twice"),
            ("restart@3s/lab:pg", "needs an end"),
            ("restart@3s..4s/pid:7", "can't be on pid:7"),
            ("cpu-burn@3s..4s/local", "needs the number of threads"),
            ("cpu-burn:0@3s..4s/local", "needs the number of threads"),
            ("cpu-burn:1@3s..4s/lab:pg", "can't be on lab:pg: use local or ssh://HOST"),
            ("cpu-limit@3s..4s/lab:pg", "needs a number of cores"),
            ("cpu-limit:0@3s..4s/lab:pg", "needs a number of cores"),
            ("disk-read@3s..4s/lab:pg", "needs the number of threads, 1 to 64, as disk-read:2@"),
            ("disk-write:65@3s..4s/lab:pg", "needs the number of threads, 1 to 64, as disk-write:2@"),
            (
                "disk-read:1@3s..4s/local",
                "can't be on local: use lab:NAME[/NODE], nodes=N, pid:N or service:NAME",
            ),
            ("disk-slow@3s..4s/lab:pg", "needs bytes per second from 65536"),
            ("disk-slow:65535@3s..4s/lab:pg", "needs bytes per second from 65536"),
            ("clock-jump:1h@3s..4s/lab:pg", "needs an offset with its sign"),
            (
                "clock-jump:+1h@3s..4s/local",
                "can't be on local: use lab:NAME[/NODE], nodes=N, pid:N or service:NAME",
            ),
            ("net-delay:50@3s..4s/lab:pg", "needs a time with its unit (us, ms or s) up to 60 s"),
            ("net-loss:0@3s..4s/lab:pg", "needs a percentage"),
            ("net-loss:101@3s..4s/lab:pg", "needs a percentage"),
            ("net-partition:1@3s..4s/lab:pg", "takes no arguments"),
            ("net-rate:0@3s..4s/lab:pg", "needs bytes per second"),
            (
                "net-rate:1k@3s..4s/local",
                "can't be on local: use lab:NAME[/NODE], nodes=N, pid:N or service:NAME",
            ),
            ("command@3s..4s", "needs a table [[fault]]"),
        ] {
            let problem = parse(text).unwrap_err();
            assert!(problem.contains(words), "{text}: {problem}");
        }
    }

    #[test]
    fn faults_of_one_kind_overlap_only_at_one_place_and_time() {
        let window = Duration::from_secs(30);
        let overlap = |one: &str, other: &str| {
            let (one, other) = (parse(one).unwrap(), parse(other).unwrap());
            assert_eq!(one.overlaps(&other, window), other.overlaps(&one, window));
            one.overlaps(&other, window)
        };
        assert!(overlap("stop@1s..5s/lab:pg", "stop@4s..6s/lab:pg"));
        assert!(overlap("stop@1s/lab:pg", "stop@20s..21s/lab:pg/0"));
        assert!(!overlap("stop@1s..5s/lab:pg", "stop@5s..6s/lab:pg"));
        assert!(!overlap("stop@1s..5s/lab:pg/0", "stop@1s..5s/lab:pg/1"));
        assert!(!overlap("stop@1s..5s/lab:pg", "kill@1s..5s/lab:pg"));
        assert!(overlap("stop@1s..5s/lab:pg/0", "stop@1s..5s/nodes=1"));
        assert!(!overlap("stop@1s..5s/pid:7", "stop@1s..5s/ssh://db1/pid:7"));
    }

    #[test]
    fn a_fault_without_an_end_is_undone_with_the_window_unless_it_stays() {
        let window = Duration::from_secs(30);
        assert_eq!(parse("stop@1s/lab:pg").unwrap().undone_at(window), Some(window));
        assert_eq!(parse("kill@1s/lab:pg").unwrap().undone_at(window), None);
        assert_eq!(parse("kill@1s..9s/lab:pg").unwrap().undone_at(window), Some(Duration::from_secs(9)));
    }
}
