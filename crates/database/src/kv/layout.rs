//! The stored form of each table's rows: one module per table with its key and its columns.

use crate::kv::codec::{Column, Field, Key, KeyPart, KvRow, Malformed};
use crate::kv::store::KvTable;
use lydite_tpcc::rows::Address;
use lydite_tpcc::text::{Credit, LastName, Text};
use lydite_tpcc::{
    CarrierId, Cents, CustomerId, DistrictId, ItemId, OrderId, Rate, Timestamp, WarehouseId, rows,
};

/// Defines consecutive columns.
macro_rules! fields {
    ($table:ident at $offset:expr;) => {
        /// Bytes of all columns except the last text.
        pub const WIDTH: usize = $offset;
    };
    ($table:ident at $offset:expr; $field:ident $column:ident: $kind:ty, $($rest:tt)*) => {
        #[doc = concat!("The column `", stringify!($table), ".", stringify!($column), "`.")]
        pub const $field: Field<$kind> =
            Field::at(concat!(stringify!($table), ".", stringify!($column)), $offset);
        fields!($table at $offset + <$kind as Column>::WIDTH; $($rest)*);
    };
}

/// Defines a table: the columns of its key, those at fixed places, and the text after them.
macro_rules! table {
    (
        $name:ident: $row:ident, key($($part:ident: $part_kind:ty),*),
        { $($field:ident $column:ident: $kind:ty),* $(,)? } $(, text $text:ident)?
    ) => {
        #[doc = concat!("The rows of `", stringify!($row), "`.")]
        pub mod $name {
            use super::*;

            /// Table of the rows.
            pub const TABLE: KvTable = KvTable::$row;

            fields!($name at 0; $($field $column: $kind,)*);

            /// Returns a row's key, or the common prefix of several keys.
            pub fn key($($part: $part_kind),*) -> Key {
                let mut key = Key::new();
                $($part.push(&mut key);)*
                key
            }

            $(
                /// Reads the text after the other columns.
                pub fn $text(row: &[u8]) -> Result<&str, Malformed> {
                    let bytes = row.get(WIDTH..);
                    bytes
                        .and_then(|bytes| std::str::from_utf8(bytes).ok())
                        .ok_or(Malformed(concat!(stringify!($name), ".", stringify!($text))))
                }
            )?
        }

        impl KvRow for rows::$row {
            const KV_TABLE: KvTable = KvTable::$row;

            fn key(&self) -> Key {
                $name::key($(self.$part),*)
            }

            fn encode(&self, value: &mut Vec<u8>) -> Result<(), Malformed> {
                value.clear();
                value.resize($name::WIDTH, 0);
                $($name::$field.set(value, &self.$column)?;)*
                $(value.extend_from_slice(self.$text.as_bytes());)?
                Ok(())
            }

            fn decode(mut key: &[u8], value: &[u8]) -> Result<Self, Malformed> {
                const KEY: Malformed = Malformed(concat!("the key of ", stringify!($name)));
                value.get(..$name::WIDTH).ok_or(Malformed(concat!("a row of ", stringify!($name))))?;
                // Struct fields are evaluated in the order in which they are written, that of the key.
                let row = Self {
                    $($part: <$part_kind>::take(&mut key).ok_or(KEY)?,)*
                    $($column: $name::$field.get(value)?,)*
                    $($text: Text::from($name::$text(value)?)
                        .map_err(|_| Malformed(concat!(stringify!($name), ".", stringify!($text))))?,)?
                };
                Ok(row)
            }
        }
    };
}

table!(item: Item, key(id: ItemId), { IM_ID im_id: u32, PRICE price: Cents, NAME name: Text<24> }, text data);

table!(warehouse: Warehouse, key(id: WarehouseId), {
    YTD ytd: Cents, TAX tax: Rate, NAME name: Text<10>, ADDRESS address: Address,
});

