//! Labs as targets of sweeps: `lab:KIND`, or `lab:KIND:SHARDS`. The sweep starts the lab that a run needs and ends it
//! again. A lab that somebody else started is used, and stays.

use crate::directories::directory;
use crate::down::end;
use crate::error::LabError;
use crate::kind::{DEFAULT_MEMBERS, KINDS, Kind, MAX_MEMBERS, Servers};
use crate::note::{Lab, being_started, is_starting};
use crate::server::Server;
use crate::servers;
use crate::trial::Trial;
use crate::up::{Options, start};
use lydite_console::exit::{Failure, Outcome};
use lydite_console::interrupt::Interrupt;
use std::fmt;
use std::path::{Path, PathBuf};

/// The scheme of these targets.
const SCHEME: &str = "lab:";

/// A lab that is the target of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LabTarget {
    kind: &'static Kind,
    /// Shards; `None` for the default, or for any number that a running lab has.
    shards: Option<u16>,
    /// Options of the database's URL, as `isolation=serializable`.
    options: String,
}

impl fmt::Display for LabTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{SCHEME}{}", self.kind.name)?;
        self.shards.map_or(Ok(()), |shards| write!(f, ":{shards}"))
    }
}

impl LabTarget {
    /// Reads a target. Returns `None` if it is none of these.
    ///
    /// # Errors
    /// There is no such lab, or a sweep can't start it.
    pub fn parse(url: &str) -> Option<Result<Self, LabError>> {
        let (base, options) = url.split_once('?').unwrap_or((url, ""));
        let rest = base.strip_prefix(SCHEME)?;
        let (name, shards) = match rest.split_once(':') {
            Some((name, shards)) => (name, Some(shards)),
            None => (rest, None),
        };
        let read = || {
            let kind = Kind::named(name)?;
            if kind.servers == Servers::PostgresWithReplicas {
                return Err(LabError::Place(format!(
                    "lab:{name}: a sweep can't start a lab with replicas: start it with lydite lab up {name}, and set \
                     target and replicas to what it prints"
                )));
            }
            if kind.servers == Servers::Fleet {
                return Err(LabError::Place(format!("{base}: a fleet is no database: name another lab")));
            }
            if shards.is_some() && !kind.servers.has_shards() {
                return Err(LabError::Place(format!("{base}: {name} has no shards: write lab:{name}")));
            }
            let problem = |text: &str| {
                LabError::Place(format!(
                    "lab:{name}:{text}: write the number of shards, from 1 to {MAX_MEMBERS}, as lab:{name}:3"
                ))
            };
            let number = |text: &str| {
                let number = text.parse().ok().filter(|number| (1..=MAX_MEMBERS).contains(number));
                number.ok_or_else(|| problem(text))
            };
            Ok(Self { kind, shards: shards.map(number).transpose()?, options: options.to_owned() })
        };
        Some(read())
    }

    /// Returns a URL of the same form as the lab's, for the validation of plans. Nothing listens there.
    pub fn example(&self) -> String {
        let count = self.kind.servers.count(self.shards.unwrap_or(DEFAULT_MEMBERS));
        let server = |number: usize| Server {
            path: PathBuf::new(),
            port: number as u16 + 1,
            agent: None,
            clock: None,
            sync: false,
            settings: Vec::new(),
            usual: None,
        };
        let servers: Vec<Server> = (0..count).map(server).collect();
        self.with_options(&servers::url(self.kind.servers, &servers, "password"))
    }

    /// Returns the lab as one whose servers get other settings for a while.
    ///
    /// # Errors
    /// The servers can't; the text names labs whose servers can.
    pub fn trial(&self) -> Result<Trial, Failure> {
        Trial::named(self.kind.name)
    }

    /// Adds the options to the URL of a lab.
    fn with_options(&self, url: &str) -> String {
        let Self { options, .. } = self;
        match (options.is_empty(), url.contains('?')) {
            (true, _) => url.to_owned(),
            (false, true) => format!("{url}&{options}"),
            (false, false) => format!("{url}?{options}"),
        }
    }

    /// Returns true if a lab has the number of shards that the target wants.
    fn fits(&self, lab: &Lab) -> bool {
        self.shards.is_none_or(|shards| lab.servers.len() == self.kind.servers.count(shards))
    }
}

/// The labs of a sweep. At most one that the sweep started runs at a time, so that idle servers disturb no run. The
/// notes of the labs say which they are, so a sweep finds those of a sweep that was killed.
pub struct Labs {
    /// The absolute directory of the sweep, which the notes of its labs name.
    sweep: PathBuf,
}

impl Labs {
    /// Makes the labs of the sweep in this directory.
    pub fn new(sweep: &Path) -> Self {
        Self { sweep: std::path::absolute(sweep).unwrap_or_else(|_| sweep.to_owned()) }
    }

