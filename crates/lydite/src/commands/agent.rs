//! `lydite agent`: plays shares of runs for coordinators.

use super::joining::{login, named};
use crate::cli::AgentArgs;
use crate::signals::watch;
use lydite_console::exit::{Failure, Outcome};
use lydite_console::output::complain;
use lydite_fleet::JOIN;
use lydite_fleet::{Bus, Identity, serve};
use lydite_report::live::Style;
use lydite_run::agent::play;
use lydite_run::fleet::joining::random_name;
use lydite_run::host;

/// Runs `lydite agent`.
pub(crate) fn command(args: AgentArgs) -> Outcome {
    let interrupt = watch(Style::Quiet)?;
    let join = args.join.or_else(named).ok_or_else(|| {
        Failure::usage(format!(
            "--join: is missing: name the NATS server, as nats://HOST:4222, here or in {JOIN}"
        ))
    })?;
    let bus = Bus::connect(&join, &login(&args.login))?;
    let host = host::info().hostname;
    let id = random_name();
    let name = args.name.unwrap_or_else(|| format!("{host}-{}", std::process::id()));
    if name.trim().is_empty() || name.chars().any(char::is_control) {
        return Err(Failure::usage(format!("--name {name:?}: is no name: use letters, digits and signs")));
    }
    let me = Identity { name, host, id };
    let work = |work: &[u8], share, control: &_, report: &mut dyn FnMut(_)| {
        play(work, share, control, report, &interrupt)
    };
    Ok(serve(&bus, &me, &work, &|| interrupt.asked(), &complain)?)
}
