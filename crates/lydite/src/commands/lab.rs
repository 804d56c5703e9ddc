//! `lydite lab`: servers and clusters on this machine.

use crate::cli::{LabArgs, LabCommand};
use crate::signals::watch;
use lydite_console::exit::Outcome;
use lydite_lab::Options;
use lydite_report::live::Style;

/// Runs `lydite lab`.
pub(crate) fn command(args: LabArgs) -> Outcome {
    match args.command {
        LabCommand::Up { kind, shards, agents, clock, sync, disk, settings, dir } => {
            let options = Options { shards, agents, clock, sync, disk, settings, sweep: None };
            lydite_lab::up(&kind, &options, dir, &watch(Style::Plain)?)
        }
        LabCommand::Down { kind, dir } => lydite_lab::down(&kind, dir),
        LabCommand::Restart { place, dir } => lydite_lab::restart(&place, dir),
        LabCommand::Lose { place, dir } => lydite_lab::lose(&place, dir),
        LabCommand::Promote { kind, dir } => lydite_lab::promote(&kind, dir),
        LabCommand::Move { place, warehouses, dir } => lydite_lab::move_warehouses(&place, &warehouses, dir),
        LabCommand::List => lydite_lab::list(),
    }
}
