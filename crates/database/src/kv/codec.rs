//! Bytes of keys and values. Keys have the order of their columns, and values have their columns at fixed places.
//!
//! Numbers are big-endian in keys and little-endian in values. A text takes its column's full width, padded with zeros;
//! only a row's last text has its own length. So a column is read or replaced in place, without a look at the rest of
//! the row.

use crate::kv::store::KvTable;
use crate::kv::store_error::StoreError;
use arrayvec::ArrayVec;
use lydite_tpcc::rows::{Address, Row};
use lydite_tpcc::text::Text;
use lydite_tpcc::{CarrierId, Cents, CustomerId, DistrictId, ItemId, OrderId, Rate, Timestamp, WarehouseId};
use std::marker::PhantomData;
use std::ops::RangeBounds;

/// A key. The longest is that of a customer's name: at most 7 bytes, two texts of 16 with a zero after each, and 4
/// bytes.
pub type Key = ArrayVec<u8, 48>;

/// The bytes of a column are not those that were written, or a new value does not fit the column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Malformed(pub &'static str);

impl From<Malformed> for StoreError {
    fn from(Malformed(what): Malformed) -> Self {
        Self::Failed(format!("{what}: a value is damaged or does not fit: load with --fresh"))
    }
}

/// A row of a table that can be stored.
pub trait KvRow: Row + Sized {
    /// Table of the row.
    const KV_TABLE: KvTable;
    /// Returns the key. HISTORY has none: its key lacks the number at the end.
    fn key(&self) -> Key;
    /// Writes the value over `value`.
    fn encode(&self, value: &mut Vec<u8>) -> Result<(), Malformed>;
    /// Reads a row from its key and value.
    fn decode(key: &[u8], value: &[u8]) -> Result<Self, Malformed>;
}

/// A part of a key.
pub trait KeyPart: Sized {
    /// Appends the part to a key.
    fn push(self, key: &mut Key);
    /// Removes the part from the front of a key. Returns `None` if the key is too short.
    fn take(key: &mut &[u8]) -> Option<Self>;
}

macro_rules! key_parts {
    ($($kind:ident($inner:ty)),*) => {$(
        impl KeyPart for $kind {
            fn push(self, key: &mut Key) {
                key.extend(self.0.to_be_bytes());
            }
            fn take(key: &mut &[u8]) -> Option<Self> {
                let (bytes, rest) = key.split_first_chunk()?;
                *key = rest;
                Some(Self(<$inner>::from_be_bytes(*bytes)))
            }
        }
    )*};
}

key_parts!(WarehouseId(u32), CustomerId(u32), ItemId(u32));

/// A number below 2^32 - 1 takes four bytes, which is enough until a district has more orders. From there on these bytes
/// are the greatest, and eight more follow. So keys have the order of the numbers, and no key is a prefix of another.
impl KeyPart for OrderId {
    fn push(self, key: &mut Key) {
        match u32::try_from(self.0) {
            Ok(number) if number < u32::MAX => key.extend(number.to_be_bytes()),
            _ => {
                key.extend(u32::MAX.to_be_bytes());
                key.extend(self.0.to_be_bytes());
            }
        }
    }
    fn take(key: &mut &[u8]) -> Option<Self> {
        let (bytes, rest) = key.split_first_chunk()?;
        *key = rest;
        match u32::from_be_bytes(*bytes) {
            u32::MAX => {
                let (bytes, rest) = key.split_first_chunk()?;
                *key = rest;
                Some(Self(u64::from_be_bytes(*bytes)))
            }
            number => Some(Self(number.into())),
        }
    }
}

/// A number up to 254 takes one byte, which is enough for every database without skewed data. From 255 on that byte is
/// 255 and two more follow. So keys have the order of the numbers, and no key is a prefix of another.
impl KeyPart for DistrictId {
    fn push(self, key: &mut Key) {
        match u8::try_from(self.0) {
            Ok(byte) if byte < u8::MAX => key.push(byte),
            _ => {
                key.push(u8::MAX);
                key.extend(self.0.to_be_bytes());
            }
        }
    }
    fn take(key: &mut &[u8]) -> Option<Self> {
        match u8::take(key)? {
            u8::MAX => {
                let (bytes, rest) = key.split_first_chunk()?;
                *key = rest;
                Some(Self(u16::from_be_bytes(*bytes)))
            }
            byte => Some(Self(u16::from(byte))),
        }
    }
}

impl KeyPart for u8 {
    fn push(self, key: &mut Key) {
        key.push(self);
    }
    fn take(key: &mut &[u8]) -> Option<Self> {
        let (&first, rest) = key.split_first()?;
        *key = rest;
        Some(first)
    }
}

