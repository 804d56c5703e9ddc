//! Storage for 60 days of growth and 8 hours of log (clauses 4.2.3, 5.5.1.2).

use crate::schema::Table;
use crate::sizing::Bytes;
use serde::Serialize;

/// Rows of a table for one warehouse after loading, and the typical length of a row (clause 1.2.1).
#[derive(Clone, Copy, Debug)]
pub struct Rows {
    /// The table.
    pub table: Table,
    /// Rows of each warehouse.
    pub rows: u64,
    /// Bytes of a row.
    pub bytes: u64,
    /// True if the table grows by orders and payments (clause 4.2.3).
    pub dynamic: bool,
}

const fn rows(table: Table, rows: u64, bytes: u64, dynamic: bool) -> Rows {
    Rows { table, rows, bytes, dynamic }
}

/// The tables with rows for each warehouse. ITEM has 100 000 rows at any scale.
pub const ROWS: [Rows; 8] = [
    rows(Table::Warehouse, 1, 89, false),
    rows(Table::District, 10, 95, false),
    rows(Table::Customer, 30_000, 655, false),
    rows(Table::History, 30_000, 46, true),
    rows(Table::Orders, 30_000, 24, true),
    rows(Table::NewOrder, 9_000, 8, false),
    rows(Table::OrderLine, 300_000, 54, true),
    rows(Table::Stock, 100_000, 306, false),
];

/// Rows and bytes of ITEM (clause 1.2.1).
const ITEM: (u64, u64) = (100_000, 82);

/// Bytes of a warehouse after loading, keys and indexes included, by kind of database. The first four were measured
/// by loading two warehouses with Lydite; the others are published.
pub const KINDS: [(&str, u64); 6] = [
    ("postgres", 115_500_000),
    ("mariadb", 100_500_000),
    ("sqlite", 77_500_000),
    ("gemel", 91_400_000),
    ("oracle", 70_000_000),
    ("oceanbase", 50_000_000),
];

/// New orders per minute that leave 30 000 orders of a warehouse in a day of 8 hours: its initial content (clause
/// 4.2.3).
const NOPM_OF_INITIAL_DAY: f64 = 62.5;
/// Days of growth that must fit (clause 4.2.3).
const DAYS: f64 = 60.0;
/// Minutes of the day, and of the log (clauses 4.2.3, 5.5.1.2).
const DAY_MINUTES: f64 = 8.0 * 60.0;
/// Room for more rows in each table that does not grow, in percent (clause 1.4.11).
const ROOM_PERCENT: u64 = 5;
/// Share of a disk that data may fill, in percent. An assumption: 80 is OceanBase's experience.
pub const FILL_PERCENT: u64 = 80;

/// Returns the bytes of the rows of a warehouse after loading, without keys, indexes and pages.
#[must_use]
pub fn row_bytes() -> Bytes {
    Bytes(ROWS.iter().map(|table| table.rows * table.bytes).sum())
}

/// Returns the bytes of the rows that grow, of those of [`row_bytes`].
#[must_use]
pub fn dynamic_bytes() -> Bytes {
    Bytes(ROWS.iter().filter(|table| table.dynamic).map(|table| table.rows * table.bytes).sum())
}

/// Returns the bytes of a warehouse in a loaded database of so many bytes. ITEM's share is left out, because it does not
/// grow with the warehouses.
#[must_use]
pub fn bytes_per_warehouse_of(database: Bytes, warehouses: u32) -> Bytes {
    let (warehouse, item) = (row_bytes().0 as f64, (ITEM.0 * ITEM.1) as f64);
    Bytes::near(database.0 as f64 * warehouse / (warehouse * f64::from(warehouses.max(1)) + item))
}

/// Returns the bytes of rows that a New-Order writes, with its share of the other transactions in the mix 45/43/4/4/4.
/// A log has at least these.
fn written_per_order() -> u64 {
    let of = |table: Table| ROWS.iter().find(|rows| rows.table == table).map_or(0, |rows| rows.bytes);
    let new_order = of(Table::District)
        + of(Table::Orders)
        + of(Table::NewOrder)
        + 10 * (of(Table::OrderLine) + of(Table::Stock));
    let payment = of(Table::Warehouse) + of(Table::District) + of(Table::Customer) + of(Table::History);
    let delivery =
        10 * (of(Table::NewOrder) + of(Table::Orders) + 10 * of(Table::OrderLine) + of(Table::Customer));
    (45 * new_order + 43 * payment + 4 * delivery) / 45
}

/// The properties of the storage.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SpacePlan {
    /// Bytes of a warehouse after loading.
    pub bytes_per_warehouse: Bytes,
    /// Copies of the data.
    pub copies: u64,
    /// Copies of the log.
    pub log_copies: u64,
    /// Bytes of log for a New-Order with its share of the other transactions.
    pub log_per_order: Bytes,
}

