//! The specification of a fault as data, and its text: `KIND[:ARGS]@FROM[..TO][,every=TIME]/WHERE`.

use crate::error::FaultError;
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
    /// Time from each begin to the next one, for a fault that repeats until the end of the window. It has an end then,
    /// and this is longer than it lasts.
    #[serde(default)]
    pub every: Option<Duration>,
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
pub(crate) const SSH: &str = "ssh://";

impl Where {
    /// Reads a place with its host: `local`, `lab:NAME[/NODE]`, `nodes=N`, `nodes=all`, `pid:N`, `service:NAME`, or on
    /// another host `ssh://HOST`, `ssh://HOST/pid:N` and `ssh://HOST/service:NAME`.
    ///
    /// # Errors
    /// The text is no place. The error continues "has a place TEXT that".
    pub fn parse(text: &str) -> Result<(Option<String>, Self), FaultError> {
        let Some(rest) = text.strip_prefix(SSH) else { return Ok((None, Self::parse_there(text)?)) };
        let (host, place) = rest.split_once('/').map_or((rest, None), |(host, place)| (host, Some(place)));
        // A name that begins with a hyphen would be an option of ssh.
        if host.is_empty() || host.starts_with('-') || host.contains(char::is_whitespace) {
            return Err(FaultError::Wrong("needs a host, as ssh://root@db1".into()));
        }
        // Every user of this machine would see it in the list of processes.
        if host.rsplit_once('@').is_some_and(|(login, _)| login.contains(':')) {
            return Err(FaultError::Wrong(
                "has a password, which ssh does not take: use ssh://USER@HOST and a key".into(),
            ));
        }
        let place = match place.filter(|place| !place.is_empty()) {
            None => Self::Local,
            Some(place) => match Self::parse_there(place)? {
                place @ (Self::Process(_) | Self::Service(_)) => place,
                _ => {
                    return Err(FaultError::Wrong(
                        "can only be a process there: use pid:N or service:NAME".into(),
                    ));
                }
            },
        };
        Ok((Some(host.to_owned()), place))
    }

    /// Reads a place on its host.
    fn parse_there(text: &str) -> Result<Self, FaultError> {
        if text == "local" {
            return Ok(Self::Local);
        }
        if let Some(name) = text.strip_prefix("service:") {
            // Other characters would have a meaning for the shell of another host.
            let plain = |letter: char| letter.is_ascii_alphanumeric() || "@._:-".contains(letter);
            return if name.is_empty() || name.starts_with('-') || !name.chars().all(plain) {
                Err(FaultError::Wrong("needs the name of a systemd unit, as service:postgresql".into()))
            } else {
                Ok(Self::Service(name.to_owned()))
            };
        }
        if let Some(pid) = text.strip_prefix("pid:") {
            let pid = pid.parse().ok().filter(|pid| *pid > 0);
            return pid
                .map(Self::Process)
                .ok_or_else(|| FaultError::Wrong("needs the number of a process, as pid:4711".into()));
        }
        if let Some(count) = text.strip_prefix("nodes=") {
            return match (count, count.parse()) {
                ("all", _) => Ok(Self::Nodes(None)),
                (_, Ok(count)) => Ok(Self::Nodes(Some(count))),
                _ => Err(FaultError::Wrong("needs a number of nodes, as nodes=1 or nodes=all".into())),
            };
        }
        let Some(lab) = text.strip_prefix("lab:") else {
            let known = "local, lab:NAME[/NODE], nodes=N, nodes=all, pid:N, service:NAME or ssh://HOST";
            return Err(FaultError::Wrong(format!("is not known: use {known}")));
        };
        let (name, node) = lab.split_once('/').map_or((lab, None), |(name, node)| (name, Some(node)));
        let node = node.map(|node| {
            node.parse()
                .map_err(|_| FaultError::Wrong("needs a node's number from 0, as lab:pg-sharded/1".into()))
        });
        if name.is_empty() {
            return Err(FaultError::Wrong("needs the name of a lab, as lab:pg (see lydite lab list)".into()));
        }
        Ok(Self::Lab { name: name.to_owned(), node: node.transpose()? })
    }

    /// Reads places of one host with commas between them.
    ///
    /// # Errors
    /// The first text that is no place, or several hosts.
    pub fn list(text: &str) -> Result<(Option<String>, Vec<Self>), FaultError> {
        let place = |text: &str| {
            let text = text.trim();
            Self::parse(text)
                .map_err(|problem| FaultError::Wrong(format!("has a place {text:?} that {problem}")))
        };
        let (hosts, places): (Vec<_>, Vec<_>) =
            text.split(',').map(place).collect::<Result<Vec<_>, _>>()?.into_iter().unzip();
        if hosts.windows(2).any(|pair| pair[0] != pair[1]) {
            return Err(FaultError::Wrong("has places on several hosts: write a fault for each host".into()));
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

#[cfg(test)]
impl FaultSpec {
    /// Returns a fault on this machine from the begin of the window on.
    pub(crate) fn for_test(kind: &str, arguments: Option<&str>) -> Self {
        Self {
            kind: kind.into(),
            arguments: arguments.map(str::to_owned),
            from: Duration::ZERO,
            to: None,
            every: None,
            host: None,
            places: vec![Where::Local],
            commands: None,
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
        if let Some(every) = self.every {
            write!(f, ",every={}s", every.as_secs_f64())?;
        }
        write!(f, "/{}", self.place())
    }
}

impl FaultSpec {
    /// Returns the places as the user wrote them.
    #[must_use]
    pub fn place(&self) -> String {
        self.places.iter().map(|place| self.written(place)).collect::<Vec<_>>().join(",")
    }

    /// Returns one of the places with the host.
    pub(crate) fn written(&self, place: &Where) -> String {
        match (&self.host, place) {
            (None, place) => place.to_string(),
            (Some(host), Where::Local) => format!("{SSH}{host}"),
            (Some(host), place) => format!("{SSH}{host}/{place}"),
        }
    }
}
