//! Random streams that give the same numbers everywhere and for ever.
//!
//! The generator is Xoshiro256++; sampling is written here, since a library may change how it maps bits to
//! ranges from one release to the next, and the rows of a database must not change with it.

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// What a stream is for, so that no two uses of one seed share their numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub enum Purpose {
    /// C-Load and other constants of a load.
    LoadConstants = 1,
    /// Rows of ITEM.
    Items = 2,
    /// WAREHOUSE and DISTRICT rows of a warehouse.
    Warehouse = 3,
    /// Customers and their history, one stream per district.
    Customers = 4,
    /// Orders, their lines and new orders, one stream per district.
    Orders = 5,
    /// Stock of a warehouse.
    Stock = 6,
    /// Constants of a run: C-Run and the constants of the other NURand fields.
    RunConstants = 7,
    /// Inputs of one terminal.
    Terminal = 8,
    /// Waiting times of one terminal.
    Pacing = 9,
    /// Arrival times in an open loop.
    Arrivals = 10,
    /// Jitter of retries.
    Retries = 11,
}

/// A stream of independent uniform numbers.
#[derive(Clone, Debug)]
pub struct Stream(Xoshiro256PlusPlus);

impl Stream {
    /// The stream of `purpose` number `index` under `seed`.
    #[must_use]
    pub fn new(seed: u64, purpose: Purpose, index: u64) -> Self {
        // Three rounds of SplitMix64's finaliser separate neighbouring seeds, purposes and indexes.
        let mut state = mix(seed);
        state = mix(state ^ purpose as u64);
        state = mix(state ^ index);
        Self(Xoshiro256PlusPlus::seed_from_u64(state))
    }

    /// 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// A number in `0..bound`, without bias (Lemire's multiplication with rejection).
    pub fn below(&mut self, bound: u32) -> u32 {
        debug_assert!(bound > 0);
        let mut product = u64::from(self.bits() as u32) * u64::from(bound);
        if (product as u32) < bound {
            let threshold = bound.wrapping_neg() % bound;
            while (product as u32) < threshold {
                product = u64::from(self.bits() as u32) * u64::from(bound);
            }
        }
        (product >> 32) as u32
    }

    /// A whole number in `low..=high`, the standard's random(x..y) (clause 4.3.2.1).
    pub fn uniform(&mut self, low: u32, high: u32) -> u32 {
        debug_assert!(low <= high);
        low + self.below(high - low + 1)
    }

    /// A real number in (0, 1], for exponential waiting times.
    pub fn unit_open_low(&mut self) -> f64 {
        ((self.bits() >> 11) + 1) as f64 / (1_u64 << 53) as f64
    }

    /// Puts the elements into a uniformly random order (Fisher-Yates).
    pub fn shuffle<T>(&mut self, values: &mut [T]) {
        for last in (1..values.len()).rev() {
            let other = self.below(last as u32 + 1) as usize;
            values.swap(last, other);
        }
    }
}

fn mix(value: u64) -> u64 {
    let mut z = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
