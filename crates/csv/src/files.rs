//! Files that were checked, as the rows of a load.

use crate::lines::LineReader;
use crate::parse::Parser;
use crate::rows_file::RowsFile;
use crate::scan::Segment;
use lydite_database::{RowFiles, RowsLost};
use lydite_tpcc::WarehouseId;
use lydite_tpcc::meta::DatabaseMeta;
use lydite_tpcc::rows::AnyRow;
use lydite_tpcc::schema::Table;
use std::collections::HashMap;
use std::ops::ControlFlow;

/// Rows in files that were checked.
#[derive(Debug)]
pub struct CsvRows {
    pub(crate) meta: DatabaseMeta,
    /// Files, with the lengths that they had at the check.
    pub(crate) files: Vec<(RowsFile, u64)>,
    /// Places of the rows of each table and warehouse: the index of the file, and the lines in it.
    pub(crate) places: HashMap<(Table, u32), Vec<(usize, Segment)>>,
    /// True if another program wrote the files.
    pub(crate) foreign: bool,
    /// Bytes of all files.
    pub(crate) bytes: u64,
}

impl CsvRows {
    /// True if another program wrote the files.
    #[must_use]
    pub fn are_foreign(&self) -> bool {
        self.foreign
    }

    /// Returns the number of files and of their bytes.
    #[must_use]
    pub fn size(&self) -> (usize, u64) {
        (self.files.len(), self.bytes)
    }
}

impl RowFiles for CsvRows {
    fn meta(&self) -> &DatabaseMeta {
        &self.meta
    }

    fn read(
        &self,
        table: Table,
        w: WarehouseId,
        take: &mut dyn FnMut(AnyRow<'_>) -> ControlFlow<()>,
    ) -> Result<(), RowsLost> {
        let w = if table == Table::Item { 0 } else { w.0 };
        for (file, segment) in self.places.get(&(table, w)).into_iter().flatten() {
            let (file, length) = &self.files[*file];
            if read((file, *length), *segment, take)?.is_break() {
                return Ok(());
            }
        }
        Ok(())
    }
}

/// Reads the rows of a part of a file.
fn read(
    (file, length): (&RowsFile, u64),
    segment: Segment,
    take: &mut dyn FnMut(AnyRow<'_>) -> ControlFlow<()>,
) -> Result<ControlFlow<()>, RowsLost> {
    let name = &file.name;
    let changed = |what: String| {
        RowsLost(format!(
            "{name}{what}: the file was changed since it was checked: put it back, or load all rows again with --fresh"
        ))
    };
    let failed = |error: std::io::Error| RowsLost(format!("{name}: can't be read: {error}"));
    let mut lines = LineReader::open(&file.path, segment.from, segment.bytes).map_err(failed)?;
    if lines.file_length().map_err(failed)? != length {
        return Err(changed(" has another length".to_owned()));
    }
    let mut parser = Parser::new(file.table, file.order.clone());
    while let Some(line) = lines.next_line().map_err(failed)? {
        let row = parser.row(line);
        let number = segment.line + lines.lines() - 1;
        let row = row.map_err(|problem| changed(format!(" line {number}: {problem}")))?;
        if take(row.as_any()).is_break() {
            return Ok(ControlFlow::Break(()));
        }
    }
    if lines.bytes() != segment.bytes {
        return Err(changed(" is shorter".to_owned()));
    }
    if lines.crc() != segment.crc {
        return Err(changed(" has another checksum".to_owned()));
    }
    Ok(ControlFlow::Continue(()))
}
