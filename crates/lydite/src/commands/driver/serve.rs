//! `lydite driver serve`: a Gemel database in a process of its own.

use crate::cli::DriverServeArgs;
use crate::signals::watch;
use lydite_console::PASSWORD;
use lydite_console::exit::{Failure, Outcome};
use lydite_console::output::complain;
use lydite_families::GemelServer;
use lydite_report::live::Style;
use std::net::{SocketAddr, TcpListener, ToSocketAddrs};

/// Runs `lydite driver serve` until a signal ends it.
pub(super) fn command(args: &DriverServeArgs) -> Outcome {
    let mut errors = Vec::new();
    let password = std::env::var(PASSWORD).unwrap_or_default();
    if password.is_empty() {
        errors.push(format!("{PASSWORD} is not set: set it to the password that clients must give"));
    }
    let addresses: Vec<SocketAddr> = match args.listen.to_socket_addrs() {
        Ok(addresses) => addresses.collect(),
        Err(error) => {
            errors.push(format!("--listen {}: {error}: write for example 127.0.0.1:7400", args.listen));
            Vec::new()
        }
    };
    if !errors.is_empty() {
        return Err(Failure::Usage(errors));
    }
    let interrupt = watch(Style::Plain)?;
    // It listens once the database is open, so connections are refused during a recovery.
    let server = match GemelServer::open(&args.target) {
        Ok(server) => server,
        Err(errors) => return Failure::all(errors.into_iter().map(Failure::from).collect()),
    };
    let listener = TcpListener::bind(&addresses[..])
        .map_err(|error| Failure::usage(format!("--listen {}: {error}: use another port", args.listen)))?;
    complain(&format!("{} is served at {}", args.target, args.listen));
    server
        .serve(&listener, &password, &|| interrupt.asked())
        .map_err(|error| Failure::Target(format!("--listen {}: {error}", args.listen)))
}
