//! Running a TPC-C workload against a [`Target`](lydite_target::Target) and measuring it.
//!
//! [`run`] takes a [`RunPlan`] and gives a [`Measurement`]; [`load`](load::load) fills a database first. Both
//! block the caller, tell an observer how they get on, and stop early when asked through a [`RunControl`].
//!
//! Everything is threads: one for each session, since sessions block, and with emulated terminals one more that
//! schedules them. A terminal is a few bytes in a timer wheel.

mod clock;
mod collector;
mod connections;
mod control;
mod direct;
mod error_log;
pub mod load;
mod measurement;
mod open;
mod os;
mod plan;
mod recorder;
mod rte;
mod run;
mod worker;

pub use control::RunControl;
pub use hdrhistogram::Histogram;
pub use load::{LoadReport, LoadSnapshot, load};
pub use measurement::{
    ClientCost, DeliveryFacts, ErrorCount, KindMeasurement, KindWaits, MeasuredWindow, Measurement,
    OpenFacts, Outage, Second, Status, WaitStatistics,
};
pub use plan::{Arrival, Mode, RetryPolicy, RunPlan};
pub use run::{KindSnapshot, Phase, RunError, Snapshot, run};
