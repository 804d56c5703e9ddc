//! The first pass over a file: each line is read as a row, counted, and its place noted.

use crate::error::Problem;
use crate::keys::Keys;
use crate::lines::LineReader;
use crate::parse::{OwnRow, Parser};
use crate::rows_file::RowsFile;
use lydite_tpcc::nurand::last_name;
use lydite_tpcc::schema::Table;
use std::collections::{BTreeMap, HashMap};
use std::io;

/// Lines between two looks at the stop.
const LOOK: u64 = 10_000;

/// Number of last names (clause 4.3.2.3).
pub(crate) const NAMES: u32 = 1_000;

/// Neighbouring lines of one warehouse in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Segment {
    /// First byte.
    pub(crate) from: u64,
    pub(crate) bytes: u64,
    /// First line, from 1.
    pub(crate) line: u64,
    /// Checksum (CRC-32) of the bytes.
    pub(crate) crc: u32,
}

/// Most segments of a file. Each takes memory, and is read by itself.
const MOST_SEGMENTS: u64 = 1 << 20;
/// Segments that any file may have, and the rows of a segment that it must have on average above them. Otherwise rows
/// in any order would be read one by one.
const ANY_SEGMENTS: u64 = 1 << 15;
const ROWS_OF_SEGMENT: u64 = 16;

/// Rows of one warehouse in a file.
#[derive(Clone, Debug, Default)]
pub(crate) struct OfWarehouse {
    pub(crate) rows: u64,
    /// Sum of O_OL_CNT, in files of ORDER.
    pub(crate) lines_of_orders: u64,
    pub(crate) segments: Vec<Segment>,
}

/// Contents of a file.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scanned {
    pub(crate) rows: u64,
    pub(crate) bytes: u64,
    pub(crate) crc: u32,
    /// True if the last line has no end.
    pub(crate) open: bool,
    pub(crate) warehouses: BTreeMap<u32, OfWarehouse>,
    /// Occurrences of each last name, by its number, in a file of CUSTOMER of another program; else empty.
    pub(crate) names: Vec<u64>,
}

/// Reason why a scan ended early.
pub(crate) enum Ended {
    Problem(Problem),
    Interrupted,
}

/// Rows that a file may have.
#[derive(Clone, Copy)]
pub(crate) enum Allowed<'a> {
    /// Any rows.
    All,
    /// Rows of a warehouse.
    Only(u32),
    /// Rows whose keys fit each other; they are added.
    Keys(&'a Keys),
}

/// Reads a file.
pub(crate) fn scan(
    file: &RowsFile,
    allowed: Allowed<'_>,
    stopped: &dyn Fn() -> bool,
) -> Result<Scanned, Ended> {
    let failed = |error: io::Error| {
        let what = match error.kind() {
            io::ErrorKind::NotFound => "is missing".to_owned(),
            _ => format!("can't be read: {error}"),
        };
        Ended::Problem(Problem::of_file(&file.name, what))
    };
    let mut lines = LineReader::open(&file.path, 0, u64::MAX).map_err(failed)?;
    let mut parser = Parser::new(file.table, file.order.clone());
    let mut found = Scanned::default();
    let mut numbers = HashMap::new();
    if file.entry.is_none() && file.table == Table::Customer {
        // Only files of other programs have an unknown C-Load, which their last names show.
        numbers.extend((0..NAMES).map(|number| (last_name(number).to_string(), number as usize)));
        found.names = vec![0; NAMES as usize];
    }
    let mut skip = file.header;
    let mut segments = Segments { by_segment: matches!(allowed, Allowed::Keys(_)), ..Segments::default() };
    while let Some(line) = lines.next_line().map_err(failed)? {
        if std::mem::take(&mut skip) {
            continue;
        }
        let parsed = parser.row(line);
        let number = lines.lines();
        let problem = |what: String| Ended::Problem(Problem::at(&file.name, number, what));
        let row = parsed.map_err(|unfit| problem(unfit.to_string()))?;
        let w = row.warehouse().0;
        if w == 0 && file.table != Table::Item {
            return Err(problem("is of warehouse 0: they begin with 1".to_owned()));
        }
        match allowed {
            Allowed::All => {}
            Allowed::Only(only) if w == only => {}
            Allowed::Only(only) => {
                return Err(problem(format!("is of warehouse {w}, and the file of warehouse {only}")));
            }
            Allowed::Keys(keys) => keys.add(&row).map_err(|unfit| problem(unfit.to_string()))?,
        }
        found.add(&row, &numbers);
        segments.add(w, &lines, &mut found);
        if segments.are_too_many(found.rows) {
            return Err(problem(unsorted(file, segments.count)));
        }
        if number.is_multiple_of(LOOK) && stopped() {
            return Err(Ended::Interrupted);
        }
    }
    segments.end(&lines, &mut found);
    (found.bytes, found.crc, found.open) = (lines.bytes(), lines.crc(), lines.is_open());
    Ok(found)
}

/// Returns the problem of a file whose rows change the warehouse too often.
fn unsorted(file: &RowsFile, changes: u64) -> String {
    let column = file.table.warehouse_column().unwrap_or_default();
    let schema = file.table.schema().columns.iter().position(|of| of.name == column).unwrap_or_default();
    let place = file.order.0[schema] + 1;
    format!(
        "the rows up to it change the warehouse {changes} times, and each part is read by itself: sort the file by \
         {column}, as with `sort -t, -s -k{place},{place}n`"
    )
}

/// The segments of a file, as they are found.
#[derive(Default)]
struct Segments {
    count: u64,
    /// True to compute the checksum of each. Otherwise the file is one segment, with the checksum of the file.
    by_segment: bool,
    /// Warehouse of the last row, its segment, and the checksum so far.
    last: Option<(u32, Segment, crc32fast::Hasher)>,
}

impl Segments {
    /// True if a file with so many rows has too many segments.
    fn are_too_many(&self, rows: u64) -> bool {
        let many = self.count > ANY_SEGMENTS && rows < self.count * ROWS_OF_SEGMENT;
        many || self.count > MOST_SEGMENTS
    }

    /// Adds the line that was read last, a row of warehouse `w`.
    fn add(&mut self, w: u32, lines: &LineReader, found: &mut Scanned) {
        let bytes = lines.last().len() as u64;
        match &mut self.last {
            Some((last, segment, _)) if *last == w => segment.bytes += bytes,
            _ => {
                self.end(lines, found);
                let segment = Segment { from: lines.bytes() - bytes, bytes, line: lines.lines(), crc: 0 };
                self.last = Some((w, segment, crc32fast::Hasher::new()));
                self.count += 1;
            }
        }
        if let Some((.., crc)) = self.last.as_mut().filter(|_| self.by_segment) {
            crc.update(lines.last());
        }
    }

    /// Ends the last segment.
    fn end(&mut self, lines: &LineReader, found: &mut Scanned) {
        if let Some((w, segment, crc)) = self.last.take() {
            let crc = if self.by_segment { crc.finalize() } else { lines.crc() };
            found.warehouses.entry(w).or_default().segments.push(Segment { crc, ..segment });
        }
    }
}

impl Scanned {
    fn add(&mut self, row: &OwnRow, numbers: &HashMap<String, usize>) {
        self.rows += 1;
        let of = self.warehouses.entry(row.warehouse().0).or_default();
        of.rows += 1;
        match row {
            OwnRow::Order(order) => of.lines_of_orders += u64::from(order.ol_cnt),
            OwnRow::Customer(customer) => {
                if let Some(number) = numbers.get(customer.last.as_str()) {
                    self.names[*number] += 1;
                }
            }
            _ => {}
        }
    }
}
