//! Values as text: in arguments, in tables for people, in CSV and in JSON. Each form keeps the value exactly.

use crate::failure::Failure;
use gemel::row::{Column, ColumnType, OwnedValue, Value};
use serde_json::value::RawValue;
use std::fmt::{self, Write as _};

/// Null in arguments and in text. A text that looks the same is written `\\N`.
pub(crate) const NULL: &str = "\\N";

/// Maximum number of characters of a value in a message.
const SHOWN: usize = 60;

const MICROS_PER_SECOND: i64 = 1_000_000;
const SECONDS_PER_DAY: i64 = 86_400;

/// The reason why a text is no value of a column, in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Malformed(pub(crate) String);

impl Malformed {
    /// Adds the thing that has the wrong value.
    pub(crate) fn of(&self, thing: &str) -> Self {
        Self(format!("{thing}: {self}"))
    }
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A wrong value is wrong usage. The command's synopsis would not help: the message has the value and what is wrong.
impl From<Malformed> for Failure {
    fn from(why: Malformed) -> Self {
        Self::Usage(why.0)
    }
}

/// A result whose error is [`Malformed`].
pub(crate) type Parsed<T> = Result<T, Malformed>;

/// Returns a type's short name.
pub(crate) fn type_name(kind: ColumnType) -> String {
    match kind {
        ColumnType::I16 => "i16".into(),
        ColumnType::I32 => "i32".into(),
        ColumnType::I64 => "i64".into(),
        ColumnType::Decimal { scale } => format!("decimal({scale})"),
        ColumnType::Bool => "bool".into(),
        ColumnType::Text => "text".into(),
        ColumnType::Bytes => "bytes".into(),
        ColumnType::Timestamp => "timestamp".into(),
        ColumnType::F64 => "f64".into(),
    }
}

/// Returns a value in one line. [`parse`] reads it.
pub(crate) fn text(value: Value<'_>, kind: ColumnType) -> String {
    match value {
        Value::Null => NULL.into(),
        Value::Text(text) => escape(text.as_bytes()),
        other => plain(other, kind),
    }
}

/// Returns a value other than null without escapes.
pub(crate) fn plain(value: Value<'_>, kind: ColumnType) -> String {
    match value {
        Value::Null => String::new(),
        Value::Int(n) => n.to_string(),
        Value::Bool(b) => b.to_string(),
        Value::Text(text) => text.to_owned(),
        Value::Bytes(bytes) => hex(bytes),
        Value::Decimal(units) => match kind {
            ColumnType::Decimal { scale } => decimal(units, scale),
            _ => units.to_string(),
        },
        Value::Timestamp(us) => timestamp(us).unwrap_or_else(|| us.to_string()),
        Value::Float(x) => float(x),
    }
}

/// Returns a value as JSON: integers, finite floats, booleans and null as such, all others as a string.
pub(crate) fn json(value: Value<'_>, kind: ColumnType) -> String {
    match value {
        Value::Null => "null".into(),
        Value::Float(x) if !x.is_finite() => quote(&float(x)),
        Value::Timestamp(us) if timestamp(us).is_none() => us.to_string(),
        Value::Int(_) | Value::Bool(_) | Value::Float(_) => plain(value, kind),
        Value::Text(_) | Value::Bytes(_) | Value::Decimal(_) | Value::Timestamp(_) => {
            quote(&plain(value, kind))
        }
    }
}

/// Returns a key or value of a keyspace as JSON. [`parse_json_bytes`] reads it.
pub(crate) fn json_bytes(bytes: &[u8]) -> String {
    quote(&escape(bytes))
}

/// Returns a JSON string.
pub(crate) fn quote(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// Returns names as JSON strings, with commas in between.
pub(crate) fn quoted(names: &[String]) -> String {
    let names: Vec<String> = names.iter().map(|name| quote(name)).collect();
    names.join(",")
}

/// Reads a value of a column in the form of [`text`].
pub(crate) fn parse(column: &Column, given: &str) -> Parsed<OwnedValue> {
    if given == NULL {
        return match column.nullable {
            true => Ok(OwnedValue::Null),
            false => Err(Malformed(format!("column {} is not nullable: give a value", column.name))),
        };
    }
    let value = if column.kind == ColumnType::Text {
        unescape(given).and_then(|bytes| {
            let text = String::from_utf8(bytes);
            text.map(OwnedValue::Text)
                .map_err(|_| Malformed("the escaped bytes are not UTF-8, and a text is".into()))
        })
    } else {
        parse_plain(column.kind, given)
    };
    value.map_err(|why| why.of(&format!("column {}", column.name)))
}

/// Reads a value of a column from JSON.
pub(crate) fn parse_json(column: &Column, cell: &RawValue) -> Parsed<OwnedValue> {
    let raw = cell.get();
    let value = match column.kind {
        _ if raw == "null" && column.nullable => Ok(OwnedValue::Null),
        _ if raw == "null" => Err(Malformed("it is null, and the column is not nullable".into())),
        kind if raw.starts_with('"') => parse_string(cell).and_then(|string| parse_plain(kind, &string)),
        ColumnType::Text | ColumnType::Bytes | ColumnType::Decimal { .. } => {
            Err(Malformed(format!("{} is not a JSON string", in_quotes(raw))))
        }
        kind => parse_plain(kind, raw),
    };
    value.map_err(|why| why.of(&format!("column {}", column.name)))
}

/// Reads a key or value of a keyspace from JSON.
pub(crate) fn parse_json_bytes(cell: &RawValue) -> Parsed<Vec<u8>> {
    unescape(&parse_string(cell)?)
}

/// Reads a JSON string.
fn parse_string(cell: &RawValue) -> Parsed<String> {
    serde_json::from_str(cell.get()).map_err(|_| match lone_half(cell.get()) {
        Some(half) => Malformed(format!(
            "{half} is one half of a character: write the other half next to it, or the character itself"
        )),
        None => Malformed(format!("{} is not a JSON string", in_quotes(cell.get()))),
    })
}

/// Returns the first escape of a JSON string that is half of a surrogate pair without its other half.
fn lone_half(json: &str) -> Option<&str> {
    let unit = |at: usize| {
        let digits = json.get(at..at + 6)?.strip_prefix("\\u")?;
        u16::from_str_radix(digits, 16).ok()
    };
    let mut at = 0;
    while at < json.len() {
        at += match (json.as_bytes()[at], unit(at)) {
            (b'\\', Some(0xD800..=0xDBFF)) if matches!(unit(at + 6), Some(0xDC00..=0xDFFF)) => 12,
            (b'\\', Some(0xD800..=0xDFFF)) => return json.get(at..at + 6),
            // The byte behind it belongs to the escape, and it may be a backslash.
            (b'\\', _) => 2,
            _ => 1,
        };
    }
    None
}

fn parse_plain(kind: ColumnType, given: &str) -> Parsed<OwnedValue> {
    let int = |fits: fn(i64) -> bool| given.parse::<i64>().ok().filter(|n| fits(*n)).map(OwnedValue::Int);
    let value = match kind {
        ColumnType::I16 => int(|n| i16::try_from(n).is_ok()),
        ColumnType::I32 => int(|n| i32::try_from(n).is_ok()),
        ColumnType::I64 => int(|_| true),
        ColumnType::Decimal { scale } => parse_decimal(given, scale).map(OwnedValue::Decimal),
        ColumnType::Bool => given.parse().ok().map(OwnedValue::Bool),
        ColumnType::Text => Some(OwnedValue::Text(given.to_owned())),
        ColumnType::Bytes => parse_hex(given).map(OwnedValue::Bytes),
        ColumnType::Timestamp => parse_timestamp(given).map(OwnedValue::Timestamp),
        ColumnType::F64 => parse_float(given).map(OwnedValue::Float),
    };
    value.ok_or_else(|| {
        let expected = match kind {
            ColumnType::Bytes => "a string of hexadecimal digits".to_owned(),
            ColumnType::Timestamp => {
                "a time like 2024-05-01T12:30:00Z, or microseconds since 1970".to_owned()
            }
            other => other.to_string(),
        };
        Malformed(format!("{} is not {expected}", in_quotes(given)))
    })
}

/// Returns a value for a message as it was given, in quotes, and only the beginning of a long one.
pub(crate) fn in_quotes(given: &str) -> String {
    let end = given.char_indices().nth(SHOWN).map_or(given.len(), |(at, _)| at);
    format!("'{}{}'", printable(&given[..end]), if end < given.len() { "…" } else { "" })
}

/// Returns a text as it is, apart from control characters: a message is one line.
fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { char::REPLACEMENT_CHARACTER } else { c }).collect()
}

