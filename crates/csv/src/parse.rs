//! Lines as rows of a table.

use crate::cells::{Cells, Order, Times};
use crate::error::Unfit;
use crate::fields::Fields;
use lydite_tpcc::rows::{
    Address, AnyRow, Customer, District, History, Item, NewOrder, Order as OrderRow, OrderLine, Stock,
    Warehouse,
};
use lydite_tpcc::schema::Table;
use lydite_tpcc::text::Credit;
use lydite_tpcc::{CarrierId, CustomerId, DistrictId, ItemId, OrderId, WarehouseId};

/// Reader of the lines of a table.
#[derive(Clone, Debug)]
pub(crate) struct Parser {
    table: Table,
    order: Order,
    fields: Fields,
    times: Times,
}

/// A row of any table, which has its own text.
#[derive(Clone, Debug)]
pub(crate) enum OwnRow {
    Item(Item),
    Warehouse(Warehouse),
    District(District),
    Customer(Box<Customer>),
    History(History),
    Order(OrderRow),
    NewOrder(NewOrder),
    OrderLine(OrderLine),
    Stock(Box<Stock>),
}

impl OwnRow {
    /// Returns the row as one of its table.
    pub(crate) fn as_any(&self) -> AnyRow<'_> {
        match self {
            Self::Item(row) => AnyRow::Item(row),
            Self::Warehouse(row) => AnyRow::Warehouse(row),
            Self::District(row) => AnyRow::District(row),
            Self::Customer(row) => AnyRow::Customer(row),
            Self::History(row) => AnyRow::History(row),
            Self::Order(row) => AnyRow::Order(row),
            Self::NewOrder(row) => AnyRow::NewOrder(row),
            Self::OrderLine(row) => AnyRow::OrderLine(row),
            Self::Stock(row) => AnyRow::Stock(row),
        }
    }

    /// Returns the warehouse that the row belongs to, or 0 for ITEM.
    pub(crate) fn warehouse(&self) -> WarehouseId {
        match self {
            Self::Item(_) => WarehouseId(0),
            Self::Warehouse(row) => row.id,
            Self::District(row) => row.w_id,
            Self::Customer(row) => row.w_id,
            Self::History(row) => row.w_id,
            Self::Order(row) => row.w_id,
            Self::NewOrder(row) => row.w_id,
            Self::OrderLine(row) => row.w_id,
            Self::Stock(row) => row.w_id,
        }
    }
}

impl Parser {
    pub(crate) fn new(table: Table, order: Order) -> Self {
        Self { table, order, fields: Fields::default(), times: Times::default() }
    }

    /// Reads a line without its end.
    ///
    /// # Errors
    /// Another number of columns, or a value that does not fit its column.
    pub(crate) fn row(&mut self, line: &[u8]) -> Result<OwnRow, Unfit> {
        let line = std::str::from_utf8(line).map_err(|_| Unfit::from("is no text in UTF-8"))?;
        self.fields.split(line)?;
        let (count, wanted) = (self.fields.count(), self.order.0.len());
        if count != wanted {
            let name = self.table.name();
            return Err(Unfit(format!("has {count} columns, and {name} has {wanted}")));
        }
        let Self { table, order, fields, times } = self;
        let mut cells = Cells { table: *table, line, fields, order, times };
        read(&mut cells)
    }
}

fn read(of: &mut Cells<'_>) -> Result<OwnRow, Unfit> {
    Ok(match of.table {
        Table::Item => OwnRow::Item(item(of)?),
        Table::Warehouse => OwnRow::Warehouse(warehouse(of)?),
        Table::District => OwnRow::District(district(of)?),
        Table::Customer => OwnRow::Customer(Box::new(customer(of)?)),
        Table::History => OwnRow::History(history(of)?),
        Table::Orders => OwnRow::Order(order(of)?),
        Table::NewOrder => OwnRow::NewOrder(NewOrder {
            o_id: OrderId(of.int(0)?),
            d_id: DistrictId(of.int(1)?),
            w_id: WarehouseId(of.int(2)?),
        }),
        Table::OrderLine => OwnRow::OrderLine(order_line(of)?),
        Table::Stock => OwnRow::Stock(Box::new(stock(of)?)),
    })
}

