//! The first pass over a file: each line is read as a row, counted, and its place noted.

use crate::error::Problem;
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
}

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
    pub(crate) warehouses: BTreeMap<u32, OfWarehouse>,
    /// Occurrences of each last name, by its number, in a file of CUSTOMER of another program; else empty.
    pub(crate) names: Vec<u64>,
}

/// Reason why a scan ended early.
pub(crate) enum Ended {
    Problem(Problem),
    Interrupted,
}

/// Reads a file. All its rows must be of the warehouse `only`, if it is set.
pub(crate) fn scan(file: &RowsFile, only: Option<u32>, stopped: &dyn Fn() -> bool) -> Result<Scanned, Ended> {
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
    loop {
        let from = lines.bytes();
        let Some(line) = lines.next_line().map_err(failed)? else { break };
        if std::mem::take(&mut skip) {
            continue;
        }
        let parsed = parser.row(line);
        let number = lines.lines();
        let problem = |what: String| Ended::Problem(Problem::at(&file.name, number, what));
        let row = parsed.map_err(|unfit| problem(unfit.to_string()))?;
        let w = row.warehouse().0;
        if let Some(only) = only
            && w != only
        {
            return Err(problem(format!("is of warehouse {w}, and the file of warehouse {only}")));
        }
        if w == 0 && file.table != Table::Item {
            return Err(problem("is of warehouse 0: they begin with 1".to_owned()));
        }
        found.add(&row, &numbers, Segment { from, bytes: lines.bytes() - from, line: number });
        if number.is_multiple_of(LOOK) && stopped() {
            return Err(Ended::Interrupted);
        }
    }
    (found.bytes, found.crc) = (lines.bytes(), lines.crc());
    Ok(found)
}

impl Scanned {
    fn add(&mut self, row: &OwnRow, numbers: &HashMap<String, usize>, at: Segment) {
        self.rows += 1;
        let of = self.warehouses.entry(row.warehouse().0).or_default();
        of.rows += 1;
        match of.segments.last_mut() {
            Some(last) if last.from + last.bytes == at.from => last.bytes += at.bytes,
            _ => of.segments.push(at),
        }
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
