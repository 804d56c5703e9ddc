//! Labs: throwaway servers and clusters on this machine, which `lydite lab` starts, lists and ends. They listen on the
//! loopback only. [`places`] finds their servers for faults.
//!
//! A lab is a directory with a note (`lab.json`) that lists its servers. The note is written before the first server
//! starts, so that `lydite lab down` finds every server whatever happens. The servers keep running when the program
//! ends.
//!
//! Every account of the machine reaches the loopback, so each lab has its own random password. The URL of the lab and
//! the note contain it; the note is in a directory that others can't enter. Child programs get the password through the
//! environment or through private files, never on their command line.

mod clock;
mod directories;
mod disk;
mod down;
mod error;
mod failover;
mod find;
mod fleet;
mod galera;
mod gemel;
mod kind;
mod left;
mod list;
mod mariadb;
mod moves;
mod note;
pub mod places;
mod ports;
mod postgres;
mod privacy;
mod process;
mod programs;
mod restart;
mod server;
mod servers;
mod settings;
mod target;
mod trial;
mod up;

pub use down::down;
pub use error::LabError;
pub use failover::{PlannedLosses, lose, losses, promote};
pub use fleet::{RunningFleet, running as running_fleet};
pub use list::list;
pub use moves::move_warehouses;
pub use restart::restart;
pub use target::{LabTarget, Labs};
pub use trial::{Trial, Trials};
pub use up::{Options, up};
