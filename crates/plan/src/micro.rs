//! Keys of the microbenchmark: the data to load and the shape of its transactions.

use crate::entries::Entries;
use crate::key::Key;
use crate::values::whole;
use lydite_families::TargetSpec;
use lydite_micro::{Data, Engines, Meta, Shape};
use std::fmt;

/// Keys of a plan that belong to it.
pub const KEYS: &[Key] = &[
    Key::new("micro.tables"),
    Key::new("micro.records"),
    Key::new("micro.record_bytes"),
    Key::new("micro.accesses"),
    Key::new("micro.updates"),
    Key::new("micro.disk_percent"),
];

/// The data of the database in a plan or on a command line. Unset keys take the value of the loaded database, else the
/// default.
#[derive(Clone, Copy, Debug)]
pub struct MicroData {
    tables: Option<u32>,
    records: Option<u32>,
    record_bytes: Option<u32>,
    /// Seed of the records.
    seed: Option<u64>,
}

/// Keys whose values differ from those of the loaded database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Differences(Vec<Difference>);

/// A key whose value differs from that of the loaded database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Difference {
    key: &'static str,
    asked: u64,
    loaded: u64,
}

impl fmt::Display for Differences {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, Difference { key, asked, loaded }) in self.0.iter().enumerate() {
            let comma = if place > 0 { ", " } else { "" };
            write!(f, "{comma}{key} = {asked} and not {loaded}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Differences {}

impl MicroData {
    /// Reads the data; the caller reads `seed`.
    pub fn read(entries: &mut Entries, seed: Option<u64>) -> Self {
        Self {
            tables: entries.read("micro.tables", |text| whole(text, 1, Data::MAX_TABLES)),
            records: entries.read("micro.records", |text| whole(text, 1, Data::MAX_RECORDS)),
            record_bytes: entries.read("micro.record_bytes", |text| {
                whole(text, Data::MIN_RECORD_BYTES, Data::MAX_RECORD_BYTES)
            }),
            seed,
        }
    }

    /// Returns the data to load, with the values of `usual` for unset keys.
    #[must_use]
    pub fn or(&self, usual: Data) -> Data {
        Data {
            tables: self.tables.unwrap_or(usual.tables),
            records: self.records.unwrap_or(usual.records),
            record_bytes: self.record_bytes.unwrap_or(usual.record_bytes),
        }
    }

    /// Checks that the database of `meta` has the data.
    ///
    /// # Errors
    /// The keys that differ, each with its value here and in the database.
    pub fn check_loaded(&self, meta: &Meta) -> Result<(), Differences> {
        let data = meta.data;
        let keys = [
            ("micro.tables", self.tables.map(u64::from), u64::from(data.tables)),
            ("micro.records", self.records.map(u64::from), u64::from(data.records)),
            ("micro.record_bytes", self.record_bytes.map(u64::from), u64::from(data.record_bytes)),
            ("seed", self.seed, meta.seed),
        ];
        let differ = |(key, asked, loaded): (_, Option<u64>, u64)| {
            let asked = asked.filter(|asked| *asked != loaded)?;
            Some(Difference { key, asked, loaded })
        };
        let differences: Vec<Difference> = keys.into_iter().filter_map(differ).collect();
        if differences.is_empty() { Ok(()) } else { Err(Differences(differences)) }
    }
}

/// The microbenchmark of a plan.
#[derive(Clone, Copy, Debug)]
pub struct MicroAsked {
    /// Data of the database.
    pub data: MicroData,
    /// Accesses of each transaction.
    pub shape: Shape,
}

impl MicroAsked {
    /// Reads the microbenchmark. On a target with one engine no access is on disk.
    pub(crate) fn read(entries: &mut Entries, target: Option<&TargetSpec>) -> Self {
        let usual = Shape::default();
        let seed = entries.text("seed").and_then(|text| text.trim().parse().ok());
        let data = MicroData::read(entries, seed);
        let accesses = entries.read("micro.accesses", |text| whole(text, 1, Shape::MAX_ACCESSES));
        let accesses = accesses.unwrap_or(usual.accesses);
        let updates = entries.read("micro.updates", |text| whole(text, 0, Shape::MAX_ACCESSES));
        let updates = updates.unwrap_or(usual.updates);
        if updates > accesses {
            // By default updates are fewer than accesses, so at least one of the keys was set: report that one.
            let set = ["micro.updates", "micro.accesses"].into_iter().find(|key| entries.text(key).is_some());
            let problem = format!("{updates} updates are more than the accesses ({accesses}): ask for fewer");
            entries.wrong(set.unwrap_or("micro.updates"), &problem);
        }
        let disk_percent = entries.read("micro.disk_percent", |text| whole(text, 0, 100));
        let engines = target.map_or(Engines::Two, TargetSpec::engines);
        if engines == Engines::One && entries.text("micro.disk_percent").is_some() {
            entries.wrong(
                "micro.disk_percent",
                "is for databases with two engines (gemel:): this one has one, leave it out",
            );
        }
        let disk_percent = match engines {
            Engines::One => 0,
            Engines::Two => disk_percent.unwrap_or(usual.disk_percent),
        };
        Self { data, shape: Shape { accesses, updates, disk_percent } }
    }
}
