//! The price of a configuration, and of a new order per minute (clause 7 and the TPC Pricing Specification).

use crate::money::{Cents, Rate};
use serde::Serialize;

/// Years of maintenance that a price has (clause 7.1.2).
pub const YEARS: u32 = 3;

/// A part of the price sheet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// Name.
    pub name: String,
    /// Pieces.
    pub count: u32,
    /// Price of a piece.
    pub price: Cents,
    /// Maintenance of a piece for a year.
    pub maintenance: Cents,
    /// Years of maintenance.
    pub years: u32,
    /// Discount on the price and the maintenance.
    pub discount: Rate,
}

/// A part with its price.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PricedPart {
    /// Name.
    pub part: String,
    /// Pieces.
    pub count: u32,
    /// Price of all pieces less the discount, in cents.
    pub price_cents: Cents,
    /// Maintenance of all pieces and years less the discount, in cents.
    pub maintenance_cents: Cents,
}

/// The price of a configuration.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Prices {
    /// Currency.
    pub currency: String,
    /// Parts with their prices.
    pub parts: Vec<PricedPart>,
    /// Sum, rounded up to the currency's unit.
    pub total: u64,
    /// Sum for each new order per minute, rounded up to at least three significant digits.
    pub per_nopm: String,
}

/// Returns an amount of `count` pieces less a discount, rounded half up.
fn less(amount: Cents, count: i128, discount: Rate) -> Cents {
    const ONE: i128 = 10_000;
    let exact = i128::from(amount.0) * count * (ONE - i128::from(discount.0));
    Cents(((exact + ONE / 2) / ONE) as i64)
}

/// Returns the price of these parts at this throughput.
#[must_use]
pub fn price(currency: &str, parts: &[Part], nopm: f64) -> Prices {
    let priced: Vec<PricedPart> = parts
        .iter()
        .map(|part| {
            let count = i128::from(part.count);
            PricedPart {
                part: part.name.clone(),
                count: part.count,
                price_cents: less(part.price, count, part.discount),
                maintenance_cents: less(part.maintenance, count * i128::from(part.years), part.discount),
            }
        })
        .collect();
    let cents: Cents = priced.iter().map(|part| part.price_cents + part.maintenance_cents).sum();
    let total = (cents.0.max(0) as u64).div_ceil(100);
    Prices { currency: currency.to_owned(), parts: priced, total, per_nopm: per_nopm(total, nopm) }
}

/// Returns `total / nopm`, rounded up to at least three significant digits. A throughput counts without its fraction
/// (clause 5.4.1).
fn per_nopm(total: u64, nopm: f64) -> String {
    let orders = (nopm.trunc() as u128).max(1);
    let mut digits = 0;
    let mut scale = 1u128;
    // Two digits for cents at least.
    while digits < 2 || (u128::from(total) * scale / orders < 100 && total > 0 && digits < 12) {
        digits += 1;
        scale *= 10;
    }
    let scaled = (u128::from(total) * scale).div_ceil(orders);
    format!("{}.{:0digits$}", scaled / scale, scaled % scale)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(count: u32, price: i64, maintenance: i64, discount: i32) -> Part {
        Part {
            name: "server".into(),
            count,
            price: Cents(price),
            maintenance: Cents(maintenance),
            years: YEARS,
            discount: Rate(discount),
        }
    }

    #[test]
    fn a_price_has_three_years_of_maintenance_and_is_rounded_up() {
        let prices = price("USD", &[part(2, 1_000_001, 100_000, 1_000)], 1_500.9);
        assert_eq!(prices.parts[0].price_cents, Cents(1_800_002));
        assert_eq!(prices.parts[0].maintenance_cents, Cents(540_000));
        assert_eq!(prices.total, 23_401);
        // 23 401 / 1 500 = 15.6006…
        assert_eq!(prices.per_nopm, "15.61");
    }

    #[test]
    fn the_price_of_an_order_per_minute_has_three_significant_digits() {
        // 380 million for OceanBase's 60 880 800 of 2019: about 6.25.
        assert_eq!(per_nopm(380_000_000, 60_880_800.0), "6.25");
        // PolarDB's 0.80 of 2025.
        assert_eq!(per_nopm(1_644_061_319, 2_055_076_649.0), "0.800");
        assert_eq!(per_nopm(0, 10.0), "0.00");
        assert_eq!(per_nopm(1, 3_000_000.0), "0.000000334");
    }
}
