//! A load that several agents share: the rows that are missing, and the counts of what is loaded.

use crate::share::Share;
use lydite_tpcc::WarehouseId;
use serde::{Deserialize, Serialize};

/// Rows of TPC-C that a load has not loaded yet.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Missing {
    /// True if ITEM is missing.
    pub items: bool,
    /// Missing warehouses: ranges, each with its first and its last one, in order.
    pub warehouses: Vec<(WarehouseId, WarehouseId)>,
}

impl Missing {
    /// Describes missing warehouses, which must be in order.
    pub(crate) fn new(items: bool, warehouses: &[WarehouseId]) -> Self {
        let range = |range: &[WarehouseId]| Some((*range.first()?, *range.last()?));
        let ranges = warehouses.chunk_by(|one, next| one.0.checked_add(1) == Some(next.0));
        Self { items, warehouses: ranges.filter_map(range).collect() }
    }

    /// Returns true and the warehouses of a share if it loads ITEM. ITEM and the warehouses are dealt out in turn.
    pub(crate) fn of(&self, share: Share) -> (bool, Vec<WarehouseId>) {
        let all = self.warehouses.iter().flat_map(|(first, last)| (first.0..=last.0).map(WarehouseId));
        let owned = (u64::from(self.items)..).zip(all).filter(|(number, _)| share.owns(*number));
        (self.items && share.owns(0), owned.map(|(_, warehouse)| warehouse).collect())
    }
}

/// Counts of a load so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Loaded {
    /// Rows sent to the database.
    pub rows: u64,
    /// Bytes sent.
    pub bytes: u64,
    /// Complete warehouses.
    pub warehouses: u32,
}

impl Loaded {
    /// Adds the counts of another share.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            rows: self.rows + other.rows,
            bytes: self.bytes + other.bytes,
            warehouses: self.warehouses + other.warehouses,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_divide_the_missing_rows_and_share_nothing() {
        let warehouses = [1, 2, 3, 7, 9, 10].map(WarehouseId);
        for items in [true, false] {
            let missing = Missing::new(items, &warehouses);
            let range = |first, last| (WarehouseId(first), WarehouseId(last));
            assert_eq!(missing.warehouses, [range(1, 3), range(7, 7), range(9, 10)]);
            for of in 1..=9 {
                let shares: Vec<_> = (0..of).map(|index| missing.of(Share { index, of })).collect();
                assert_eq!(shares.iter().filter(|(items, _)| *items).count(), usize::from(items));
                let mut all: Vec<WarehouseId> = shares.into_iter().flat_map(|(_, own)| own).collect();
                all.sort_unstable();
                assert_eq!(all, warehouses, "{of} shares");
            }
        }
    }
}
