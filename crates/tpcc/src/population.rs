//! The initial rows of the nine tables (clause 4.3). Equal seeds give equal rows.
//!
//! Each district of each table has its own random stream. So any table of any warehouse can be made alone, in any order
//! and on any thread, with the same rows. A change of a row's content or of the order of its random numbers needs a new
//! [`crate::meta::POPULATION_VERSION`].

mod sums;

pub use sums::LineSums;

use crate::ids::{CarrierId, CustomerId, DistrictId, ItemId, OrderId, WarehouseId};
use crate::meta::DatabaseMeta;
use crate::money::{Cents, Rate};
use crate::nurand::{CLoad, last_name, load_last_name};
use crate::random::{Purpose, Stream};
use crate::rows::{
    Address, Customer, District, History, Item, NewOrder, Order, OrderLine, Row, Stock, Warehouse,
};
use crate::scale::{Districts, Size};
use crate::schema::Table;
use crate::text::Text;
use crate::time::Timestamp;

/// H_AMOUNT of the payment that each customer has made before the load.
pub const INITIAL_PAYMENT: Cents = Cents(1_000);

/// OL_QUANTITY of the loaded lines.
pub const INITIAL_OL_QUANTITY: u8 = 5;

/// Characters in I_DATA and S_DATA of a tenth of the rows (clause 4.3.3.1).
const MARK: &str = "ORIGINAL";

/// The settings that fix the initial rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Population {
    /// Seed of all rows.
    pub seed: u64,
    /// C-Load of C_LAST (clause 2.1.6.1).
    pub c_load: CLoad,
    /// Configured warehouses. Their numbers are 1 to this one.
    pub warehouses: u32,
    /// Districts of each warehouse.
    pub districts: Districts,
    /// Rows of ITEM and of each district.
    pub size: Size,
    /// Time in C_SINCE, H_DATE, O_ENTRY_D and OL_DELIVERY_D: the begin of the load, or of its resumption.
    pub load_time: Timestamp,
}

/// Receiver of rows of any table.
pub trait RowWriter {
    /// Reason why a row could not be written.
    type Error;
    /// Takes one row.
    ///
    /// # Errors
    /// Fails if the writer can't take the row. It is then offered no more rows.
    fn write<R: Row>(&mut self, row: &R) -> Result<(), Self::Error>;
}

impl Population {
    /// Returns the standard's population of `warehouses` with ten districts each from `seed`, with the C-Load of this
    /// seed.
    #[must_use]
    pub fn new(warehouses: u32, seed: u64, load_time: Timestamp) -> Self {
        Self {
            seed,
            c_load: CLoad::from_seed(seed),
            warehouses,
            districts: Districts::uniform(),
            size: Size::Standard,
            load_time,
        }
    }

    /// Returns the population of a database that was loaded earlier. Its rows equal those in the database only if
    /// `meta.population` is [`crate::meta::POPULATION_VERSION`] and `load_time` is the time of the load.
    #[must_use]
    pub fn from_meta(meta: &DatabaseMeta, load_time: Timestamp) -> Self {
        let DatabaseMeta { warehouses, ref districts, size, seed, c_load, .. } = *meta;
        Self { seed, c_load, warehouses, districts: districts.clone(), size, load_time }
    }

    /// Returns all warehouses, from 1.
    pub fn warehouse_ids(&self) -> impl DoubleEndedIterator<Item = WarehouseId> + use<> {
        (1..=self.warehouses).map(WarehouseId)
    }

    /// Returns the rows of ITEM, by I_ID.
    pub fn items(&self) -> impl Iterator<Item = Item> + use<> {
        let mut stream = Stream::new(self.seed, Purpose::Items, 0);
        let mut original = TenPercent::of(self.size.items());
        (1..=self.size.items()).map(move |id| Item {
            id: ItemId(id),
            im_id: stream.uniform(1, 10_000),
            name: stream.alphanumeric(14, 24),
            price: Cents(i64::from(stream.uniform(100, 10_000))),
            data: data(&mut stream, &mut original),
        })
    }

