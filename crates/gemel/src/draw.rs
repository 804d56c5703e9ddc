//! Random numbers that follow from a seed, and what engines draw with them.

/// A callback for a key that was drawn, its value, and its weight: the reciprocal of the probability with which a draw
/// finds this key. So the mean weight over all draws, found or not, estimates the number of keys.
pub(crate) type EachDrawn<'a> = dyn FnMut(&[u8], &[u8], f64) + 'a;

/// A generator of random numbers: SplitMix64 (Steele, Lea and Flood, "Fast Splittable Pseudorandom Number Generators",
/// 2014).
#[derive(Debug)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Returns a number of 64 bits.
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    /// Returns a number from 0 to `end`, without `end`, which must not be 0.
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        // The upper half of the product. Its deviation from a uniform number is at most `end` in 2^64.
        ((u128::from(self.next()) * u128::from(end)) >> 64) as u64
    }

    /// Returns true with this probability.
    pub(crate) fn is_below(&mut self, probability: f64) -> bool {
        ((self.next() >> 11) as f64) < probability * (1_u64 << 53) as f64
    }
}
