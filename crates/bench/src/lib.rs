//! Runs a workload against a target and measures it.
//!
//! [`run`] takes a [`RunPlan`] and returns a [`Measurement`] of TPC-C, [`run_micro`] one of the microbenchmark. Both
//! are the same code over [`Runnable`], compiled twice. [`load`](load::load) fills a database first. These functions
//! block the caller, report their progress to an observer, and stop early on request through a [`RunControl`].
//!
//! Each session is a thread, since sessions block. With emulated terminals one more thread schedules them. A terminal
//! is a few bytes in a timer wheel.
//!
//! ```
//! use lydite_bench::{Mode, RunControl, RunPlan, run};
//! use lydite_database::{Target, TxMode};
//! use lydite_families::TargetSpec;
//! use lydite_tpcc::nurand::{CLoad, RunConstants};
//! use std::{sync::Arc, time::Duration};
//!
//! let spec = TargetSpec::parse("null:", TxMode::Statements).map_err(|errors| errors.join("; "))?;
//! let target: Arc<dyn Target> = spec.open()?;
//! let plan = RunPlan {
//!     warmup: Duration::from_millis(10),
//!     duration: Duration::from_millis(50),
//!     ..RunPlan::new(Mode::Direct { terminals: 1 }, 2, 1, RunConstants::new(1, CLoad(7)))
//! };
//! let found = run(&target, &plan, &RunControl::default(), &mut |_| {})?;
//! println!("{:.0} new orders per minute", found.nopm());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod clock;
mod collector;
mod connections;
mod contention;
mod control;
mod direct;
mod error_log;
mod failures;
mod fate;
mod finished;
mod gate;
mod histogram;
mod in_flight;
pub mod load;
mod load_course;
mod load_share;
mod logged;
mod measurement;
mod meeting;
mod merging;
mod micro;
mod open;
mod os;
mod phase_counts;
mod placement_watch;
mod plan;
mod recorder;
mod request_source;
mod rte;
mod run;
mod run_error;
mod sample;
mod settling;
mod share;
mod silence;
mod snapshot;
mod sparse_histogram;
mod stages;
mod starting;
mod success_log;
mod totals;
mod tpcc;
mod worker;
mod workload;

pub use contention::ContentionMethod;
pub use control::RunControl;
pub use error_log::ErrorCount;
pub use finished::Part;
pub use hdrhistogram::Histogram;
pub use load::{Kept, LoadError, LoadReport, LoadSnapshot, load, load_by, load_micro, load_share};
pub use load_course::{LoadMeasures, LoadPhase, LoadSecond};
pub use load_share::{Loaded, Missing};
pub use logged::Logged;
pub use measurement::{
    ClientCost, ContentionFacts, ContentionFound, KindMeasurement, MeasuredWindow, Measurement, Moved,
    OpenFacts, Outage, OutageCause, Piece, RowFacts, Second, Status, Whole, WrongRows,
};
pub use merging::Merging;
pub use micro::MicroFacts;
pub use phase_counts::{OpenPhase, PhaseKind, PhaseMeasurement};
pub use plan::{Arrival, LatencyLimit, MicroMode, MicroPlan, Mode, RetryPolicy, RunPlan, Step};
pub use run::{run, run_micro, run_share, run_through};
pub use run_error::RunError;
pub use sample::{Reservoir, SAMPLED, SampledDelivery, SampledOrder, SampledPayment, Samples};
pub use settling::STEADY_SECONDS;
pub use share::Share;
pub use snapshot::{KindSnapshot, Phase, Snapshot};
pub use tpcc::{Contradictions, DeliveryFacts, KindWaits, PhaseFacts, TpccFacts, WaitStatistics};
pub use workload::{Connect, Facts, Runnable};
