//! The typed rows of the nine tables, and their column-by-column transfer to a loader.

use crate::ids::{CarrierId, CustomerId, DistrictId, ItemId, OrderId, WarehouseId};
use crate::money::{Cents, Rate};
use crate::schema::Table;
use crate::text::{Credit, LastName, Text};
use crate::time::Timestamp;
use serde::Deserialize;

/// Receiver of the columns of a row, in the order of [`Table::schema`].
pub trait ColumnSink {
    /// Takes a whole number.
    fn int(&mut self, value: i64);
    /// Takes an amount of money.
    fn money(&mut self, value: Cents);
    /// Takes a tax or discount.
    fn rate(&mut self, value: Rate);
    /// Takes a text.
    fn text(&mut self, value: &str);
    /// Takes a point in time.
    fn time(&mut self, value: Timestamp);
    /// Takes a null.
    fn null(&mut self);
}

/// A postal address, of a warehouse, a district or a customer.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Address {
    /// xx_STREET_1.
    pub street_1: Text<20>,
    /// xx_STREET_2.
    pub street_2: Text<20>,
    /// xx_CITY.
    pub city: Text<20>,
    /// xx_STATE.
    pub state: Text<2>,
    /// xx_ZIP.
    pub zip: Text<9>,
}

/// A row of one of the nine tables.
pub trait Row {
    /// Table of the row.
    const TABLE: Table;
    /// Passes all columns to `sink`, in the order of the table's schema.
    fn emit(&self, sink: &mut impl ColumnSink);
    /// Returns the row as a variant of its table.
    fn as_any(&self) -> AnyRow<'_>;
}

