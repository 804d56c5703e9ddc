//! The check of CSV files before a load. It finds all problems before the first row goes to the database.

use crate::error::{CsvError, PROBLEMS_MAX, Problem, Unfit};
use crate::files::CsvRows;
use crate::layout::Layout;
use crate::lines::LineReader;
use crate::manifest::{FileEntry, MANIFEST, Manifest, State, all_files, file_name, hex};
use crate::rows_file::RowsFile;
use crate::scan::{Ended, NAMES, Scanned, scan};
use crate::text::Lines;
use lydite_tpcc::meta::{DatabaseMeta, FOREIGN_POPULATION, Played};
use lydite_tpcc::nurand::CLoad;
use lydite_tpcc::population::{Population, RowWriter};
use lydite_tpcc::rows::Row;
use lydite_tpcc::schema::Table;
use lydite_tpcc::{DISTRICTS_PER_WAREHOUSE, DataSkew, Districts, Size, WarehouseId};
use parking_lot::Mutex;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;
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

/// Checks the files of a directory by `jobs` threads: their manifest, checksums, and each value of each row.
///
/// # Errors
/// All problems, each with its file and line; the system's error; a stop.
pub fn check(
    dir: &Path,
    wanted: &Wanted,
    jobs: usize,
    stopped: &(dyn Fn() -> bool + Sync),
) -> Result<CsvRows, CsvError> {
    match Layout::find(dir)? {
        Layout::Own(manifest, files) => own(dir, &manifest, files, wanted, jobs, stopped),
        Layout::Foreign(files) => foreign(files, wanted, jobs, stopped),
    }
}

