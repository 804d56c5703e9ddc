//! Non-uniform random numbers and the constants behind them (clauses 2.1.6 and 4.3.2.3).

use crate::ids::{CustomerId, ItemId};
use crate::random::{Purpose, Stream};
use crate::scale::Size;
use crate::text::LastName;
use serde::{Deserialize, Serialize};

/// The constant C of C_LAST for loading (C-Load), 0 to 255.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CLoad(pub u8);

/// The constants C of a run, one per field, the same for all its terminals (clause 2.1.6).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunConstants {
    /// C-Run of C_LAST, 0 to 255.
    pub c_last: u32,
    /// C of C_ID, 0 to 1 023.
    pub c_id: u32,
    /// C of OL_I_ID, 0 to 8 191.
    pub ol_i_id: u32,
}

const A_LAST: u32 = 255;
const A_C_ID: u32 = 1_023;
const A_ITEM: u32 = 8_191;

/// Returns NURand(A, x, y) with the constant `c` (clause 2.1.6).
#[must_use]
pub fn nurand(stream: &mut Stream, a: u32, c: u32, x: u32, y: u32) -> u32 {
    let mixed = stream.uniform(0, a) | stream.uniform(x, y);
    (mixed + c) % (y - x + 1) + x
}

/// Returns the exact probability of each value of NURand(`a`, `x`, `y`) with the constant `c`: entry i belongs to x +
/// i. `a` must be 2^k - 1, as every A of the standard is.
#[must_use]
pub fn nurand_probabilities(a: u32, c: u32, x: u32, y: u32) -> Vec<f64> {
    debug_assert!((a + 1).is_power_of_two());
    // The OR leaves the bits above `a` as they are. Below, a value with n ones becomes each of its supersets with
    // probability 2^n / (a + 1). So weigh each value first, then sum over subsets, one bit at a time.
    let mut weights = vec![0_u64; ((y | a) + 1) as usize];
    for value in x..=y {
        weights[value as usize] += 1 << (value & a).count_ones();
    }
    let mut bit = 1;
    while bit <= a {
        for value in 0..weights.len() {
            if value & bit as usize != 0 {
                weights[value] += weights[value ^ bit as usize];
            }
        }
        bit <<= 1;
    }
    let range = y - x + 1;
    let mut probabilities = vec![0.0; range as usize];
    let pairs = f64::from(range) * f64::from(a + 1);
    for (mixed, weight) in (0_u32..).zip(weights) {
        probabilities[((mixed + c) % range) as usize] += weight as f64 / pairs;
    }
    probabilities
}

impl CLoad {
    /// Returns the exact probability of each number, from 0, of a C_LAST that a load draws.
    #[must_use]
    pub fn last_name_probabilities(self, size: Size) -> Vec<f64> {
        nurand_probabilities(A_LAST, u32::from(self.0), 0, size.last_names() - 1)
    }

    /// Returns the constant that `seed` gives a new database.
    #[must_use]
    pub fn from_seed(seed: u64) -> Self {
        Self(Stream::new(seed, Purpose::LoadConstants, 0).below(256) as u8)
    }
}

impl RunConstants {
    /// Draws the constants of a run on a database that was loaded with `c_load`. C-Run is uniform over the values that
    /// the delta rule of clause 2.1.6.1 allows.
    #[must_use]
    pub fn new(seed: u64, c_load: CLoad) -> Self {
        let mut stream = Stream::new(seed, Purpose::RunConstants, 0);
        let allowed: Vec<u32> = (0..=A_LAST).filter(|&c| delta_is_valid(u32::from(c_load.0), c)).collect();
        // Every C-Load has valid partners: c_load + 65 or c_load - 65 is always within 0..=255.
        let c_last = allowed[stream.below(allowed.len() as u32) as usize];
        Self { c_last, c_id: stream.uniform(0, A_C_ID), ol_i_id: stream.uniform(0, A_ITEM) }
    }

    /// Draws C_LAST of a customer who is selected by name.
    #[must_use]
    pub fn last_name(&self, stream: &mut Stream, size: Size) -> LastName {
        last_name(nurand(stream, A_LAST, self.c_last, 0, size.last_names() - 1))
    }

    /// Returns the exact probability of each number, from 0, of a C_LAST that a run draws.
    #[must_use]
    pub fn last_name_probabilities(&self, size: Size) -> Vec<f64> {
        nurand_probabilities(A_LAST, self.c_last, 0, size.last_names() - 1)
    }

    /// Returns the exact probability of each C_ID; entry 0 belongs to C_ID 1.
    #[must_use]
    pub fn customer_probabilities(&self, size: Size) -> Vec<f64> {
        nurand_probabilities(A_C_ID, self.c_id, 1, size.customers())
    }

