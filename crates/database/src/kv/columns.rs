//! Rows from single column values, as a driver in another process reads them back. Each value is checked against its
//! column.

use lydite_tpcc::rows::Address;
use lydite_tpcc::schema::{Column, Table};
use lydite_tpcc::text::Text;
use lydite_tpcc::{
    CarrierId, Cents, CustomerId, DistrictId, ItemId, OrderId, Rate, Timestamp, WarehouseId, rows,
};
use std::fmt;

/// Value of a column on the wire: money in cents, rates in ten-thousandths, times in microseconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq, serde::Deserialize)]
#[serde(untagged)]
pub enum Loose<'a> {
    /// Whole number.
    Int(i64),
    /// Float, which no column has; kept for the message.
    Float(f64),
    /// Boolean, which no column has either.
    Bool(bool),
    /// Text.
    Text(&'a str),
    /// Null.
    Null,
}

impl fmt::Display for Loose<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Int(value) => write!(f, "{value}"),
            Self::Float(value) => write!(f, "the float {value}"),
            Self::Bool(value) => write!(f, "{value}"),
            Self::Text(value) => write!(f, "the text \"{value}\""),
            Self::Null => f.write_str("null"),
        }
    }
}

/// Values that are no row of their table.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoRow {
    /// The number of values differs from the number of the table's columns.
    #[error("has {found} columns instead of {wanted}")]
    Count {
        /// Number of values.
        found: usize,
        /// Number of the table's columns.
        wanted: usize,
    },
    /// A value does not fit its column.
    #[error("{column} is {found}, not {wanted}")]
    Value {
        /// Name of the column.
        column: &'static str,
        /// The value for messages.
        found: String,
        /// The values that the column takes.
        wanted: Wanted,
    },
}

/// Values that a column takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Wanted {
    /// Whole numbers.
    #[error("a whole number in its range")]
    Int,
    /// Texts of at most so many bytes.
    #[error("a text of at most {0} bytes")]
    Text(usize),
    /// Booleans, as numbers or as such.
    #[error("0 or 1")]
    Flag,
}

impl NoRow {
    fn value((column, found): (&'static str, Loose<'_>), wanted: Wanted) -> Self {
        Self::Value { column, found: found.to_string(), wanted }
    }
}

/// The columns of one row, taken in the order of the table's schema.
pub struct Columns<'a> {
    schema: &'static [Column],
    values: &'a [Loose<'a>],
    next: usize,
}

impl<'a> Columns<'a> {
    /// Makes the columns of a row of `table`.
    ///
    /// # Errors
    /// The number of values differs from the number of the table's columns.
    pub fn new(table: Table, values: &'a [Loose<'a>]) -> Result<Self, NoRow> {
        let schema = table.schema().columns;
        if values.len() != schema.len() {
            return Err(NoRow::Count { found: values.len(), wanted: schema.len() });
        }
        Ok(Self { schema, values, next: 0 })
    }

    fn take(&mut self) -> (&'static str, Loose<'a>) {
        let taken = (self.schema[self.next].name, self.values[self.next]);
        self.next += 1;
        taken
    }

    fn int<T: TryFrom<i64>>(&mut self) -> Result<T, NoRow> {
        let taken = self.take();
        let number = if let Loose::Int(value) = taken.1 { T::try_from(value).ok() } else { None };
        number.ok_or_else(|| NoRow::value(taken, Wanted::Int))
    }

    fn optional<T>(&mut self, some: impl FnOnce(&mut Self) -> Result<T, NoRow>) -> Result<Option<T>, NoRow> {
        if self.values[self.next] == Loose::Null {
            self.next += 1;
            return Ok(None);
        }
        some(self).map(Some)
    }

    fn text<const N: usize>(&mut self) -> Result<Text<N>, NoRow> {
        let taken = self.take();
        let text = if let Loose::Text(value) = taken.1 { Text::from(value).ok() } else { None };
        text.ok_or_else(|| NoRow::value(taken, Wanted::Text(N)))
    }

    fn flag(&mut self) -> Result<bool, NoRow> {
        match self.take() {
            (_, Loose::Int(0) | Loose::Bool(false)) => Ok(false),
            (_, Loose::Int(1) | Loose::Bool(true)) => Ok(true),
            taken => Err(NoRow::value(taken, Wanted::Flag)),
        }
    }

    fn cents(&mut self) -> Result<Cents, NoRow> {
        self.int().map(Cents)
    }

    fn rate(&mut self) -> Result<Rate, NoRow> {
        self.int().map(Rate)
    }

    fn time(&mut self) -> Result<Timestamp, NoRow> {
        self.int().map(Timestamp)
    }

    fn warehouse(&mut self) -> Result<WarehouseId, NoRow> {
        self.int().map(WarehouseId)
    }

    fn district(&mut self) -> Result<DistrictId, NoRow> {
        self.int().map(DistrictId)
    }

    fn customer(&mut self) -> Result<CustomerId, NoRow> {
        self.int().map(CustomerId)
    }

    fn order(&mut self) -> Result<OrderId, NoRow> {
        self.int().map(OrderId)
    }

    fn item(&mut self) -> Result<ItemId, NoRow> {
        self.int().map(ItemId)
    }

    fn address(&mut self) -> Result<Address, NoRow> {
        Ok(Address {
            street_1: self.text()?,
            street_2: self.text()?,
            city: self.text()?,
            state: self.text()?,
            zip: self.text()?,
        })
    }
}

