//! The steps that the checks of Lydite's files and of other programs' share: all files are scanned, compared with what the
//! user wants, and become the rows of a load.

use crate::error::{CsvError, PROBLEMS_MAX, Problem};
use crate::files::CsvRows;
use crate::rows_file::RowsFile;
use crate::scan::{Ended, Scanned};
use lydite_tpcc::meta::DatabaseMeta;
use lydite_tpcc::schema::Table;
use lydite_tpcc::{DataSkew, Districts, Size};
use parking_lot::Mutex;
use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// The rows that the user wants; unset fields take what the files have.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Wanted {
    /// Number of warehouses.
    pub warehouses: Option<u32>,
    /// Seed.
    pub seed: Option<u64>,
    /// Size of the warehouses.
    pub size: Option<Size>,
    /// Distribution of the districts.
    pub skew: Option<DataSkew>,
}

/// Scans files, several at a time. Returns the contents of each, or all problems.
pub(crate) fn scan_all(
    files: &[RowsFile],
    jobs: usize,
    stopped: &(dyn Fn() -> bool + Sync),
    judge: &(dyn Fn(&RowsFile) -> Result<Scanned, Ended> + Sync),
) -> Result<Vec<Scanned>, CsvError> {
    let next = AtomicUsize::new(0);
    let interrupted = AtomicBool::new(false);
    let found: Mutex<BTreeMap<usize, Scanned>> = Mutex::default();
    let problems: Mutex<BTreeMap<usize, Problem>> = Mutex::default();
    let work = || {
        while !stopped() && problems.lock().len() < PROBLEMS_MAX {
            let number = next.fetch_add(1, Ordering::Relaxed);
            let Some(file) = files.get(number) else { break };
            match judge(file) {
                Ok(scanned) => drop(found.lock().insert(number, scanned)),
                Err(Ended::Problem(problem)) => drop(problems.lock().insert(number, problem)),
                Err(Ended::Interrupted) => interrupted.store(true, Ordering::Relaxed),
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..jobs.min(files.len()) {
            // With fewer threads it takes longer.
            let _started = std::thread::Builder::new().spawn_scoped(scope, work);
        }
        work();
    });
    let problems = problems.into_inner();
    if !problems.is_empty() {
        return Err(CsvError::Bad { problems: problems.into_values().collect() });
    }
    if stopped() || interrupted.into_inner() {
        return Err(CsvError::Interrupted);
    }
    Ok(found.into_inner().into_values().collect())
}

/// Returns the differences between the files and the user's wants, as problems of `file`.
pub(crate) fn differences(file: &str, meta: &DatabaseMeta, wanted: &Wanted) -> Vec<Problem> {
    let mut problems = Vec::new();
    let mut differs = |what: String| problems.push(Problem::of_file(file, what));
    if let Some(warehouses) = wanted.warehouses.filter(|wanted| *wanted != meta.warehouses) {
        differs(format!(
            "has {} warehouses, and {warehouses} are wanted: leave --warehouses out",
            meta.warehouses
        ));
    }
    if let Some(seed) = wanted.seed.filter(|wanted| *wanted != meta.seed) {
        differs(format!("has rows from seed {}, and seed {seed} is wanted: leave --seed out", meta.seed));
    }
    if let Some(size) = wanted.size.filter(|wanted| *wanted != meta.size) {
        let (has, wants) = (meta.size.name(), size.name());
        differs(format!("has warehouses of size {has}, and {wants} is wanted: leave --size out"));
    }
    if let Some(skew) = wanted.skew
        && Districts::spread(skew, meta.warehouses).as_ref() != Ok(&meta.districts)
    {
        let has = meta.districts.skew().map_or_else(|| "ten each".to_owned(), |skew| skew.to_string());
        differs(format!("has districts by {has}, and {skew} is wanted: leave --data-skew out"));
    }
    problems
}

/// Makes the rows of files that are right.
pub(crate) fn rows(meta: DatabaseMeta, files: Vec<RowsFile>, found: Vec<Scanned>, foreign: bool) -> CsvRows {
    let mut places: HashMap<(Table, u32), Vec<_>> = HashMap::new();
    let bytes = found.iter().map(|scanned| scanned.bytes).sum();
    let lengths: Vec<u64> = found.iter().map(|scanned| scanned.bytes).collect();
    for (number, (file, scanned)) in files.iter().zip(found).enumerate() {
        for (w, of) in scanned.warehouses {
            let segments = of.segments.into_iter().map(|segment| (number, segment));
            places.entry((file.table, w)).or_default().extend(segments);
        }
    }
    CsvRows { meta, files: files.into_iter().zip(lengths).collect(), places, foreign, bytes }
}