/// Describes an escape that [`unescape`] does not know: the one behind the first `at` bytes of a text.
fn unknown_escape(text: &str, at: usize) -> Malformed {
    let (before, rest) = text.split_at(at);
    // The backslash and the character behind it, or the two digits that \x needs.
    let taken = if rest.starts_with("\\x") { 4 } else { 2 };
    let escape: String = rest.chars().take(taken).collect();
    let character = before.chars().count();
    // Of a long text, the part around the escape.
    let skipped = character.saturating_sub(SHOWN / 2);
    let around: String = text.chars().skip(skipped).take(SHOWN).collect();
    let begin = if skipped > 0 { "…" } else { "" };
    let end = if text.chars().nth(skipped + SHOWN).is_some() { "…" } else { "" };
    Malformed(format!(
        "unknown escape {} at character {} of '{begin}{}{end}': write \\\\ for a backslash, \\, for a comma in a list, \
         \\n, \\t, \\r, or \\xNN for a byte",
        printable(&escape),
        character + 1,
        printable(&around)
    ))
}

/// Returns bytes as text. Bytes that are not printable UTF-8 are written `\xNN`, a backslash twice.
pub(crate) fn escape(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            match c {
                '\\' => out.push_str("\\\\"),
                '\n' => out.push_str("\\n"),
                '\t' => out.push_str("\\t"),
                '\r' => out.push_str("\\r"),
                c if c.is_control() => push_escaped(c.encode_utf8(&mut [0; 4]).as_bytes(), &mut out),
                c => out.push(c),
            }
        }
        push_escaped(chunk.invalid(), &mut out);
    }
    out
}

