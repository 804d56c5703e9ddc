//! The specification of a fault as data, and its text: `KIND[:ARGS]@FROM[..TO]/WHERE`.

use crate::kinds::{self, Acts};
use serde::{Deserialize, Serialize};
use std::fmt;
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
    /// Places, at least one.
    pub places: Vec<Where>,
    /// The user's own commands, for the kind `command`.
    pub commands: Option<Commands>,
}

/// A place of a fault.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Where {
    /// This machine.
    Local,
    /// The servers of a lab, or one of them.
    Lab {
        /// Name of the lab.
        name: String,
        /// Number of the server, from 0; all if none.
        node: Option<u32>,
    },
    /// A process of this machine.
    Process(u32),
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
}

impl fmt::Display for Where {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Local => f.write_str("local"),
            Self::Lab { name, node: None } => write!(f, "lab:{name}"),
            Self::Lab { name, node: Some(node) } => write!(f, "lab:{name}/{node}"),
            Self::Process(pid) => write!(f, "pid:{pid}"),
        }
    }
}

impl Where {
    /// Reads `local`, `lab:NAME[/NODE]` or `pid:N`.
    ///
    /// # Errors
    /// The text is no place. The error continues "has a place TEXT that".
    pub fn parse(text: &str) -> Result<Self, String> {
        if text == "local" {
            return Ok(Self::Local);
        }
        if text.starts_with("ssh://") {
            return Err("is on another host, which is not yet supported: run lydite there".into());
        }
        if let Some(pid) = text.strip_prefix("pid:") {
            let pid = pid.parse().ok().filter(|pid| *pid > 0);
            return pid.map(Self::Process).ok_or_else(|| "needs the number of a process, as pid:4711".into());
        }
        let Some(lab) = text.strip_prefix("lab:") else {
            return Err("is not known: use local, lab:NAME[/NODE] or pid:N".into());
        };
        let (name, node) = lab.split_once('/').map_or((lab, None), |(name, node)| (name, Some(node)));
        let node =
            node.map(|node| node.parse().map_err(|_| "needs a node's number from 0, as lab:pg-sharded/1"));
        if name.is_empty() {
            return Err("needs the name of a lab, as lab:pg (see lydite lab list)".into());
        }
        Ok(Self::Lab { name: name.to_owned(), node: node.transpose()? })
    }

    /// Returns true if the two name a common place.
    #[must_use]
    pub fn meets(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Lab { name, node }, Self::Lab { name: name_2, node: node_2 }) => {
                name == name_2 && (node == node_2 || node.is_none() || node_2.is_none())
            }
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
        if to.is_some_and(|to| to <= from) {
            return Err("ends before it begins: write FROM..TO".into());
        }
        let places = match parts.places {
            Some(places) => places
                .split(',')
                .map(|text| {
                    let text = text.trim();
                    Where::parse(text).map_err(|problem| format!("has a place {text:?} that {problem}"))
                })
                .collect::<Result<Vec<_>, _>>()?,
            None if kind.acts() == Acts::Locally => vec![Where::Local],
            None => return Err("has no place: add /WHERE, as /lab:pg or /pid:4711".into()),
        };
        let fault = Self {
            kind: kind.name().to_owned(),
            arguments: parts.arguments.map(|text| text.trim().to_owned()),
            from,
            to,
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
            Acts::OnLabs => matches!(place, Where::Lab { .. }),
        };
        let use_it = match acts {
            Acts::Locally => "local",
            Acts::OnProcesses => "lab:NAME[/NODE] or pid:N",
            Acts::OnLabs => "lab:NAME[/NODE]",
        };
        if let Some(wrong) = self.places.iter().find(|place| !fits(place)) {
            return Err(format!("can't be on {wrong}: use {use_it}"));
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
        self.places.iter().map(Where::to_string).collect::<Vec<_>>().join(",")
    }

    /// Returns the moment at which the fault is undone in a window of this length; none if it stays.
    #[must_use]
    pub fn undone_at(&self, window: Duration) -> Option<Duration> {
        let stays = kinds::named(&self.kind).is_some_and(kinds::AnyKind::stays_without_end);
        self.to.or((!stays).then_some(window))
    }

    /// Returns true if both are of one kind and act on one place at the same time, in a window of this length.
    #[must_use]
    pub fn overlaps(&self, other: &Self, window: Duration) -> bool {
        let ends = |fault: &Self| fault.to.unwrap_or(window);
        self.kind == other.kind
            && self.from < ends(other)
            && other.from < ends(self)
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
        FaultSpec::parse(text, &Reader { time: &time, unknown_kind: &unknown_kind })
    }

    #[test]
    fn faults_are_read_and_written_in_the_same_form() {
        for text in [
            "stop@8s..11s/lab:pg",
            "stop@8.5s/lab:pg-sharded/1,pid:7",
            "kill@8s/pid:123",
            "kill@8s..11s/lab:pg",
            "shutdown@1s..2s/lab:pg/0",
            "cpu-burn:1@5s..10s/local",
            "net-delay:50ms,10ms@5s..10s/lab:pg/0",
            "net-loss:0.5@5s..10s/pid:7",
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
            ("stop@3s..4s", "has no place"),
            ("stop@3s..4s/", "has a place \"\" that is not known: use local, lab:NAME[/NODE] or pid:N"),
            ("stop@3s..4s/lab:", "needs the name of a lab"),
            ("stop@3s..4s/lab:pg/x", "needs a node's number"),
            ("stop@3s..4s/pid:0", "needs the number of a process"),
            ("stop@3s..4s/ssh://root@db", "not yet supported"),
            ("stop@3s..4s/local", "can't be on local: use lab:NAME[/NODE] or pid:N"),
            ("stop@3s..4s/lab:pg,lab:pg/0", "names lab:pg/0 twice"),
            ("stop:1@3s..4s/lab:pg", "takes no arguments"),
            ("kill@3s..4s/pid:7", "can't be started again"),
            ("shutdown@3s..4s/pid:7", "can't be on pid:7: use lab:NAME[/NODE]"),
            ("cpu-burn@3s..4s/local", "needs the number of threads"),
            ("cpu-burn:0@3s..4s/local", "needs the number of threads"),
            ("cpu-burn:1@3s..4s/lab:pg", "can't be on lab:pg: use local"),
            ("cpu-limit@3s..4s/lab:pg", "needs a number of cores"),
            ("cpu-limit:0@3s..4s/lab:pg", "needs a number of cores"),
            ("net-delay:50@3s..4s/lab:pg", "needs a time up to 60 s"),
            ("net-loss:0@3s..4s/lab:pg", "needs a percentage"),
            ("net-loss:101@3s..4s/lab:pg", "needs a percentage"),
            ("net-partition:1@3s..4s/lab:pg", "takes no arguments"),
            ("net-rate:0@3s..4s/lab:pg", "needs bytes per second"),
            ("net-rate:1k@3s..4s/local", "can't be on local: use lab:NAME[/NODE] or pid:N"),
            ("command@3s..4s", "only as a table [[fault]]"),
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
    }

    #[test]
    fn a_fault_without_an_end_is_undone_with_the_window_unless_it_stays() {
        let window = Duration::from_secs(30);
        assert_eq!(parse("stop@1s/lab:pg").unwrap().undone_at(window), Some(window));
        assert_eq!(parse("kill@1s/lab:pg").unwrap().undone_at(window), None);
        assert_eq!(parse("kill@1s..9s/lab:pg").unwrap().undone_at(window), Some(Duration::from_secs(9)));
    }
}