    /// Rejects labs that run but don't fit, before any run. Others are started when a run needs them.
    ///
    /// # Errors
    /// All such labs, one line each.
    pub fn check<'a>(&self, targets: impl IntoIterator<Item = &'a LabTarget>) -> Outcome {
        let mut problems: Vec<String> = Vec::new();
        for target in targets {
            if let Err(failure) = self.running(target) {
                for line in failure.lines() {
                    if !problems.iter().any(|known| known == line) {
                        problems.push(line.to_owned());
                    }
                }
            }
        }
        if problems.is_empty() { Ok(()) } else { Err(Failure::Usage(problems)) }
    }

    /// Returns the lab of this kind that runs, if it can be used, and true if this sweep started it.
    fn running(&self, target: &LabTarget) -> Result<Option<(Lab, bool)>, Failure> {
        let kind = target.kind;
        let directory = directory(kind, None)?;
        let Some(lab) = Lab::read(&directory)? else { return Ok(None) };
        let end_it = format!("end it with: lydite lab down {}", kind.name);
        let rejected = |what: &str| Err(Failure::usage(format!("{}: {what}", directory.display())));
        if is_starting(&directory) {
            return Err(being_started(&directory));
        }
        match &lab.sweep {
            Some(sweep) if *sweep == self.sweep => return Ok(Some((lab, true))),
            Some(sweep) => {
                let what = format!(
                    "the sweep in {} started this lab: wait for its end, or {end_it}",
                    sweep.display()
                );
                return rejected(&what);
            }
            None => {}
        }
        if !target.fits(&lab) {
            let shards = lab.servers.len().saturating_sub(1);
            return rejected(&format!(
                "there is a lab of {shards} shards, and {target} is another one: {end_it}"
            ));
        }
        if let Some(silent) = lab.servers.iter().find(|server| !server.answers()) {
            return rejected(&format!("the {} of this lab does not answer: {end_it}", silent.shown()));
        }
        Ok(Some((lab, false)))
    }

    /// Returns the URL of a lab, and starts the lab if it does not run. Ends this sweep's other labs before.
    ///
    /// # Errors
    /// The lab that runs does not fit, or the lab can't be started.
    pub fn url(&self, target: &LabTarget, interrupt: &Interrupt) -> Result<String, Failure> {
        let kind = target.kind;
        self.end_all_but(Some(kind.name))?;
        let directory = directory(kind, None)?;
        if let Some((lab, own)) = self.running(target)? {
            // An own lab may have other shards, or a killed sweep may have left it half started.
            if !own || target.fits(&lab) && lab.servers.iter().all(Server::answers) {
                return Ok(target.with_options(&lab.url));
            }
            end(kind, &directory, &lab)?;
        }
        let options =
            Options { shards: target.shards, sweep: Some(self.sweep.clone()), ..Options::default() };
        let lab = start(kind, &directory, &options, interrupt)?;
        Ok(target.with_options(&lab.url))
    }

    /// Ends the labs that this sweep started.
    pub fn end(&self) -> Outcome {
        self.end_all_but(None)
    }

    fn end_all_but(&self, kept: Option<&str>) -> Outcome {
        for kind in KINDS.iter().filter(|kind| Some(kind.name) != kept) {
            let directory = directory(kind, None)?;
            if let Some(lab) = Lab::read(&directory)?.filter(|lab| lab.sweep.as_ref() == Some(&self.sweep)) {
                end(kind, &directory, &lab)?;
            }
        }
        Ok(())
    }
}

impl Drop for Labs {
    fn drop(&mut self) {
        let _reported_by_end = self.end();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(url: &str) -> Result<LabTarget, LabError> {
        LabTarget::parse(url).expect("a lab")
    }

    #[test]
    fn a_target_names_its_lab_its_shards_and_the_options_of_the_url() {
        assert!(LabTarget::parse("null:").is_none());
        let sharded = read("lab:pg-sharded:5?isolation=serializable").unwrap();
        assert_eq!(sharded.to_string(), "lab:pg-sharded:5");
        let example = sharded.example();
        assert_eq!(example.matches("127.0.0.1:").count(), 6, "{example}");
        assert!(example.ends_with("&isolation=serializable"), "{example}");
        let one = read("lab:pg?tx=batched").unwrap().example();
        assert!(one.ends_with("/postgres?tx=batched"), "{one}");
        for (url, problem) in [
            ("lab:oracle", "use one of pg"),
            ("lab:pg:3", "pg has no shards: write lab:pg"),
            ("lab:spider:0", "from 1 to 32, as lab:spider:3"),
            ("lab:spider:many", "from 1 to 32"),
            ("lab:fleet", "a fleet is no database"),
            ("lab:pg-replicas", "start it with lydite lab up pg-replicas"),
        ] {
            let error = read(url).unwrap_err().to_string();
            assert!(error.contains(problem), "{url}: {error}");
        }
    }
}
