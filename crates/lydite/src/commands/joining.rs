//! The flags of a fleet: where the agents wait, and how many of them.

use crate::cli::{FleetArgs, LoginArgs};
use lydite_console::output::complain;
use lydite_fleet::JOIN;
use lydite_fleet::{Login, Terms, shown, with_placeholders};
use lydite_plan::values::{time, whole};
use lydite_run::fleet::joining::Joining;
use std::time::Duration;

/// The most agents of a run.
const MAX_AGENTS: u32 = 10_000;
/// The default of the longest wait for agents.
const AGENTS_TIMEOUT: Duration = Duration::from_secs(30);

/// Reads the flags of a fleet; `None` without a fleet, or if no NATS server is named.
pub(super) fn joining(args: &FleetArgs, errors: &mut Vec<String>) -> Option<Joining> {
    let login_given = [
        ("--creds", args.login.creds.is_some()),
        ("--nkey", args.login.nkey.is_some()),
        ("--tls-ca", args.login.tls_ca.is_some()),
    ];
    let waits = ("--agents-timeout", args.agents_timeout.is_some());
    let Some(agents) = args.agents.as_deref() else {
        if let Some(join) = &args.join {
            errors.push(format!("--join: {:?} needs --agents with their number", shown(join)));
        } else {
            for (flag, _) in login_given.iter().chain([&waits]).filter(|(_, given)| *given) {
                errors.push(format!("{flag}: needs --agents with the number of agents"));
            }
        }
        return None;
    };
    if args.join.is_none() && named().is_none() {
        for (flag, _) in login_given.iter().filter(|(_, given)| *given) {
            errors.push(format!("{flag}: needs --join with the URL of a NATS server, or {JOIN}"));
        }
    }
    let before = errors.len();
    let agents = whole(agents, 1, MAX_AGENTS)
        .map_err(|problem| errors.push(format!("--agents: {agents:?} {problem}")))
        .unwrap_or(1);
    let timeout = args.agents_timeout.as_deref().map_or(Ok(AGENTS_TIMEOUT), |text| {
        time(text).inspect_err(|problem| errors.push(format!("--agents-timeout: {text:?} {problem}")))
    });
    let (join, advice) = match args.join.clone().or_else(named) {
        Some(join) => {
            let advice = format!("start more with: lydite agent --join {}", with_placeholders(&join));
            (join, advice)
        }
        None if errors.len() > before => return None,
        None => {
            (on_this_machine(agents, errors)?, "start them again with: lydite lab restart fleet".to_owned())
        }
    };
    let terms = Terms { agents, timeout: timeout.unwrap_or(AGENTS_TIMEOUT), advice };
    Some(Joining { join, login: login(&args.login), terms })
}

/// Returns the URL in the environment, if there is one.
pub(super) fn named() -> Option<String> {
    std::env::var(JOIN).ok().filter(|url| !url.is_empty())
}

/// Returns the URL of the lab of a fleet, and reports that its agents are taken.
fn on_this_machine(agents: u32, errors: &mut Vec<String>) -> Option<String> {
    match lydite_lab::running_fleet() {
        Ok(Some(fleet)) if fleet.agents < agents as usize => {
            errors.push(format!(
                "--agents: the lab fleet has {}, not {agents}: end it with lydite lab down fleet, and start it with \
                 lydite lab up fleet --agents {agents}, or name another NATS server with --join",
                fleet.agents
            ));
            None
        }
        Ok(Some(fleet)) => {
            complain(&format!("agents: those of the lab fleet at {}", shown(&fleet.url)));
            if !fleet.ended.is_empty() {
                complain(&format!(
                    "agents: {} of {} have ended ({}): start them again with: lydite lab restart fleet",
                    fleet.ended.len(),
                    fleet.agents,
                    fleet.ended.join(", ")
                ));
            }
            Some(fleet.url)
        }
        Ok(None) => {
            errors.push(format!(
                "--agents: needs --join with the URL of a NATS server, or agents on this machine: start them with lydite \
                 lab up fleet --agents {agents}"
            ));
            None
        }
        Err(failure) => {
            errors.extend(failure.lines().into_iter().map(str::to_owned));
            None
        }
    }
}

/// Returns the login at the NATS server.
pub(super) fn login(args: &LoginArgs) -> Login {
    Login { creds: args.creds.clone(), nkey: args.nkey.clone(), tls_ca: args.tls_ca.clone() }
}
