//! The order of the runs of a pair. Of two pairs one begins with A and the other with B, so a machine that gets slower
//! or faster affects both alike; chance decides which, so nothing that comes and goes falls in step with it.

use crate::ratio::Side;

/// Returns the side that begins the pair of this number, from 0, in the order of this seed.
#[must_use]
pub fn first_of(seed: u64, pair: usize) -> Side {
    let begins = mixed(seed.wrapping_add(mixed(pair as u64 / 2))) & 1 == 0;
    if begins == pair.is_multiple_of(2) { Side::A } else { Side::B }
}

/// Mixes the bits of a number (SplitMix64, Steele, Lea and Flood 2014).
fn mixed(number: u64) -> u64 {
    let mut bits = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}
