//! Observation of the servers and of this machine during a load. A failure of it neither ends a load nor holds it up.

use crate::sources::{Sought, Sources, Written, could_not};
use lydite_database::Configuration;
use lydite_observe::Watch;
use std::time::{Duration, Instant};

/// A length that no load has: the end of a load ends its observation.
const NO_END: Duration = Duration::from_secs(365 * 24 * 3600);
/// Longest wait of a load's end for samples on their way.
const PATIENCE: Duration = Duration::from_secs(1);

/// Sources that are sampled while a load goes on. Dropping it ends the sampling.
pub(crate) struct LoadWatch {
    watch: Option<Watch>,
    configuration: Configuration,
    problems: Vec<String>,
}

/// Observations of a load.
#[derive(Clone, Debug, Default)]
pub(crate) struct LoadSeen {
    pub(crate) written: Written,
    pub(crate) configuration: Configuration,
    /// Warnings, one line each.
    pub(crate) warnings: Vec<String>,
}

impl LoadWatch {
    /// Begins to sample the sources of a load that begins now.
    pub(crate) fn begin(sought: &Sought<'_>) -> Self {
        let Sources { sources, configuration, mut problems, .. } = Sources::find(sought);
        let watch = Watch::start(sources, Instant::now(), NO_END);
        let watch = watch.map_err(|error| problems.push(format!("anything: {error}"))).ok();
        Self { watch, configuration, problems }
    }

    /// Ends the sampling. The load lasted this number of seconds, of which the last may be cut.
    pub(crate) fn finish(self, seconds: usize) -> LoadSeen {
        let sources = self.watch.map(|watch| watch.finish(PATIENCE)).unwrap_or_default();
        let written = Written::of(&sources, seconds);
        let warnings =
            written.problems.iter().chain(&self.problems).map(|problem| could_not(problem)).collect();
        LoadSeen { written, configuration: self.configuration, warnings }
    }
}
