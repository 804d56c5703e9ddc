//! New starts of the nodes of a cluster.
//!
//! A node first reads from its data how many commits of the cluster it has. If no node runs, the one with the most begins the
//! cluster anew. The others join, and copy the commits that they lack. A node that did not know its number would copy all
//! rows. If no node knows its number, all are taken to have the same rows.
//!
//! Differences between products are data ([`Rejoin`]), because a guard knows servers from a note alone.

use crate::error::FaultError;
use serde::{Deserialize, Serialize};
use std::fs::{self, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// Longest recovery of a node's data.
const PATIENCE: Duration = Duration::from_secs(120);
/// Time between two looks at it.
const LOOK: Duration = Duration::from_millis(20);

/// New start of a product's nodes: arguments and messages of its servers, and files among their data.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rejoin {
    /// Arguments that make a server recover its data, report its position, and end without taking connections. Messages
    /// name the last one.
    pub recover: Vec<String>,
    /// Begin of the server's message about its position, which follows as `CLUSTER:COMMITS`.
    pub recovered: String,
    /// Mark of the server's messages about errors.
    pub error: String,
    /// Begin of the argument with the position; each start has its own.
    pub position: String,
    /// Argument of the node that begins the cluster. A start without it joins the others.
    pub new_cluster: String,
    /// File that names the nodes of the cluster: after a crash a node waits for them.
    pub members: String,
    /// File that says whether the node may begin the cluster.
    pub state: String,
    /// Text of this file if the node may not begin the cluster.
    pub forbids: String,
    /// Text of this file if the node may.
    pub permits: String,
}

/// The commits that a node has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Position {
    /// The cluster and the number, as the server writes them.
    text: String,
    /// Number of commits since the begin of the cluster; -1 if the node knows none.
    commits: i64,
}

impl Rejoin {
    /// Returns true for an argument that the next start of the same server leaves out.
    pub(crate) fn is_of_one_start(&self, argument: &str) -> bool {
        argument == self.new_cluster || argument.starts_with(&self.position)
    }

    /// Returns the argument that tells the server its position.
    #[must_use]
    pub fn argument(&self, position: &Position) -> String {
        format!("{}{}", self.position, position.text)
    }

    /// Reads the position in the server's messages.
    fn position_in(&self, messages: &str) -> Option<Position> {
        let (_, text) = messages.lines().rev().find_map(|line| line.split_once(&self.recovered))?;
        let (_, commits) = text.trim().split_once(':')?;
        Some(Position { text: text.trim().to_owned(), commits: commits.parse().ok()? })
    }