/// Reads an address, whose first column has this number.
fn address(of: &Cells<'_>, first: usize) -> Result<Address, Unfit> {
    Ok(Address {
        street_1: of.text(first)?,
        street_2: of.text(first + 1)?,
        city: of.text(first + 2)?,
        state: of.text(first + 3)?,
        zip: of.text(first + 4)?,
    })
}

fn item(of: &Cells<'_>) -> Result<Item, Unfit> {
    Ok(Item {
        id: ItemId(of.int(0)?),
        im_id: of.int(1)?,
        name: of.text(2)?,
        price: of.money(3)?,
        data: of.text(4)?,
    })
}

fn warehouse(of: &Cells<'_>) -> Result<Warehouse, Unfit> {
    Ok(Warehouse {
        id: WarehouseId(of.int(0)?),
        name: of.text(1)?,
        address: address(of, 2)?,
        tax: of.rate(7)?,
        ytd: of.money(8)?,
    })
}

fn district(of: &Cells<'_>) -> Result<District, Unfit> {
    Ok(District {
        id: DistrictId(of.int(0)?),
        w_id: WarehouseId(of.int(1)?),
        name: of.text(2)?,
        address: address(of, 3)?,
        tax: of.rate(8)?,
        ytd: of.money(9)?,
        next_o_id: OrderId(of.int(10)?),
    })
}

fn customer(of: &mut Cells<'_>) -> Result<Customer, Unfit> {
    Ok(Customer {
        id: CustomerId(of.int(0)?),
        d_id: DistrictId(of.int(1)?),
        w_id: WarehouseId(of.int(2)?),
        first: of.text(3)?,
        middle: of.text(4)?,
        last: of.text(5)?,
        address: address(of, 6)?,
        phone: of.text(11)?,
        since: of.time(12)?,
        credit: credit(of, 13)?,
        credit_lim: of.money(14)?,
        discount: of.rate(15)?,
        balance: of.money(16)?,
        ytd_payment: of.money(17)?,
        payment_cnt: of.int(18)?,
        delivery_cnt: of.int(19)?,
        data: of.text(20)?,
    })
}

/// Reads C_CREDIT, by which Payment tells customers with bad credit (clause 2.5.2.2).
fn credit(of: &Cells<'_>, number: usize) -> Result<Credit, Unfit> {
    let credit: Credit = of.text(number)?;
    match &*credit {
        "GC" | "BC" => Ok(credit),
        other => Err(Unfit(format!("c_credit is {other:?}, and must be GC or BC"))),
    }
}

fn history(of: &mut Cells<'_>) -> Result<History, Unfit> {
    Ok(History {
        c_id: CustomerId(of.int(0)?),
        c_d_id: DistrictId(of.int(1)?),
        c_w_id: WarehouseId(of.int(2)?),
        d_id: DistrictId(of.int(3)?),
        w_id: WarehouseId(of.int(4)?),
        date: of.time(5)?,
        amount: of.money(6)?,
        data: of.text(7)?,
    })
}

fn order(of: &mut Cells<'_>) -> Result<OrderRow, Unfit> {
    Ok(OrderRow {
        id: OrderId(of.int(0)?),
        d_id: DistrictId(of.int(1)?),
        w_id: WarehouseId(of.int(2)?),
        c_id: CustomerId(of.int(3)?),
        entry_d: of.time(4)?,
        carrier_id: if of.is_null(5) { None } else { Some(CarrierId(of.int(5)?)) },
        ol_cnt: of.int(6)?,
        all_local: of.int::<u8>(7)? != 0,
    })
}

fn order_line(of: &mut Cells<'_>) -> Result<OrderLine, Unfit> {
    Ok(OrderLine {
        o_id: OrderId(of.int(0)?),
        d_id: DistrictId(of.int(1)?),
        w_id: WarehouseId(of.int(2)?),
        number: of.int(3)?,
        i_id: ItemId(of.int(4)?),
        supply_w_id: WarehouseId(of.int(5)?),
        delivery_d: if of.is_null(6) { None } else { Some(of.time(6)?) },
        quantity: of.int(7)?,
        amount: of.money(8)?,
        dist_info: of.text(9)?,
    })
}

