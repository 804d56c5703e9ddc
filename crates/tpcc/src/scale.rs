//! Districts of each warehouse: ten as in the standard, or spread by Zipf (the Dike paper, section 4.3). And rows of each
//! district: the standard's, or fewer.

use crate::home::Skew;
use crate::ids::{DISTRICTS_PER_WAREHOUSE, DistrictId, ITEMS, OrderId, WarehouseId};
use crate::named_enum;
use crate::schema::Table;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

/// The most districts of a warehouse: D_ID is a number of two bytes with a sign in databases.
pub const MAX_DISTRICTS: u16 = i16::MAX as u16;

named_enum! {
    /// Rows of ITEM and of each district after loading.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum Size {
        /// The cardinalities of clause 4.3.3.1.
        #[default]
        Standard = "standard",
        /// A tenth of these. It shows whether a database works; its speed is no TPC-C result, since caches hold rows that
        /// would not fit into them otherwise.
        Small = "small",
    }
}

impl Size {
    /// Rows of ITEM; also rows of STOCK of each warehouse.
    #[must_use]
    pub const fn items(self) -> u32 {
        match self {
            Self::Standard => ITEMS,
            Self::Small => ITEMS / 10,
        }
    }

    /// Customers of each district.
    #[must_use]
    pub const fn customers(self) -> u32 {
        match self {
            Self::Standard => 3_000,
            Self::Small => 300,
        }
    }

    /// Last names of the customers of a district. The first customers have one each, in the order of their numbers; the
    /// others share them (clause 4.3.3.1).
    #[must_use]
    pub const fn last_names(self) -> u32 {
        self.customers() / 3
    }

    /// Orders of each district: one of each customer.
    #[must_use]
    pub const fn orders(self) -> u32 {
        self.customers()
    }

    /// The last O_ID of each district that is loaded as delivered: the last 30 % are new.
    #[must_use]
    pub const fn delivered(self) -> u32 {
        self.orders() / 10 * 7
    }

    /// True if this order of the initial population is delivered.
    #[must_use]
    pub const fn is_delivered(self, id: OrderId) -> bool {
        id.0 <= self.delivered()
    }

    /// Rows of `table` of a warehouse with so many districts, for ITEM in all; none for ORDER-LINE, whose number differs from
    /// warehouse to warehouse ([`crate::population::Population::order_line_rows`]).
    #[must_use]
    pub fn rows(self, table: Table, districts: u16) -> Option<u64> {
        let districts = u64::from(districts);
        match table {
            Table::Item | Table::Stock => Some(u64::from(self.items())),
            Table::Warehouse => Some(1),
            Table::District => Some(districts),
            Table::Customer | Table::History => Some(districts * u64::from(self.customers())),
            Table::Orders => Some(districts * u64::from(self.orders())),
            Table::NewOrder => Some(districts * u64::from(self.orders() - self.delivered())),
            Table::OrderLine => None,
        }
    }
}

/// How the districts are spread over the warehouses: warehouse k in proportion to k to the power of -s.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DataSkew {
    /// Finite, and not negative.
    s: f64,
}

impl DataSkew {
    /// Whether it gives each warehouse the same.
    #[must_use]
    pub fn is_uniform(self) -> bool {
        self.s == 0.0
    }
}

/// It is never NaN.
impl Eq for DataSkew {}

impl fmt::Display for DataSkew {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Skew::Zipf(self.s).fmt(f)
    }
}

impl FromStr for DataSkew {
    type Err = String;

    /// Reads what it is displayed as, `zipf(1.5)`.
    fn from_str(text: &str) -> Result<Self, String> {
        match text.parse() {
            Ok(Skew::Zipf(s)) => Ok(Self { s }),
            Ok(other) => Err(format!("can't be {other}: data is spread by zipf(s) alone, as zipf(1.5)")),
            Err(_) => {
                Err("is no distribution of data: use zipf(s) with a number from 0, as zipf(1.5)".into())
            }
        }
    }
}

/// The districts of each warehouse, with all that is below them.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Districts {
    /// Where they are not ten each: by what they are spread, and how many each warehouse from the first on has.
    spread: Option<(DataSkew, Arc<[u16]>)>,
}

impl Districts {
    /// Ten for each warehouse (clause 1.2.1).
    #[must_use]
    pub fn uniform() -> Self {
        Self::default()
    }

