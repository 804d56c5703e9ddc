//! The binary form of parameters and rows.

use crate::mysql::packet::{Reader, put_bytes, put_length};
use lydite_database::sql::sql_error::SqlError;
use lydite_database::sql::value::{Field, Rows, Value};
use lydite_tpcc::{Cents, Rate, Timestamp};
use std::io::Write;

/// Used types of columns and parameters, by the protocol's numbers.
mod kind {
    pub(super) const TINY: u8 = 1;
    pub(super) const SHORT: u8 = 2;
    pub(super) const LONG: u8 = 3;
    pub(super) const NULL: u8 = 6;
    pub(super) const TIMESTAMP: u8 = 7;
    pub(super) const LONG_LONG: u8 = 8;
    pub(super) const INT_24: u8 = 9;
    pub(super) const DATE_TIME: u8 = 12;
    pub(super) const VARCHAR: u8 = 15;
    pub(super) const NEW_DECIMAL: u8 = 246;
    /// Types of blobs in four sizes. Some text expressions have them.
    pub(super) const BLOBS: std::ops::RangeInclusive<u8> = 249..=252;
    pub(super) const VAR_STRING: u8 = 253;
    pub(super) const STRING: u8 = 254;
}

/// Digits of a number in an array.
const ARRAY_DIGITS: usize = 8;

