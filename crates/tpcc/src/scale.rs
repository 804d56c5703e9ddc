//! Size of a database: the districts of each warehouse and the rows of each district. The standard has ten districts;
//! the Dike paper (section 4.3) spreads them by Zipf. A small database has fewer rows.

use crate::home::Skew;
use crate::ids::{DISTRICTS_PER_WAREHOUSE, DistrictId, ITEMS, MAX_DISTRICTS, OrderId, WarehouseId};
use crate::named_enum;
use crate::schema::Table;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

/// Least rows of STOCK of a warehouse.
pub const MIN_STOCK: u32 = 100;

named_enum! {
    /// Rows of ITEM and of each district after loading.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum Size {
        /// The cardinalities of clause 4.3.3.1.
        #[default]
        Standard = "standard",
        /// A tenth of the standard's rows, for trials. Its speed is no TPC-C result, because caches hold rows that
        /// would not fit into them otherwise.
        Small = "small",
        /// A hundredth of the standard's rows, for tests.
        Tiny = "tiny",
    }
}

impl Size {
    /// Returns the rows of ITEM, which are also the rows of STOCK of each warehouse unless the data are skewed
    /// ([`Districts::stock`]).
    #[must_use]
    pub const fn items(self) -> u32 {
        match self {
            Self::Standard => ITEMS,
            Self::Small => ITEMS / 10,
            Self::Tiny => ITEMS / 100,
        }
    }

    /// Returns the customers of each district.
    #[must_use]
    pub const fn customers(self) -> u32 {
        match self {
            Self::Standard => 3_000,
            Self::Small => 300,
            Self::Tiny => 30,
        }
    }

    /// Returns the last names in a district. The first customers have one each, in the order of their numbers; the
    /// others share them (clause 4.3.3.1).
    #[must_use]
    pub const fn last_names(self) -> u32 {
        self.customers() / 3
    }

    /// Returns the orders of each district: one of each customer.
    #[must_use]
    pub const fn orders(self) -> u32 {
        self.customers()
    }

    /// Returns the last O_ID of each district that is loaded as delivered. The last 30 % of the orders are new.
    #[must_use]
    pub const fn delivered(self) -> u32 {
        self.orders() / 10 * 7
    }

    /// Returns a number of warehouses in words: `2 warehouses`, or `1 small warehouse`.
    #[must_use]
    pub fn warehouses_in_words(self, warehouses: u32) -> String {
        let size = if self == Self::Standard { String::new() } else { format!("{} ", self.name()) };
        format!("{warehouses} {size}warehouse{}", if warehouses == 1 { "" } else { "s" })
    }

    /// True if this order of the initial population is delivered.
    #[must_use]
    pub const fn is_delivered(self, id: OrderId) -> bool {
        id.0 <= self.delivered() as u64
    }

    /// Returns the rows of `table` in a warehouse with `districts`, of ITEM and STOCK those of all items. None for
    /// ORDER-LINE, whose number differs from warehouse to warehouse
    /// ([`crate::population::Population::order_line_rows`]).
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

/// Skew of the districts over the warehouses: warehouse k has a share in proportion to k to the power of -s.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DataSkew {
    /// Exponent, finite and not negative.
    s: f64,
}

impl DataSkew {
    /// True if all warehouses get the same share.
    #[must_use]
    pub fn is_uniform(self) -> bool {
        self.s == 0.0
    }
}

/// The exponent is never NaN.
impl Eq for DataSkew {}

impl fmt::Display for DataSkew {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Skew::Zipf(self.s).fmt(f)
    }
}

/// The reason why a text is no [`DataSkew`]. The message continues a sentence that begins with the text.
#[derive(Clone, Debug, PartialEq)]
pub enum DataSkewError {
    /// Data can't have this skew.
    NotOfData(Skew),
    /// The text is no skew.
    NoSkew,
}

impl fmt::Display for DataSkewError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotOfData(skew) => {
                write!(f, "can't be {skew}: data is spread by zipf(s) alone, like zipf(1.5)")
            }
            Self::NoSkew => {
                f.write_str("is not a distribution of data: use zipf(s) with a number from 0, like zipf(1.5)")
            }
        }
    }
}

impl std::error::Error for DataSkewError {}

impl FromStr for DataSkew {
    type Err = DataSkewError;

    /// Reads the displayed form, like `zipf(1.5)`.
    fn from_str(text: &str) -> Result<Self, DataSkewError> {
        match text.parse() {
            Ok(Skew::Zipf(s)) => Ok(Self { s }),
            Ok(other) => Err(DataSkewError::NotOfData(other)),
            Err(_) => Err(DataSkewError::NoSkew),
        }
    }
}

