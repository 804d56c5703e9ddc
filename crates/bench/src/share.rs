//! The share of an agent in a run that several agents play.

use serde::{Deserialize, Serialize};

/// One of equal shares in the things of a run, which are numbered from 0: terminals, groups of terminals, sessions. The
/// numbers are dealt out in turn, so the shares differ by at most one, and each number has one owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Share {
    /// Number of the share, from 0.
    pub index: u32,
    /// Number of shares, at least 1.
    pub of: u32,
}

impl Share {
    /// The share of a run in one process.
    pub const WHOLE: Self = Self { index: 0, of: 1 };

    /// Returns the index of the share to which the thing with this number belongs, if there are `of` shares.
    #[must_use]
    pub fn owner(number: u64, of: u32) -> u32 {
        (number % u64::from(of)) as u32
    }

    /// True if the thing with this number belongs to the share.
    #[must_use]
    pub fn owns(self, number: u64) -> bool {
        Self::owner(number, self.of) == self.index
    }

    /// Returns how many of `total` things belong to the share.
    #[must_use]
    pub fn count(self, total: u32) -> u32 {
        total / self.of + u32::from(self.index < total % self.of)
    }

    /// Returns how many of `total` things belong to the shares before this one.
    #[must_use]
    pub fn before(self, total: u32) -> u32 {
        total / self.of * self.index + self.index.min(total % self.of)
    }

    /// Returns the number of the thing at a place in the share.
    #[must_use]
    pub fn nth(self, place: u32) -> u32 {
        place * self.of + self.index
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_divide_everything_and_share_nothing() {
        for of in 1..=5 {
            for total in 0..20 {
                let mut all = Vec::new();
                for index in 0..of {
                    let share = Share { index, of };
                    let own: Vec<u32> = (0..share.count(total)).map(|place| share.nth(place)).collect();
                    assert!(own.iter().all(|&number| share.owns(number.into())));
                    assert_eq!(share.before(total) as usize, all.len());
                    all.extend(own);
                }
                all.sort_unstable();
                assert_eq!(all, (0..total).collect::<Vec<u32>>(), "{total} over {of}");
            }
        }
    }
}