table!(district: District, key(w_id: WarehouseId, id: DistrictId), {
    NEXT_O_ID next_o_id: OrderId, YTD ytd: Cents, TAX tax: Rate, NAME name: Text<10>, ADDRESS address: Address,
});

table!(customer: Customer, key(w_id: WarehouseId, d_id: DistrictId, id: CustomerId), {
    BALANCE balance: Cents,
    YTD_PAYMENT ytd_payment: Cents,
    PAYMENT_CNT payment_cnt: u32,
    DELIVERY_CNT delivery_cnt: u32,
    DISCOUNT discount: Rate,
    CREDIT credit: Credit,
    LAST last: LastName,
    FIRST first: Text<16>,
    MIDDLE middle: Text<2>,
    CREDIT_LIM credit_lim: Cents,
    SINCE since: Timestamp,
    PHONE phone: Text<16>,
    ADDRESS address: Address,
}, text data);

/// Rows of HISTORY. Written by hand, because two of its columns are stored as one.
pub mod history {
    use super::*;

    /// Table of the rows.
    pub const TABLE: KvTable = KvTable::History;

    fields!(history at 0;
        C_W_ID c_w_id: WarehouseId,
        CUSTOMER customer: (DistrictId, CustomerId),
        DATE date: Timestamp,
        AMOUNT amount: Cents,
    );

    /// Returns the prefix of a row's key.
    pub fn key(w_id: WarehouseId, d_id: DistrictId) -> Key {
        district_prefix(w_id, d_id)
    }

    /// Reads the text after the other columns.
    pub fn data(row: &[u8]) -> Result<Text<24>, Malformed> {
        let text = row.get(WIDTH..).and_then(|bytes| std::str::from_utf8(bytes).ok());
        text.and_then(|text| Text::from(text).ok()).ok_or(Malformed("history.data"))
    }
}

impl KvRow for rows::History {
    const KV_TABLE: KvTable = history::TABLE;

    fn key(&self) -> Key {
        history::key(self.w_id, self.d_id)
    }

    fn encode(&self, value: &mut Vec<u8>) -> Result<(), Malformed> {
        value.clear();
        value.resize(history::WIDTH, 0);
        history::C_W_ID.set(value, &self.c_w_id)?;
        history::CUSTOMER.set(value, &(self.c_d_id, self.c_id))?;
        history::DATE.set(value, &self.date)?;
        history::AMOUNT.set(value, &self.amount)?;
        value.extend_from_slice(self.data.as_bytes());
        Ok(())
    }

    fn decode(mut key: &[u8], value: &[u8]) -> Result<Self, Malformed> {
        const KEY: Malformed = Malformed("the key of history");
        let w_id = WarehouseId::take(&mut key).ok_or(KEY)?;
        let d_id = DistrictId::take(&mut key).ok_or(KEY)?;
        let (c_d_id, c_id) = history::CUSTOMER.get(value)?;
        Ok(Self {
            c_id,
            c_d_id,
            c_w_id: history::C_W_ID.get(value)?,
            d_id,
            w_id,
            date: history::DATE.get(value)?,
            amount: history::AMOUNT.get(value)?,
            data: history::data(value)?,
        })
    }
}

table!(order: Order, key(w_id: WarehouseId, d_id: DistrictId, id: OrderId), {
    C_ID c_id: CustomerId,
    CARRIER_ID carrier_id: Option<CarrierId>,
    OL_CNT ol_cnt: u8,
    ALL_LOCAL all_local: bool,
    ENTRY_D entry_d: Timestamp,
});

table!(new_order: NewOrder, key(w_id: WarehouseId, d_id: DistrictId, o_id: OrderId), {});

table!(order_line: OrderLine, key(w_id: WarehouseId, d_id: DistrictId, o_id: OrderId, number: u8), {
    I_ID i_id: ItemId,
    SUPPLY_W_ID supply_w_id: WarehouseId,
    DELIVERY_D delivery_d: Option<Timestamp>,
    QUANTITY quantity: u8,
    AMOUNT amount: Cents,
    DIST_INFO dist_info: Text<24>,
});

