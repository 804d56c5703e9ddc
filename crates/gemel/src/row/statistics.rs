//! Statistics of a table from a sample of its rows.
//!
//! The sample is a simple random one, without replacement. Draws of unequal probability become one as follows: a row that
//! was drawn with weight `w` stays with probability `w` divided by the largest weight. So all rows are equally likely.

use super::schema::Column;
use super::table::Table;
use super::value::{OwnedValue, Value};
use super::view::RowView;
use crate::draw::Random;
use crate::error::Result;
use std::collections::HashSet;
use xxhash_rust::xxh3::xxh3_64;

/// Maximum number of bytes of a value in a list of values.
const LISTED_BYTES: usize = 1024;
/// A value is common if it comes at least so many times as often as the mean value.
const COMMON: f64 = 1.25;

/// The extent of a sample, for [`Database::statistics`](crate::Database::statistics).
///
/// ```
/// use gemel::row::Sampling;
///
/// let coarse = Sampling { rows: 3_000, values: 10, ..Sampling::default() };
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sampling {
    /// Number of rows that are drawn at random. A table with at most so many rows is read as a whole. The default of
    /// 30 000 is PostgreSQL's: in a table of a million rows, each of 100 buckets is at most half too large or too small,
    /// with 99 % confidence, and a larger table needs few more (Chaudhuri, Motwani and Narasayya, "Random Sampling for
    /// Histogram Construction", 1998). The call keeps the values of these rows in memory, but none above 1 KiB.
    pub rows: u64,
    /// Maximum number of common values of a column, and of the buckets of its histogram. Default 100.
    pub values: usize,
    /// Seed of the random numbers. The same seed gives the same statistics as long as the table does not change, nor the
    /// files that it has. Default 0.
    pub seed: u64,
}

impl Default for Sampling {
    fn default() -> Self {
        Self { rows: 30_000, values: 100, seed: 0 }
    }
}

/// Statistics of a table, for the planner of a layer above.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct TableStatistics {
    /// Rows of the table.
    pub rows: u64,
    /// Rows on which the other numbers rest.
    pub sampled: u64,
    /// True if all rows were read, so no number is an estimate.
    pub is_exact: bool,
    /// The columns, in the order of the schema.
    pub columns: Vec<ColumnStatistics>,
    /// The primary key, and then the indexes in the order of the schema. Each has one entry for each row.
    pub keys: Vec<KeyStatistics>,
}

/// Statistics of a column. Fractions are of all rows, nulls included.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ColumnStatistics {
    /// Name.
    pub name: String,
    /// Fraction of rows that are null here.
    pub null_fraction: f64,
    /// Mean bytes of the values that are not null: the width of the type, or the bytes of a text. 0 if all are null.
    pub average_bytes: f64,
    /// Different values, without null.
    pub distinct: u64,
    /// The most common values, the most common first. If the sample has no more different values than
    /// [`Sampling::values`], and there seem to be no others, these are all of them.
    pub most_common: Vec<CommonValue>,
    /// Bounds of an equi-depth histogram of the values that are neither null nor among the most common: from the least
    /// to the largest value of the sample, ascending, with about as many rows between each two of them. Empty if less
    /// than two values are left. Values above 1 KiB are in no list.
    pub histogram: Vec<OwnedValue>,
}

/// A value that many rows have.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct CommonValue {
    /// The value.
    pub value: OwnedValue,
    /// Fraction of rows that have it.
    pub fraction: f64,
}

/// Statistics of a primary key or of an index.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct KeyStatistics {
    /// Name of the index; none for the primary key.
    pub index: Option<String>,
    /// Columns of the key.
    pub columns: Vec<String>,
    /// Different values of the first column, of the first two together, and so on. Null counts as a value.
    pub distinct: Vec<u64>,
}

/// A value of a row in a sample.
struct Cell {
    /// Hash of the value. Two of a sample's values have the same one with a probability of about 10⁻¹⁰.
    hash: u64,
    bytes: usize,
    /// None if the value is too long for a list.
    value: Option<OwnedValue>,
}

impl Cell {
    fn new(column: &Column, value: Value<'_>) -> Self {
        let (hash, bytes) = match (value.tail_bytes(column.kind), value.to_bits(column.kind)) {
            (Some(text), _) => (xxh3_64(text), text.len()),
            (None, Some(bits)) => (xxh3_64(&bits.to_le_bytes()), column.kind.width().unwrap_or_default()),
            (None, None) => (0, 0),
        };
        Self { hash, bytes, value: (bytes <= LISTED_BYTES).then(|| value.into_owned()) }
    }

    fn is_null(&self) -> bool {
        self.value == Some(OwnedValue::Null)
    }
}

/// Rows of a table that were read to learn about all of them.
pub(crate) struct Sample<'t> {
    table: &'t Table,
    /// A hash of the primary key, and the cells of each row.
    rows: Vec<(u64, Box<[Cell]>)>,
    random: Random,
    /// Sum of the weights of all rows that were drawn.
    weights: f64,
    /// The largest of these weights.
    most: f64,
}