/// A row of any of the tables.
#[derive(Clone, Copy, Debug)]
#[expect(missing_docs, reason = "the variants are the nine tables")]
pub enum AnyRow<'a> {
    Item(&'a Item),
    Warehouse(&'a Warehouse),
    District(&'a District),
    Customer(&'a Customer),
    History(&'a History),
    Order(&'a Order),
    NewOrder(&'a NewOrder),
    OrderLine(&'a OrderLine),
    Stock(&'a Stock),
}

/// A row of ITEM.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "fields are the columns of clause 1.3.1")]
pub struct Item {
    pub id: ItemId,
    pub im_id: u32,
    pub name: Text<24>,
    pub price: Cents,
    pub data: Text<50>,
}

/// A row of WAREHOUSE.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "fields are the columns of clause 1.3.1")]
pub struct Warehouse {
    pub id: WarehouseId,
    pub name: Text<10>,
    pub address: Address,
    pub tax: Rate,
    pub ytd: Cents,
}

/// A row of DISTRICT.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "fields are the columns of clause 1.3.1")]
pub struct District {
    pub id: DistrictId,
    pub w_id: WarehouseId,
    pub name: Text<10>,
    pub address: Address,
    pub tax: Rate,
    pub ytd: Cents,
    pub next_o_id: OrderId,
}

/// A row of CUSTOMER.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "fields are the columns of clause 1.3.1")]
pub struct Customer {
    pub id: CustomerId,
    pub d_id: DistrictId,
    pub w_id: WarehouseId,
    pub first: Text<16>,
    pub middle: Text<2>,
    pub last: LastName,
    pub address: Address,
    pub phone: Text<16>,
    pub since: Timestamp,
    pub credit: Credit,
    pub credit_lim: Cents,
    pub discount: Rate,
    pub balance: Cents,
    pub ytd_payment: Cents,
    pub payment_cnt: u32,
    pub delivery_cnt: u32,
    pub data: Text<500>,
}

/// A row of HISTORY.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "fields are the columns of clause 1.3.1")]
pub struct History {
    pub c_id: CustomerId,
    pub c_d_id: DistrictId,
    pub c_w_id: WarehouseId,
    pub d_id: DistrictId,
    pub w_id: WarehouseId,
    pub date: Timestamp,
    pub amount: Cents,
    pub data: Text<24>,
}

/// A row of ORDER.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "fields are the columns of clause 1.3.1")]
pub struct Order {
    pub id: OrderId,
    pub d_id: DistrictId,
    pub w_id: WarehouseId,
    pub c_id: CustomerId,
    pub entry_d: Timestamp,
    pub carrier_id: Option<CarrierId>,
    pub ol_cnt: u8,
    pub all_local: bool,
}

/// A row of NEW-ORDER.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "fields are the columns of clause 1.3.1")]
pub struct NewOrder {
    pub o_id: OrderId,
    pub d_id: DistrictId,
    pub w_id: WarehouseId,
}

/// A row of ORDER-LINE.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "fields are the columns of clause 1.3.1")]
pub struct OrderLine {
    pub o_id: OrderId,
    pub d_id: DistrictId,
    pub w_id: WarehouseId,
    pub number: u8,
    pub i_id: ItemId,
    pub supply_w_id: WarehouseId,
    pub delivery_d: Option<Timestamp>,
    pub quantity: u8,
    pub amount: Cents,
    pub dist_info: Text<24>,
}

/// A row of STOCK.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "fields are the columns of clause 1.3.1")]
pub struct Stock {
    pub i_id: ItemId,
    pub w_id: WarehouseId,
    pub quantity: i32,
    pub dist: [Text<24>; 10],
    pub ytd: u32,
    pub order_cnt: u32,
    pub remote_cnt: u32,
    pub data: Text<50>,
}

fn emit_address(address: &Address, sink: &mut impl ColumnSink) {
    sink.text(&address.street_1);
    sink.text(&address.street_2);
    sink.text(&address.city);
    sink.text(&address.state);
    sink.text(&address.zip);
}

impl Row for Item {
    const TABLE: Table = Table::Item;
    fn as_any(&self) -> AnyRow<'_> {
        AnyRow::Item(self)
    }
    fn emit(&self, sink: &mut impl ColumnSink) {
        sink.int(self.id.get());
        sink.int(i64::from(self.im_id));
        sink.text(&self.name);
        sink.money(self.price);
        sink.text(&self.data);
    }
}

impl Row for Warehouse {
    const TABLE: Table = Table::Warehouse;
    fn as_any(&self) -> AnyRow<'_> {
        AnyRow::Warehouse(self)
    }
    fn emit(&self, sink: &mut impl ColumnSink) {
        sink.int(self.id.get());
        sink.text(&self.name);
        emit_address(&self.address, sink);
        sink.rate(self.tax);
        sink.money(self.ytd);
    }
}

impl Row for District {
    const TABLE: Table = Table::District;
    fn as_any(&self) -> AnyRow<'_> {
        AnyRow::District(self)
    }
    fn emit(&self, sink: &mut impl ColumnSink) {
        sink.int(self.id.get());
        sink.int(self.w_id.get());
        sink.text(&self.name);
        emit_address(&self.address, sink);
        sink.rate(self.tax);
        sink.money(self.ytd);
        sink.int(self.next_o_id.get());
    }
}

impl Row for Customer {
    const TABLE: Table = Table::Customer;
    fn as_any(&self) -> AnyRow<'_> {
        AnyRow::Customer(self)
    }
    fn emit(&self, sink: &mut impl ColumnSink) {
        sink.int(self.id.get());
        sink.int(self.d_id.get());
        sink.int(self.w_id.get());
        sink.text(&self.first);
        sink.text(&self.middle);
        sink.text(&self.last);
        emit_address(&self.address, sink);
        sink.text(&self.phone);
        sink.time(self.since);
        sink.text(&self.credit);
        sink.money(self.credit_lim);
        sink.rate(self.discount);
        sink.money(self.balance);
        sink.money(self.ytd_payment);
        sink.int(i64::from(self.payment_cnt));
        sink.int(i64::from(self.delivery_cnt));
        sink.text(&self.data);
    }
}

impl Row for History {
    const TABLE: Table = Table::History;
    fn as_any(&self) -> AnyRow<'_> {
        AnyRow::History(self)
    }
    fn emit(&self, sink: &mut impl ColumnSink) {
        sink.int(self.c_id.get());
        sink.int(self.c_d_id.get());
        sink.int(self.c_w_id.get());
        sink.int(self.d_id.get());
        sink.int(self.w_id.get());
        sink.time(self.date);
        sink.money(self.amount);
        sink.text(&self.data);
    }
}

impl Row for Order {
    const TABLE: Table = Table::Orders;
    fn as_any(&self) -> AnyRow<'_> {
        AnyRow::Order(self)
    }
    fn emit(&self, sink: &mut impl ColumnSink) {
        sink.int(self.id.get());
        sink.int(self.d_id.get());
        sink.int(self.w_id.get());
        sink.int(self.c_id.get());
        sink.time(self.entry_d);
        match self.carrier_id {
            Some(carrier) => sink.int(carrier.get()),
            None => sink.null(),
        }
        sink.int(i64::from(self.ol_cnt));
        sink.int(i64::from(self.all_local));
    }
}

impl Row for NewOrder {
    const TABLE: Table = Table::NewOrder;
    fn as_any(&self) -> AnyRow<'_> {
        AnyRow::NewOrder(self)
    }
    fn emit(&self, sink: &mut impl ColumnSink) {
        sink.int(self.o_id.get());
        sink.int(self.d_id.get());
        sink.int(self.w_id.get());
    }
}

impl Row for OrderLine {
    const TABLE: Table = Table::OrderLine;
    fn as_any(&self) -> AnyRow<'_> {
        AnyRow::OrderLine(self)
    }
    fn emit(&self, sink: &mut impl ColumnSink) {
        sink.int(self.o_id.get());
        sink.int(self.d_id.get());
        sink.int(self.w_id.get());
        sink.int(i64::from(self.number));
        sink.int(self.i_id.get());
        sink.int(self.supply_w_id.get());
        match self.delivery_d {
            Some(time) => sink.time(time),
            None => sink.null(),
        }
        sink.int(i64::from(self.quantity));
        sink.money(self.amount);
        sink.text(&self.dist_info);
    }
}

impl Row for Stock {
    const TABLE: Table = Table::Stock;
    fn as_any(&self) -> AnyRow<'_> {
        AnyRow::Stock(self)
    }
    fn emit(&self, sink: &mut impl ColumnSink) {
        sink.int(self.i_id.get());
        sink.int(self.w_id.get());
        sink.int(i64::from(self.quantity));
        for info in &self.dist {
            sink.text(info);
        }
        sink.int(i64::from(self.ytd));
        sink.int(i64::from(self.order_cnt));
        sink.int(i64::from(self.remote_cnt));
        sink.text(&self.data);
    }
}