table!(stock: Stock, key(w_id: WarehouseId, i_id: ItemId), {
    QUANTITY quantity: i32,
    YTD ytd: u32,
    ORDER_CNT order_cnt: u32,
    REMOTE_CNT remote_cnt: u32,
    DIST dist: [Text<24>; 10],
}, text data);

/// Makes the key of a row of HISTORY unique. The table has no primary key (clause 1.3.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HistoryNumber {
    /// Microseconds. No two payments of a session have the same time. Zero for loaded rows.
    pub time: u64,
    /// Number of the session within this process, below 2²⁴. Loaded rows have a number of their own: its last 24 bits
    /// are unique within a district.
    pub session: u32,
}

impl HistoryNumber {
    /// Returns the whole key of a row. It has 16 bytes for districts below 255; many stores compare 16 bytes at once.
    pub fn key(self, w_id: WarehouseId, d_id: DistrictId) -> Key {
        let mut key = history::key(w_id, d_id);
        key.extend(self.time.to_be_bytes());
        let [_, session @ ..] = self.session.to_be_bytes();
        key.extend(session);
        key
    }
}

/// Returns the common prefix of all keys of a district, in the tables of districts.
pub fn district_prefix(w_id: WarehouseId, d_id: DistrictId) -> Key {
    district::key(w_id, d_id)
}

/// Returns the last four bytes of a key, which hold its number.
fn last_four(key: &[u8]) -> &[u8] {
    key.len().checked_sub(4).and_then(|start| key.get(start..)).unwrap_or_default()
}

/// Index of customers by name. Its entries have no values.
pub mod customer_by_name {
    use super::*;

    /// Table of the entries.
    pub const TABLE: KvTable = KvTable::CustomerByName;

    /// Returns the common prefix of the keys of all customers with this last name.
    pub fn prefix(w_id: WarehouseId, d_id: DistrictId, last: &LastName) -> Key {
        let mut key = district_prefix(w_id, d_id);
        push_text(&mut key, last);
        key
    }

    /// Returns a customer's key: C_LAST, C_FIRST, C_ID.
    pub fn key(row: &rows::Customer) -> Key {
        let mut key = prefix(row.w_id, row.d_id, &row.last);
        push_text(&mut key, &row.first);
        row.id.push(&mut key);
        key
    }

    /// Reads C_ID from such a key.
    pub fn c_id(key: &[u8]) -> Result<CustomerId, Malformed> {
        let mut end = last_four(key);
        CustomerId::take(&mut end).ok_or(Malformed("the key of customer_by_name"))
    }

    /// Appends a text and a zero, which is less than every character. So a text sorts before all longer texts that
    /// begin with it.
    fn push_text(key: &mut Key, text: &str) {
        key.extend(text.bytes());
        key.push(0);
    }
}

/// Index of orders by customer. Its entries have no values.
pub mod order_by_customer {
    use super::*;

    /// Table of the entries.
    pub const TABLE: KvTable = KvTable::OrderByCustomer;

    /// Returns the common prefix of the keys of all orders of a customer.
    pub fn prefix(w_id: WarehouseId, d_id: DistrictId, c_id: CustomerId) -> Key {
        customer::key(w_id, d_id, c_id)
    }

    /// Returns an order's key.
    pub fn key(w_id: WarehouseId, d_id: DistrictId, c_id: CustomerId, o_id: OrderId) -> Key {
        let mut key = prefix(w_id, d_id, c_id);
        o_id.push(&mut key);
        key
    }

    /// Reads O_ID from such a key.
    pub fn o_id(key: &[u8]) -> Result<OrderId, Malformed> {
        let mut rest = key;
        WarehouseId::take(&mut rest)
            .and_then(|_| DistrictId::take(&mut rest))
            .and_then(|_| CustomerId::take(&mut rest))
            .and_then(|_| OrderId::take(&mut rest))
            .ok_or(Malformed("the key of orders_by_customer"))
    }
}
