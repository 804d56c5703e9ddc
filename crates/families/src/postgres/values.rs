//! Values of parameters and rows in the binary forms of the wire protocol.

use crate::postgres::numeric;
use bytes::{BufMut, BytesMut};
use fallible_iterator::FallibleIterator;
use lydite_database::sql::value::{Field, Rows, Value};
use lydite_tpcc::{Cents, Timestamp};
use postgres_protocol::types::{ArrayDimension, array_from_sql, array_to_sql};
use postgres_protocol::{IsNull, Oid};
use std::error::Error;

/// Microseconds from 1970 to 2000, PostgreSQL's epoch.
const EPOCH_MICROS: i64 = 946_684_800_000_000;

const BOOL: Oid = 16;
const INT8: Oid = 20;
const INT2: Oid = 21;
const INT4: Oid = 23;
const TEXT: Oid = 25;
const BPCHAR: Oid = 1042;
const VARCHAR: Oid = 1043;
const TIMESTAMP: Oid = 1114;
const TIMESTAMPTZ: Oid = 1184;
const NUMERIC: Oid = 1700;
const INT8_ARRAY: Oid = 1016;
/// Array types of the types above.
const ARRAYS: [Oid; 10] = [1000, 1005, 1007, 1009, 1014, 1015, INT8_ARRAY, 1115, 1185, 1231];

/// Converts a point in time to PostgreSQL's form: microseconds since 2000.
pub(crate) fn postgres_micros(time: Timestamp) -> i64 {
    time.0 - EPOCH_MICROS
}

type Encoded = Result<IsNull, Box<dyn Error + Sync + Send>>;

/// Writes a value in the binary form of its type.
pub(super) fn encode(value: &Value<'_>, oid: Oid, out: &mut BytesMut) -> Encoded {
    match value {
        Value::Int(number) => int(*number, oid, out),
        Value::OptionalInt(Some(number)) => int(*number, oid, out),
        Value::OptionalInt(None) | Value::OptionalText(None) => Ok(IsNull::Yes),
        Value::Money(cents) => money(*cents, out),
        Value::Text(text) | Value::OptionalText(Some(text)) => {
            out.put_slice(text.as_bytes());
            Ok(IsNull::No)
        }
        Value::Time(time) => {
            out.put_i64(postgres_micros(*time));
            Ok(IsNull::No)
        }
        // `int[]` has eight bytes in CockroachDB.
        Value::Ints(numbers) => {
            let element = if oid == INT8_ARRAY { INT8 } else { INT4 };
            array(numbers, element, out, |number, out| int(i64::from(*number), element, out))
        }
        Value::Monies(amounts) => array(amounts, NUMERIC, out, |amount, out| money(*amount, out)),
    }
}

fn money(amount: Cents, out: &mut BytesMut) -> Encoded {
    let mut bytes = Vec::with_capacity(24);
    numeric::put_cents(amount, &mut bytes);
    out.put_slice(&bytes);
    Ok(IsNull::No)
}

fn int(number: i64, oid: Oid, out: &mut BytesMut) -> Encoded {
    match oid {
        INT2 => out.put_i16(i16::try_from(number)?),
        INT4 => out.put_i32(i32::try_from(number)?),
        INT8 => out.put_i64(number),
        other => return Err(format!("a whole number can't be sent as type {other}").into()),
    }
    Ok(IsNull::No)
}

fn array<T>(
    values: &[T],
    element: Oid,
    out: &mut BytesMut,
    put: impl Fn(&T, &mut BytesMut) -> Encoded,
) -> Encoded {
    let dimension = ArrayDimension { len: i32::try_from(values.len())?, lower_bound: 1 };
    array_to_sql(Some(dimension), element, values.iter(), put, out)?;
    Ok(IsNull::No)
}

/// Reads a value. `None` if it does not fit its type.
pub(super) fn decode(bytes: &[u8], oid: Oid, rows: &mut Rows) -> Option<Field> {
    if ARRAYS.contains(&oid) {
        let array = array_from_sql(bytes).ok()?;
        let element = array.element_type();
        let mut elements = Vec::with_capacity(16);
        let mut values = array.values();
        while let Some(value) = values.next().ok()? {
            elements.push(match value {
                Some(bytes) => scalar(bytes, element, rows)?,
                None => Field::Null,
            });
        }
        return Some(rows.array_field(elements.into_iter()));
    }
    scalar(bytes, oid, rows)
}

fn scalar(bytes: &[u8], oid: Oid, rows: &mut Rows) -> Option<Field> {
    Some(match oid {
        BOOL => Field::Bool(*bytes.first()? != 0),
        INT2 => Field::Int(i64::from(i16::from_be_bytes(bytes.try_into().ok()?))),
        INT4 => Field::Int(i64::from(i32::from_be_bytes(bytes.try_into().ok()?))),
        INT8 => Field::Int(i64::from_be_bytes(bytes.try_into().ok()?)),
        TEXT | BPCHAR | VARCHAR => rows.text_field(std::str::from_utf8(bytes).ok()?),
        // Tables of the user's own may have times without a zone.
        TIMESTAMP | TIMESTAMPTZ => Field::Time(i64::from_be_bytes(bytes.try_into().ok()?) + EPOCH_MICROS),
        NUMERIC => numeric::read(bytes)?,
        _ => return None,
    })
}