fn push_escaped(bytes: &[u8], out: &mut String) {
    for byte in bytes {
        // Writing to a string does not fail.
        let _ = write!(out, "\\x{byte:02x}");
    }
}

/// Returns the bytes that [`escape`] has written. `\,` is a comma.
pub(crate) fn unescape(text: &str) -> Parsed<Vec<u8>> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        rest = tail;
        if *first != b'\\' {
            out.push(*first);
            continue;
        }
        match rest {
            [b'x', high, low, ..] if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() => {
                out.push(digit(*high) << 4 | digit(*low));
                rest = &rest[3..];
            }
            [c @ (b'\\' | b',' | b'n' | b't' | b'r'), tail @ ..] => {
                out.push(match c {
                    b'n' => b'\n',
                    b't' => b'\t',
                    b'r' => b'\r',
                    other => *other,
                });
                rest = tail;
            }
            _ => return Err(unknown_escape(text, text.len() - rest.len() - 1)),
        }
    }
    Ok(out)
}

/// Splits a list at its commas, but not at those with a backslash before them.
pub(crate) fn split(list: &str) -> Vec<&str> {
    let (mut parts, mut begin, mut is_escaped) = (Vec::new(), 0, false);
    for (at, byte) in list.bytes().enumerate() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = true,
            b',' => {
                parts.push(&list[begin..at]);
                begin = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&list[begin..]);
    parts
}

/// Returns the value of a hexadecimal digit.
fn digit(byte: u8) -> u8 {
    char::from(byte).to_digit(16).map_or(0, |digit| digit as u8)
}

fn hex(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        let _ = write!(out, "{byte:02x}");
    }
    out
}

fn parse_hex(text: &str) -> Option<Vec<u8>> {
    let digits = text.as_bytes();
    let is_hex = digits.len().is_multiple_of(2) && digits.iter().all(u8::is_ascii_hexdigit);
    is_hex.then(|| digits.chunks_exact(2).map(|pair| digit(pair[0]) << 4 | digit(pair[1])).collect())
}

fn decimal(units: i64, scale: u8) -> String {
    let sign = if units < 0 { "-" } else { "" };
    let scale = usize::from(scale);
    let digits = format!("{:0>width$}", units.unsigned_abs(), width = scale + 1);
    match digits.split_at(digits.len() - scale) {
        (whole, "") => format!("{sign}{whole}"),
        (whole, fraction) => format!("{sign}{whole}.{fraction}"),
    }
}

