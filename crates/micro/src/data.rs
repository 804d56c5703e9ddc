//! Content of a loaded database: equal tables of equal records.
//!
//! A record has a number, a counter and a text: two integers of eight bytes and a string, as in the thesis. The number
//! is the key. The counter begins at 0 and every update adds 1, so lost and doubled updates show.

use lydite_tpcc::random::{Purpose, Stream};
use std::fmt;

/// Version of the records. Equal versions, seeds and [`Data`] give equal records.
pub const RECORDS_VERSION: u32 = 1;

/// Bytes of a record's two integers.
pub const INTEGER_BYTES: u32 = 16;

/// Amount of data to load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Data {
    /// Tables in each engine; 1 to [`Data::MAX_TABLES`].
    pub tables: u32,
    /// Records in each table; 1 to [`Data::MAX_RECORDS`].
    pub records: u32,
    /// Bytes of a record, its two integers included; [`Data::MIN_RECORD_BYTES`] to [`Data::MAX_RECORD_BYTES`].
    pub record_bytes: u32,
}

impl Data {
    /// Most tables: they are keyspaces, or tables with two prepared statements in each session.
    pub const MAX_TABLES: u32 = 1_000;
    /// Most records of a table: half of the numbers that fit a record's address in an input.
    pub const MAX_RECORDS: u32 = 1 << 31;
    /// Fewest bytes of a record: the two integers and one character.
    pub const MIN_RECORD_BYTES: u32 = INTEGER_BYTES + 1;
    /// Most bytes of a record: far more than a page of any database.
    pub const MAX_RECORD_BYTES: u32 = 1 << 16;

    /// Returns the number of characters of a record's text.
    #[must_use]
    pub fn text_bytes(&self) -> u32 {
        self.record_bytes.saturating_sub(INTEGER_BYTES)
    }

    /// Returns all tables of a database with these engines, in the order of the load.
    pub fn all_tables(&self, engines: Engines) -> impl Iterator<Item = TableId> + use<> {
        let tables = self.tables;
        engines.homes().iter().flat_map(move |&home| (0..tables).map(move |number| TableId { home, number }))
    }

    /// Returns the number of records in all tables of a database with these engines.
    #[must_use]
    pub fn all_records(&self, engines: Engines) -> u64 {
        engines.homes().len() as u64 * u64::from(self.tables) * u64::from(self.records)
    }

    /// Passes number and text of each record of a table to `each`, in the order of their numbers.
    ///
    /// # Errors
    /// Fails with the first error of `each`.
    pub fn write_table<E>(
        &self,
        table: TableId,
        seed: u64,
        mut each: impl FnMut(u32, &str) -> Result<(), E>,
    ) -> Result<(), E> {
        let index = u64::from(table.number) << 1 | table.home as u64;
        let mut stream = Stream::new(seed, Purpose::MicroRecords, index);
        let mut text = String::with_capacity(self.text_bytes() as usize);
        for record in 0..self.records {
            text.clear();
            let mut left = self.text_bytes();
            while left > 0 {
                let length = left.min(PIECE);
                text.push_str(stream.alphanumeric::<{ PIECE as usize }>(length, length).as_ref());
                left -= length;
            }
            each(record, &text)?;
        }
        Ok(())
    }
}

/// Number of characters in one draw.
const PIECE: u32 = 50;

impl Default for Data {
    /// Returns records and tables of the thesis's size, but four tables in each engine instead of its 250: 23 MB in
    /// each engine, loaded in seconds.
    fn default() -> Self {
        Self { tables: 4, records: 25_000, record_bytes: 232 }
    }
}

impl fmt::Display for Data {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { tables, records, record_bytes } = self;
        write!(f, "tables={tables}, records={records}, record_bytes={record_bytes}")
    }
}

/// Engine of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Home {
    /// The engine in memory, or the only one.
    Memory = 0,
    /// The engine on disk.
    Disk = 1,
}

/// The engines of a database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engines {
    /// One engine: no access is on disk.
    One,
    /// One engine in memory and one on disk.
    Two,
}

impl Engines {
    /// Returns the engines of the tables.
    #[must_use]
    pub fn homes(self) -> &'static [Home] {
        match self {
            Self::One => &[Home::Memory],
            Self::Two => &[Home::Memory, Home::Disk],
        }
    }
}

/// A table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableId {
    /// Engine of the table.
    pub home: Home,
    /// Number of the table in its engine, from 0.
    pub number: u32,
}

/// Description of a loaded database, which Lydite stores with it for later runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Meta {
    /// Amount of loaded data.
    pub data: Data,
    /// Seed of the records.
    pub seed: u64,
    /// [`RECORDS_VERSION`] of the load.
    pub version: u32,
    /// Version of Lydite that loaded the database.
    pub lydite: String,
}

impl Meta {
    /// Returns the description of a load by this version of Lydite.
    #[must_use]
    pub fn new(data: Data, seed: u64, lydite: &str) -> Self {
        Self { data, seed, version: RECORDS_VERSION, lydite: lydite.to_owned() }
    }

    /// Returns the names and values to store.
    #[must_use]
    pub fn notes(&self) -> [(&'static str, String); 7] {
        [
            ("workload", "micro".to_string()),
            ("tables", self.data.tables.to_string()),
            ("records", self.data.records.to_string()),
            ("record_bytes", self.data.record_bytes.to_string()),
            ("seed", self.seed.to_string()),
            ("records_version", self.version.to_string()),
            ("lydite", self.lydite.clone()),
        ]
    }

    /// Reads the description from the stored value of each name.
    ///
    /// # Errors
    /// Fails with the first name whose value is missing or invalid.
    pub fn from_notes<'a>(note: impl Fn(&str) -> Option<&'a str>) -> Result<Self, &'static str> {
        fn number<'a, T: std::str::FromStr>(
            note: &impl Fn(&str) -> Option<&'a str>,
            name: &'static str,
            good: impl Fn(&T) -> bool,
        ) -> Result<T, &'static str> {
            note(name).and_then(|text| text.parse().ok()).filter(good).ok_or(name)
        }
        Ok(Self {
            data: Data {
                tables: number(&note, "tables", |n| (1..=Data::MAX_TABLES).contains(n))?,
                records: number(&note, "records", |n| (1..=Data::MAX_RECORDS).contains(n))?,
                record_bytes: number(&note, "record_bytes", |n| {
                    (Data::MIN_RECORD_BYTES..=Data::MAX_RECORD_BYTES).contains(n)
                })?,
            },
            seed: number(&note, "seed", |_| true)?,
            version: number(&note, "records_version", |_| true)?,
            lydite: note("lydite").ok_or("lydite")?.to_string(),
        })
    }
}
