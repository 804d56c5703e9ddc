//! Histograms of a session that take memory only where they have counts.
//!
//! A dense histogram of three digits takes 170 kB to reach one second. A session has two or three for each transaction
//! type, and fills some thousand of their places. So places are in blocks, and a block is allocated at its first count.
//! The places are those of [`Histogram`], so a run adds up its sessions without loss.

use crate::histogram::count_times;
use hdrhistogram::Histogram;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// SparseHistogram with three significant digits.
pub(crate) type ThreeDigits = SparseHistogram<11>;
/// SparseHistogram with two significant digits.
pub(crate) type TwoDigits = SparseHistogram<8>;

/// Places in a block: 512 bytes.
const BLOCK: usize = 64;

type Block = Box<[u64; BLOCK]>;

/// SparseHistogram of nanoseconds. Values of at most `BITS` bits have a place each. Greater values share a place with
/// all values of the same magnitude and the same leading `BITS` bits. [`Histogram`] uses the same number of bits for
/// its digits.
#[derive(Clone, Debug, Default)]
pub(crate) struct SparseHistogram<const BITS: u32> {
    blocks: Vec<Option<Block>>,
}

impl<const BITS: u32> SparseHistogram<BITS> {
    /// Places of each power of two above the exact values.
    const HALF: usize = 1 << (BITS - 1);

    /// SparseHistogram a value.
    pub(crate) fn count(&mut self, value: u64) {
        let place = Self::place(value);
        let (number, within) = (place / BLOCK, place % BLOCK);
        match self.blocks.get_mut(number) {
            Some(Some(block)) => block[within] += 1,
            _ => self.make(number)[within] += 1,
        }
    }

    #[cold]
    fn make(&mut self, number: usize) -> &mut [u64; BLOCK] {
        if number >= self.blocks.len() {
            self.blocks.resize_with(number + 1, || None);
        }
        self.blocks[number].get_or_insert_with(|| Box::new([0; BLOCK]))
    }

    /// Adds all counts of another one.
    pub(crate) fn merge(&mut self, other: &Self) {
        for (number, from) in other.blocks.iter().enumerate() {
            let Some(from) = from else { continue };
            for (into, times) in self.make(number).iter_mut().zip(from.iter()) {
                *into += times;
            }
        }
    }

    /// Returns the number of counted values.
    pub(crate) fn total(&self) -> u64 {
        self.blocks.iter().flatten().flat_map(|block| block.iter()).sum()
    }

    /// Returns the number of values above a limit. Values that share its place count as not above it.
    pub(crate) fn above(&self, limit: u64) -> u64 {
        let place = Self::place(limit);
        let (number, within) = (place / BLOCK, place % BLOCK);
        let of_block = |(at, block): (usize, &Option<Block>)| {
            let Some(block) = block else { return 0 };
            let from = if at == number { within + 1 } else { 0 };
            block.iter().skip(from).sum()
        };
        self.blocks.iter().enumerate().skip(number).map(of_block).sum()
    }

    /// Adds all counts to a histogram.
    pub(crate) fn add_to(&self, histogram: &mut Histogram<u64>) {
        for (number, block) in self.blocks.iter().enumerate() {
            let Some(block) = block else { continue };
            for (within, &times) in block.iter().enumerate().filter(|(_, times)| **times > 0) {
                count_times(histogram, Self::greatest(number * BLOCK + within), times);
            }
        }
    }

    /// Returns the place of a value.
    fn place(value: u64) -> usize {
        let exact = (1 << BITS) - 1;
        let exponent = u64::BITS - BITS - (value | exact).leading_zeros();
        exponent as usize * Self::HALF + (value >> exponent) as usize
    }

    /// Returns the greatest value of a place.
    fn greatest(place: usize) -> u64 {
        let exponent = (place / Self::HALF).saturating_sub(1);
        let leading = (place - exponent * Self::HALF) as u64;
        (leading << exponent) | ((1 << exponent) - 1)
    }

    /// Returns the bytes on the heap.
    #[cfg(test)]
    pub(crate) fn bytes(&self) -> usize {
        self.blocks.capacity() * size_of::<Option<Block>>()
            + self.blocks.iter().flatten().count() * size_of::<[u64; BLOCK]>()
    }
}