impl<'t> Sample<'t> {
    pub(crate) fn new(table: &'t Table, seed: u64) -> Self {
        Self { table, rows: Vec::new(), random: Random::new(!seed), weights: 0.0, most: 0.0 }
    }

    /// Returns the number of rows.
    pub(crate) fn len(&self) -> u64 {
        self.rows.len() as u64
    }

    /// Adds a row.
    pub(crate) fn add(&mut self, key: &[u8], row: &[u8]) -> Result<()> {
        let values = RowView::new(self.table.layout(), row)?.values()?;
        let columns = self.table.schema().columns.iter();
        let cells = columns.zip(values).map(|(column, value)| Cell::new(column, value)).collect();
        self.rows.push((xxh3_64(key), cells));
        Ok(())
    }

    /// Adds a row that was drawn with a weight, or leaves it out, and lets go of others, so that all rows of the table are
    /// equally likely to be in the sample.
    pub(crate) fn add_drawn(&mut self, key: &[u8], row: &[u8], weight: f64) -> Result<()> {
        self.weights += weight;
        if weight > self.most {
            let stay = self.most / weight;
            self.rows.retain(|_| self.random.is_below(stay));
            self.most = weight;
        }
        if self.random.is_below(weight / self.most) { self.add(key, row) } else { Ok(()) }
    }

    /// Returns the statistics of a table whose rows are all in the sample.
    pub(crate) fn of_all(self, values: usize) -> TableStatistics {
        let rows = self.len();
        self.statistics(rows, true, values)
    }

    /// Returns the statistics of a table from this number of draws.
    pub(crate) fn of_drawn(mut self, draws: u64, values: usize) -> TableStatistics {
        // Otherwise a unique value would seem to come twice.
        let mut known = HashSet::new();
        self.rows.retain(|(key, _)| known.insert(*key));
        let rows = (self.weights / draws as f64).round() as u64;
        let rows = rows.max(self.len());
        self.statistics(rows, false, values)
    }

    fn statistics(self, rows: u64, is_exact: bool, values: usize) -> TableStatistics {
        let schema = self.table.schema();
        let columns = schema.columns.iter().enumerate().map(|(at, column)| {
            let cells: Vec<&Cell> = self.rows.iter().map(|(_, cells)| &cells[at]).collect();
            of_column(column, &cells, rows, values)
        });
        let indexes = self.table.indexes().iter().map(|index| (Some(index.name.clone()), &index.key));
        let keys = std::iter::once((None, self.table.primary_key())).chain(indexes).map(|(index, key)| {
            let positions: Vec<usize> = key.positions().collect();
            KeyStatistics {
                index,
                columns: key.names().map(str::to_owned).collect(),
                distinct: self.distinct_prefixes(&positions, rows),
            }
        });
        TableStatistics {
            rows,
            sampled: self.len(),
            is_exact,
            columns: columns.collect(),
            keys: keys.collect(),
        }
    }

    /// Returns the numbers of different values of the first of these columns, of the first two together, and so on.
    fn distinct_prefixes(&self, positions: &[usize], rows: u64) -> Vec<u64> {
        let mut hashes = vec![0_u64; self.rows.len()];
        let (mut distinct, mut least) = (Vec::new(), 0);
        for at in positions {
            for (hash, (_, cells)) in hashes.iter_mut().zip(&self.rows) {
                // A hash of null is that of no other value, but for the zero that both may be.
                let parts = [*hash, cells[*at].hash, u64::from(cells[*at].is_null())];
                *hash = xxh3_64(parts.map(u64::to_le_bytes).as_flattened());
            }
            let different = Different::among(hashes.clone());
            // More columns never have fewer values.
            least = different.estimate(rows).max(least);
            distinct.push(least);
        }
        distinct
    }
}

/// Counts of the different values in a sample.
struct Different {
    /// Values.
    sampled: u64,
    /// Different values.
    values: u64,
    /// Values that come once.
    once: u64,
}

impl Different {
    fn among(mut hashes: Vec<u64>) -> Self {
        hashes.sort_unstable();
        let runs = || hashes.chunk_by(|one, other| one == other);
        Self {
            sampled: hashes.len() as u64,
            values: runs().count() as u64,
            once: runs().filter(|run| run.len() == 1).count() as u64,
        }
    }

    /// Returns an estimate of the different values among so many, of which the sample is a part. It is exact if the
    /// sample has all of them.
    ///
    /// This is the estimator Duj1 of Haas and Stokes, "Estimating the Number of Classes in a Finite Population", 1998,
    /// which PostgreSQL uses too. It is too low if few values are common and many are rare.
    fn estimate(&self, all: u64) -> u64 {
        if self.sampled == 0 {
            return 0;
        }
        let [sampled, values, once, all_rows] =
            [self.sampled, self.values, self.once, all].map(|count| count as f64);
        let estimate = sampled * values / (sampled - once + once * sampled / all_rows);
        (estimate.round() as u64).clamp(self.values, all.max(self.values))
    }
}

