//! Faults on other hosts: this program there finds the places and rehearses, asked over ssh.

use super::here::resolve_here;
use crate::error::LabError;
use lydite_console::exit::{Failure, Outcome};
use lydite_console::output::print;
use lydite_faults::remote::{failure, run, this_machine};
use lydite_faults::sockets::Address;
use lydite_faults::{Fault, FaultSpec};
use serde::{Deserialize, Serialize};
use std::io;
use std::net::IpAddr;

/// The question to the other host.
#[derive(Serialize, Deserialize)]
struct Question {
    /// Version of the program that asks.
    version: String,
    spec: FaultSpec,
    /// The machine that asks.
    machine: String,
    /// Addresses of the database, as host and port.
    addresses: Vec<(String, u16)>,
}

/// The answer of the other host.
#[allow(clippy::large_enum_variant, reason = "there is one answer, and it is kept for a moment")]
#[derive(Serialize, Deserialize)]
enum Answer {
    Found(Fault),
    Problems(Vec<String>),
}

/// Returns a fault with its places on a host, after a rehearsal there.
///
/// # Errors
/// The host can't be asked, or all problems that it found.
pub(super) fn resolve(host: &str, spec: &FaultSpec, addresses: &[Address]) -> Result<Fault, Vec<String>> {
    let question = Question {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        spec: spec.clone(),
        machine: this_machine(),
        addresses: addresses.iter().map(|address| (address.host.clone(), address.port)).collect(),
    };
    let answer = ask(host, &question).map_err(|problem| vec![problem.to_string()])?;
    match answer {
        Answer::Found(fault) => Ok(fault),
        Answer::Problems(problems) => Err(problems),
    }
}

/// Returns true if a host name or an address is of the loopback.
fn is_loopback(host: &str) -> bool {
    host == "localhost" || host.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

fn ask(host: &str, question: &Question) -> Result<Answer, LabError> {
    let failed = |error: io::Error| LabError::Failed(error.to_string());
    let text = serde_json::to_string(question).map_err(|error| failed(error.into()))?;
    let output = run(host, &["faults", "rehearse"], &text).map_err(failed)?;
    if !output.status.success() {
        return Err(LabError::Failed(failure(host, &output)));
    }
    serde_json::from_slice(&output.stdout)
        .map_err(|error| LabError::Failed(format!("lydite there gave an answer that can't be read: {error}")))
}

/// Answers a question that another host asks on the standard input.
///
/// # Errors
/// The question can't be read.
pub fn answer() -> Outcome {
    let mut line = String::new();
    let failed = |problem: String| Failure::usage(format!("faults rehearse: {problem}"));
    io::stdin().read_line(&mut line).map_err(|error| failed(error.to_string()))?;
    let question: Question = serde_json::from_str(&line)
        .map_err(|error| failed(format!("{error}: install the same version of lydite on both hosts")))?;
    let own = env!("CARGO_PKG_VERSION");
    let answer = if question.version == own {
        // A loopback address means the machine that asks.
        let here = question.machine == this_machine();
        let addresses = question.addresses.into_iter().map(|(host, port)| Address { host, port });
        let addresses: Vec<Address> =
            addresses.filter(|address| here || !is_loopback(&address.host)).collect();
        match resolve_here(&question.spec, &addresses) {
            Ok(fault) => Answer::Found(fault),
            Err(problems) => Answer::Problems(problems),
        }
    } else {
        let problem = format!("lydite there is version {own}, here {}: install the same", question.version);
        Answer::Problems(vec![problem])
    };
    let text = serde_json::to_string(&answer).map_err(|error| failed(error.to_string()))?;
    print(&format!("{text}\n"))
}
