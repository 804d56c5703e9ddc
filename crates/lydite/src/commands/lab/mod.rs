//! `lydite lab`: starts, lists and ends throwaway servers and clusters on this machine. They listen on the loopback
//! only.
//!
//! A lab is a directory with a note (`lab.json`) that lists its servers. The note is written before the first server
//! starts, so that `lydite lab down` finds every server whatever happens. The servers keep running when the program
//! ends.
//!
//! Every account of the machine reaches the loopback, so each lab has its own random password. The URL of the lab and
//! the note contain it; the note is in a directory that others can't enter. Child programs get the password through the
//! environment or through private files, never on their command line.

mod directories;
mod down;
mod kind;
mod list;
mod mariadb;
mod note;
mod ports;
mod postgres;
mod privacy;
mod servers;
mod up;

use crate::cli::{LabArgs, LabCommand};
use crate::exit::Outcome;

/// Runs `lydite lab`.
pub(crate) fn command(args: LabArgs) -> Outcome {
    match args.command {
        LabCommand::Up { kind, shards, dir } => up::up(&kind, shards, dir),
        LabCommand::Down { kind, dir } => down::down(&kind, dir),
        LabCommand::List => list::list(),
    }
}
