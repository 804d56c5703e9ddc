//! Imbalance control: the shares of transactions that the home warehouses get (the Dike paper, section 4.3).

use crate::ids::WarehouseId;
use crate::random::Stream;
use std::fmt;
use std::str::FromStr;

/// Skew of the homes over the active warehouses. The first warehouse is the most frequent.
#[derive(Clone, Debug, PartialEq)]
pub enum Skew {
    /// Zipf: warehouse k in proportion to k to the power of -s; 0 is uniform.
    Zipf(f64),
    /// Exponential: warehouse k of W in proportion to the exponential distribution of this rate between (k-1)/W and
    /// k/W; 0 is uniform.
    Exponential(f64),
    /// Hotspot: the first part of the warehouses shares one part of the transactions evenly, and the other warehouses
    /// share the rest evenly.
    Hotspot {
        /// Part of the warehouses, between 0 and 1.
        keys: f64,
        /// Part of the transactions, from 0 to 1.
        accesses: f64,
    },
    /// Explicit: as many contiguous ranges of warehouses of equal size as there are shares. Each range gets
    /// transactions in proportion to its share.
    Explicit(Vec<f64>),
}

impl fmt::Display for Skew {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Zipf(s) => write!(f, "zipf({s})"),
            Self::Exponential(rate) => write!(f, "exponential({rate})"),
            Self::Hotspot { keys, accesses } => write!(f, "hotspot({keys},{accesses})"),
            Self::Explicit(shares) => {
                let shares: Vec<String> = shares.iter().map(f64::to_string).collect();
                write!(f, "explicit({})", shares.join(","))
            }
        }
    }
}

/// The reason why a text is no [`Skew`]. The message continues a sentence that begins with the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SkewError {
    /// The text has no known form.
    Form,
    /// A part between the brackets is not a number from 0.
    Number,
    /// A part of a hotspot is beyond its bounds.
    Hotspot,
    /// All explicit shares are 0, or their sum is infinite.
    NoShare,
}

/// The known forms, for messages about others.
const KNOWN: &str = "use zipf(0.99), exponential(3), hotspot(0.2,0.8) or explicit(0.8,0.1,0.1)";

impl fmt::Display for SkewError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Form => write!(f, "is not a distribution: {KNOWN}"),
            Self::Number => write!(f, "has parts that are not numbers from 0: {KNOWN}"),
            Self::Hotspot => f.write_str(
                "needs a part of the warehouses between 0 and 1, and a part of the transactions up to 1",
            ),
            Self::NoShare => f.write_str("needs at least one share of more than 0"),
        }
    }
}

impl std::error::Error for SkewError {}

impl FromStr for Skew {
    type Err = SkewError;

    /// Reads the displayed form of a [`Skew`].
    fn from_str(text: &str) -> Result<Self, SkewError> {
        let cut = text.strip_suffix(')').and_then(|text| text.split_once('('));
        let (name, numbers) = cut.ok_or(SkewError::Form)?;
        let numbers = numbers
            .split(',')
            .map(|number| {
                number.trim().parse().ok().filter(|number: &f64| number.is_finite() && *number >= 0.0)
            })
            .collect::<Option<Vec<f64>>>()
            .ok_or(SkewError::Number)?;
        match (name.trim(), &numbers[..]) {
            ("zipf", &[s]) => Ok(Self::Zipf(s)),
            ("exponential", &[rate]) => Ok(Self::Exponential(rate)),
            ("hotspot", &[keys, accesses]) if keys > 0.0 && keys < 1.0 && accesses <= 1.0 => {
                Ok(Self::Hotspot { keys, accesses })
            }
            ("hotspot", &[_, _]) => Err(SkewError::Hotspot),
            ("explicit", shares)
                if shares.iter().sum::<f64>() > 0.0 && shares.iter().sum::<f64>().is_finite() =>
            {
                Ok(Self::Explicit(numbers))
            }
            ("explicit", _) => Err(SkewError::NoShare),
            _ => Err(SkewError::Form),
        }
    }
}

/// The reason why a skew does not fit the number of warehouses.
#[derive(Clone, Debug, PartialEq)]
pub enum HomesError {
    /// A hotspot has no warehouse, or all.
    Hotspot {
        /// The skew.
        skew: Skew,
        /// Warehouses of the hotspot.
        hot: f64,
        /// Number of warehouses.
        warehouses: u32,
    },
    /// An explicit skew has more shares than there are warehouses.
    Shares {
        /// The skew.
        skew: Skew,
        /// Number of shares.
        shares: usize,
        /// Number of warehouses.
        warehouses: u32,
    },
}

impl fmt::Display for HomesError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Hotspot { skew, hot, warehouses } => write!(
                f,
                "{skew} makes {hot} of {warehouses} warehouses hot: at least one must be hot, and at least one not"
            ),
            Self::Shares { skew, shares, warehouses } => write!(
                f,
                "{skew} has {shares} shares for {warehouses} warehouses: use at most one share for each"
            ),
        }
    }
}

impl std::error::Error for HomesError {}