    /// Chooses the node that begins the cluster anew, of nodes that are all down: the one with the most commits. Prepares all:
    /// without that only the last one that was stopped in order may begin it, and the others wait for the old cluster. Returns
    /// its number; none without nodes. A node is its data and its position.
    ///
    /// # Errors
    /// The disk rejects it.
    pub fn begin_anew(&self, nodes: &[(&Path, &Position)]) -> io::Result<Option<usize>> {
        let most = nodes.iter().enumerate().max_by_key(|(_, (_, position))| position.commits);
        let Some((number, (leader, _))) = most else { return Ok(None) };
        for (data, _) in nodes {
            match fs::remove_file(data.join(&self.members)) {
                Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        let path = leader.join(&self.state);
        let text = fs::read_to_string(&path)?;
        fs::write(&path, text.replace(&self.forbids, &self.permits))?;
        Ok(Some(number))
    }

    /// Returns the position of a node that is down. `command` starts its server. The server recovers its data, and ends
    /// without taking connections. Its messages go to the end of the file `log`.
    ///
    /// # Errors
    /// The server can't be run, fails, or does not report the position.
    pub fn position_of(&self, mut command: Command, log: &Path) -> Result<Position, FaultError> {
        let recovery = self.recover.last().map_or("", String::as_str);
        let program = format!("{} {recovery}", command.get_program().display());
        let failed = |error| FaultError::system(&program, error);
        let in_log = |error| FaultError::system(log.display(), error);
        let file = OpenOptions::new().append(true).open(log).map_err(in_log)?;
        let before = file.metadata().map_err(in_log)?.len() as usize;
        command.args(&self.recover);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(file).process_group(0);
        let mut child = command.spawn().map_err(failed)?;
        let begun = Instant::now();
        let status = loop {
            if let Some(status) = child.try_wait().map_err(failed)? {
                break status;
            }
            if begun.elapsed() > PATIENCE {
                child.kill().and_then(|()| child.wait()).map_err(failed)?;
                let late = format!("{program}: it has not recovered the data in {} s", PATIENCE.as_secs());
                return Err(FaultError::Failed(late));
            }
            thread::sleep(LOOK);
        };
        let text = fs::read(log).map_err(in_log)?;
        let messages = String::from_utf8_lossy(text.get(before..).unwrap_or_default());
        if !status.success() {
            let error = messages.lines().find(|line| line.contains(&self.error));
            let error = error.map_or_else(|| status.to_string(), str::to_owned);
            return Err(FaultError::Failed(format!("{program}: {error}")));
        }
        self.position_in(&messages).ok_or_else(|| {
            FaultError::Failed(format!("{program}: it reports no position, see {}", log.display()))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Settings of Galera.
    fn rejoin() -> Rejoin {
        Rejoin {
            recover: ["--skip-networking", "--wsrep-recover"].map(str::to_owned).to_vec(),
            recovered: "WSREP: Recovered position: ".into(),
            error: "[ERROR]".into(),
            position: "--wsrep-start-position=".into(),
            new_cluster: "--wsrep-new-cluster".into(),
            members: "gvwstate.dat".into(),
            state: "grastate.dat".into(),
            forbids: "safe_to_bootstrap: 0".into(),
            permits: "safe_to_bootstrap: 1".into(),
        }
    }

    #[test]
    fn the_position_is_that_of_the_last_message() {
        let messages = "0 [Note] InnoDB: log sequence number 47\n\
                        0 [Note] WSREP: Recovered position: 5ec72d2d-e97a-11f1-bce9-ffa8bd4ba2c3:1133\n\
                        0 [Note] mariadbd: done\n";
        let rejoin = rejoin();
        let found = rejoin.position_in(messages).unwrap();
        assert_eq!(found.commits, 1133);
        let argument = rejoin.argument(&found);
        assert_eq!(argument, "--wsrep-start-position=5ec72d2d-e97a-11f1-bce9-ffa8bd4ba2c3:1133");
        assert_eq!(rejoin.position_in("0 [ERROR] Aborting\n"), None);
        let others = ["--wsrep-on=ON", "--port=4001"];
        assert!(rejoin.is_of_one_start(&argument) && rejoin.is_of_one_start(&rejoin.new_cluster));
        assert!(!others.into_iter().any(|argument| rejoin.is_of_one_start(argument)));
    }

    #[test]
    fn the_node_with_the_most_commits_begins_the_cluster() {
        let rejoin = rejoin();
        let nodes: Vec<_> = (0..3).map(|_| tempfile::tempdir().unwrap()).collect();
        let state = "# GALERA saved state\nversion: 2.1\nseqno:   -1\nsafe_to_bootstrap: 0\n";
        let read = |number: usize| fs::read_to_string(nodes[number].path().join(&rejoin.state)).unwrap();
        for node in &nodes {
            fs::write(node.path().join(&rejoin.state), state).unwrap();
        }
        fs::write(nodes[0].path().join(&rejoin.members), "").unwrap();
        let positions = [-1, 12, 7].map(|commits| Position { text: String::new(), commits });
        let all: Vec<_> = nodes.iter().map(|node| node.path()).zip(&positions).collect();
        assert_eq!(rejoin.begin_anew(&all).unwrap(), Some(1));
        assert!(!nodes[0].path().join(&rejoin.members).exists());
        assert_eq!([read(0), read(1), read(2)], [state, &state.replace(": 0", ": 1"), state]);
        assert_eq!(rejoin.begin_anew(&[]).unwrap(), None);
    }

    #[test]
    fn a_recovery_that_fails_is_an_error_with_the_first_reason() {
        let log = tempfile::NamedTempFile::new().unwrap();
        fs::write(&log, "0 [ERROR] of an earlier start\n").unwrap();
        let recovered = |script: &str| {
            let mut command = Command::new("sh");
            command.args(["-c", script]);
            rejoin().position_of(command, log.path())
        };
        let script = "echo '0 [ERROR] the disk is full' >&2; echo '0 [ERROR] Aborting' >&2; exit 1";
        assert_eq!(
            recovered(script).unwrap_err().to_string(),
            "sh --wsrep-recover: 0 [ERROR] the disk is full"
        );
        assert!(recovered("kill -9 $$").unwrap_err().to_string().contains("signal: 9"));
        assert!(recovered("true").unwrap_err().to_string().contains("it reports no position"));
        let script = "echo '0 [Note] WSREP: Recovered position: 5ec72d2d:7' >&2";
        assert_eq!(recovered(script).unwrap().commits, 7);
    }
}