    /// Returns the row of WAREHOUSE.
    #[must_use]
    pub fn warehouse(&self, w: WarehouseId) -> Warehouse {
        let mut stream = self.stream(Purpose::Warehouse, w, None);
        Warehouse {
            id: w,
            name: stream.alphanumeric(6, 10),
            address: address(&mut stream),
            tax: Rate(stream.uniform(0, 2_000) as i32),
            ytd: Cents(self.initial_d_ytd().0 * i64::from(self.districts.of(w))),
        }
    }

    /// Returns the rows of DISTRICT of a warehouse, by D_ID.
    pub fn districts(&self, w: WarehouseId) -> impl Iterator<Item = District> + use<> {
        let population = self.clone();
        self.districts.ids(w).map(move |d| {
            let mut stream = population.stream(Purpose::Warehouse, w, Some(d));
            District {
                id: d,
                w_id: w,
                name: stream.alphanumeric(6, 10),
                address: address(&mut stream),
                tax: Rate(stream.uniform(0, 2_000) as i32),
                ytd: population.initial_d_ytd(),
                next_o_id: OrderId(u64::from(population.size.orders()) + 1),
            }
        })
    }

    /// Returns the rows of CUSTOMER of a warehouse, by D_ID and C_ID.
    pub fn customers(&self, w: WarehouseId) -> impl Iterator<Item = Customer> + use<> {
        let population = self.clone();
        self.districts.ids(w).flat_map(move |d| {
            let mut stream = population.stream(Purpose::Customers, w, Some(d));
            let mut bad_credit = TenPercent::of(population.size.customers());
            let (c_load, size, since) = (population.c_load, population.size, population.load_time);
            (1..=population.size.customers()).map(move |id| Customer {
                id: CustomerId(id),
                d_id: d,
                w_id: w,
                first: stream.alphanumeric(8, 16),
                middle: text("OE"),
                last: if id <= size.last_names() {
                    last_name(id - 1)
                } else {
                    load_last_name(&mut stream, c_load, size)
                },
                address: address(&mut stream),
                phone: stream.digits(16, 16),
                since,
                credit: text(if bad_credit.next(&mut stream) { "BC" } else { "GC" }),
                credit_lim: Cents(5_000_000),
                discount: Rate(stream.uniform(0, 5_000) as i32),
                balance: -INITIAL_PAYMENT,
                ytd_payment: INITIAL_PAYMENT,
                payment_cnt: 1,
                delivery_cnt: 0,
                data: stream.alphanumeric(300, 500),
            })
        })
    }

    /// Returns the rows of HISTORY of a warehouse, one payment of each customer, by D_ID and C_ID.
    pub fn history(&self, w: WarehouseId) -> impl Iterator<Item = History> + use<> {
        let population = self.clone();
        self.districts.ids(w).flat_map(move |d| {
            let mut stream = population.stream(Purpose::History, w, Some(d));
            let date = population.load_time;
            (1..=population.size.customers()).map(move |id| History {
                c_id: CustomerId(id),
                c_d_id: d,
                c_w_id: w,
                d_id: d,
                w_id: w,
                date,
                amount: INITIAL_PAYMENT,
                data: stream.alphanumeric(12, 24),
            })
        })
    }

    /// Returns the rows of ORDER of a warehouse, by D_ID and O_ID.
    pub fn orders(&self, w: WarehouseId) -> impl Iterator<Item = Order> + use<> {
        let population = self.clone();
        self.districts.ids(w).flat_map(move |d| {
            let mut stream = population.stream(Purpose::Orders, w, Some(d));
            let mut customers: Vec<u32> = (1..=population.size.customers()).collect();
            stream.shuffle(&mut customers);
            let entry_d = population.load_time;
            customers.into_iter().zip(population.order_sizes(w, d)).map(move |(c_id, (id, ol_cnt))| Order {
                id,
                d_id: d,
                w_id: w,
                c_id: CustomerId(c_id),
                entry_d,
                carrier_id: population.size.is_delivered(id).then(|| CarrierId(stream.uniform(1, 10) as u8)),
                ol_cnt,
                all_local: true,
            })
        })
    }

