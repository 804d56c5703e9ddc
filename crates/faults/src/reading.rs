//! Reads faults as the kinds of faults want them.

use crate::error::FaultError;
use crate::kinds::{self, Acts};
use crate::spec::{Commands, FaultSpec, SSH, Where};
use std::time::Duration;

/// The parts of a fault's text that depend on the reader: times, and words about an unknown kind.
pub struct Reader<'a> {
    /// Reads a time; its error continues "has a time TEXT that".
    pub time: &'a dyn Fn(&str) -> Result<Duration, String>,
    /// Returns the problem of an unknown kind among the known ones.
    pub unknown_kind: &'a dyn Fn(&str, &[&str]) -> String,
    /// Places of faults that name none, separated by commas.
    pub places: Option<&'a str>,
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
    /// Time from each begin to the next one.
    pub every: Option<&'a str>,
    /// Places, separated by commas.
    pub places: Option<&'a str>,
    /// Commands of the kind `command`.
    pub commands: Option<Commands>,
}

/// Returns a problem of what the user wrote.
fn wrong(words: impl Into<String>) -> FaultError {
    FaultError::Wrong(words.into())
}

/// Returns the time in `every=TIME`.
fn every_of(option: &str) -> Result<&str, FaultError> {
    let time = option.trim().strip_prefix("every").and_then(|rest| rest.trim_start().strip_prefix('='));
    time.ok_or_else(|| {
        wrong(format!(
            "has {option:?} after its times: write FROM..TO,every=TIME/WHERE, as 5s..7s,every=10s/lab:pg"
        ))
    })
}

/// Rejects a fault that repeats without an end, or before it is over.
fn check_every(from: Duration, to: Option<Duration>, every: Option<Duration>) -> Result<(), FaultError> {
    let Some(every) = every else { return Ok(()) };
    let Some(to) = to else {
        return Err(wrong("has no end, so it can't repeat: write FROM..TO,every=TIME, or leave every out"));
    };
    let lasts = to.saturating_sub(from);
    if every <= lasts {
        return Err(wrong(format!(
            "lasts {} s and repeats every {} s: let every be longer than the fault",
            lasts.as_secs_f64(),
            every.as_secs_f64()
        )));
    }
    Ok(())
}

impl FaultSpec {
    /// Reads `KIND[:ARGS]@FROM[..TO][,every=TIME]/WHERE`. Without `/WHERE` a kind that acts on the machine is `local`.
    ///
    /// # Errors
    /// The first problem of the text; it continues "TEXT".
    pub fn parse(text: &str, reader: &Reader<'_>) -> Result<Self, FaultError> {
        let (head, rest) = text.split_once('@').ok_or_else(|| {
            wrong("has no time: write KIND[:ARGS]@FROM[..TO]/WHERE, as stop@8s..11s/lab:pg")
        })?;
        let (times, place) = rest.split_once('/').map_or((rest, None), |(times, place)| (times, Some(place)));
        let (times, option) =
            times.split_once(',').map_or((times, None), |(times, rest)| (times, Some(rest)));
        let every = option.map(every_of).transpose()?;
        let (from, to) = times.split_once("..").map_or((times, None), |(from, to)| (from, Some(to)));
        let (kind, arguments) = head.split_once(':').map_or((head, None), |(kind, rest)| (kind, Some(rest)));
        let kind = kind.trim();
        Self::of_parts(&Parts { kind, arguments, from, to, every, places: place, commands: None }, reader)
    }

    /// Makes a fault of its parts, as tables of a plan file have them.
    ///
    /// # Errors
    /// The first problem; it continues the fault's name.
    pub fn of_parts(parts: &Parts<'_>, reader: &Reader<'_>) -> Result<Self, FaultError> {
        if let Some((kind, arguments)) = parts.kind.split_once(':') {
            return Err(wrong(format!(
                "has arguments in its kind: write kind = {kind:?} and args = {arguments:?}"
            )));
        }
        let Some(kind) = kinds::named(parts.kind) else {
            return Err(wrong(format!(
                "has a kind {:?} that {}",
                parts.kind,
                (reader.unknown_kind)(parts.kind, &kinds::names())
            )));
        };
        let time = |text: &str| {
            (reader.time)(text.trim()).map_err(|problem| wrong(format!("has a time {text:?} that {problem}")))
        };
        let from = time(parts.from)?;
        let to = parts.to.map(time).transpose()?;
        match to {
            Some(to) if to < from => return Err(wrong("ends before it begins: write FROM..TO")),
            Some(to) if to == from => return Err(wrong("has no length: let it end later than it begins")),
            _ => {}
        }
        let every = parts.every.map(time).transpose()?;
        check_every(from, to, every)?;
        let (host, places) = match parts.places.or(reader.places.filter(|_| kind.acts() != Acts::Locally)) {
            Some(places) => Where::list(places)?,
            None if kind.acts() == Acts::Locally => (None, vec![Where::Local]),
            None => return Err(wrong("has no place: add /WHERE, as /lab:pg, /nodes=1 or /pid:4711")),
        };
        let fault = Self {
            kind: kind.name().to_owned(),
            arguments: parts.arguments.map(|text| text.trim().to_owned()),
            from,
            to,
            every,
            host,
            places,
            commands: parts.commands.clone(),
        };
        fault.check_places(kind.acts())?;
        kind.read(&fault)?;
        Ok(fault)
    }

    /// Rejects places where the kind can't act.
    fn check_places(&self, acts: Acts) -> Result<(), FaultError> {
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
        if let Some(place) = self.places.iter().find(|place| !fits(place)) {
            return Err(wrong(format!("can't be on {}: use {use_it}", self.written(place))));
        }
        let twice =
            |(number, place): (usize, &Where)| self.places[..number].iter().any(|other| other.meets(place));
        match self.places.iter().enumerate().find(|each| twice(*each)) {
            Some((_, place)) => Err(wrong(format!("names {place} twice: name it once"))),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<FaultSpec, FaultError> {
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
            "net-delay:50ms,10ms@5s..7s,every=10s/lab:pg,pid:7",
            "cpu-burn:1@0.5s..0.75s,every=1.5s/local",
            "mem-burn:512Mi@5s..10s/local",
            "mem-limit:1G@5s..10s/lab:pg",
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
            ("stop@3s..4s,every=1s/lab:pg", "lasts 1 s and repeats every 1 s: let every be longer"),
            ("stop@3s..4s,every=0s/lab:pg", "lasts 1 s and repeats every 0 s: let every be longer"),
            ("stop@3s..4s,every=soon/lab:pg", "has a time \"soon\" that must be a time"),
            (
                "stop@3s..4s,each=5s/lab:pg",
                "has \"each=5s\" after its times: write FROM..TO,every=TIME/WHERE",
            ),
            ("stop@3s..4s,every=5s,every=6s/lab:pg", "has a time \"5s,every=6s\" that must be a time"),
            ("stop@3s,every=5s/lab:pg", "has no end, so it can't repeat: write FROM..TO,every=TIME"),
            ("kill@3s,every=5s/lab:pg", "has no end, so it can't repeat"),
            ("mem-burn@3s..4s", "needs a size from 1 MiB, as mem-burn:512Mi@"),
            ("mem-burn:1000@3s..4s", "needs a size from 1 MiB"),
            ("mem-limit:few@3s..4s/lab:pg", "needs a size from 1 MiB, as mem-limit:1G@"),
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
            let problem = parse(text).unwrap_err().to_string();
            assert!(problem.contains(words), "{text}: {problem}");
        }
    }
}