fn stock(of: &Cells<'_>) -> Result<Stock, Unfit> {
    let mut dist: [lydite_tpcc::text::Text<24>; 10] = std::array::from_fn(|_| Default::default());
    for (number, info) in dist.iter_mut().enumerate() {
        *info = of.text(3 + number)?;
    }
    Ok(Stock {
        i_id: ItemId(of.int(0)?),
        w_id: WarehouseId(of.int(1)?),
        quantity: of.int(2)?,
        dist,
        ytd: of.int(13)?,
        order_cnt: of.int(14)?,
        remote_cnt: of.int(15)?,
        data: of.text(16)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::Lines;
    use lydite_database::write_any;
    use lydite_tpcc::Timestamp;
    use lydite_tpcc::population::{Population, RowWriter};
    use lydite_tpcc::rows::Row;
    use std::convert::Infallible;

    /// Writes each row, reads it, and compares what the read row is written as.
    struct ThereAndBack(u64);

    impl RowWriter for ThereAndBack {
        type Error = Infallible;

        fn write<R: Row>(&mut self, row: &R) -> Result<(), Infallible> {
            let mut lines = Lines::default();
            lines.row(row);
            let mut parser = Parser::new(R::TABLE, Order::of_schema(R::TABLE));
            let line = lines.buffer.strip_suffix(b"\n").expect("the end of a line");
            let read = parser.row(line).unwrap_or_else(|problem| panic!("{problem}"));
            let mut again = Again(Lines::default());
            let Ok(()) = write_any(read.as_any(), &mut again);
            assert_eq!(again.0.buffer, lines.buffer);
            self.0 += 1;
            Ok(())
        }
    }

    struct Again(Lines);

    impl RowWriter for Again {
        type Error = Infallible;

        fn write<R: Row>(&mut self, row: &R) -> Result<(), Infallible> {
            self.0.row(row);
            Ok(())
        }
    }

    #[test]
    fn each_row_that_is_written_is_read_back_as_it_was() {
        let population = Population {
            size: lydite_tpcc::Size::Tiny,
            ..Population::new(1, 7, Timestamp(1_700_000_000_123_456))
        };
        let mut rows = ThereAndBack(0);
        for table in Table::ALL {
            let Ok(_) = population.write_table(table, WarehouseId(1), &mut rows);
        }
        assert!(rows.0 > 4_000, "{}", rows.0);
    }

    #[test]
    fn values_that_do_not_fit_are_named_with_their_column() {
        let mut parser = Parser::new(Table::Item, Order::of_schema(Table::Item));
        let mut of = |line: &str| parser.row(line.as_bytes()).expect_err(line).to_string();
        assert!(of("1,2,name").contains("has 3 columns, and item has 5"));
        assert!(of("x,2,name,1.00,data").contains("i_id: \"x\" is no whole number"));
        assert!(of("900000,2,name,1.00,data").contains("i_id: \"900000\" does not fit its column"));
        assert!(of("1,2,name,1.005,data").contains("i_price: \"1.005\" is no amount"));
        assert!(of("1,2,name,1000.00,data").contains("i_price: \"1000.00\" does not fit"));
        assert!(of("1,2,,1.00,data").contains("i_name must not be null"));
        assert!(
            of(&format!("1,2,{},1.00,data", "n".repeat(25)))
                .contains("has 25 bytes, and its column takes 24")
        );
        assert!(of("1,2,\u{ff}\u{ff},1.00").contains("has 4 columns"));
        let mut orders = Parser::new(Table::Orders, Order::of_schema(Table::Orders));
        let bad = orders.row(b"1,1,1,1,soon,,5,1").expect_err("a time").to_string();
        assert!(bad.contains("o_entry_d: \"soon\" is no time"), "{bad}");
    }
}
