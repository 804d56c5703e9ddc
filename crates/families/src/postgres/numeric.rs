//! PostgreSQL's binary form of `numeric`: digits in base 10 000. The first digit has the given weight.

use lydite_database::sql::value::Field;
use lydite_tpcc::{Cents, Rate};

const NEGATIVE: u16 = 0x4000;

/// Appends an amount with two decimals.
pub(crate) fn put_cents(cents: Cents, out: &mut Vec<u8>) {
    let whole = cents.0.unsigned_abs() / 100;
    let fraction = (cents.0.unsigned_abs() % 100) as u16 * 100;
    put(cents.0 < 0, whole, fraction, 2, out);
}

/// Appends a rate with four decimals.
pub(crate) fn put_rate(rate: Rate, out: &mut Vec<u8>) {
    let units = u64::from(rate.0.unsigned_abs());
    put(rate.0 < 0, units / 10_000, (units % 10_000) as u16, 4, out);
}

fn put(negative: bool, whole: u64, fraction: u16, scale: u16, out: &mut Vec<u8>) {
    let mut groups = [0_u16; 6];
    let mut count = 0;
    let mut rest = whole;
    while rest > 0 {
        groups[count] = (rest % 10_000) as u16;
        rest /= 10_000;
        count += 1;
    }
    let weight = count as i16 - 1;
    let digits = count as u16 + u16::from(fraction > 0);
    out.extend_from_slice(&digits.to_be_bytes());
    out.extend_from_slice(&weight.to_be_bytes());
    out.extend_from_slice(&if negative { NEGATIVE } else { 0 }.to_be_bytes());
    out.extend_from_slice(&scale.to_be_bytes());
    for group in groups[..count].iter().rev() {
        out.extend_from_slice(&group.to_be_bytes());
    }
    if fraction > 0 {
        out.extend_from_slice(&fraction.to_be_bytes());
    }
}

/// Reads a number. `None` if it is not a number, has more than four decimals, or is too large.
pub(crate) fn read(bytes: &[u8]) -> Option<Field> {
    ten_thousandths(bytes).and_then(Field::of_ten_thousandths)
}

fn ten_thousandths(bytes: &[u8]) -> Option<i128> {
    let word = |index: usize| Some(u16::from_be_bytes(bytes.get(index * 2..index * 2 + 2)?.try_into().ok()?));
    let count = usize::from(word(0)?);
    let weight = i32::from(word(1)? as i16);
    let sign = word(2)?;
    if sign != 0 && sign != NEGATIVE {
        return None;
    }
    let mut value: i128 = 0;
    for index in 0..count {
        let digit = i128::from(word(4 + index)?);
        // The group before the decimal point has weight 0. Ten-thousandths shift everything by one group.
        match weight - index as i32 + 1 {
            power @ 0..=6 => value += digit * 10_000_i128.pow(power as u32),
            _ if digit == 0 => {}
            _ => return None,
        }
    }
    Some(if sign == NEGATIVE { -value } else { value })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_and_rates_survive_the_way_there_and_back() {
        for cents in
            [0, 1, -1, 99, 100, -1000, 30_000_000, 123_456_789_012, -999_999_999_999_999_999, i64::MAX]
        {
            let mut bytes = Vec::new();
            put_cents(Cents(cents), &mut bytes);
            assert_eq!(ten_thousandths(&bytes), Some(i128::from(cents) * 100), "{cents}");
        }
        for rate in [0, 1, 2_000, 5_000, 9_999, 10_000, -3] {
            let mut bytes = Vec::new();
            put_rate(Rate(rate), &mut bytes);
            assert_eq!(ten_thousandths(&bytes), Some(i128::from(rate)), "{rate}");
        }
    }

    #[test]
    fn what_is_no_number_of_four_decimals_is_refused() {
        assert_eq!(ten_thousandths(&[0, 0, 0, 0, 0xC0, 0, 0, 0]), None, "NaN");
        // 0.00001 = one group of weight -2.
        assert_eq!(ten_thousandths(&[0, 1, 0xFF, 0xFE, 0, 0, 0, 5, 3, 0xE8]), None);
        assert_eq!(ten_thousandths(&[0, 1, 0]), None, "cut short");
    }
}