impl Skew {
    /// Returns the share of each warehouse in their order; they sum to 1.
    fn shares(&self, warehouses: u32) -> Result<Vec<f64>, HomesError> {
        let all = f64::from(warehouses);
        let ranks = || (1..=warehouses).map(f64::from);
        let weights: Vec<f64> = match self {
            Self::Zipf(s) => ranks().map(|rank| rank.powf(-s)).collect(),
            Self::Exponential(0.0) => vec![1.0; warehouses as usize],
            Self::Exponential(rate) => {
                let below = |rank: f64| -(-rate * rank / all).exp_m1();
                ranks().map(|rank| below(rank) - below(rank - 1.0)).collect()
            }
            Self::Hotspot { keys, accesses } => {
                let hot = (keys * all).round();
                if hot < 1.0 || hot >= all {
                    return Err(HomesError::Hotspot { skew: self.clone(), hot, warehouses });
                }
                ranks()
                    .map(|rank| if rank <= hot { accesses / hot } else { (1.0 - accesses) / (all - hot) })
                    .collect()
            }
            Self::Explicit(shares) => {
                let parts = shares.len() as u64;
                if parts > u64::from(warehouses) {
                    return Err(HomesError::Shares { skew: self.clone(), shares: shares.len(), warehouses });
                }
                let first = |part: u64| part * u64::from(warehouses) / parts;
                let of = |(part, share): (u64, &f64)| {
                    let count = first(part + 1) - first(part);
                    std::iter::repeat_n(share / count as f64, count as usize)
                };
                (0..).zip(shares).flat_map(of).collect()
            }
        };
        let total: f64 = weights.iter().sum();
        Ok(weights.into_iter().map(|weight| weight / total).collect())
    }
}

/// Home warehouses that are drawn by their shares, each in constant time (Walker's alias method).
#[derive(Clone, Debug, PartialEq)]
pub struct Homes {
    skew: Skew,
    first: WarehouseId,
    shares: Vec<f64>,
    /// Number among the distributions of homes in a run.
    number: u32,
    /// Slot of each warehouse: the part that is its own, and the warehouse that has the rest.
    slots: Vec<(f64, u32)>,
}

impl Homes {
    /// Spreads homes over the `warehouses` from `first` on.
    ///
    /// # Errors
    /// Fails if there are too few warehouses for the skew.
    pub fn new(skew: Skew, first: WarehouseId, warehouses: u32) -> Result<Self, HomesError> {
        let shares = skew.shares(warehouses)?;
        Ok(Self::of_shares(skew, first, shares))
    }

    /// Returns the same skew with the order of the warehouses moved by `by`: the first in the order is the warehouse
    /// that many places after the first active one, and the last one is followed by the first.
    #[must_use]
    pub fn moved_on(&self, by: u32) -> Self {
        let mut shares = self.shares.clone();
        shares.rotate_right(by as usize % self.shares.len());
        Self::of_shares(self.skew.clone(), self.first, shares)
    }

    fn of_shares(skew: Skew, first: WarehouseId, shares: Vec<f64>) -> Self {
        let warehouses = shares.len() as u32;
        let mut left: Vec<f64> = shares.iter().map(|share| share * f64::from(warehouses)).collect();
        let mut slots: Vec<(f64, u32)> = (0..warehouses).map(|own| (1.0, own)).collect();
        let (mut small, mut large): (Vec<u32>, Vec<u32>) =
            (0..warehouses).partition(|&own| left[own as usize] < 1.0);
        while let (Some(&less), Some(&more)) = (small.last(), large.last()) {
            small.pop();
            slots[less as usize] = (left[less as usize], more);
            left[more as usize] -= 1.0 - left[less as usize];
            if left[more as usize] < 1.0 {
                large.pop();
                small.push(more);
            }
        }
        Self { skew, first, shares, number: 0, slots }
    }

    /// Returns the same homes with another number among the distributions of the run.
    #[must_use]
    pub fn numbered(self, number: u32) -> Self {
        Self { number, ..self }
    }

    /// Returns the number among the distributions of homes in a run, from 0.
    #[must_use]
    pub fn number(&self) -> u32 {
        self.number
    }

    /// Returns the skew of the homes.
    #[must_use]
    pub fn skew(&self) -> &Skew {
        &self.skew
    }

    /// Returns the share of each warehouse from the first on; they sum to 1.
    #[must_use]
    pub fn shares(&self) -> &[f64] {
        &self.shares
    }

    /// Returns the place of a warehouse among the active ones.
    #[must_use]
    pub fn place(&self, warehouse: WarehouseId) -> usize {
        (warehouse.0 - self.first.0) as usize
    }

    /// Returns the warehouse at a place.
    #[must_use]
    pub fn at(&self, place: usize) -> WarehouseId {
        WarehouseId(self.first.0 + place as u32)
    }

    /// Draws a home.
    pub fn draw(&self, stream: &mut Stream) -> WarehouseId {
        let slot = stream.below(self.slots.len() as u32);
        let (own, other) = self.slots[slot as usize];
        WarehouseId(self.first.0 + if stream.unit_open_low() <= own { slot } else { other })
    }
}
