//! The manifest of a directory with CSV files: which rows they have, and rows, bytes and checksum of each file.

use crate::cells::time;
use crate::error::{CsvError, Unfit};
use lydite_tpcc::meta::{DatabaseMeta, POPULATION_VERSION, Played, Scripts};
use lydite_tpcc::nurand::CLoad;
use lydite_tpcc::population::Population;
use lydite_tpcc::schema::Table;
use lydite_tpcc::{DataSkew, Districts, Size, Timestamp, WarehouseId};
use serde::{Deserialize, Serialize};
use std::fs;
use std::io::{self, ErrorKind};
use std::path::Path;

/// Name of the manifest.
pub const MANIFEST: &str = "manifest.json";
/// Version of the manifest and of the text of the rows.
pub(crate) const CSV: u32 = 1;

/// State of the files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum State {
    /// Files are missing: the writer was interrupted, or is at work.
    Writing,
    /// All files are there.
    Complete,
}

/// The manifest.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Manifest {
    /// Version of Lydite that wrote the files.
    pub(crate) lydite: String,
    /// Version of the manifest, [`CSV`].
    pub(crate) csv: u32,
    pub(crate) state: State,
    /// Version of the rows.
    pub(crate) population: u32,
    pub(crate) warehouses: u32,
    /// `standard`, `small` or `tiny`.
    pub(crate) size: String,
    /// Distribution of the districts, if it is not ten for each warehouse.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) data_skew: Option<String>,
    pub(crate) seed: u64,
    pub(crate) c_load: u8,
    /// Time in all rows that have one, as the files have it.
    pub(crate) time: String,
    #[serde(default)]
    pub(crate) files: Vec<FileEntry>,
}

/// A file of a table's rows of one warehouse, or of ITEM.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FileEntry {
    pub(crate) file: String,
    pub(crate) table: String,
    /// Warehouse, 0 for ITEM.
    pub(crate) warehouse: u32,
    pub(crate) rows: u64,
    pub(crate) bytes: u64,
    /// CRC-32 as eight hexadecimal digits.
    pub(crate) crc32: String,
}

/// Returns a checksum as a manifest has it.
pub(crate) fn hex(crc: u32) -> String {
    format!("{crc:08x}")
}

/// Returns the name of the file of a table's rows of a warehouse.
pub(crate) fn file_name(table: Table, w: WarehouseId) -> String {
    match table {
        Table::Item => "item.csv".to_owned(),
        table => format!("{}.{w}.csv", table.name()),
    }
}

/// Returns the files of a number of warehouses: ITEM first, then warehouse by warehouse.
pub(crate) fn all_files(warehouses: u32) -> impl Iterator<Item = (Table, WarehouseId)> {
    let of = |w| Table::OF_WAREHOUSE.into_iter().map(move |table| (table, WarehouseId(w)));
    std::iter::once((Table::Item, WarehouseId(0))).chain((1..=warehouses).flat_map(of))
}

impl Manifest {
    /// Describes files that are being written.
    pub(crate) fn begin(meta: &DatabaseMeta, time: &str) -> Self {
        Self {
            lydite: meta.lydite.clone(),
            csv: CSV,
            state: State::Writing,
            population: meta.population,
            warehouses: meta.warehouses,
            size: meta.size.name().to_owned(),
            data_skew: meta.districts.skew().map(|skew| skew.to_string()),
            seed: meta.seed,
            c_load: meta.c_load.0,
            time: time.to_owned(),
            files: Vec::new(),
        }
    }

    /// Reads the manifest of a directory; `None` if it has none.
    pub(crate) fn read(dir: &Path) -> Result<Option<Self>, CsvError> {
        let path = dir.join(MANIFEST);
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(CsvError::system("can't read", &path)(error)),
        };
        let manifest: Self = serde_json::from_str(&text)
            .map_err(|error| CsvError::refused(&path, format!("is no manifest of CSV files: {error}")))?;
        if manifest.csv != CSV {
            let (found, lydite) = (manifest.csv, &manifest.lydite);
            return Err(CsvError::refused(
                &path,
                format!(
                    "has version {found}, which Lydite {lydite} wrote, and this Lydite reads version {CSV}: write the \
                     files again"
                ),
            ));
        }
        Ok(Some(manifest))
    }

    /// Writes the manifest as a whole.
    pub(crate) fn save(&self, dir: &Path) -> Result<(), CsvError> {
        let path = dir.join(MANIFEST);
        let temporary = dir.join(format!(".{MANIFEST}.{}.tmp", std::process::id()));
        let write = || {
            let mut text = serde_json::to_string_pretty(self).map_err(io::Error::from)?;
            text.push('\n');
            fs::write(&temporary, text)?;
            fs::File::open(&temporary)?.sync_all()?;
            fs::rename(&temporary, &path)
        };
        write().map_err(CsvError::system("can't write", &path))
    }

    /// Returns the description of a database with these rows.
    ///
    /// # Errors
    /// The reason why this version of Lydite does not know the rows.
    pub(crate) fn meta(&self) -> Result<DatabaseMeta, Unfit> {
        if self.population != POPULATION_VERSION {
            return Err(Unfit(format!(
                "has rows of version {}, and this Lydite makes version {POPULATION_VERSION}: write the files again",
                self.population
            )));
        }
        let size = Size::from_name(&self.size)
            .ok_or_else(|| Unfit(format!("has an unknown size {:?}", self.size)))?;
        let skew = self.data_skew.as_ref().map(|skew| skew.parse::<DataSkew>()).transpose();
        let skew = skew.map_err(|problem| Unfit(format!("has a data_skew that {problem}")))?;
        let districts = match skew {
            None => Districts::uniform(),
            Some(skew) => Districts::spread(skew, self.warehouses)?,
        };
        if self.warehouses == 0 {
            return Err(Unfit::from("has no warehouses"));
        }
        Ok(DatabaseMeta {
            warehouses: self.warehouses,
            districts,
            size,
            seed: self.seed,
            c_load: CLoad(self.c_load),
            population: self.population,
            lydite: self.lydite.clone(),
            played: Played::default(),
            scripts: Scripts::default(),
            files: None,
        })
    }

    /// Returns the rows of the files.
    ///
    /// # Errors
    /// See [`Manifest::meta`].
    pub(crate) fn rows(&self) -> Result<Population, Unfit> {
        let time: Timestamp =
            time(&self.time).ok_or_else(|| Unfit(format!("has a bad time {:?}", self.time)))?;
        Ok(Population::from_meta(&self.meta()?, time))
    }
}
