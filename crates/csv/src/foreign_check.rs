//! The check of another program's files: what they have, then their keys, then their counts.

use crate::error::{CsvError, PROBLEMS_MAX, Problem};
use crate::files::CsvRows;
use crate::gathered::{Wanted, differences, rows, scan_all};
use crate::keys::{Keys, WrongLines};
use crate::lines::LineReader;
use crate::parse::{OwnRow, Parser};
use crate::rows_file::RowsFile;
use crate::scan::{Allowed, NAMES, Scanned, scan};
use lydite_tpcc::limits::MAX_WAREHOUSES;
use lydite_tpcc::meta::{DatabaseMeta, FOREIGN_POPULATION, Played, Scripts};
use lydite_tpcc::nurand::CLoad;
use lydite_tpcc::schema::Table;
use lydite_tpcc::{DISTRICTS_PER_WAREHOUSE, Districts, Size};
use std::collections::BTreeMap;
use std::path::Path;

/// Checks files of another program.
pub(crate) fn foreign(
    dir: &Path,
    files: Vec<RowsFile>,
    wanted: &Wanted,
    jobs: usize,
    stopped: &(dyn Fn() -> bool + Sync),
) -> Result<CsvRows, CsvError> {
    // The size and the number of warehouses bound the ids of all other rows.
    let first = |file: &&RowsFile| matches!(file.table, Table::Item | Table::Warehouse);
    let bounding: Vec<RowsFile> = files.iter().filter(first).cloned().collect();
    let found = scan_all(&bounding, jobs, stopped, &|file| scan(file, Allowed::All, stopped))?;
    let (mut items, mut warehouses) = (0, 0);
    for (file, scanned) in bounding.iter().zip(&found) {
        *(if file.table == Table::Item { &mut items } else { &mut warehouses }) += scanned.rows;
    }
    let (size, warehouses) = scale(items, warehouses)?;
    let keys = Keys::new(size, warehouses);
    let found = scan_all(&files, jobs, stopped, &|file| scan(file, Allowed::Keys(&keys), stopped))?;
    let cut = cut_lines(&files, &found);
    if !cut.is_empty() {
        return Err(CsvError::Bad { problems: cut });
    }
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
        warehouses,
        districts: Districts::uniform(),
        size,
        // The rows are known by the checksums of their files, so that a load is resumed with the same ones alone.
        seed: fingerprint(&found),
        c_load: best_c_load(size, &names),
        population: FOREIGN_POPULATION,
        lydite: String::new(),
        played: Played::default(),
        scripts: Scripts::default(),
        files: std::path::absolute(dir).ok().map(|dir| dir.display().to_string()),
    };
    let mut problems = foreign_counts(&meta, &counts, &lines_of_orders);
    if problems.iter().all(|problem| problem.file == Table::OrderLine.name()) {
        // Each order names its own lines better than the sums do.
        let of_orders = wrong_lines(&keys, &files);
        if !of_orders.is_empty() {
            problems = of_orders;
        }
    }
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

/// Returns the files whose last line has no end, unless all files are so: a program ends its last lines always or never, and
/// the rest of a value may be missing.
fn cut_lines(files: &[RowsFile], found: &[Scanned]) -> Vec<Problem> {
    if !found.iter().any(|scanned| scanned.bytes > 0 && !scanned.open) {
        return Vec::new();
    }
    let open = files.iter().zip(found).filter(|(_, scanned)| scanned.open);
    let problem = |(file, scanned): (&RowsFile, &Scanned)| {
        let what = "is the last one and has no end, which other files have: the file was cut: copy it again, or end the line";
        Problem::at(&file.name, scanned.rows + u64::from(file.header), what)
    };
    open.map(problem).take(PROBLEMS_MAX).collect()
}

/// Returns size and warehouses of rows of another program, by the rows of ITEM and of WAREHOUSE.
fn scale(items: u64, warehouses: u64) -> Result<(Size, u32), CsvError> {
    let bad = |file: &str, what: String| CsvError::Bad { problems: vec![Problem::of_file(file, what)] };
    let Some(size) = Size::ALL.into_iter().find(|size| u64::from(size.items()) == items) else {
        let known = Size::ALL.map(|size| size.items().to_string()).join(", ");
        return Err(bad("item", format!("has {items} rows, and must have one of {known}")));
    };
    match u32::try_from(warehouses) {
        Ok(warehouses @ 1..=MAX_WAREHOUSES) => Ok((size, warehouses)),
        _ => Err(bad("warehouse", format!("has {warehouses} rows, and must have 1 to {MAX_WAREHOUSES}"))),
    }
}

/// Returns the orders whose lines are not those that they count, with the lines of the files of ORDER.
fn wrong_lines(keys: &Keys, files: &[RowsFile]) -> Vec<Problem> {
    let mut wrong: BTreeMap<(u32, u64, u64), WrongLines> = BTreeMap::new();
    for order in keys.wrong_lines(PROBLEMS_MAX) {
        wrong.insert((order.warehouse, order.district, order.order), order);
    }
    let mut problems = Vec::new();
    for file in files.iter().filter(|file| file.table == Table::Orders) {
        // The file was read before. If it can't be read now, the rest is reported without a line.
        let Ok(mut lines) = LineReader::open(&file.path, 0, u64::MAX) else { continue };
        let mut parser = Parser::new(file.table, file.order.clone());
        if wrong.is_empty() {
            break;
        }
        while let Ok(Some(line)) = lines.next_line() {
            let Ok(OwnRow::Order(row)) = parser.row(line) else { continue };
            if let Some(order) = wrong.remove(&(row.w_id.0, row.d_id.0.into(), row.id.0)) {
                problems.push(Problem::at(&file.name, lines.lines(), lines_of(&order)));
            }
        }
    }
    problems.extend(wrong.values().map(|order| Problem::of_file(Table::OrderLine.name(), lines_of(order))));
    problems
}

fn lines_of(order: &WrongLines) -> String {
    let WrongLines { warehouse, district, order, wanted, found } = order;
    format!(
        "order {order} of district {district} of warehouse {warehouse} has {wanted} lines by o_ol_cnt, and {found} in \
         order_line, which must be numbered from 1 to {wanted}"
    )
}

/// Returns a number that depends on all bytes of the files.
fn fingerprint(found: &[Scanned]) -> u64 {
    let mut crc = crc32fast::Hasher::new();
    found.iter().for_each(|scanned| crc.update(&scanned.crc.to_le_bytes()));
    crc.finalize().into()
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
