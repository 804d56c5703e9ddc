//! The process of a load: it plays the terminals until its input ends.

use crate::load::{ACKNOWLEDGED, LOOK_NOW, READY};
use lydite_audit::checkpoints::Checkpoints;
use lydite_audit::consistency::Look;
use lydite_audit::load::{Gate, Load};
use lydite_console::exit::{Failure, Outcome};
use lydite_console::output::print;
use lydite_database::{DatabaseState, Target, TxMode};
use lydite_families::TargetSpec;
use lydite_report::observed::counts_checkpoints;
use lydite_tpcc::meta::DatabaseMeta;
use std::io::{self, BufRead, BufReader};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

/// Everything that a load's process must know, but for the URL.
pub struct Part {
    /// Number of terminals.
    pub terminals: u32,
    /// Seed of their inputs.
    pub seed: u64,
    /// The success file.
    pub file: Option<PathBuf>,
    /// If set, the file is used in every second turn of this length only, and the New-Orders of each turn are printed.
    pub turns: Option<Duration>,
    /// True if a terminal that has lost its session takes another one, and goes on.
    pub reconnects: bool,
}

/// Reads the URL from the standard input, since it may hold a password, and plays the load until the input ends.
///
/// # Errors
/// The database can't be opened or is not loaded, or a terminal lost it.
pub fn play(part: Part) -> Outcome {
    let mut input = BufReader::new(io::stdin());
    let mut url = String::new();
    input.read_line(&mut url).map_err(|error| Failure::usage(format!("standard input: {error}")))?;
    let spec = TargetSpec::parse(url.trim_end(), TxMode::Statements).map_err(Failure::Usage)?;
    let target: Arc<dyn Target> = spec.open()?;
    let DatabaseState::Ready { meta } = target.state()? else {
        return Err(Failure::usage("the database is not loaded: use lydite audit"));
    };
    let (stop, gate) = (Arc::new(AtomicBool::new(false)), Arc::<Gate>::default());
    let asked = (Arc::clone(&target), meta.clone(), Arc::clone(&gate), Arc::clone(&stop));
    thread::Builder::new()
        .name("input".into())
        .spawn(move || obey(input, (&asked.0, &asked.1), &asked.2, &asked.3))
        .map_err(|error| Failure::usage(format!("the system gives no thread to watch the input: {error}")))?;
    let Part { terminals, seed, file, turns, reconnects } = part;
    let load = Load { target, meta, terminals, seed, file, turns, reconnects, gate };
    let mut printed = Ok(());
    let played = load.play_to_its_end(|| printed = print(&format!("{READY}\n")), &stop)?;
    if turns.is_none()
        && let Ok(text) = serde_json::to_string(&played.acknowledged)
    {
        // Nobody may read it any more.
        let _read = print(&format!("{ACKNOWLEDGED}{text}\n"));
    }
    if let Some(failed) = played.failed {
        return Err(failed.into());
    }
    if turns.is_some() {
        let counts: Vec<String> = played.new_orders.iter().map(u64::to_string).collect();
        print(&format!("New-Orders of each turn: {}\n", counts.join(" ")))?;
    }
    // The test that made the database fail does not read it; one whose database failed by itself does.
    match played.lost.first() {
        Some(lost) => Err(Failure::Target(lost.clone())),
        None => printed,
    }
}

/// Looks at the database as often as the input asks for it, and sets `stop` when the input ends.
fn obey(
    input: impl BufRead,
    (target, meta): (&Arc<dyn Target>, &DatabaseMeta),
    gate: &Gate,
    stop: &AtomicBool,
) {
    let mut checkpoints = Checkpoints::watch(&**target, counts_checkpoints);
    for line in input.lines().map_while(Result::ok) {
        if line == LOOK_NOW {
            let look = Look::at(&**target, meta, gate, &mut checkpoints);
            // One who does not read any more has closed the input, too.
            let _read = serde_json::to_string(&look).map(|text| print(&format!("{text}\n")));
        }
    }
    stop.store(true, Ordering::Relaxed);
}