    /// Ten times as many districts as `warehouses`, spread over them; where each has ten, as with `zipf(0)`, that is
    /// [`Districts::uniform`].
    ///
    /// A warehouse whose share would be less than one district has one. The others share what is left by the formula,
    /// rounded so that the total is kept (largest remainder).
    ///
    /// # Errors
    /// A warehouse would have more than [`MAX_DISTRICTS`].
    pub fn spread(skew: DataSkew, warehouses: u32) -> Result<Self, String> {
        let counts = apportion(skew.s, warehouses as usize);
        if counts.iter().all(|&count| count == u64::from(DISTRICTS_PER_WAREHOUSE)) {
            return Ok(Self::uniform());
        }
        let each =
            counts.iter().map(|&count| u16::try_from(count).ok().filter(|&count| count <= MAX_DISTRICTS));
        match each.collect::<Option<Vec<u16>>>() {
            Some(each) => Ok(Self { spread: Some((skew, each.into())) }),
            None => Err(format!(
                "{skew} gives the first of {warehouses} warehouses {} districts, and at most {MAX_DISTRICTS} are \
                 possible: use a smaller exponent or fewer warehouses",
                counts.first().copied().unwrap_or_default()
            )),
        }
    }

    /// By what they are spread; none if each warehouse has ten.
    #[must_use]
    pub fn skew(&self) -> Option<DataSkew> {
        self.spread.as_ref().map(|(skew, _)| *skew)
    }

    /// How many a warehouse has.
    #[must_use]
    pub fn of(&self, w: WarehouseId) -> u16 {
        match &self.spread {
            None => u16::from(DISTRICTS_PER_WAREHOUSE),
            Some((_, each)) => {
                let place = (w.0 as usize).checked_sub(1);
                place.and_then(|place| each.get(place)).copied().unwrap_or_default()
            }
        }
    }

    /// Those of a warehouse, from 1.
    pub fn ids(
        &self,
        w: WarehouseId,
    ) -> impl DoubleEndedIterator<Item = DistrictId> + ExactSizeIterator + use<> {
        DistrictId::up_to(self.of(w))
    }

    /// Warehouses with as many districts as their neighbours: the last one of each such range, and how many each has. None if
    /// each warehouse has ten.
    #[must_use]
    pub fn ranges(&self) -> Vec<(WarehouseId, u16)> {
        let Some((_, each)) = &self.spread else { return Vec::new() };
        let mut last = 0;
        each.chunk_by(|a, b| a == b)
            .map(|range| {
                last += range.len() as u32;
                (WarehouseId(last), range[0])
            })
            .collect()
    }
}

/// Ten times as many as there are warehouses, at least one for each, in proportion to the ranks to the power of -s.
fn apportion(s: f64, warehouses: usize) -> Vec<u64> {
    let total = u64::from(DISTRICTS_PER_WAREHOUSE) * warehouses as u64;
    let weights: Vec<f64> = (1..=warehouses).map(|rank| (rank as f64).powf(-s)).collect();
    let mut sums = weights.clone();
    for rank in 1..sums.len() {
        sums[rank] += sums[rank - 1];
    }
    // The shares fall with the rank, so those that are too small are the last ones.
    let quota = |shared: usize, rank: usize| {
        let left = total - (warehouses - shared) as u64;
        left as f64 * weights[rank] / sums[shared - 1]
    };
    let mut shared = warehouses;
    while shared > 1 && quota(shared, shared - 1) < 1.0 {
        shared -= 1;
    }
    let quotas: Vec<f64> = (0..shared).map(|rank| quota(shared, rank)).collect();
    let mut counts: Vec<u64> = quotas.iter().map(|quota| quota.floor() as u64).collect();
    counts.resize(warehouses, 1);
    let given: u64 = counts.iter().sum();
    let mut by_remainder: Vec<usize> = (0..shared).collect();
    // Stable: of equal remainders the first ranks are before the others.
    by_remainder.sort_by(|&a, &b| quotas[b].fract().total_cmp(&quotas[a].fract()));
    let missing = usize::try_from(total.saturating_sub(given)).unwrap_or(0);
    for &rank in by_remainder.iter().cycle().take(missing) {
        counts[rank] += 1;
    }
    counts
}