    /// Returns the rows of NEW-ORDER of a warehouse, by D_ID and O_ID.
    pub fn new_orders(&self, w: WarehouseId) -> impl Iterator<Item = NewOrder> + use<> {
        let size = self.size;
        self.districts.ids(w).flat_map(move |d| {
            (size.delivered() + 1..=size.orders()).map(move |o_id| NewOrder {
                o_id: OrderId(o_id.into()),
                d_id: d,
                w_id: w,
            })
        })
    }

    /// Returns the rows of ORDER-LINE of a warehouse, by D_ID, O_ID and OL_NUMBER. Each order has O_OL_CNT of them.
    pub fn order_lines(&self, w: WarehouseId) -> impl Iterator<Item = OrderLine> + use<> {
        let population = self.clone();
        self.districts.ids(w).flat_map(move |d| {
            let mut stream = population.stream(Purpose::OrderLines, w, Some(d));
            let (size, load_time) = (population.size, population.load_time);
            let stocked = population.districts.stock(w, size);
            population
                .order_sizes(w, d)
                .flat_map(|(o_id, ol_cnt)| (1..=ol_cnt).map(move |number| (o_id, number)))
                .map(move |(o_id, number)| OrderLine {
                    o_id,
                    d_id: d,
                    w_id: w,
                    number,
                    i_id: ItemId(stream.uniform(1, stocked)),
                    supply_w_id: w,
                    delivery_d: size.is_delivered(o_id).then_some(load_time),
                    quantity: INITIAL_OL_QUANTITY,
                    amount: if size.is_delivered(o_id) {
                        Cents(0)
                    } else {
                        Cents(i64::from(stream.uniform(1, 999_999)))
                    },
                    dist_info: stream.letters(24, 24),
                })
        })
    }

    /// Returns the rows of STOCK of a warehouse, by S_I_ID.
    pub fn stock(&self, w: WarehouseId) -> impl Iterator<Item = Stock> + use<> {
        let mut stream = self.stream(Purpose::Stock, w, None);
        let stocked = self.districts.stock(w, self.size);
        let mut original = TenPercent::of(stocked);
        (1..=stocked).map(move |id| Stock {
            i_id: ItemId(id),
            w_id: w,
            quantity: stream.uniform(10, 100) as i32,
            dist: std::array::from_fn(|_| stream.letters(24, 24)),
            ytd: 0,
            order_cnt: 0,
            remote_cnt: 0,
            data: data(&mut stream, &mut original),
        })
    }

    /// Writes the rows of `table` for warehouse `w`; for ITEM all rows, whatever `w` is. Returns the number of rows.
    ///
    /// # Errors
    /// Fails with the writer's error at the first row that it does not take.
    pub fn write_table<W: RowWriter>(
        &self,
        table: Table,
        w: WarehouseId,
        writer: &mut W,
    ) -> Result<u64, W::Error> {
        match table {
            Table::Item => write_all(self.items(), writer),
            Table::Warehouse => write_all(std::iter::once(self.warehouse(w)), writer),
            Table::District => write_all(self.districts(w), writer),
            Table::Customer => write_all(self.customers(w), writer),
            Table::History => write_all(self.history(w), writer),
            Table::Orders => write_all(self.orders(w), writer),
            Table::NewOrder => write_all(self.new_orders(w), writer),
            Table::OrderLine => write_all(self.order_lines(w), writer),
            Table::Stock => write_all(self.stock(w), writer),
        }
    }

    /// Returns the exact number of rows of ORDER-LINE of a warehouse, without making them (about 0.1 ms).
    #[must_use]
    pub fn order_line_rows(&self, w: WarehouseId) -> u64 {
        self.districts.ids(w).flat_map(|d| self.order_sizes(w, d)).map(|(_, ol_cnt)| u64::from(ol_cnt)).sum()
    }