/// Scans files, several at a time. Returns the contents of each, or all problems.
fn scan_all(
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

/// Checks files that Lydite wrote.
fn own(
    dir: &Path,
    manifest: &Manifest,
    files: Vec<RowsFile>,
    wanted: &Wanted,
    jobs: usize,
    stopped: &(dyn Fn() -> bool + Sync),
) -> Result<CsvRows, CsvError> {
    let refused = |what: Unfit| CsvError::refused(&dir.join(MANIFEST), what);
    let meta = manifest.meta().map_err(refused)?;
    let population = manifest.rows().map_err(refused)?;
    if manifest.state != State::Complete {
        return Err(CsvError::refused(
            dir,
            "holds files of an interrupted `lydite load --csv`: finish them with the same command",
        ));
    }
    let mut problems = differences(MANIFEST, &meta, wanted);
    problems.extend(missing(manifest, &files));
    if !problems.is_empty() {
        return Err(CsvError::Bad { problems });
    }
    let judge = |file: &RowsFile| match &file.entry {
        Some(entry) => judge_own(file, entry, &population, stopped),
        None => scan(file, None, stopped),
    };
    let found = scan_all(&files, jobs, stopped, &judge)?;
    Ok(rows(meta, files, found, false))
}

/// Returns the differences between the files and the user's wants, as problems of `file`.
fn differences(file: &str, meta: &DatabaseMeta, wanted: &Wanted) -> Vec<Problem> {
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

/// Returns the files that a manifest lacks, and those that it has twice.
fn missing(manifest: &Manifest, files: &[RowsFile]) -> Vec<Problem> {
    let mut there = HashSet::new();
    let mut problems = Vec::new();
    for (file, entry) in files.iter().filter_map(|file| Some((file, file.entry.as_ref()?))) {
        if entry.file != file_name(file.table, WarehouseId(entry.warehouse))
            || !there.insert(entry.file.clone())
        {
            problems.push(Problem::of_file(
                MANIFEST,
                format!("names the file {:?} wrongly or twice", entry.file),
            ));
        }
    }
    for (table, w) in all_files(manifest.warehouses) {
        let name = file_name(table, w);
        if !there.contains(&name) {
            problems.push(Problem::of_file(MANIFEST, format!("does not name the file {name}")));
        }
    }
    problems.truncate(PROBLEMS_MAX);
    problems
}

/// Scans a file that Lydite wrote, and compares it with the manifest. If it was changed, finds the first changed line by
/// making the rows again.
fn judge_own(
    file: &RowsFile,
    entry: &FileEntry,
    population: &Population,
    stopped: &dyn Fn() -> bool,
) -> Result<Scanned, Ended> {
    let w = WarehouseId(entry.warehouse);
    let bad =
        |line: Option<u64>, what: String| Ended::Problem(Problem { file: file.name.clone(), line, what });
    let length = match std::fs::metadata(&file.path) {
        Ok(there) => there.len(),
        // The scan reports it.
        Err(_) => return scan(file, Some(w.0), stopped),
    };
    if length < entry.bytes {
        let what = format!("is cut: it has {length} bytes, and the manifest says {}", entry.bytes);
        return Err(bad(None, what));
    }
    let found = scan(file, Some(w.0), stopped)?;
    if entry.crc32 == hex(found.crc) && found.bytes == entry.bytes && found.rows == entry.rows {
        let wanted = population.table_rows(file.table, w);
        if found.rows != wanted {
            return Err(bad(None, format!("has {} rows, and its table has {wanted}", found.rows)));
        }
        // A manifest that was changed fits other files. ITEM alone shows it, and takes no time.
        let other = if file.table == Table::Item { first_change(file, population, w) } else { None };
        if let Some(line) = other {
            let seed = population.seed;
            return Err(bad(Some(line), format!("is not the row that seed {seed} of the manifest makes")));
        }
        return Ok(found);
    }
    let says = format!(
        "the file has {} rows, {} bytes and the checksum {}, and the manifest says {}, {} and {}",
        found.rows,
        found.bytes,
        hex(found.crc),
        entry.rows,
        entry.bytes,
        entry.crc32
    );
    match first_change(file, population, w) {
        Some(line) => Err(bad(Some(line), format!("was changed: {says}"))),
        None => Err(bad(None, format!("is not the file of the manifest: {says}"))),
    }
}

/// Returns the first line that is not the row that was written there; `None` if there is none.
fn first_change(file: &RowsFile, population: &Population, w: WarehouseId) -> Option<u64> {
    struct Compare(LineReader, Lines);

    impl RowWriter for Compare {
        type Error = u64;

        fn write<R: Row>(&mut self, row: &R) -> Result<(), u64> {
            let Self(lines, made) = self;
            made.buffer.clear();
            made.row(row);
            let wanted = made.buffer.strip_suffix(b"\n").unwrap_or(&made.buffer);
            let number = lines.lines() + 1;
            match lines.next_line() {
                Ok(Some(line)) if line == wanted => Ok(()),
                _ => Err(number),
            }
        }
    }

    let lines = LineReader::open(&file.path, 0, u64::MAX).ok()?;
    let mut compare = Compare(lines, Lines::default());
    match population.write_table(file.table, w, &mut compare) {
        Err(line) => Some(line),
        // Lines behind the last row.
        Ok(rows) => compare.0.next_line().ok().flatten().map(|_| rows + 1),
    }
}

/// Makes the rows of files that are right.
fn rows(meta: DatabaseMeta, files: Vec<RowsFile>, found: Vec<Scanned>, foreign: bool) -> CsvRows {
    let mut places: HashMap<(Table, u32), Vec<_>> = HashMap::new();
    let bytes = found.iter().map(|scanned| scanned.bytes).sum();
    for (number, (file, scanned)) in files.iter().zip(found).enumerate() {
        for (w, of) in scanned.warehouses {
            let segments = of.segments.into_iter().map(|segment| (number, segment));
            places.entry((file.table, w)).or_default().extend(segments);
        }
    }
    CsvRows { meta, files, places, foreign, bytes }
}

/// Checks files of another program.
fn foreign(
    files: Vec<RowsFile>,
    wanted: &Wanted,
    jobs: usize,
    stopped: &(dyn Fn() -> bool + Sync),
) -> Result<CsvRows, CsvError> {
    let found = scan_all(&files, jobs, stopped, &|file| scan(file, None, stopped))?;
    let mut counts: BTreeMap<(Table, u32), u64> = BTreeMap::new();
    let (mut lines_of_orders, mut names) = (BTreeMap::new(), vec![0_u64; NAMES as usize]);
    for (file, scanned) in files.iter().zip(&found) {
        for (w, of) in &scanned.warehouses {
            *counts.entry((file.table, *w)).or_default() += of.rows;
            *lines_of_orders.entry(*w).or_default() += of.lines_of_orders;
        }
        names.iter_mut().zip(&scanned.names).for_each(|(sum, name)| *sum += name);
    }
    let meta = DatabaseMeta {
        // The rows are known by the checksums of their files, so that a load is resumed with the same ones alone.
        seed: fingerprint(&found),
        ..foreign_meta(&counts, &names)?
    };
    let mut problems = foreign_counts(&meta, &counts, &lines_of_orders);
    problems.extend(differences("the files", &meta, &Wanted { seed: None, ..*wanted }));
    if wanted.seed.is_some() {
        problems
            .push(Problem::of_file("the files", "have no seed: another program made them: leave --seed out"));
    }
    problems.truncate(PROBLEMS_MAX);
    if !problems.is_empty() {
        return Err(CsvError::Bad { problems });
    }
    Ok(rows(meta, files, found, true))
}

/// Returns a number that depends on all bytes of the files.
fn fingerprint(found: &[Scanned]) -> u64 {
    let mut crc = crc32fast::Hasher::new();
    found.iter().for_each(|scanned| crc.update(&scanned.crc.to_le_bytes()));
    crc.finalize().into()
}

/// Describes rows of another program: its size by the rows of ITEM, its C-Load as the one that fits its last names best.
fn foreign_meta(counts: &BTreeMap<(Table, u32), u64>, names: &[u64]) -> Result<DatabaseMeta, CsvError> {
    let items = counts.get(&(Table::Item, 0)).copied().unwrap_or_default();
    let warehouses = counts.keys().map(|(_, w)| *w).max().unwrap_or_default();
    let size = Size::ALL.into_iter().find(|size| u64::from(size.items()) == items);
    let Some(size) = size.filter(|_| warehouses > 0) else {
        let known = Size::ALL.map(|size| size.items().to_string()).join(", ");
        let what = format!("has {items} rows, and must have one of {known}");
        return Err(CsvError::Bad { problems: vec![Problem::of_file("item", what)] });
    };
    Ok(DatabaseMeta {
        warehouses,
        districts: Districts::uniform(),
        size,
        seed: 0,
        c_load: best_c_load(size, names),
        population: FOREIGN_POPULATION,
        lydite: String::new(),
        played: Played::default(),
    })
}

/// Returns the C-Load whose distribution makes these numbers of last names the likeliest.
fn best_c_load(size: Size, names: &[u64]) -> CLoad {
    let likelihood = |c_load: CLoad| -> f64 {
        let probabilities = c_load.last_name_probabilities(size);
        // A third of the customers have a name of their own.
        let mixed = probabilities.iter().map(|p| p * 2.0 / 3.0 + 1.0 / 3.0 / f64::from(size.last_names()));
        mixed.zip(names).map(|(p, count)| *count as f64 * p.ln()).sum()
    };
    let all = (0..=u8::MAX).map(CLoad).map(|c_load| (likelihood(c_load), c_load));
    all.max_by(|(one, _), (other, _)| one.total_cmp(other)).map_or(CLoad(0), |(_, c_load)| c_load)
}

/// Returns the tables with another number of rows than they must have (clause 4.3.3.1).
fn foreign_counts(
    meta: &DatabaseMeta,
    counts: &BTreeMap<(Table, u32), u64>,
    lines_of_orders: &BTreeMap<u32, u64>,
) -> Vec<Problem> {
    let mut problems = Vec::new();
    for w in 1..=meta.warehouses {
        for table in Table::OF_WAREHOUSE {
            let rows = counts.get(&(table, w)).copied().unwrap_or_default();
            let lines = lines_of_orders.get(&w).copied().unwrap_or_default();
            let wanted = meta.size.rows(table, DISTRICTS_PER_WAREHOUSE.into()).unwrap_or(lines);
            if rows != wanted {
                let what = format!("has {rows} rows of warehouse {w}, and must have {wanted}");
                problems.push(Problem::of_file(table.name(), what));
            }
            if problems.len() >= PROBLEMS_MAX {
                return problems;
            }
        }
    }
    problems
}
