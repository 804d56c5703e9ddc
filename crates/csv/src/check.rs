//! The check of CSV files before a load. It finds all problems before the first row goes to the database.

use crate::error::{CsvError, PROBLEMS_MAX, Problem, Unfit};
use crate::files::CsvRows;
use crate::foreign_check::foreign;
use crate::gathered::{Wanted, differences, rows, scan_all};
use crate::layout::Layout;
use crate::lines::LineReader;
use crate::manifest::{FileEntry, MANIFEST, Manifest, State, all_files, file_name, hex};
use crate::rows_file::RowsFile;
use crate::scan::{Allowed, Ended, Scanned, scan};
use crate::text::Lines;
use lydite_tpcc::WarehouseId;
use lydite_tpcc::population::{Population, RowWriter};
use lydite_tpcc::rows::Row;
use lydite_tpcc::schema::Table;
use std::collections::HashSet;
use std::path::Path;

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
        Layout::Foreign(files) => foreign(dir, files, wanted, jobs, stopped),
    }
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
        None => scan(file, Allowed::All, stopped),
    };
    let found = scan_all(&files, jobs, stopped, &judge)?;
    Ok(rows(meta, files, found, false))
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
        Err(_) => return scan(file, Allowed::Only(w.0), stopped),
    };
    if length < entry.bytes {
        let what = format!("is cut: it has {length} bytes, and the manifest says {}", entry.bytes);
        return Err(bad(None, what));
    }
    let found = scan(file, Allowed::Only(w.0), stopped)?;
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