/// Appends the parameters of a statement: null flags, types, and values. `order` is the index in `values` of each
/// parameter in the statement's text.
pub(crate) fn put_params(order: &[u8], values: &[Value<'_>], out: &mut Vec<u8>) -> Result<(), SqlError> {
    if order.is_empty() {
        return Ok(());
    }
    let given = |place: usize| {
        values.get(usize::from(order[place])).ok_or_else(|| {
            SqlError::Decode(format!("{} parameters were given, {} are wanted", values.len(), order.len()))
        })
    };
    let nulls = out.len();
    out.resize(nulls + order.len().div_ceil(8), 0);
    // The types follow. They are sent each time, so nothing depends on what the server remembers.
    out.push(1);
    for place in 0..order.len() {
        let value = given(place)?;
        if matches!(value, Value::OptionalInt(None) | Value::OptionalText(None)) {
            out[nulls + place / 8] |= 1 << (place % 8);
        }
        out.extend_from_slice(&[type_of(value), 0]);
    }
    for place in 0..order.len() {
        put(given(place)?, out)?;
    }
    Ok(())
}

fn type_of(value: &Value<'_>) -> u8 {
    match value {
        Value::Int(_) | Value::OptionalInt(_) => kind::LONG_LONG,
        Value::Money(_) => kind::NEW_DECIMAL,
        Value::Text(_) | Value::OptionalText(_) | Value::Ints(_) => kind::VAR_STRING,
        Value::Time(_) => kind::DATE_TIME,
        Value::Monies(_) => kind::NULL,
    }
}

fn put(value: &Value<'_>, out: &mut Vec<u8>) -> Result<(), SqlError> {
    match value {
        Value::OptionalInt(None) | Value::OptionalText(None) => {}
        Value::Int(number) | Value::OptionalInt(Some(number)) => out.extend_from_slice(&number.to_le_bytes()),
        Value::Text(text) | Value::OptionalText(Some(text)) => put_bytes(text.as_bytes(), out),
        Value::Money(cents) => {
            // One byte of length is enough for the longest value.
            let at = out.len();
            out.push(0);
            put_cents(*cents, out);
            out[at] = (out.len() - at - 1) as u8;
        }
        Value::Time(time) => put_time(*time, out)?,
        // MySQL has no arrays: the procedures cut a text into numbers of eight digits.
        Value::Ints(numbers) => {
            put_length(numbers.len() * ARRAY_DIGITS, out);
            for number in *numbers {
                write!(out, "{number:0ARRAY_DIGITS$}")
                    .map_err(|error| SqlError::Decode(error.to_string()))?;
            }
        }
        Value::Monies(_) => return Err(SqlError::Decode("arrays of amounts can't be sent".into())),
    }
    Ok(())
}

/// Appends an amount as text with two decimals.
pub(crate) fn put_cents(cents: Cents, out: &mut Vec<u8>) {
    put_decimal(cents.0 < 0, cents.0.unsigned_abs(), 2, out);
}

/// Appends a rate as text with four decimals.
pub(crate) fn put_rate(rate: Rate, out: &mut Vec<u8>) {
    put_decimal(rate.0 < 0, u64::from(rate.0.unsigned_abs()), 4, out);
}

/// Appends a whole number as text.
pub(crate) fn put_int(number: i64, out: &mut Vec<u8>) {
    put_decimal(number < 0, number.unsigned_abs(), 0, out);
}

/// Appends a decimal number as text: `units` counts the last of `decimals` decimals. Written by hand, because a load
/// writes a hundred million of them.
fn put_decimal(negative: bool, mut units: u64, decimals: usize, out: &mut Vec<u8>) {
    let mut text = [b'0'; 24];
    let mut at = text.len();
    let mut written = 0;
    while units > 0 || written <= decimals {
        if written == decimals && decimals > 0 {
            at -= 1;
            text[at] = b'.';
        }
        at -= 1;
        text[at] = b'0' + (units % 10) as u8;
        units /= 10;
        written += 1;
    }
    if negative {
        out.push(b'-');
    }
    out.extend_from_slice(&text[at..]);
}

fn put_time(time: Timestamp, out: &mut Vec<u8>) -> Result<(), SqlError> {
    let time = civil(time)
        .ok_or_else(|| SqlError::Decode(format!("{} µs since 1970 are no time of a calendar", time.0)))?;
    let micros = (time.subsec_nanosecond() / 1_000) as u32;
    out.push(11);
    out.extend_from_slice(&(time.year() as u16).to_le_bytes());
    let parts = [time.month(), time.day(), time.hour(), time.minute(), time.second()];
    out.extend(parts.map(|part| part as u8));
    out.extend_from_slice(&micros.to_le_bytes());
    Ok(())
}

/// Returns the date and time in UTC.
pub(crate) fn civil(time: Timestamp) -> Option<jiff::civil::DateTime> {
    let time = jiff::Timestamp::from_microsecond(time.0).ok()?;
    Some(jiff::tz::TimeZone::UTC.to_datetime(time))
}

/// Reads a row with columns of these types into `rows`.
pub(crate) fn read_row(packet: &[u8], kinds: &[u8], rows: &mut Rows) -> Result<(), SqlError> {
    let short = || SqlError::Decode("the server sent a short row".into());
    let mut reader = Reader::new(packet);
    reader.u8().ok_or_else(short)?;
    let nulls = reader.take((kinds.len() + 2).div_ceil(8)).ok_or_else(short)?;
    for (column, &kind) in kinds.iter().enumerate() {
        let bit = column + 2;
        let field = if nulls[bit / 8] & 1 << (bit % 8) != 0 {
            Field::Null
        } else {
            read(&mut reader, kind, rows).ok_or_else(|| {
                SqlError::Decode(format!(
                    "column {column} has type {kind} or a value that can't be read: was the schema changed by hand?"
                ))
            })?
        };
        rows.push(field);
    }
    Ok(())
}

fn read(reader: &mut Reader<'_>, kind: u8, rows: &mut Rows) -> Option<Field> {
    Some(match kind {
        kind::TINY => Field::Int(i64::from(reader.u8()? as i8)),
        kind::SHORT => Field::Int(i64::from(reader.u16()? as i16)),
        kind::LONG | kind::INT_24 => Field::Int(i64::from(reader.u32()? as i32)),
        kind::LONG_LONG => Field::Int(reader.u64()? as i64),
        kind::NEW_DECIMAL => Field::of_decimal(std::str::from_utf8(reader.bytes()?).ok()?)?,
        kind::VARCHAR | kind::VAR_STRING | kind::STRING => text(reader, rows)?,
        kind if kind::BLOBS.contains(&kind) => text(reader, rows)?,
        kind::DATE_TIME | kind::TIMESTAMP => read_time(reader)?,
        kind::NULL => Field::Null,
        _ => return None,
    })
}

fn text(reader: &mut Reader<'_>, rows: &mut Rows) -> Option<Field> {
    Some(rows.text_field(std::str::from_utf8(reader.bytes()?).ok()?))
}

fn read_time(reader: &mut Reader<'_>) -> Option<Field> {
    let length = usize::from(reader.u8()?);
    let mut reader = Reader::new(reader.take(length)?);
    let small = |byte: u8| i8::try_from(byte).ok();
    let (year, month, day) = (reader.u16()?, small(reader.u8()?)?, small(reader.u8()?)?);
    // Zero fields at the end are not sent.
    let mut next = || reader.u8().map_or(Some(0), small);
    let (hour, minute, second) = (next()?, next()?, next()?);
    let micros = reader.u32().unwrap_or(0);
    let nanos = i32::try_from(micros.checked_mul(1_000)?).ok()?;
    let time = jiff::civil::DateTime::new(i16::try_from(year).ok()?, month, day, hour, minute, second, nanos)
        .ok()?;
    let time = jiff::tz::TimeZone::UTC.to_timestamp(time).ok()?;
    Some(Field::Time(time.as_microsecond()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(put: impl FnOnce(&mut Vec<u8>)) -> String {
        let mut out = Vec::new();
        put(&mut out);
        String::from_utf8(out).expect("ASCII")
    }

    #[test]
    fn amounts_are_written_exactly() {
        for (cents, wanted) in [
            (0, "0.00"),
            (5, "0.05"),
            (-5, "-0.05"),
            (123, "1.23"),
            (-1000, "-10.00"),
            (30_000_000, "300000.00"),
        ] {
            assert_eq!(text(|out| put_cents(Cents(cents), out)), wanted);
        }
        assert_eq!(text(|out| put_rate(Rate(1234), out)), "0.1234");
        assert_eq!(text(|out| put_int(-7, out)), "-7");
        assert_eq!(text(|out| put_int(0, out)), "0");
        assert_eq!(text(|out| put_int(i64::MIN, out)), i64::MIN.to_string());
    }

    #[test]
    fn a_row_of_every_type_is_read() {
        // Header, a bit map that marks the fourth column as null, then a short, a decimal, a time and a text.
        let mut packet = vec![0, 1 << 5];
        packet.extend_from_slice(&(-2_i16).to_le_bytes());
        put_bytes(b"-12.3456", &mut packet);
        let time = Timestamp(1_700_000_000_123_456);
        put_time(time, &mut packet).expect("a time");
        put_bytes(b"text", &mut packet);
        let kinds = [kind::SHORT, kind::NEW_DECIMAL, kind::DATE_TIME, kind::LONG, kind::VAR_STRING];
        let mut rows = Rows::default();
        rows.reset(kinds.len());
        read_row(&packet, &kinds, &mut rows).expect("a row");
        assert_eq!(rows.int::<i64>(0, 0), Ok(-2));
        assert_eq!(rows.rate(0, 1), Ok(Rate(-123_456)));
        assert_eq!(rows.time(0, 2), Ok(time));
        assert!(rows.is_null(0, 3));
        assert_eq!(rows.text(0, 4), Ok("text"));
        for length in 0..packet.len() {
            let mut rows = Rows::default();
            rows.reset(kinds.len());
            assert!(read_row(&packet[..length], &kinds, &mut rows).is_err(), "cut after {length}");
        }
    }
}