fn parse_decimal(text: &str, scale: u8) -> Option<i64> {
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    let (whole, fraction) = unsigned.split_once('.').unwrap_or((unsigned, ""));
    let is_number = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    let missing = usize::from(scale).checked_sub(fraction.len())?;
    if unsigned.is_empty() || unsigned == "." || !is_number(whole) || !is_number(fraction) {
        return None;
    }
    let sign = if text.starts_with('-') { "-" } else { "" };
    format!("{sign}{whole}{fraction}{}", "0".repeat(missing)).parse().ok()
}

fn float(x: f64) -> String {
    if !x.is_nan() {
        // The shortest digits that give the same bits again.
        return format!("{x:?}");
    }
    if x.to_bits() == f64::NAN.to_bits() { "NaN".into() } else { format!("NaN:{:016x}", x.to_bits()) }
}

fn parse_float(text: &str) -> Option<f64> {
    if let Some(bits) = text.strip_prefix("NaN:") {
        let is_bits = bits.len() == 16 && bits.bytes().all(|byte| byte.is_ascii_hexdigit());
        let x = f64::from_bits(u64::from_str_radix(bits, 16).ok().filter(|_| is_bits)?);
        return x.is_nan().then_some(x);
    }
    if text.eq_ignore_ascii_case("nan") {
        return Some(f64::NAN);
    }
    // A number that is too large must not become infinite.
    text.parse::<f64>().ok().filter(|x| x.is_finite() || !text.bytes().any(|byte| byte.is_ascii_digit()))
}

/// Returns a time of the years 0 to 9999 as in RFC 3339.
fn timestamp(us: i64) -> Option<String> {
    let (seconds, micros) = (us.div_euclid(MICROS_PER_SECOND), us.rem_euclid(MICROS_PER_SECOND));
    let (days, second) = (seconds.div_euclid(SECONDS_PER_DAY), seconds.rem_euclid(SECONDS_PER_DAY));
    let (year, month, day) = date_of(days);
    if !(0..=9999).contains(&year) {
        return None;
    }
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    let fraction = if micros == 0 { String::new() } else { format!(".{micros:06}") };
    Some(format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}{fraction}Z"))
}

/// Reads microseconds since 1970, or a date of UTC with or without a time.
fn parse_timestamp(text: &str) -> Option<i64> {
    if let Ok(us) = text.parse::<i64>() {
        return Some(us);
    }
    let text = text.strip_suffix(['Z', 'z']).unwrap_or(text);
    let (date, time) = match text.split_once(['T', 't', ' ']) {
        Some((date, time)) => (date, time),
        None => (text, "00:00"),
    };
    let date: Vec<&str> = date.split('-').collect();
    let [year, month, day] = date[..] else { return None };
    let (year, month, day) = (number(year, 4)?, number(month, 2)?, number(day, 2)?);
    let days = days_to(year, month, day);
    // The thirtieth of February is another day.
    if date_of(days) != (year, month, day) {
        return None;
    }
    let (time, fraction) = time.split_once('.').unwrap_or((time, "0"));
    let time: Vec<&str> = time.split(':').collect();
    let (hour, minute, second) = match time[..] {
        [hour, minute] if fraction == "0" => (hour, minute, "00"),
        [hour, minute, second] => (hour, minute, second),
        _ => return None,
    };
    let (hour, minute, second) = (number(hour, 2)?, number(minute, 2)?, number(second, 2)?);
    if hour > 23 || minute > 59 || second > 59 || fraction.is_empty() || fraction.len() > 6 {
        return None;
    }
    let micros = number(fraction, fraction.len())? * 10_i64.pow(6 - fraction.len() as u32);
    let seconds = days * SECONDS_PER_DAY + hour * 3600 + minute * 60 + second;
    Some(seconds * MICROS_PER_SECOND + micros)
}

/// Reads a number of so many digits.
fn number(text: &str, digits: usize) -> Option<i64> {
    let is_number = text.len() == digits && text.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| text.parse().ok()).flatten()
}

/// Returns year, month and day of a number of days since 1970, in the Gregorian calendar. Years begin in March here, so
/// the day that comes every four years is the last one.
fn date_of(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let (era, day) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (400 * era + year + i64::from(month <= 2), month, day)
}

/// Returns the number of days from 1970 to a date.
fn days_to(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let (era, year) = (year.div_euclid(400), year.rem_euclid(400));
    let month = if month > 2 { month - 3 } else { month + 9 };
    let day = (153 * month + 2) / 5 + day - 1;
    era * 146_097 + 365 * year + year / 4 - year / 100 + day - 719_468
}

#[cfg(test)]
mod tests;
