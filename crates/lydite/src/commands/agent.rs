//! `lydite agent`: plays shares of runs for coordinators.

use crate::cli::{AgentArgs, LoginArgs};
use crate::exit::Outcome;
use crate::host;
use crate::interrupt::watch;
use crate::output::complain;
use crate::run::fleet::{play, random_name};
use lydite_fleet::{Bus, Identity, Login, serve};
use lydite_report::live::Style;

/// Runs `lydite agent`.
pub(crate) fn command(args: AgentArgs) -> Outcome {
    let interrupt = watch(Style::Quiet)?;
    let bus = Bus::connect(&args.join, &login(&args.login))?;
    let host = host::info().hostname;
    let id = random_name();
    let name = args.name.unwrap_or_else(|| format!("{host}-{}", std::process::id()));
    let me = Identity { name, host, id };
    let work = |work: &[u8], share, control: &_, report: &mut dyn FnMut(_)| {
        play(work, share, control, report, &interrupt)
    };
    Ok(serve(&bus, &me, &work, &|| interrupt.asked(), &complain)?)
}

/// Returns the login at the NATS server.
pub(crate) fn login(args: &LoginArgs) -> Login {
    Login { creds: args.creds.clone(), nkey: args.nkey.clone(), tls_ca: args.tls_ca.clone() }
}
