//! Exact decimals. Money and rates are whole numbers of their smallest unit and never binary floats, because clause
//! 1.3.1 requires exact numeric types.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Neg, Sub, SubAssign};

/// An amount of money in hundredths of the currency's unit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Cents(pub i64);

/// A tax or discount in ten-thousandths: `Rate(2000)` is 0.2000.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Rate(pub i32);

impl Cents {
    /// Returns the price of `quantity` pieces at this price each (OL_AMOUNT, clause 2.4.2.2).
    #[must_use]
    pub fn times(self, quantity: u32) -> Self {
        Self(self.0 * i64::from(quantity))
    }
}

/// Returns the total of an order as the terminal shows it: `sum * (1 - discount) * (1 + w_tax + d_tax)` (clause
/// 2.4.2.2), rounded to the cent, half away from zero.
#[must_use]
pub fn order_total(sum: Cents, discount: Rate, w_tax: Rate, d_tax: Rate) -> Cents {
    const ONE: i128 = 10_000;
    let exact = i128::from(sum.0) * (ONE - i128::from(discount.0)) * (ONE + i128::from(w_tax.0 + d_tax.0));
    let unit = ONE * ONE;
    let rounded = if exact < 0 { (exact - unit / 2) / unit } else { (exact + unit / 2) / unit };
    // At most 15 lines of 9 999.99 with 40 % tax: far inside i64.
    Cents(rounded as i64)
}

impl Add for Cents {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}

impl Sub for Cents {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self(self.0 - other.0)
    }
}

impl Neg for Cents {
    type Output = Self;
    fn neg(self) -> Self {
        Self(-self.0)
    }
}

impl AddAssign for Cents {
    /// Ends at the bounds of the type, as sums do.
    fn add_assign(&mut self, other: Self) {
        self.0 = self.0.saturating_add(other.0);
    }
}

impl SubAssign for Cents {
    fn sub_assign(&mut self, other: Self) {
        self.0 -= other.0;
    }
}

impl Sum for Cents {
    /// Ends at the bounds of the type. They are nine times as far away as any column reaches, so only damaged rows get
    /// there, and no amount of a row equals their sum.
    fn sum<I: Iterator<Item = Self>>(iter: I) -> Self {
        iter.fold(Self(0), |sum, next| Self(sum.0.saturating_add(next.0)))
    }
}

impl fmt::Display for Cents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.0 < 0 { "-" } else { "" };
        let cents = self.0.unsigned_abs();
        f.pad(&format!("{sign}{}.{:02}", cents / 100, cents % 100))
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.0 < 0 { "-" } else { "" };
        let units = self.0.unsigned_abs();
        f.pad(&format!("{sign}{}.{:04}", units / 10_000, units % 10_000))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_print_with_their_two_decimals() {
        assert_eq!(Cents(-1000).to_string(), "-10.00");
        assert_eq!(Cents(5).to_string(), "0.05");
        assert_eq!(Rate(2000).to_string(), "0.2000");
        assert_eq!(Rate(-5).to_string(), "-0.0005");
    }

    #[test]
    fn an_order_total_is_rounded_once_half_away_from_zero() {
        // 100.00 * 0.95 * 1.15 = 109.25 exactly.
        assert_eq!(order_total(Cents(10_000), Rate(500), Rate(1_000), Rate(500)), Cents(10_925));
        // 0.01 * 0.5 * 1.0 = 0.005, the tie.
        assert_eq!(order_total(Cents(1), Rate(5_000), Rate(0), Rate(0)), Cents(1));
        assert_eq!(order_total(Cents(1), Rate(5_001), Rate(0), Rate(0)), Cents(0));
    }
}
