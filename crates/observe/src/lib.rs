//! Observation of servers and machines during a run, second by second.
//!
//! [`SourceSpec`] is a source as the user writes it. A database brings its own observer
//! ([`Observe`](lydite_database::Observe)); [`host`], [`Remote`] (another machine) and [`Exporter`] are the other
//! sources. A [`Watch`] samples sources at each second of the window, on threads that nobody waits for. [`Samples`]
//! turns the samples into values of seconds. [`Processors`] is the time of this machine's processors, [`Server`] the
//! processes of a database's server on it.
//!
//! Nothing here knows a family of databases, a plan or a result.

mod error;
mod exporter;
mod exposition;
pub mod host;
mod kernel;
mod processes;
mod processors;
pub mod remote;
mod samples;
mod source;
mod watch;

pub use error::ObserveError;
pub use exporter::{Exporter, MAX_SERIES};
pub use processes::Server;
pub use processors::{Processors, Shares};
pub use remote::Remote;
pub use samples::{Samples, Series};
pub use source::{SourceSpec, read_sources};
pub use watch::{Observed, Opened, Source, Watch};