impl SpacePlan {
    /// Returns the plan with one copy, and a log of the rows as they are written.
    #[must_use]
    pub fn new(bytes_per_warehouse: Bytes) -> Self {
        Self { bytes_per_warehouse, copies: 1, log_copies: 1, log_per_order: Bytes(written_per_order()) }
    }

    /// Returns the space for so many warehouses at this throughput.
    #[must_use]
    pub fn space(&self, warehouses: u32, nopm: f64) -> Space {
        let loaded = self.bytes_per_warehouse.times(u64::from(warehouses));
        // Keys and pages swell all tables alike, as far as is known.
        let share = dynamic_bytes().0 as f64 / row_bytes().0 as f64;
        let dynamic = loaded.0 as f64 * share;
        let fixed = loaded.0 as f64 - dynamic;
        let room = fixed * ROOM_PERCENT as f64 / 100.0;
        let daily = dynamic / (f64::from(warehouses) * NOPM_OF_INITIAL_DAY) * nopm;
        let one = fixed + room + DAYS * daily;
        let data = one * self.copies as f64;
        let log = nopm * DAY_MINUTES * self.log_per_order.0 as f64 * self.log_copies as f64;
        Space {
            copies: self.copies,
            log_copies: self.log_copies,
            static_bytes: Bytes::near(fixed + room),
            daily_growth_bytes: Bytes::near(daily),
            sixty_day_bytes: Bytes::near(data),
            log_bytes: Bytes::near(log),
            disk_bytes: Bytes::near((data + log) * 100.0 / FILL_PERCENT as f64),
        }
    }
}

/// The space that a configuration needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Space {
    /// Copies of the data.
    pub copies: u64,
    /// Copies of the log.
    pub log_copies: u64,
    /// Bytes that do not grow, of one copy, with the room for more rows (clauses 4.2.3, 1.4.11).
    pub static_bytes: Bytes,
    /// Bytes that a day adds to one copy (clause 4.2.3).
    pub daily_growth_bytes: Bytes,
    /// Bytes after 60 days, of all copies (clause 4.2.3).
    pub sixty_day_bytes: Bytes,
    /// Bytes of log of 8 hours, of all copies (clause 5.5.1.2).
    pub log_bytes: Bytes,
    /// Bytes of disk for both, filled by [`FILL_PERCENT`].
    pub disk_bytes: Bytes,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_warehouse_has_the_68_6_mb_of_the_standards_rows() {
        assert_eq!(row_bytes().to_string(), "68.6 MB");
        assert_eq!(dynamic_bytes(), Bytes(18_300_000));
    }

    #[test]
    fn a_warehouse_at_12_7_grows_by_3_7_mb_a_day_over_50_mb() {
        let plan = SpacePlan::new(row_bytes());
        let space = plan.space(1, 12.7);
        assert_eq!(space.daily_growth_bytes, Bytes(3_718_560));
        let fixed = row_bytes().0 - dynamic_bytes().0;
        assert_eq!(space.static_bytes, Bytes::near(fixed as f64 * 1.05));
        assert_eq!(space.sixty_day_bytes.0, space.static_bytes.0 + 60 * 3_718_560);
    }

    #[test]
    fn oceanbases_disks_of_2019_hold_60_days_of_two_copies_with_little_margin() {
        // 204 servers with almost 13 TB each; the log has disks of its own.
        let plan = SpacePlan { copies: 2, ..SpacePlan::new(Bytes(50_000_000)) };
        let space = plan.space(4_794_240, 60_880_800.0);
        let disks = 204.0 * 13e12;
        let filled = space.sixty_day_bytes.0 as f64 / disks;
        assert!((0.70..FILL_PERCENT as f64 / 100.0).contains(&filled), "{filled}");
    }

    #[test]
    fn copies_multiply_space_and_log() {
        let one = SpacePlan::new(Bytes(70_000_000));
        let more = SpacePlan { copies: 2, log_copies: 3, ..one };
        let (one, more) = (one.space(100, 1_250.0), more.space(100, 1_250.0));
        assert_eq!(more.daily_growth_bytes, one.daily_growth_bytes);
        assert_eq!(more.log_bytes, one.log_bytes.times(3));
        assert!(more.sixty_day_bytes.0.abs_diff(2 * one.sixty_day_bytes.0) <= 1);
        // 1 250 orders a minute for 480 minutes.
        assert_eq!(one.log_bytes, Bytes(1_250 * 480 * written_per_order()));
    }

    #[test]
    fn item_is_no_part_of_a_warehouse() {
        let rows = row_bytes().0;
        assert_eq!(bytes_per_warehouse_of(Bytes(rows + 8_200_000), 1), Bytes(rows));
        assert_eq!(bytes_per_warehouse_of(Bytes(3 * rows + 8_200_000), 3), Bytes(rows));
    }
}
