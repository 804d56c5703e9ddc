//! How much data each node holds: asked before a run, every few seconds of it, and after it, where the database tells on
//! which node a warehouse is. Nothing that goes wrong with it ends a run or holds it up for long.

use crate::output::complain;
use lydite_database::{Placement, Target};
use lydite_report::RunResult;
use lydite_report::model::NodeBytes;
use std::io;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

/// Time between an answer and the next question.
const EVERY: Duration = Duration::from_secs(5);
/// How long a run waits for the first answer and for the last one.
const PATIENCE: Duration = Duration::from_secs(10);

/// What was answered at a moment: bytes by node.
type Sample = Result<(SystemTime, Vec<u64>), String>;

/// Asks while a run lasts; dropping it ends that.
pub(crate) struct SizeWatch {
    nodes: Vec<String>,
    /// What came so far.
    samples: Vec<Sample>,
    /// The thread that asks, if there is something to ask.
    asking: Option<Asking>,
}

struct Asking {
    samples: Receiver<Sample>,
    /// One message asks for the last sample.
    stop: Sender<()>,
}

/// What was learnt of a run.
pub(crate) struct Sizes {
    nodes: Vec<String>,
    bytes: NodeBytes,
    warning: Option<String>,
}

impl SizeWatch {
    /// Begins, if the database itself told this placement; the first answer is here when this returns, unless it takes long.
    pub(crate) fn new(target: &Arc<dyn Target>, placement: Option<&Placement>) -> Self {
        let nodes = placement.map(|placement| placement.nodes.clone()).unwrap_or_default();
        if nodes.is_empty() {
            return Self { nodes, samples: Vec::new(), asking: None };
        }
        match ask(Arc::clone(target), nodes.clone()) {
            Ok(asking) => {
                let first = asking.samples.recv_timeout(PATIENCE).ok();
                Self { nodes, samples: first.into_iter().collect(), asking: Some(asking) }
            }
            Err(error) => {
                let problem = format!("no thread for it: {error}");
                Self { nodes, samples: vec![Err(problem)], asking: None }
            }
        }
    }

    /// Asks for the last time, and gives all answers, in time from `start`, the window's.
    pub(crate) fn finish(mut self, start: SystemTime) -> Sizes {
        let mut late = None;
        if let Some(Asking { samples, stop }) = self.asking.take() {
            let until = Instant::now() + PATIENCE;
            // A thread that is gone has said all that it had to say.
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
        for sample in self.samples {
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
            format!("How much data the nodes hold could not be asked {times}: {first}")
        });
        if let Some(warning) = &warning {
            complain(warning);
        }
        Sizes { nodes: self.nodes, bytes, warning }
    }
}

impl Sizes {
    /// The result with what was learnt in it.
    pub(crate) fn add_to(&self, mut result: RunResult) -> RunResult {
        if !self.bytes.second.is_empty() {
            let nodes = result.nodes.get_or_insert_default();
            let mut bytes = self.bytes.clone();
            if nodes.names.is_empty() {
                nodes.names.clone_from(&self.nodes);
            }
            // A node that came during the run was not asked.
            bytes.of.resize(nodes.names.len().max(bytes.of.len()), Vec::new());
            nodes.bytes = Some(bytes);
        }
        result.warnings.extend(self.warning.clone());
        result
    }
}

/// Starts the thread that asks.
fn ask(target: Arc<dyn Target>, nodes: Vec<String>) -> io::Result<Asking> {
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
            // Whoever asked may have lost patience.
            let _gone = found.send(last);
        }
    };
    thread::Builder::new().name("node sizes".into()).spawn(work)?;
    Ok(Asking { samples, stop })
}

/// The sizes now, in the order of the nodes; none if the database does not tell them.
fn sample(target: &dyn Target, nodes: &[String]) -> Result<Option<(SystemTime, Vec<u64>)>, String> {
    let Some(sizes) = target.capabilities().node_sizes().map_err(|error| error.to_string())? else {
        return Ok(None);
    };
    let of = |node: &String| {
        let found = sizes.iter().find(|size| size.node == *node).map(|size| size.bytes);
        found.ok_or_else(|| {
            let told: Vec<&str> = sizes.iter().map(|size| size.node.as_str()).collect();
            format!(
                "it is told of {}, and the catalog has {node}: name the shards in the URL as when they were loaded",
                told.join(", ")
            )
        })
    };
    let bytes = nodes.iter().map(of).collect::<Result<_, _>>()?;
    Ok(Some((SystemTime::now(), bytes)))
}