/// A row that can be built from the columns of its table's schema.
pub trait FromColumns: Sized {
    /// Builds the row. An error names the column.
    fn from_columns(columns: &mut Columns<'_>) -> Result<Self, NoRow>;
}

/// Implements [`FromColumns`]. Fields are evaluated in the order in which they are written, that of the schema.
macro_rules! from_columns {
    ($($row:ident { $($field:ident: $take:ident),* $(,)? })*) => {$(
        impl FromColumns for rows::$row {
            fn from_columns(columns: &mut Columns<'_>) -> Result<Self, NoRow> {
                Ok(Self { $($field: columns.$take()?),* })
            }
        }
    )*};
}

from_columns! {
    Item { id: item, im_id: int, name: text, price: cents, data: text }
    Warehouse { id: warehouse, name: text, address: address, tax: rate, ytd: cents }
    District { id: district, w_id: warehouse, name: text, address: address, tax: rate, ytd: cents, next_o_id: order }
    Customer {
        id: customer, d_id: district, w_id: warehouse, first: text, middle: text, last: text, address: address,
        phone: text, since: time, credit: text, credit_lim: cents, discount: rate, balance: cents,
        ytd_payment: cents, payment_cnt: int, delivery_cnt: int, data: text,
    }
    History {
        c_id: customer, c_d_id: district, c_w_id: warehouse, d_id: district, w_id: warehouse, date: time,
        amount: cents, data: text,
    }
    NewOrder { o_id: order, d_id: district, w_id: warehouse }
}

impl FromColumns for rows::Order {
    fn from_columns(columns: &mut Columns<'_>) -> Result<Self, NoRow> {
        Ok(Self {
            id: columns.order()?,
            d_id: columns.district()?,
            w_id: columns.warehouse()?,
            c_id: columns.customer()?,
            entry_d: columns.time()?,
            carrier_id: columns.optional(|columns| columns.int().map(CarrierId))?,
            ol_cnt: columns.int()?,
            all_local: columns.flag()?,
        })
    }
}

impl FromColumns for rows::OrderLine {
    fn from_columns(columns: &mut Columns<'_>) -> Result<Self, NoRow> {
        Ok(Self {
            o_id: columns.order()?,
            d_id: columns.district()?,
            w_id: columns.warehouse()?,
            number: columns.int()?,
            i_id: columns.item()?,
            supply_w_id: columns.warehouse()?,
            delivery_d: columns.optional(Columns::time)?,
            quantity: columns.int()?,
            amount: columns.cents()?,
            dist_info: columns.text()?,
        })
    }
}

impl FromColumns for rows::Stock {
    fn from_columns(columns: &mut Columns<'_>) -> Result<Self, NoRow> {
        let (i_id, w_id, quantity) = (columns.item()?, columns.warehouse()?, columns.int()?);
        let mut dist = [Text::new(); 10];
        for text in &mut dist {
            *text = columns.text()?;
        }
        let (ytd, order_cnt, remote_cnt) = (columns.int()?, columns.int()?, columns.int()?);
        Ok(Self { i_id, w_id, quantity, dist, ytd, order_cnt, remote_cnt, data: columns.text()? })
    }
}