    /// Returns the exact probability of each OL_I_ID; entry 0 belongs to OL_I_ID 1.
    #[must_use]
    pub fn item_probabilities(&self, size: Size) -> Vec<f64> {
        nurand_probabilities(A_ITEM, self.ol_i_id, 1, size.items())
    }

    /// Draws C_ID of an ordering or paying customer.
    #[must_use]
    pub fn customer(&self, stream: &mut Stream, size: Size) -> CustomerId {
        CustomerId(nurand(stream, A_C_ID, self.c_id, 1, size.customers()))
    }

    /// Draws OL_I_ID of an order line.
    #[must_use]
    pub fn item(&self, stream: &mut Stream, size: Size) -> ItemId {
        ItemId(nurand(stream, A_ITEM, self.ol_i_id, 1, size.items()))
    }
}

/// True if C-Load and C-Run differ as clause 2.1.6.1 demands: by 65 to 119, but neither by 96 nor by 112.
#[must_use]
pub fn delta_is_valid(c_load: u32, c_run: u32) -> bool {
    let delta = c_load.abs_diff(c_run);
    (65..=119).contains(&delta) && delta != 96 && delta != 112
}

/// Draws C_LAST at load time, for customers after the first one of each name in a district (clause 4.3.3.1).
#[must_use]
pub fn load_last_name(stream: &mut Stream, c_load: CLoad, size: Size) -> LastName {
    last_name(nurand(stream, A_LAST, u32::from(c_load.0), 0, size.last_names() - 1))
}

/// Returns the last name of `number`, 0 to 999: one syllable for each decimal digit (clause 4.3.2.3).
#[must_use]
pub fn last_name(number: u32) -> LastName {
    const SYLLABLES: [&str; 10] =
        ["BAR", "OUGHT", "ABLE", "PRI", "PRES", "ESE", "ANTI", "CALLY", "ATION", "EING"];
    debug_assert!(number <= 999);
    let mut name = LastName::new();
    for place in [100, 10, 1] {
        // The longest name, three syllables of five letters, has 15 bytes.
        name.push_str(SYLLABLES[(number / place % 10) as usize]);
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn last_names_are_the_standards_examples() {
        assert_eq!(last_name(371).as_str(), "PRICALLYOUGHT");
        assert_eq!(last_name(40).as_str(), "BARPRESBAR");
        assert_eq!(last_name(999).as_str(), "EINGEINGEING");
    }

    #[test]
    fn every_c_load_has_a_c_run_and_the_delta_rule_holds() {
        for c_load in 0..=255 {
            for seed in 0..20 {
                let run = RunConstants::new(seed, CLoad(c_load));
                assert!(delta_is_valid(u32::from(c_load), run.c_last));
            }
        }
        // 53 of the deltas 65..=119 are legal.
        assert_eq!((0..=255).filter(|&delta| delta_is_valid(0, delta)).count(), 53);
    }

    #[test]
    fn nurand_stays_in_its_range_and_reaches_both_ends() {
        // A small range, since the rarest items have probabilities near (1/4)^13.
        let mut stream = Stream::new(7, Purpose::Terminal, 0);
        for c in 0..=3 {
            let drawn: Vec<u32> = (0..10_000).map(|_| nurand(&mut stream, 3, c, 1, 10)).collect();
            assert_eq!((drawn.iter().min(), drawn.iter().max()), (Some(&1), Some(&10)));
        }
    }

    #[test]
    fn probabilities_are_those_of_enumerating_all_pairs() {
        for (a, c, x, y) in [(255, 0, 0, 999), (255, 173, 0, 999), (1_023, 259, 1, 3_000), (7, 3, 1, 20)] {
            let range = y - x + 1;
            let mut counts = vec![0_u32; range as usize];
            for left in 0..=a {
                for right in x..=y {
                    counts[(((left | right) + c) % range) as usize] += 1;
                }
            }
            let pairs = f64::from(range) * f64::from(a + 1);
            for (probability, count) in nurand_probabilities(a, c, x, y).into_iter().zip(counts) {
                assert!((probability - f64::from(count) / pairs).abs() < 1e-12);
            }
        }
    }

    #[test]
    fn probabilities_of_items_sum_to_one() {
        let run = RunConstants::new(3, CLoad(3));
        for size in Size::ALL {
            let probabilities = run.item_probabilities(size);
            assert_eq!(probabilities.len(), size.items() as usize);
            assert!((probabilities.iter().sum::<f64>() - 1.0).abs() < 1e-9);
        }
    }
}
