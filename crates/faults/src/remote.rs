//! This program on another host, by the system's ssh.

use crate::note;
use crate::process::boot;
use std::env;
use std::fs;
use std::io;
use std::process::Command;

/// Variable of the environment with the ssh command; its words are separated by blanks.
const SSH: &str = "LYDITE_SSH";
/// Options of ssh: it must not ask anybody, and several commands share a connection.
const OPTIONS: [&str; 10] = [
    "-T",
    "-oBatchMode=yes",
    "-oConnectTimeout=10",
    // Notices a host that is gone; its guard has undone the fault by then.
    "-oServerAliveInterval=5",
    "-oServerAliveCountMax=3",
    "-oControlMaster=auto",
    // No longer than a run needs between its rehearsal and its faults.
    "-oControlPersist=60",
    "-oForwardX11=no",
    "-oForwardAgent=no",
    "-oLogLevel=ERROR",
];

/// Returns the command that runs this program with these arguments, on a host or here.
///
/// # Errors
/// The path of this program is unknown, or there is no private directory for the connection.
pub fn program(host: Option<&str>, arguments: &[&str]) -> io::Result<Command> {
    let Some(host) = host else {
        let mut command = Command::new(env::current_exe()?);
        command.args(arguments);
        return Ok(command);
    };
    let directory = note::directory();
    note::prepare(&directory)?;
    let mut command = ssh();
    command.args(OPTIONS).arg(format!("-oControlPath={}/ssh-%C", directory.display()));
    // As a URL, which may have a port.
    command.args(["--", &format!("ssh://{host}"), "lydite"]).args(arguments);
    Ok(command)
}

fn ssh() -> Command {
    let configured = env::var(SSH).unwrap_or_default();
    let mut words = configured.split_whitespace();
    let mut command = Command::new(words.next().unwrap_or("ssh"));
    command.args(words);
    command
}

/// Returns what tells this machine from all others, and its network from those of its containers.
#[must_use]
pub fn this_machine() -> String {
    let network = fs::read_link("/proc/self/ns/net").unwrap_or_default();
    format!("{} {}", boot(), network.display())
}