/// Returns the first key after all keys with this prefix; `None` if there is no such key.
pub fn behind(prefix: &[u8]) -> Option<Key> {
    let cut = prefix.iter().rposition(|&byte| byte != u8::MAX)?;
    let mut key: Key = prefix[..=cut].iter().copied().collect();
    key[cut] += 1;
    Some(key)
}

/// A column type.
pub trait Column: Sized {
    /// Width in bytes.
    const WIDTH: usize;
    /// Reads a value from exactly that many bytes. Returns `None` for bytes that [`Column::write`] can't have written.
    fn read(bytes: &[u8]) -> Option<Self>;
    /// Writes the value into exactly that many bytes. Returns `None` if it does not fit.
    fn write(&self, bytes: &mut [u8]) -> Option<()>;
}

macro_rules! integers {
    ($($kind:ty),*) => {$(
        impl Column for $kind {
            const WIDTH: usize = size_of::<Self>();
            fn read(bytes: &[u8]) -> Option<Self> {
                Some(Self::from_le_bytes(bytes.try_into().ok()?))
            }
            fn write(&self, bytes: &mut [u8]) -> Option<()> {
                bytes.copy_from_slice(&self.to_le_bytes());
                Some(())
            }
        }
    )*};
}

integers!(u8, u32, i16);

/// Implements columns for types around a number with bounds.
macro_rules! numbers {
    ($($kind:ident($inner:ty) in $range:expr),* $(,)?) => {$(
        impl Column for $kind {
            const WIDTH: usize = size_of::<$inner>();
            fn read(bytes: &[u8]) -> Option<Self> {
                let number = <$inner>::from_le_bytes(bytes.try_into().ok()?);
                ($range).contains(&number).then_some(Self(number))
            }
            fn write(&self, bytes: &mut [u8]) -> Option<()> {
                bytes.copy_from_slice(&self.0.to_le_bytes());
                ($range).contains(&self.0).then_some(())
            }
        }
    )*};
}

/// Eighteen digits, two of them fractional, as in SQL databases.
const MAX_CENTS: i64 = 999_999_999_999_999_999;

numbers!(
    WarehouseId(u32) in ..,
    CustomerId(u32) in ..,
    ItemId(u32) in ..,
    CarrierId(u8) in 1..,
    Timestamp(i64) in i64::MIN + 1..,
    Cents(i64) in -MAX_CENTS..=MAX_CENTS,
    Rate(i32) in -9_999..=9_999,
);

/// A district and a customer of a warehouse: D_ID's low byte, three bytes of C_ID, and D_ID's high byte. With at most
/// 255 districts, the bytes are the same as those of a one-byte district and a four-byte customer.
impl Column for (DistrictId, CustomerId) {
    const WIDTH: usize = 5;
    fn read(bytes: &[u8]) -> Option<Self> {
        let &[low, a, b, c, high] = bytes else { return None };
        Some((DistrictId(u16::from_le_bytes([low, high])), CustomerId(u32::from_le_bytes([a, b, c, 0]))))
    }
    fn write(&self, bytes: &mut [u8]) -> Option<()> {
        let [low, high] = self.0.0.to_le_bytes();
        let [a, b, c, 0] = self.1.0.to_le_bytes() else { return None };
        bytes.copy_from_slice(&[low, a, b, c, high]);
        Some(())
    }
}

/// D_NEXT_O_ID, in four bytes.
impl Column for OrderId {
    const WIDTH: usize = u32::WIDTH;
    fn read(bytes: &[u8]) -> Option<Self> {
        u32::read(bytes).map(|number| Self(number.into()))
    }
    fn write(&self, bytes: &mut [u8]) -> Option<()> {
        u32::try_from(self.0).ok()?.write(bytes)
    }
}

/// S_QUANTITY, four digits.
impl Column for i32 {
    const WIDTH: usize = i16::WIDTH;
    fn read(bytes: &[u8]) -> Option<Self> {
        i16::read(bytes).map(Self::from)
    }
    fn write(&self, bytes: &mut [u8]) -> Option<()> {
        i16::try_from(*self).ok()?.write(bytes)
    }
}

impl Column for bool {
    const WIDTH: usize = 1;
    fn read(bytes: &[u8]) -> Option<Self> {
        match bytes {
            [0] => Some(false),
            [1] => Some(true),
            _ => None,
        }
    }
    fn write(&self, bytes: &mut [u8]) -> Option<()> {
        u8::from(*self).write(bytes)
    }
}