/// On the wire a histogram is a list of its places that have counts, each as the distance to the one before.
impl<const BITS: u32> Serialize for SparseHistogram<BITS> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let blocks =
            self.blocks.iter().enumerate().filter_map(|(number, block)| Some((number, block.as_ref()?)));
        let places = blocks.flat_map(|(number, block)| {
            block.iter().enumerate().map(move |(within, &times)| (number * BLOCK + within, times))
        });
        let mut next = 0;
        serializer.collect_seq(places.filter(|(_, times)| *times > 0).map(|(place, times)| {
            let distance = place - next;
            next = place + 1;
            (distance, times)
        }))
    }
}

impl<'de, const BITS: u32> Deserialize<'de> for SparseHistogram<BITS> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut histogram = Self { blocks: Vec::new() };
        let mut next: usize = 0;
        for (distance, times) in Vec::<(usize, u64)>::deserialize(deserializer)? {
            let place = next.checked_add(distance).filter(|place| *place <= Self::place(u64::MAX));
            let place = place.ok_or_else(|| D::Error::custom("a place beyond the greatest value"))?;
            histogram.make(place / BLOCK)[place % BLOCK] = times;
            next = place + 1;
        }
        Ok(histogram)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::histogram::histogram;
    use lydite_tpcc::random::{Purpose, Stream};

    /// Returns values of all magnitudes.
    fn values() -> Vec<u64> {
        let mut stream = Stream::new(1, Purpose::Retries, 0);
        let mut values = vec![0, 1, 255, 256, 257, 2_047, 2_048, 2_049, 4_095, 4_096, u64::MAX / 4];
        values.extend((0..10_000).map(|turn| stream.bits() >> (8 + turn % 56)));
        values
    }

    #[test]
    fn values_above_a_limit_are_counted_to_within_one_percent() {
        let mut counts = TwoDigits::default();
        (1..=100_000).for_each(|value| counts.count(value));
        for limit in [0_u64, 1, 63, 64, 255, 256, 257, 1_000, 49_999, 99_999, 100_000, u64::MAX] {
            let (found, exact) = (counts.above(limit), 100_000 - limit.min(100_000));
            // Values that share the place of the limit, of which there are at most one percent of it, are not above it.
            assert!(
                found <= exact && found + limit.min(100_000) / 100 >= exact,
                "{limit}: {found} of {exact}"
            );
        }
        assert_eq!(TwoDigits::default().above(0), 0);
    }

    fn check<const BITS: u32>(digits: u8) {
        let (mut counts, mut found) = (SparseHistogram::<BITS>::default(), Histogram::new(digits).unwrap());
        let mut expected = found.clone();
        for value in values() {
            counts.count(value);
            expected.record(value).unwrap();
        }
        counts.add_to(&mut found);
        assert_eq!(found, expected);
        assert_eq!(counts.total(), expected.len());
        counts.add_to(&mut found);
        assert_eq!(found.len(), 2 * expected.len());
        let (mut both, mut of_both) = (counts.clone(), Histogram::new(digits).unwrap());
        both.count(77);
        both.merge(&counts);
        both.add_to(&mut of_both);
        found.record(77).unwrap();
        assert_eq!(of_both, found);
    }

    #[test]
    fn counts_give_the_histogram_that_counting_into_it_gives() {
        check::<11>(3);
        check::<8>(2);
    }

    #[test]
    fn the_greatest_value_of_a_place_is_the_last_one_there() {
        for value in values().into_iter().chain([u64::MAX - 1, u64::MAX]) {
            let place = ThreeDigits::place(value);
            let greatest = ThreeDigits::greatest(place);
            assert!(greatest >= value && greatest - value <= value / 1_000, "{value}: {greatest}");
            assert_eq!(ThreeDigits::place(greatest), place, "{value}");
            let next = greatest.checked_add(1).map(ThreeDigits::place);
            assert!(next.is_none_or(|next| next == place + 1), "{value}: {next:?}");
        }
    }

    #[test]
    fn latencies_take_an_eighth_of_what_a_dense_histogram_takes() {
        assert_eq!(ThreeDigits::default().bytes(), 0);
        let (mut counts, mut dense) = (ThreeDigits::default(), histogram());
        // Many from 0.5 to 2 ms, and one after two seconds.
        for value in (500_000..2_000_000).step_by(100).chain([2_000_000_000]) {
            counts.count(value);
            dense.record(value).unwrap();
        }
        let dense = dense.distinct_values() * size_of::<u64>();
        assert!(counts.bytes() * 8 < dense, "{} of {dense} bytes", counts.bytes());
    }
}