    /// Returns the exact number of rows of `table` for warehouse `w`; of ITEM all rows.
    #[must_use]
    pub fn table_rows(&self, table: Table, w: WarehouseId) -> u64 {
        match table {
            Table::Stock => self.districts.stock(w, self.size).into(),
            _ => self.size.rows(table, self.districts.of(w)).unwrap_or_else(|| self.order_line_rows(w)),
        }
    }

    /// Returns O_ID and O_OL_CNT of a district's orders. O_OL_CNT is drawn for each order alone, as clause 4.3.2.1
    /// demands.
    fn order_sizes(&self, w: WarehouseId, d: DistrictId) -> impl Iterator<Item = (OrderId, u8)> + use<> {
        let mut stream = self.stream(Purpose::OrderSizes, w, Some(d));
        (1..=self.size.orders()).map(move |id| (OrderId(id.into()), stream.uniform(5, 15) as u8))
    }

    /// Returns the initial D_YTD: one payment of each customer. W_YTD sums it over all districts (clause 3.3.2.1).
    fn initial_d_ytd(&self) -> Cents {
        Cents(INITIAL_PAYMENT.0 * i64::from(self.size.customers()))
    }

    fn stream(&self, purpose: Purpose, w: WarehouseId, d: Option<DistrictId>) -> Stream {
        // A district's second byte goes above the warehouse's bits, so each district has its own stream.
        let [low, high] = d.map_or(0, |d| d.0).to_le_bytes();
        let index = u64::from(high) << 40 | u64::from(w.0) << 8 | u64::from(low);
        Stream::new(self.seed, purpose, index)
    }
}

/// Selection of a tenth of the rows at random: every set of that size is equally likely (selection sampling).
/// Independent draws for each row would put the customers of one warehouse in 250 outside the 9.5 to 10.5 % that clause
/// 4.3 allows.
struct TenPercent {
    rows_left: u32,
    picks_left: u32,
}

impl TenPercent {
    fn of(rows: u32) -> Self {
        Self { rows_left: rows, picks_left: rows / 10 }
    }

    fn next(&mut self, stream: &mut Stream) -> bool {
        let picked = stream.below(self.rows_left) < self.picks_left;
        self.rows_left -= 1;
        self.picks_left -= u32::from(picked);
        picked
    }
}

fn write_all<R: Row, W: RowWriter>(rows: impl Iterator<Item = R>, writer: &mut W) -> Result<u64, W::Error> {
    let mut written = 0;
    for row in rows {
        writer.write(&row)?;
        written += 1;
    }
    Ok(written)
}

/// Returns a constant that is known to fit its column.
fn text<const N: usize>(constant: &str) -> Text<N> {
    let mut text = Text::new();
    text.push_str(constant);
    text
}

fn address(stream: &mut Stream) -> Address {
    let (street_1, street_2) = (stream.alphanumeric(10, 20), stream.alphanumeric(10, 20));
    let (city, state) = (stream.alphanumeric(10, 20), stream.letters(2, 2));
    let mut zip: Text<9> = stream.digits(4, 4);
    zip.push_str("11111");
    Address { street_1, street_2, city, state, zip }
}

/// Draws I_DATA or S_DATA. In a tenth of the rows eight of the characters are `ORIGINAL` (clause 4.3.3.1).
fn data(stream: &mut Stream, original: &mut TenPercent) -> Text<50> {
    let plain: Text<50> = stream.alphanumeric(26, 50);
    if !original.next(stream) {
        return plain;
    }
    let start = stream.below((plain.len() - MARK.len()) as u32 + 1) as usize;
    let mut marked = Text::new();
    marked.push_str(&plain[..start]);
    marked.push_str(MARK);
    marked.push_str(&plain[start + MARK.len()..]);
    marked
}
