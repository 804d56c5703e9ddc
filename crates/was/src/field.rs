//! Fields of screens as bytes: integers with the most significant byte first, texts with a length of one byte, lists
//! with a count.

use crate::frame::{BadFrame, TEXT_MAX};
use arrayvec::{ArrayString, ArrayVec};
use lydite_tpcc::rows::Address;
use lydite_tpcc::transactions::{
    CustomerSelector, Delivery, DeliveryOutcome, NewOrder, NewOrderLine, NewOrderOutcome, OrderLineInput,
    OrderStatus, OrderStatusLine, OrderStatusOutcome, Payment, PaymentOutcome, StockLevel, StockLevelOutcome,
};
use lydite_tpcc::{
    CarrierId, Cents, CustomerId, DistrictId, ItemId, OrderId, Rate, RolledBackOrder, StandardKind,
    Timestamp, WarehouseId,
};

/// Bytes of a frame that are not read yet.
pub(crate) struct Input<'a>(&'a [u8]);

impl<'a> Input<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    pub(crate) fn bytes(&mut self, count: usize) -> Result<&'a [u8], BadFrame> {
        let (bytes, rest) =
            self.0.split_at_checked(count).ok_or_else(|| BadFrame::new("a frame ends within a field"))?;
        self.0 = rest;
        Ok(bytes)
    }

    fn text(&mut self, length: usize) -> Result<&'a str, BadFrame> {
        std::str::from_utf8(self.bytes(length)?).map_err(|_| BadFrame::new("a text is not UTF-8"))
    }

    /// Rejects bytes behind the last field.
    pub(crate) fn end(self) -> Result<(), BadFrame> {
        if self.0.is_empty() { Ok(()) } else { Err(BadFrame::new("a frame has bytes behind its last field")) }
    }
}