/// Returns the statistics of a column of a table with so many rows.
fn of_column(column: &Column, sample: &[&Cell], rows: u64, limit: usize) -> ColumnStatistics {
    let sampled = sample.len().max(1) as f64;
    let cells: Vec<&Cell> = sample.iter().copied().filter(|cell| !cell.is_null()).collect();
    let filled = cells.len() as f64 / sampled;
    let different = Different::among(cells.iter().map(|cell| cell.hash).collect());
    let distinct = different.estimate((rows as f64 * filled).round() as u64);
    let mut values: Vec<&OwnedValue> = cells.iter().filter_map(|cell| cell.value.as_ref()).collect();
    values.sort_unstable();
    let runs: Vec<&[&OwnedValue]> = values.chunk_by(|one, other| one == other).collect();
    // Those of a length that no list has are not among the runs.
    let are_all = runs.len() as u64 == distinct && runs.len() <= limit;
    let mean = cells.len() as f64 / distinct.max(1) as f64;
    // A value with more rows than a bucket would fill one alone.
    let bucket = cells.len() as f64 / limit.max(1) as f64;
    let least = if are_all { 1.0 } else { (mean * COMMON).min(bucket).max(2.0) };
    let mut common: Vec<usize> = (0..runs.len()).filter(|run| runs[*run].len() as f64 >= least).collect();
    common.sort_by_key(|run| std::cmp::Reverse(runs[*run].len()));
    common.truncate(limit);
    let most_common = common
        .iter()
        .map(|run| CommonValue { value: runs[*run][0].clone(), fraction: runs[*run].len() as f64 / sampled });
    let bytes: usize = cells.iter().map(|cell| cell.bytes).sum();
    ColumnStatistics {
        name: column.name.clone(),
        null_fraction: (sample.len() - cells.len()) as f64 / sampled,
        average_bytes: bytes as f64 / cells.len().max(1) as f64,
        distinct,
        most_common: most_common.collect(),
        histogram: histogram(&runs, &common, limit),
    }
}

/// Returns the bounds of an equi-depth histogram of all runs of equal values but the common ones.
fn histogram(runs: &[&[&OwnedValue]], common: &[usize], limit: usize) -> Vec<OwnedValue> {
    let common: HashSet<usize> = common.iter().copied().collect();
    let rest = || runs.iter().enumerate().filter(|(run, _)| !common.contains(run)).map(|(_, values)| *values);
    let buckets = limit.min(rest().count().saturating_sub(1));
    if buckets == 0 {
        return Vec::new();
    }
    let values: Vec<&OwnedValue> = rest().flatten().copied().collect();
    (0..=buckets).map(|bound| values[bound * (values.len() - 1) / buckets].clone()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The numbers follow from the formula of the paper, with pencil and paper.
    #[test]
    fn the_estimate_of_different_values_is_duj1() {
        let estimate = |sampled, values, once, all| Different { sampled, values, once }.estimate(all);
        // 100 × 50 / (100 − 20 + 20 × 100 / 1000) = 5000 / 82
        assert_eq!(estimate(100, 50, 20, 1000), 61);
        // All come twice: there are no others. All come once: all are different.
        assert_eq!(estimate(100, 50, 0, 1000), 50);
        assert_eq!(estimate(100, 100, 100, 1000), 1000);
        // The sample is everything.
        assert_eq!(estimate(100, 50, 20, 100), 50);
        assert_eq!(estimate(0, 0, 0, 0), 0);
    }

    #[test]
    fn rows_that_are_drawn_more_often_are_not_more_likely_in_a_sample() {
        let schema =
            super::super::Schema::new().column("id", super::super::ColumnType::I64).primary_key(["id"]);
        let rows = crate::Keyspace {
            owner: 1,
            id: crate::ids::KeyspaceId(1),
            engine: 0,
            name: "t".into(),
            gate: std::sync::Arc::default(),
        };
        let table = Table::new("t", schema, rows, Vec::new(), None).unwrap();
        let mut sample = Sample::new(&table, 7);
        let mut random = Random::new(8);
        let draws = 100_000_u32;
        for _ in 0..draws {
            // A draw finds row 1 nine times as often as row 0.
            let (id, weight) = if random.below(10) == 0 { (0, 10.0) } else { (1, 10.0 / 9.0) };
            let row = table.layout().encode(&[Value::Int(id)]).unwrap();
            sample.add_drawn(&[id as u8], &row, weight).unwrap();
        }
        let of_first = sample.rows.iter().filter(|(key, _)| *key == xxh3_64(&[0])).count() as f64;
        let fraction = of_first / sample.len() as f64;
        // Some 20 000 rows: four standard deviations are 0.014.
        assert!((fraction - 0.5).abs() < 0.014, "{fraction}");
        assert!((sample.weights / f64::from(draws) - 2.0).abs() < 0.1, "{}", sample.weights);
        let statistics = sample.of_drawn(draws.into(), 10);
        assert_eq!((statistics.rows, statistics.sampled), (2, 2));
    }
}