/// A skew that gives a warehouse more than [`MAX_DISTRICTS`]. The message says what to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooSteep {
    /// The skew.
    pub skew: DataSkew,
    /// Number of warehouses.
    pub warehouses: u32,
    /// Districts that the first warehouse would have.
    pub districts: u64,
}

impl fmt::Display for TooSteep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { skew, warehouses, districts } = self;
        write!(
            f,
            "{skew} gives the first of {warehouses} warehouses {districts} districts, and at most {MAX_DISTRICTS} are \
             possible: use a smaller exponent or fewer warehouses"
        )
    }
}

impl std::error::Error for TooSteep {}

/// The number of districts of each warehouse.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Districts {
    /// Skew, and the number of districts of each warehouse from the first on; none if each has ten.
    spread: Option<(DataSkew, Arc<[u16]>)>,
}

impl Districts {
    /// Returns ten districts for each warehouse (clause 1.2.1).
    #[must_use]
    pub fn uniform() -> Self {
        Self::default()
    }

    /// Spreads ten times as many districts as `warehouses` over them. If each warehouse gets ten, as with `zipf(0)`,
    /// the result is [`Districts::uniform`].
    ///
    /// A warehouse gets at least one district. Warehouses with a greater share divide the rest by the formula. Rounding
    /// keeps the total (largest remainder).
    ///
    /// # Errors
    /// Fails if a warehouse would have more than [`MAX_DISTRICTS`].
    pub fn spread(skew: DataSkew, warehouses: u32) -> Result<Self, TooSteep> {
        let counts = apportion(skew.s, warehouses as usize);
        if counts.iter().all(|&count| count == u64::from(DISTRICTS_PER_WAREHOUSE)) {
            return Ok(Self::uniform());
        }
        let each =
            counts.iter().map(|&count| u16::try_from(count).ok().filter(|&count| count <= MAX_DISTRICTS));
        match each.collect::<Option<Vec<u16>>>() {
            Some(each) => Ok(Self { spread: Some((skew, each.into())) }),
            None => {
                let districts = counts.first().copied().unwrap_or_default();
                Err(TooSteep { skew, warehouses, districts })
            }
        }
    }

    /// Returns the skew; none if each warehouse has ten districts.
    #[must_use]
    pub fn skew(&self) -> Option<DataSkew> {
        self.spread.as_ref().map(|(skew, _)| *skew)
    }

    /// Returns the number of districts of a warehouse.
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

    /// Returns the rows of STOCK of a warehouse: it stocks the items from 1 to this one. With skewed data the largest
    /// warehouse stocks all items, and the others in proportion to their districts, at least [`MIN_STOCK`].
    #[must_use]
    pub fn stock(&self, w: WarehouseId, size: Size) -> u32 {
        let Some((_, each)) = &self.spread else { return size.items() };
        let most = u64::from(each.iter().copied().max().unwrap_or(1)).max(1);
        let share = u64::from(size.items()) * u64::from(self.of(w)) / most;
        u32::try_from(share).unwrap_or(u32::MAX).clamp(MIN_STOCK, size.items())
    }

    /// Returns the districts of a warehouse, from 1.
    pub fn ids(
        &self,
        w: WarehouseId,
    ) -> impl DoubleEndedIterator<Item = DistrictId> + ExactSizeIterator + use<> {
        DistrictId::up_to(self.of(w))
    }

    /// Returns ranges of neighbouring warehouses with equal numbers of districts: the last warehouse of each range, and
    /// the number of districts. Empty if each warehouse has ten.
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

/// Divides ten times as many districts as there are warehouses, at least one for each, in proportion to the ranks to
/// the power of -s.
fn apportion(s: f64, warehouses: usize) -> Vec<u64> {
    let total = u64::from(DISTRICTS_PER_WAREHOUSE) * warehouses as u64;
    let weights: Vec<f64> = (1..=warehouses).map(|rank| (rank as f64).powf(-s)).collect();
    let mut sums = weights.clone();
    for rank in 1..sums.len() {
        sums[rank] += sums[rank - 1];
    }
    // Shares fall with the rank, so the ones that are too small are the last ones.
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
    // The sort is stable: of equal remainders the first ranks come first.
    by_remainder.sort_by(|&a, &b| quotas[b].fract().total_cmp(&quotas[a].fract()));
    let missing = usize::try_from(total.saturating_sub(given)).unwrap_or(0);
    for &rank in by_remainder.iter().cycle().take(missing) {
        counts[rank] += 1;
    }
    counts
}