/// Implements nullable columns: null is a value that the type rejects.
macro_rules! nullable {
    ($($kind:ident null $null:expr),*) => {$(
        impl Column for Option<$kind> {
            const WIDTH: usize = $kind::WIDTH;
            fn read(bytes: &[u8]) -> Option<Self> {
                if *bytes == $null.to_le_bytes() { Some(None) } else { $kind::read(bytes).map(Some) }
            }
            fn write(&self, bytes: &mut [u8]) -> Option<()> {
                match self {
                    Some(value) => value.write(bytes)?,
                    None => bytes.copy_from_slice(&$null.to_le_bytes()),
                }
                Some(())
            }
        }
    )*};
}

nullable!(CarrierId null 0_u8, Timestamp null i64::MIN);

impl<const N: usize> Column for Text<N> {
    const WIDTH: usize = N;
    fn read(bytes: &[u8]) -> Option<Self> {
        let end = bytes.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
        Self::from(std::str::from_utf8(&bytes[..end]).ok()?).ok()
    }
    fn write(&self, bytes: &mut [u8]) -> Option<()> {
        let (text, zeros) = bytes.split_at_mut(self.len());
        text.copy_from_slice(self.as_bytes());
        zeros.fill(0);
        Some(())
    }
}

impl<const N: usize, const COUNT: usize> Column for [Text<N>; COUNT] {
    const WIDTH: usize = N * COUNT;
    fn read(bytes: &[u8]) -> Option<Self> {
        let mut texts = [Text::new(); COUNT];
        for (text, bytes) in texts.iter_mut().zip(bytes.chunks_exact(N)) {
            *text = Text::read(bytes)?;
        }
        Some(texts)
    }
    fn write(&self, bytes: &mut [u8]) -> Option<()> {
        self.iter().zip(bytes.chunks_exact_mut(N)).try_for_each(|(text, bytes)| text.write(bytes))
    }
}

impl Column for Address {
    const WIDTH: usize = 3 * 20 + 2 + 9;
    fn read(bytes: &[u8]) -> Option<Self> {
        Some(Self {
            street_1: Text::read(&bytes[..20])?,
            street_2: Text::read(&bytes[20..40])?,
            city: Text::read(&bytes[40..60])?,
            state: Text::read(&bytes[60..62])?,
            zip: Text::read(&bytes[62..])?,
        })
    }
    fn write(&self, bytes: &mut [u8]) -> Option<()> {
        self.street_1.write(&mut bytes[..20])?;
        self.street_2.write(&mut bytes[20..40])?;
        self.city.write(&mut bytes[40..60])?;
        self.state.write(&mut bytes[60..62])?;
        self.zip.write(&mut bytes[62..])
    }
}

/// A column of a table, at its place in the row.
pub struct Field<T> {
    /// Table and column, for messages.
    name: &'static str,
    offset: usize,
    kind: PhantomData<T>,
}

impl<T: Column> Field<T> {
    /// Makes a column at an offset in the row.
    pub const fn at(name: &'static str, offset: usize) -> Self {
        Self { name, offset, kind: PhantomData }
    }

    /// Reads the column in a row.
    pub fn get(&self, row: &[u8]) -> Result<T, Malformed> {
        row.get(self.offset..self.offset + T::WIDTH).and_then(T::read).ok_or(Malformed(self.name))
    }

    /// Replaces the column in a row.
    pub fn set(&self, row: &mut [u8], value: &T) -> Result<(), Malformed> {
        let bytes = row.get_mut(self.offset..self.offset + T::WIDTH).ok_or(Malformed(self.name))?;
        value.write(bytes).ok_or(Malformed(self.name))
    }
}

impl<T: Count> Field<T> {
    /// Adds to the column in a row.
    pub fn add(&self, row: &mut [u8], by: T) -> Result<(), Malformed> {
        let sum = self.get(row)?.plus(by).ok_or(Malformed(self.name))?;
        self.set(row, &sum)
    }
}

impl<const N: usize, const COUNT: usize> Field<[Text<N>; COUNT]> {
    /// Reads the text at `index`.
    pub fn nth(&self, row: &[u8], index: usize) -> Result<Text<N>, Malformed> {
        if index >= COUNT {
            return Err(Malformed(self.name));
        }
        Field::at(self.name, self.offset + index * N).get(row)
    }
}

/// A column type that counts or sums.
pub trait Count: Column {
    /// Returns the sum, or `None` if it does not fit.
    fn plus(self, by: Self) -> Option<Self>;
}

impl Count for u32 {
    fn plus(self, by: Self) -> Option<Self> {
        self.checked_add(by)
    }
}

impl Count for OrderId {
    fn plus(self, by: Self) -> Option<Self> {
        self.0.checked_add(by.0).map(Self)
    }
}

impl Count for Cents {
    fn plus(self, by: Self) -> Option<Self> {
        self.0.checked_add(by.0).map(Self)
    }
}
