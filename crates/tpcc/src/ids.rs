//! Identifiers of TPC-C rows, each of its own type, so that they cannot be mixed up.

use serde::{Deserialize, Serialize};
use std::fmt;

/// Districts of each warehouse (clause 1.2.1).
pub const DISTRICTS_PER_WAREHOUSE: u8 = 10;
/// Most districts of a warehouse: databases store D_ID in two bytes with a sign.
pub const MAX_DISTRICTS: u16 = i16::MAX as u16;
/// Greatest I_ID of any database: the rows of ITEM at the standard's [`crate::Size`] (clause 4.3.3.1).
pub const ITEMS: u32 = 100_000;

macro_rules! id {
    ($(#[$doc:meta])* $name:ident($inner:ty)) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub $inner);

        impl $name {
            /// Returns the number as the database stores it.
            #[must_use]
            pub fn get(self) -> i64 {
                self.0 as i64
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

id! {
    /// Number of a warehouse: W_ID, from 1.
    WarehouseId(u32)
}
id! {
    /// Number of a district: D_ID, from 1 within a warehouse; up to 10 unless data is skewed.
    DistrictId(u16)
}
id! {
    /// Number of a customer: C_ID, from 1 within a district; up to 3 000 at the standard's size.
    CustomerId(u32)
}
id! {
    /// Number of an item: I_ID, 1 to 100 000; a greater one is unused (clause 2.4.1.4).
    ItemId(u32)
}
id! {
    /// Number of an order: O_ID, from 1 within a district; a run's first one is 3 001 at the standard's size. A district
    /// that is ordered from a million times a minute has more than 2^32 orders in three days.
    OrderId(u64)
}
id! {
    /// Number of a carrier: O_CARRIER_ID, 1 to 10.
    CarrierId(u8)
}

impl DistrictId {
    /// Returns the districts of a warehouse that has `count`.
    pub fn up_to(count: u16) -> impl DoubleEndedIterator<Item = Self> + ExactSizeIterator + use<> {
        (1..=count).map(Self)
    }

    /// Returns the number of the column S_DIST_xx that orders of this district show, 1 to 10. From the eleventh
    /// district on, which the standard does not have, the columns repeat.
    #[must_use]
    pub fn stock_column(self) -> u8 {
        (self.0.wrapping_sub(1) % u16::from(DISTRICTS_PER_WAREHOUSE)) as u8 + 1
    }
}
