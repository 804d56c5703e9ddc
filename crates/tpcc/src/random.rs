//! Random streams that give the same numbers everywhere and in every release.
//!
//! The generator is Xoshiro256++. Sampling is written here: a library may change how it maps bits to ranges from one
//! release to the next, and the rows of a database must not change with it.

use crate::text::Text;
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// Purpose of a stream. Streams of different purposes under one seed share no numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub enum Purpose {
    /// C-Load and other constants of a load.
    LoadConstants = 1,
    /// Rows of ITEM.
    Items = 2,
    /// WAREHOUSE and DISTRICT rows of a warehouse.
    Warehouse = 3,
    /// Customers, one stream per district.
    Customers = 4,
    /// Order headers, one stream per district.
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
    /// Numbers of lines of the orders, one stream per district. They are apart from the headers, so lines can be made
    /// or counted without headers.
    OrderSizes = 12,
    /// Order lines, one stream per district.
    OrderLines = 13,
    /// History rows, one stream per district.
    History = 14,
    /// Rows that the ACID tests use.
    Audit = 15,
    /// Service times of a queue that is computed instead of measured.
    Services = 16,
    /// Records of the microbenchmark, one stream per table.
    MicroRecords = 32,
    /// Inputs of one terminal of the microbenchmark.
    MicroTerminal = 33,
}

/// Character for each 6-bit group of a draw; zero for rejected groups, so all characters are equally likely.
type Alphabet = [u8; 64];

/// Number of 6-bit groups in a draw of 64 bits.
const GROUPS: usize = 10;

const fn alphabet(characters: &[u8], repeat: usize) -> Alphabet {
    let mut table = [0; 64];
    let mut index = 0;
    while index < characters.len() * repeat {
        table[index] = characters[index % characters.len()];
        index += 1;
    }
    table
}

static ALPHANUMERIC: Alphabet =
    alphabet(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789", 1);
static LETTERS: Alphabet = alphabet(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ", 1);
static DIGITS: Alphabet = alphabet(b"0123456789", 6);

/// A stream of independent uniform numbers.
#[derive(Clone, Debug)]
pub struct Stream(Xoshiro256PlusPlus);

impl Stream {
    /// Returns stream `index` of `purpose` under `seed`.
    #[must_use]
    pub fn new(seed: u64, purpose: Purpose, index: u64) -> Self {
        // Three rounds of SplitMix64's finaliser separate neighbouring seeds, purposes and indexes.
        let mut state = mix(seed);
        state = mix(state ^ purpose as u64);
        state = mix(state ^ index);
        Self(Xoshiro256PlusPlus::seed_from_u64(state))
    }

    /// Draws 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Draws a number in `0..bound` without bias (Lemire's multiplication with rejection).
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

    /// Draws a whole number in `low..=high`, the standard's random(x..y) (clause 4.3.2.1).
    pub fn uniform(&mut self, low: u32, high: u32) -> u32 {
        debug_assert!(low <= high);
        low + self.below(high - low + 1)
    }

    /// Draws an event; true with a probability of `percent` in a hundred.
    pub fn percent(&mut self, percent: u32) -> bool {
        self.below(100) < percent
    }

    /// Draws an a-string: `low..=high` characters, each independently from `a-z A-Z 0-9` (clause 4.3.2.2).
    ///
    /// # Panics
    /// Panics if `high` is more than `N`.
    pub fn alphanumeric<const N: usize>(&mut self, low: u32, high: u32) -> Text<N> {
        self.characters(&ALPHANUMERIC, low, high)
    }

    /// Draws an n-string: `low..=high` decimal digits, each independently (clause 4.3.2.2).
    ///
    /// # Panics
    /// Panics if `high` is more than `N`.
    pub fn digits<const N: usize>(&mut self, low: u32, high: u32) -> Text<N> {
        self.characters(&DIGITS, low, high)
    }

    /// Draws `low..=high` letters, each independently from `a-z A-Z`.
    ///
    /// # Panics
    /// Panics if `high` is more than `N`.
    pub fn letters<const N: usize>(&mut self, low: u32, high: u32) -> Text<N> {
        self.characters(&LETTERS, low, high)
    }

    fn characters<const N: usize>(&mut self, alphabet: &Alphabet, low: u32, high: u32) -> Text<N> {
        let length = if low == high { low } else { self.uniform(low, high) } as usize;
        // A small buffer where it suffices: clearing it is a good part of the cost of a short text.
        if N + GROUPS <= 64 {
            self.characters_in::<N, 64>(alphabet, length)
        } else {
            self.characters_in::<N, 512>(alphabet, length)
        }
    }

    fn characters_in<const N: usize, const BUFFER: usize>(
        &mut self,
        alphabet: &Alphabet,
        length: usize,
    ) -> Text<N> {
        assert!(length <= N && length + GROUPS <= BUFFER, "a text of {length} characters in a column of {N}");
        let mut buffer = [0_u8; BUFFER];
        let mut filled = 0;
        while filled < length {
            let mut bits = self.bits();
            for _ in 0..GROUPS {
                // The next group overwrites the zero of a rejected one, so there is no branch to predict.
                let character = alphabet[(bits & 63) as usize];
                buffer[filled] = character;
                filled += usize::from(character != 0);
                bits >>= 6;
            }
        }
        let mut text = Text::new();
        match std::str::from_utf8(&buffer[..length]) {
            Ok(ascii) => text.push_str(ascii),
            Err(error) => unreachable!("alphabets are ASCII: {error}"),
        }
        text
    }

    /// Draws what [`Stream::letters`] draws for a text of this length, some ten times as fast, since it makes no text.
    pub fn skip_letters(&mut self, length: u32) {
        // Groups from 52 on: the two upper bits and one of the next two.
        self.skip(length, |bits| bits >> 5 & bits >> 4 & (bits >> 3 | bits >> 2));
    }

    /// Draws what [`Stream::alphanumeric`] draws, without the text, and returns the text's length.
    pub fn skip_alphanumeric(&mut self, low: u32, high: u32) -> u32 {
        let length = if low == high { low } else { self.uniform(low, high) };
        // Groups from 62 on: all bits but the lowest.
        self.skip(length, |bits| bits >> 5 & bits >> 4 & bits >> 3 & bits >> 2 & bits >> 1);
        length
    }

    /// Draws until `length` groups are accepted. The lowest bit of each group of `rejected` tells if it is not.
    fn skip(&mut self, length: u32, rejected: impl Fn(u64) -> u64) {
        const LOWEST: u64 = {
            let mut bits = 0;
            let mut group = 0;
            while group < GROUPS {
                bits |= 1 << (6 * group);
                group += 1;
            }
            bits
        };
        let mut filled = 0;
        while filled < length {
            let bits = self.bits();
            filled += GROUPS as u32 - (rejected(bits) & LOWEST).count_ones();
        }
    }

    /// Draws a real number in (0, 1], for exponential waiting times.
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
