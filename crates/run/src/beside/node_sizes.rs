//! The data size of each node: read before, during and after a run if the database reports the placement of its
//! warehouses. A failure of it neither ends a run nor delays it for long.

use crate::companion::{Begun, Companion, Made, Over};
use crate::ready::tpcc::Ready;
use lydite_bench::Runnable;
use lydite_console::output::complain;
use lydite_database::{Placement, Target, Tpcc};
use lydite_report::RunResult;
use lydite_report::model::NodeBytes;
use std::io;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

/// Time between a sample and the next one.
const EVERY: Duration = Duration::from_secs(5);
/// Longest wait of a run for the first sample and for the last one.
const PATIENCE: Duration = Duration::from_secs(10);

/// The bytes of each node at a moment, or the problem.
type Sample = Result<(SystemTime, Vec<u64>), String>;

/// Begins to read the data sizes, if the database reports a placement.
pub(super) fn begin(ready: &Ready<'_>) -> Begun<Tpcc> {
    let Some(placement) = ready.settled.distribution.reported() else { return Ok(None) };
    Ok(Some(Box::new(Watching::During(SizeWatch::new(&ready.target, placement)))))
}

/// The data sizes of a run, while they are read and after that.
enum Watching {
    During(SizeWatch),
    Over(Sizes),
}

impl<W: Runnable> Companion<W> for Watching {
    fn finish(&mut self, over: &Over<'_, W>) -> Option<Made> {
        if let Self::During(watch) = self {
            *self = Self::Over(watch.finish(over.measurement.window.start));
        }
        None
    }

    fn add_to(&self, _: &Over<'_, W>, result: &mut RunResult) {
        if let Self::Over(sizes) = self {
            sizes.add_to(result);
        }
    }
}

/// Reads the data sizes during a run. Dropping it ends that.
struct SizeWatch {
    nodes: Vec<String>,
    /// Samples received so far.
    samples: Vec<Sample>,
    /// The thread that samples, if the system gave one.
    sampler: Option<Sampler>,
}

struct Sampler {
    samples: Receiver<Sample>,
    /// A message on it asks for the last sample.
    stop: Sender<()>,
}

/// The data sizes of a run.
struct Sizes {
    nodes: Vec<String>,
    bytes: NodeBytes,
    warning: Option<String>,
}

impl SizeWatch {
    /// Begins to sample the nodes of a placement. Waits for the first sample, up to [`PATIENCE`].
    fn new(target: &Arc<dyn Target>, placement: &Placement) -> Self {
        let nodes = placement.nodes.clone();
        if nodes.is_empty() {
            return Self { nodes, samples: Vec::new(), sampler: None };
        }
        match start(Arc::clone(target), nodes.clone()) {
            Ok(sampler) => {
                let first = sampler.samples.recv_timeout(PATIENCE).ok();
                Self { nodes, samples: first.into_iter().collect(), sampler: Some(sampler) }
            }
            Err(error) => {
                let problem = format!("no thread for it: {error}");
                Self { nodes, samples: vec![Err(problem)], sampler: None }
            }
        }
    }

    /// Takes the last sample, and returns all, with their times since `start`, the beginning of the window.
    fn finish(&mut self, start: SystemTime) -> Sizes {
        let mut late = None;
        if let Some(Sampler { samples, stop }) = self.sampler.take() {
            let until = Instant::now() + PATIENCE;
            // If the thread has ended, all its samples are in the channel.
            let _gone = stop.send(());
            loop {
                match samples.recv_timeout(until.saturating_duration_since(Instant::now())) {
                    Ok(sample) => self.samples.push(sample),
                    Err(RecvTimeoutError::Disconnected) => break,
                    Err(RecvTimeoutError::Timeout) => {
                        late = Some(format!("no answer within {} s after the run", PATIENCE.as_secs()));
                        break;
                    }
                }
            }
        }
        let mut bytes = NodeBytes { second: Vec::new(), of: vec![Vec::new(); self.nodes.len()] };
        let mut problems = Vec::new();
        for sample in self.samples.drain(..) {
            match sample {
                Ok((at, sizes)) => {
                    bytes.second.push(match at.duration_since(start) {
                        Ok(after) => after.as_secs_f64(),
                        Err(before) => -before.duration().as_secs_f64(),
                    });
                    bytes.of.iter_mut().zip(sizes).for_each(|(of, size)| of.push(size));
                }
                Err(problem) => problems.push(problem),
            }
        }
        problems.extend(late);
        let warning = problems.first().map(|first| {
            let times = if problems.len() == 1 { "once".into() } else { format!("{} times", problems.len()) };
            format!("The data sizes of the nodes could not be read {times}: {first}")
        });
        if let Some(warning) = &warning {
            complain(warning);
        }
        Sizes { nodes: std::mem::take(&mut self.nodes), bytes, warning }
    }
}

impl Sizes {
    /// Adds the data sizes to the result.
    fn add_to(&self, result: &mut RunResult) {
        if !self.bytes.second.is_empty() {
            let nodes = result.nodes.get_or_insert_default();
            let mut bytes = self.bytes.clone();
            if nodes.names.is_empty() {
                nodes.names.clone_from(&self.nodes);
            }
            // A node that was added during the run has no samples.
            bytes.of.resize(nodes.names.len().max(bytes.of.len()), Vec::new());
            nodes.bytes = Some(bytes);
        }
        result.warnings.extend(self.warning.clone());
    }
}

/// Starts the thread that samples.
fn start(target: Arc<dyn Target>, nodes: Vec<String>) -> io::Result<Sampler> {
    let (found, samples) = mpsc::channel();
    let (stop, stopped) = mpsc::channel();
    let work = move || {
        loop {
            let Some(sample) = sample(&*target, &nodes).transpose() else { return };
            if found.send(sample).is_err() {
                return;
            }
            match stopped.recv_timeout(EVERY) {
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
                Ok(()) => break,
            }
        }
        if let Some(last) = sample(&*target, &nodes).transpose() {
            // The receiver may have lost patience.
            let _gone = found.send(last);
        }
    };
    thread::Builder::new().name("node sizes".into()).spawn(work)?;
    Ok(Sampler { samples, stop })
}

/// Reads the sizes in the order of `nodes`; none if the database does not report them.
fn sample(target: &dyn Target, nodes: &[String]) -> Result<Option<(SystemTime, Vec<u64>)>, String> {
    let Some(sizes) = target.capabilities().node_sizes().map_err(|error| error.to_string())? else {
        return Ok(None);
    };
    let of = |node: &String| {
        let found = sizes.iter().find(|size| size.node == *node).map(|size| size.bytes);
        found.ok_or_else(|| {
            let reported: Vec<&str> = sizes.iter().map(|size| size.node.as_str()).collect();
            format!(
                "sizes are reported for {}, and the catalog has {node}: name the shards in the URL as when they were \
                 loaded",
                reported.join(", ")
            )
        })
    };
    let bytes = nodes.iter().map(of).collect::<Result<_, _>>()?;
    Ok(Some((SystemTime::now(), bytes)))
}
