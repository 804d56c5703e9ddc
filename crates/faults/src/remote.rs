//! This program on another host, by the system's ssh.

use crate::note;
use crate::process::boot;
use std::env;
use std::fs;
use std::io::{self, Write};
use std::process::{Command, Output, Stdio};

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

/// Exit code of a shell that does not find a command.
const NOT_FOUND: i32 = 127;
/// Exit code of ssh's own failures, as a key that is not accepted.
const SSH_FAILED: i32 = 255;

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

/// Runs this program on a host to its end, with an input.
///
/// # Errors
/// ssh can't be run.
pub fn run(host: &str, arguments: &[&str], input: &str) -> io::Result<Output> {
    let mut command = program(Some(host), arguments)?;
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child =
        command.spawn().map_err(|error| io::Error::other(format!("ssh can't be run: {error}")))?;
    if let Some(mut to) = child.stdin.take() {
        // A program that ends early says why itself.
        let _early = writeln!(to, "{input}");
    }
    child.wait_with_output()
}

/// Returns the reason why this program failed on a host, with what to do.
#[must_use]
pub fn failure(host: &str, output: &Output) -> String {
    let said = String::from_utf8_lossy(&output.stderr);
    let last = said.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("it gave no reason").trim();
    match output.status.code() {
        Some(NOT_FOUND) => match env::current_exe() {
            Ok(own) => format!(
                "lydite is not in the PATH there: copy it with scp {} {host}:/usr/local/bin/lydite",
                own.display()
            ),
            Err(_) => "lydite is not in the PATH there: install it".to_owned(),
        },
        Some(SSH_FAILED) => {
            format!("{last}: ssh must reach the host without a question: try ssh -oBatchMode=yes {host}")
        }
        _ => format!("lydite there failed: {last}"),
    }
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