/// A value of a frame.
pub(crate) trait Field: Sized {
    fn put(&self, out: &mut Vec<u8>);
    fn take(input: &mut Input<'_>) -> Result<Self, BadFrame>;
}

macro_rules! integers {
    ($($type:ty),*) => {$(
        impl Field for $type {
            fn put(&self, out: &mut Vec<u8>) {
                out.extend_from_slice(&self.to_be_bytes());
            }
            fn take(input: &mut Input<'_>) -> Result<Self, BadFrame> {
                let mut bytes = [0; size_of::<Self>()];
                bytes.copy_from_slice(input.bytes(size_of::<Self>())?);
                Ok(Self::from_be_bytes(bytes))
            }
        }
    )*};
}

integers!(u8, u16, u32, u64, i32, i64);

/// Types around one field.
macro_rules! wrappers {
    ($($type:ident),*) => {$(
        impl Field for $type {
            fn put(&self, out: &mut Vec<u8>) {
                self.0.put(out);
            }
            fn take(input: &mut Input<'_>) -> Result<Self, BadFrame> {
                Field::take(input).map(Self)
            }
        }
    )*};
}

wrappers!(CarrierId, Cents, CustomerId, DistrictId, ItemId, OrderId, Rate, Timestamp, WarehouseId);

/// Screens with their fields. The compiler rejects a list that lacks one.
macro_rules! screens {
    ($($type:ident { $($field:ident),* $(,)? })*) => {$(
        impl Field for $type {
            fn put(&self, out: &mut Vec<u8>) {
                let Self { $($field),* } = self;
                $($field.put(out);)*
            }
            fn take(input: &mut Input<'_>) -> Result<Self, BadFrame> {
                Ok(Self { $($field: Field::take(input)?),* })
            }
        }
    )*};
}

screens! {
    OrderLineInput { i_id, supply_w_id, quantity }
    NewOrder { w_id, d_id, c_id, lines }
    Payment { w_id, d_id, c_w_id, c_d_id, customer, amount }
    OrderStatus { w_id, d_id, customer }
    Delivery { w_id, districts, carrier_id }
    StockLevel { w_id, d_id, threshold, others }
    NewOrderLine { i_name, s_quantity, brand, i_price, amount }
    NewOrderOutcome { o_id, entry_d, c_last, c_credit, c_discount, w_tax, d_tax, total, lines }
    RolledBackOrder { o_id, c_last, c_credit }
    Address { street_1, street_2, city, state, zip }
    PaymentOutcome {
        h_date, warehouse, district, c_id, c_first, c_middle, c_last, address, c_phone, c_since, c_credit,
        c_credit_lim, c_discount, c_balance, c_data,
    }
    OrderStatusLine { i_id, supply_w_id, quantity, amount, delivery_d }
    OrderStatusOutcome { c_id, c_first, c_middle, c_last, c_balance, o_id, entry_d, carrier_id, lines }
    DeliveryOutcome { delivered }
    StockLevelOutcome { low_stock }
}

impl Field for bool {
    fn put(&self, out: &mut Vec<u8>) {
        out.push(u8::from(*self));
    }
    fn take(input: &mut Input<'_>) -> Result<Self, BadFrame> {
        match u8::take(input)? {
            0 => Ok(false),
            1 => Ok(true),
            other => Err(BadFrame::new(format!("a truth value is {other}"))),
        }
    }
}

impl Field for StandardKind {
    fn put(&self, out: &mut Vec<u8>) {
        out.push(self.index() as u8);
    }
    fn take(input: &mut Input<'_>) -> Result<Self, BadFrame> {
        let number = u8::take(input)?;
        Self::ALL
            .get(usize::from(number))
            .copied()
            .ok_or_else(|| BadFrame::new(format!("the menu has no transaction {number}")))
    }
}

impl Field for CustomerSelector {
    fn put(&self, out: &mut Vec<u8>) {
        match self {
            Self::Id(id) => {
                out.push(0);
                id.put(out);
            }
            Self::LastName(name) => {
                out.push(1);
                name.put(out);
            }
        }
    }
    fn take(input: &mut Input<'_>) -> Result<Self, BadFrame> {
        match u8::take(input)? {
            0 => Field::take(input).map(Self::Id),
            1 => Field::take(input).map(Self::LastName),
            other => Err(BadFrame::new(format!("a customer is selected in the way {other}"))),
        }
    }
}

impl<T: Field> Field for Option<T> {
    fn put(&self, out: &mut Vec<u8>) {
        self.is_some().put(out);
        self.iter().for_each(|value| value.put(out));
    }
    fn take(input: &mut Input<'_>) -> Result<Self, BadFrame> {
        bool::take(input)?.then(|| T::take(input)).transpose()
    }
}

impl<A: Field, B: Field> Field for (A, B) {
    fn put(&self, out: &mut Vec<u8>) {
        self.0.put(out);
        self.1.put(out);
    }
    fn take(input: &mut Input<'_>) -> Result<Self, BadFrame> {
        Ok((A::take(input)?, B::take(input)?))
    }
}

impl<const N: usize> Field for ArrayString<N> {
    fn put(&self, out: &mut Vec<u8>) {
        const { assert!(N <= u8::MAX as usize, "a length has one byte") };
        out.push(self.len() as u8);
        out.extend_from_slice(self.as_bytes());
    }
    fn take(input: &mut Input<'_>) -> Result<Self, BadFrame> {
        let length = usize::from(u8::take(input)?);
        Self::from(input.text(length)?)
            .map_err(|_| BadFrame::new(format!("a text of {length} bytes, at most {N} are allowed")))
    }
}

/// Appends at most [`TEXT_MAX`] bytes of a text.
impl Field for String {
    fn put(&self, out: &mut Vec<u8>) {
        let text: ArrayString<TEXT_MAX> = lydite_tpcc::text::truncated(self);
        (text.len() as u16).put(out);
        out.extend_from_slice(text.as_bytes());
    }
    fn take(input: &mut Input<'_>) -> Result<Self, BadFrame> {
        let length = usize::from(u16::take(input)?);
        input.text(length).map(str::to_owned)
    }
}

impl<T: Field, const N: usize> Field for ArrayVec<T, N> {
    fn put(&self, out: &mut Vec<u8>) {
        const { assert!(N <= u8::MAX as usize, "a count has one byte") };
        out.push(self.len() as u8);
        self.iter().for_each(|value| value.put(out));
    }
    fn take(input: &mut Input<'_>) -> Result<Self, BadFrame> {
        let count = usize::from(u8::take(input)?);
        if count > N {
            return Err(BadFrame::new(format!("a list of {count}, at most {N} are allowed")));
        }
        (0..count).map(|_| T::take(input)).collect()
    }
}

/// A list of an answer. Its elements take at least one byte each, so a count can't ask for more memory than the frame
/// has bytes.
impl<T: Field> Field for Vec<T> {
    fn put(&self, out: &mut Vec<u8>) {
        (self.len() as u16).put(out);
        self.iter().for_each(|value| value.put(out));
    }
    fn take(input: &mut Input<'_>) -> Result<Self, BadFrame> {
        let count = usize::from(u16::take(input)?);
        if count > input.0.len() {
            return Err(BadFrame::new("a list is longer than its frame"));
        }
        (0..count).map(|_| T::take(input)).collect()
    }
}
