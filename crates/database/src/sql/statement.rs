//! The text of every step of the transactions (clauses 2.4.2 to 2.8.2).
//!
//! Parameters are written `$1`, `$2` …, each first used in ascending order, and get the dialect's form.

use crate::sql::dialect::{Batches, Dialect};
use crate::sql::prepared::{Prepared, Role};
use crate::target::TxMode;
use lydite_tpcc::transaction::MAX_ORDER_LINES;
use lydite_tpcc::{DISTRICTS_PER_WAREHOUSE, DistrictId};

/// Districts that one statement of a delivery has places for: those of a warehouse of the standard.
pub const DISTRICTS: usize = DISTRICTS_PER_WAREHOUSE as usize;

/// Declares the statements by the ways of sending that prepare them.
macro_rules! statements {
    ($($ways:ident: $($statement:ident)+;)+) => {
        /// A prepared statement.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Statement {
            $($(
                #[doc = concat!("The step `", stringify!($statement), "`.")]
                $statement,
            )+)+
        }

        /// All, each with the ways that prepare it.
        const ALL: &[(Statement, &[Way])] = &[$($((Statement::$statement, $ways),)+)+];
    };
}

/// A way of sending transactions: a mode, and how the dialect takes several rows at once in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Statements,
    Arrays,
    Rows,
    Procedures,
}

impl Way {
    fn of(mode: TxMode, dialect: &Dialect) -> Self {
        match (mode, dialect.batches) {
            (TxMode::Statements, _) => Self::Statements,
            (TxMode::Batched, Batches::Arrays) => Self::Arrays,
            (TxMode::Batched, Batches::Rows) => Self::Rows,
            (TxMode::Procedures, _) => Self::Procedures,
        }
    }
}

const EVERY: &[Way] = &[Way::Statements, Way::Arrays, Way::Rows, Way::Procedures];
const NO_PROCEDURES: &[Way] = &[Way::Statements, Way::Arrays, Way::Rows];
const STATEMENTS: &[Way] = &[Way::Statements];
const STATEMENTS_AND_ROWS: &[Way] = &[Way::Statements, Way::Rows];
const BATCHED: &[Way] = &[Way::Arrays, Way::Rows];
const BATCHED_AND_PROCEDURES: &[Way] = &[Way::Arrays, Way::Rows, Way::Procedures];
const ARRAYS: &[Way] = &[Way::Arrays];
const ROWS: &[Way] = &[Way::Rows];
const PROCEDURES: &[Way] = &[Way::Procedures];

statements! {
    EVERY: BeginWrite BeginRead Commit;

    NO_PROCEDURES: OrderWarehouse OrderCustomer InsertOrder InsertNewOrder InsertHistory StatusCustomer;
    NO_PROCEDURES: ItemPrice SetPrice;
    NO_PROCEDURES: PayWarehouse WarehouseBalance;

    STATEMENTS_AND_ROWS: OrderDistrict TakeOrderId UpdateStock StockQuantity;
    STATEMENTS: Item
        Stock01 Stock02 Stock03 Stock04 Stock05 Stock06 Stock07 Stock08 Stock09 Stock10
        InsertOrderLine;
    STATEMENTS_AND_ROWS: CustomersByName PayDistrict PaymentDistrict PaymentWarehouse;
    STATEMENTS: PaymentCustomer CustomerData PayGoodCredit PayBadCredit;
    STATEMENTS: LastOrder OrderLines;
    STATEMENTS_AND_ROWS: OldestNewOrder CreditCustomer;
    STATEMENTS: LeastNewOrder DeleteNewOrder DeliveredOrder SetCarrier SetDeliveryDate SumOfLines;
    STATEMENTS: NextOrderId CountLowStock;

    ARRAYS: BatchTakeOrderId BatchItems BatchLines;
    ARRAYS: BatchPayCustomer BatchPayCustomerByName BatchPayDistrict BatchPayWarehouse;
    ARRAYS: BatchDeliver;
    BATCHED: BatchStatusByName BatchLastOrderLines;
    BATCHED_AND_PROCEDURES: BatchStockLevel;
    ARRAYS: BatchUpdateStock;

    ROWS: ManyItems ManyStocks
        Insert01Line Insert02Lines Insert03Lines Insert04Lines Insert05Lines Insert06Lines Insert07Lines Insert08Lines
        Insert09Lines Insert10Lines Insert11Lines Insert12Lines Insert13Lines Insert14Lines Insert15Lines;
    ROWS: PayCustomer PaidCustomer;
    ROWS: DeleteNewOrders SetCarriers SetDeliveryDates DeliveredOrders;

    PROCEDURES: CallNewOrder CallPayment CallOrderStatus CallDelivery CallStockLevel CallUpdateStock
        CallUpdateItem CallUpdateBalance CallSelectBalance;
}

use Statement::*;

/// C_DATA after a payment by a customer with bad credit (clause 2.5.2.2): the payment's data before the old text,
/// cut at 500 characters. [`crate::profile::bad_credit_data`] is the same in Rust.
const BAD_CREDIT_DATA: &str = "left(format('%s %s %s %s %s %s|', c_id, c_d_id, c_w_id, $6::int, $5::int, $4::numeric(6,2)) || c_data, 500)";

impl Prepared for Statement {
    fn index(self) -> usize {
        self as usize
    }

    fn role(self) -> Role {
        match self {
            BeginWrite => Role::BeginWrite,
            BeginRead => Role::BeginRead,
            Commit => Role::Commit,
            _ => Role::Other,
        }
    }
}

impl Statement {
    /// The statements that a session in this mode prepares.
    pub fn of_mode(mode: TxMode, dialect: &Dialect) -> Vec<Self> {
        let way = Way::of(mode, dialect);
        ALL.iter().filter(|(_, ways)| ways.contains(&way)).map(|&(statement, _)| statement).collect()
    }

    /// Inserts this many order lines, from 1 to 15.
    pub fn insert_lines(count: usize) -> Self {
        const BY_COUNT: [Statement; MAX_ORDER_LINES] = [
            Insert01Line,
            Insert02Lines,
            Insert03Lines,
            Insert04Lines,
            Insert05Lines,
            Insert06Lines,
            Insert07Lines,
            Insert08Lines,
            Insert09Lines,
            Insert10Lines,
            Insert11Lines,
            Insert12Lines,
            Insert13Lines,
            Insert14Lines,
            Insert15Lines,
        ];
        BY_COUNT[count - 1]
    }

    /// Reads stock with the information of one district (S_DIST_xx, clause 2.4.2.2).
    pub fn stock(district: DistrictId) -> Self {
        const BY_DISTRICT: [Statement; 10] =
            [Stock01, Stock02, Stock03, Stock04, Stock05, Stock06, Stock07, Stock08, Stock09, Stock10];
        BY_DISTRICT[usize::from(district.stock_column() - 1)]
    }

    /// The text in PostgreSQL's dialect over shards. A join there may ask for all of a foreign table again for every row of
    /// another, once the planner takes the newest orders, which are behind its histogram, for one row: what is looked for is
    /// found first.
    pub fn text_over_shards(self, dialect: &Dialect) -> String {
        match self {
            CountLowStock => "SELECT count(*) FROM stock WHERE s_w_id = $1 AND s_i_id = ANY (ARRAY(SELECT ol_i_id \
                              FROM order_line WHERE ol_w_id = $1 AND ol_d_id = $2 AND ol_o_id >= $3 AND ol_o_id < $4)) \
                              AND s_quantity < $5"
                .into(),
            _ => self.text(dialect),
        }
    }

    /// The text in this dialect.
    pub fn text(self, dialect: &Dialect) -> String {
        let lock = dialect.for_update;
        let now = dialect.now;
        let newest = dialect.newest;
        let call = dialect.call;
        let text = match self {
            BeginWrite => dialect.begin_write.to_string(),
            BeginRead => dialect.begin_read.to_string(),
            Commit => "COMMIT".to_string(),

            // New-Order, one step each.
            OrderWarehouse => format!("SELECT w_tax, {now} FROM warehouse WHERE w_id = $1"),
            OrderCustomer => "SELECT c_discount, c_last, c_credit FROM customer \
                              WHERE c_w_id = $1 AND c_d_id = $2 AND c_id = $3"
                .into(),
            OrderDistrict => {
                format!("SELECT d_tax, d_next_o_id FROM district WHERE d_w_id = $1 AND d_id = $2{lock}")
            }
            TakeOrderId => "UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = $1 AND d_id = $2".into(),
            InsertOrder => "INSERT INTO orders (o_id, o_d_id, o_w_id, o_c_id, o_entry_d, o_carrier_id, o_ol_cnt, \
                            o_all_local) VALUES ($1, $2, $3, $4, $5, NULL, $6, $7)"
                .into(),
            InsertNewOrder => "INSERT INTO new_order (no_o_id, no_d_id, no_w_id) VALUES ($1, $2, $3)".into(),
            Item => "SELECT i_price, i_name, i_data FROM item WHERE i_id = $1".into(),
            Stock01 | Stock02 | Stock03 | Stock04 | Stock05 | Stock06 | Stock07 | Stock08 | Stock09 | Stock10 => {
                let district = self.index() - Stock01.index() + 1;
                format!(
                    "SELECT s_quantity, s_data, s_dist_{district:02} FROM stock \
                     WHERE s_w_id = $1 AND s_i_id = $2{lock}"
                )
            }
            UpdateStock => "UPDATE stock SET s_quantity = $1, s_ytd = s_ytd + $2, s_order_cnt = s_order_cnt + 1, \
                            s_remote_cnt = s_remote_cnt + $3 WHERE s_w_id = $4 AND s_i_id = $5"
                .into(),
            InsertOrderLine => "INSERT INTO order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, \
                                ol_supply_w_id, ol_delivery_d, ol_quantity, ol_amount, ol_dist_info) \
                                VALUES ($1, $2, $3, $4, $5, $6, NULL, $7, $8, $9)"
                .into(),

            // Payment.
            CustomersByName => "SELECT c_id FROM customer WHERE c_w_id = $1 AND c_d_id = $2 AND c_last = $3 \
                                ORDER BY c_first, c_id"
                .into(),
            PaymentCustomer => format!(
                "SELECT c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state, c_zip, c_phone, c_since, \
                 c_credit, c_credit_lim, c_discount, c_balance FROM customer \
                 WHERE c_w_id = $1 AND c_d_id = $2 AND c_id = $3{lock}"
            ),
            CustomerData => {
                format!("SELECT c_data FROM customer WHERE c_w_id = $1 AND c_d_id = $2 AND c_id = $3{newest}")
            }
            PayGoodCredit => "UPDATE customer SET c_balance = c_balance - $1, c_ytd_payment = c_ytd_payment + $2, \
                              c_payment_cnt = c_payment_cnt + 1 WHERE c_w_id = $3 AND c_d_id = $4 AND c_id = $5"
                .into(),
            PayBadCredit => "UPDATE customer SET c_balance = c_balance - $1, c_ytd_payment = c_ytd_payment + $2, \
                             c_payment_cnt = c_payment_cnt + 1, c_data = $3 \
                             WHERE c_w_id = $4 AND c_d_id = $5 AND c_id = $6"
                .into(),
            PayDistrict => "UPDATE district SET d_ytd = d_ytd + $1 WHERE d_w_id = $2 AND d_id = $3".into(),
            PaymentDistrict => "SELECT d_street_1, d_street_2, d_city, d_state, d_zip, d_name FROM district \
                                WHERE d_w_id = $1 AND d_id = $2"
                .into(),
            PayWarehouse => "UPDATE warehouse SET w_ytd = w_ytd + $1 WHERE w_id = $2".into(),
            PaymentWarehouse => format!(
                "SELECT w_street_1, w_street_2, w_city, w_state, w_zip, w_name, {now} FROM warehouse WHERE w_id = $1"
            ),
            InsertHistory => "INSERT INTO history (h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount, \
                              h_data) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)"
                .into(),

            // Order-Status.
            StatusCustomer => "SELECT c_id, c_first, c_middle, c_last, c_balance FROM customer \
                               WHERE c_w_id = $1 AND c_d_id = $2 AND c_id = $3"
                .into(),
            LastOrder => "SELECT o_id, o_entry_d, o_carrier_id FROM orders \
                          WHERE o_w_id = $1 AND o_d_id = $2 AND o_c_id = $3 ORDER BY o_id DESC LIMIT 1"
                .into(),
            OrderLines => "SELECT ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d FROM order_line \
                           WHERE ol_w_id = $1 AND ol_d_id = $2 AND ol_o_id = $3 ORDER BY ol_number"
                .into(),

            // Delivery.
            OldestNewOrder => format!(
                "SELECT no_o_id FROM new_order WHERE no_w_id = $1 AND no_d_id = $2 ORDER BY no_o_id LIMIT 1{lock}"
            ),
            LeastNewOrder => {
                format!("SELECT min(no_o_id) FROM new_order WHERE no_w_id = $1 AND no_d_id = $2{newest}")
            }
            DeleteNewOrder => format!(
                "{} WHERE no_w_id = $1 AND no_d_id = $2 AND no_o_id = $3",
                dialect.delete_new_order
            ),
            DeliveredOrder => "SELECT o_c_id FROM orders WHERE o_w_id = $1 AND o_d_id = $2 AND o_id = $3".into(),
            SetCarrier => {
                "UPDATE orders SET o_carrier_id = $1 WHERE o_w_id = $2 AND o_d_id = $3 AND o_id = $4".into()
            }
            SetDeliveryDate => format!(
                "UPDATE order_line SET ol_delivery_d = {now} WHERE ol_w_id = $1 AND ol_d_id = $2 AND ol_o_id = $3"
            ),
            SumOfLines => {
                "SELECT sum(ol_amount) FROM order_line WHERE ol_w_id = $1 AND ol_d_id = $2 AND ol_o_id = $3".into()
            }
            CreditCustomer => "UPDATE customer SET c_balance = c_balance + $1, c_delivery_cnt = c_delivery_cnt + 1 \
                               WHERE c_w_id = $2 AND c_d_id = $3 AND c_id = $4"
                .into(),

            // Stock-Level.
            NextOrderId => "SELECT d_next_o_id FROM district WHERE d_w_id = $1 AND d_id = $2".into(),
            CountLowStock => "SELECT count(DISTINCT s_i_id) FROM order_line JOIN stock \
                              ON s_w_id = ol_w_id AND s_i_id = ol_i_id \
                              WHERE ol_w_id = $1 AND ol_d_id = $2 AND ol_o_id >= $3 AND ol_o_id < $4 \
                              AND s_quantity < $5"
                .into(),

            // dUpdateStock; the update is New-Order's.
            StockQuantity => format!("SELECT s_quantity FROM stock WHERE s_w_id = $1 AND s_i_id = $2{lock}"),

            // dUpdateItem.
            ItemPrice => format!("SELECT i_price FROM item WHERE i_id = $1{lock}"),
            SetPrice => "UPDATE item SET i_price = $1 WHERE i_id = $2".into(),

            // dSelectBalance; dUpdateBalance's update is Payment's.
            WarehouseBalance => "SELECT w_ytd FROM warehouse WHERE w_id = $1".into(),

            // Array binding: everything that does not need an earlier answer goes in one round trip.
            BatchTakeOrderId => "UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = $1 AND d_id = $2 \
                                 RETURNING d_tax, d_next_o_id - 1"
                .into(),
            BatchItems => "SELECT number, i_price, i_name, i_data \
                           FROM unnest($1::int[]) WITH ORDINALITY AS line (item, number) \
                           JOIN item ON i_id = item"
                .into(),
            // $1 order, $2 district, $3 warehouse, then one array per column of the lines. The commit travels with it,
            // so a missing row must be an error of the statement: the text that is no number is its message.
            BatchLines => "WITH line AS (SELECT * FROM unnest($4::int[], $5::int[], $6::int[], $7::int[], \
                           $8::numeric[]) AS line (number, item, supply, quantity, amount)), \
                           taken AS (UPDATE stock SET \
                           s_quantity = s_quantity - quantity + CASE WHEN s_quantity >= quantity + 10 THEN 0 ELSE 91 \
                           END, s_ytd = s_ytd + quantity, s_order_cnt = s_order_cnt + 1, \
                           s_remote_cnt = s_remote_cnt + CASE WHEN supply <> $3::int THEN 1 ELSE 0 END \
                           FROM line WHERE s_w_id = supply AND s_i_id = item \
                           RETURNING line.*, s_quantity, s_data, (ARRAY[s_dist_01, s_dist_02, s_dist_03, s_dist_04, \
                           s_dist_05, s_dist_06, s_dist_07, s_dist_08, s_dist_09, s_dist_10])[($2::int - 1) % 10 + 1] AS dist), \
                           inserted AS (INSERT INTO order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, \
                           ol_supply_w_id, ol_delivery_d, ol_quantity, ol_amount, ol_dist_info) \
                           SELECT $1::int, $2::int, $3::int, number, item, supply, NULL, quantity, amount, dist \
                           FROM taken) \
                           SELECT array_agg(number), array_agg(s_quantity), array_agg(s_data), \
                           CAST(CASE WHEN count(*) = cardinality($4::int[]) THEN '1' \
                           ELSE 'stock of the order is missing: run lydite check' END AS int) FROM taken"
                .into(),
            BatchPayCustomer => format!("{} c_id = $3 {}", pay_customer(), PAID_CUSTOMER),
            BatchPayCustomerByName => format!(
                "{} c_id = (SELECT c_id FROM (SELECT c_id, row_number() OVER (ORDER BY c_first, c_id) AS place, \
                 count(*) OVER () AS found FROM customer WHERE c_w_id = $1 AND c_d_id = $2 AND c_last = $3) AS named \
                 WHERE place = (found + 1) / 2) {}",
                pay_customer(),
                PAID_CUSTOMER
            ),
            BatchPayDistrict => "UPDATE district SET d_ytd = d_ytd + $1 WHERE d_w_id = $2 AND d_id = $3 \
                                 RETURNING d_street_1, d_street_2, d_city, d_state, d_zip, d_name"
                .into(),
            BatchPayWarehouse => format!(
                "UPDATE warehouse SET w_ytd = w_ytd + $1 WHERE w_id = $2 \
                 RETURNING w_street_1, w_street_2, w_city, w_state, w_zip, w_name, {now}"
            ),
            BatchStatusByName => "SELECT c_id, c_first, c_middle, c_last, c_balance FROM (SELECT c_id, c_first, \
                                  c_middle, c_last, c_balance, row_number() OVER (ORDER BY c_first, c_id) AS place, \
                                  count(*) OVER () AS found FROM customer \
                                  WHERE c_w_id = $1 AND c_d_id = $2 AND c_last = $3) AS named \
                                  WHERE place * 2 IN (found, found + 1)"
                .into(),
            BatchLastOrderLines => "SELECT o_id, o_entry_d, o_carrier_id, ol_i_id, ol_supply_w_id, ol_quantity, \
                                    ol_amount, ol_delivery_d FROM (SELECT o_id, o_entry_d, o_carrier_id FROM orders \
                                    WHERE o_w_id = $1 AND o_d_id = $2 AND o_c_id = $3 ORDER BY o_id DESC LIMIT 1) \
                                    AS last JOIN order_line \
                                    ON ol_w_id = $1 AND ol_d_id = $2 AND ol_o_id = o_id ORDER BY ol_number"
                .into(),
            // Returns one row for each district of $2 that has an undelivered order; the order is null when another
            // transaction took it meanwhile (possible below repeatable read).
            BatchDeliver => format!(
                "WITH oldest AS MATERIALIZED (SELECT district, (SELECT no_o_id FROM new_order WHERE no_w_id = $1 \
                 AND no_d_id = district ORDER BY no_o_id LIMIT 1) AS id FROM unnest($2::int[]) AS district), \
                 taken AS (DELETE FROM new_order USING oldest \
                 WHERE no_w_id = $1 AND no_d_id = district AND no_o_id = id RETURNING no_d_id, no_o_id), \
                 delivered AS (UPDATE orders SET o_carrier_id = $3 FROM taken \
                 WHERE o_w_id = $1 AND o_d_id = no_d_id AND o_id = no_o_id RETURNING o_d_id, o_id, o_c_id), \
                 dated AS (UPDATE order_line SET ol_delivery_d = {now} FROM taken \
                 WHERE ol_w_id = $1 AND ol_d_id = no_d_id AND ol_o_id = no_o_id RETURNING ol_d_id, ol_amount), \
                 owed AS (SELECT ol_d_id, sum(ol_amount) AS amount FROM dated GROUP BY ol_d_id), \
                 credited AS (UPDATE customer SET c_balance = c_balance + amount, c_delivery_cnt = c_delivery_cnt + 1 \
                 FROM delivered JOIN owed ON ol_d_id = o_d_id \
                 WHERE c_w_id = $1 AND c_d_id = o_d_id AND c_id = o_c_id RETURNING c_id) \
                 SELECT district, o_id, CAST(CASE WHEN (SELECT count(*) FROM credited) = (SELECT count(*) FROM taken) \
                 THEN '1' ELSE 'a row of a delivered order is missing: run lydite check' END AS int) FROM oldest LEFT JOIN delivered ON o_d_id = district \
                 WHERE id IS NOT NULL ORDER BY district"
            ),
            BatchStockLevel => "SELECT count(DISTINCT s_i_id) FROM district JOIN order_line \
                                ON ol_w_id = d_w_id AND ol_d_id = d_id AND ol_o_id >= d_next_o_id - 20 \
                                AND ol_o_id < d_next_o_id JOIN stock ON s_w_id = ol_w_id AND s_i_id = ol_i_id \
                                WHERE d_w_id = $1 AND d_id = $2 AND s_quantity < $3"
                .into(),

            // One array per column of the rounds, then the home. A missing row is an error as in BatchLines.
            BatchUpdateStock => "WITH line AS (SELECT * FROM unnest($1::int[], $2::int[], $3::int[], $4::int[]) \
                                 AS line (number, item, supply, quantity)), \
                                 taken AS (UPDATE stock SET \
                                 s_quantity = s_quantity - quantity + CASE WHEN s_quantity >= quantity + 10 THEN 0 \
                                 ELSE 91 END, s_ytd = s_ytd + quantity, s_order_cnt = s_order_cnt + 1, \
                                 s_remote_cnt = s_remote_cnt + CASE WHEN supply <> $5::int THEN 1 ELSE 0 END \
                                 FROM line WHERE s_w_id = supply AND s_i_id = item RETURNING number, s_quantity) \
                                 SELECT array_agg(number), array_agg(s_quantity), \
                                 CAST(CASE WHEN count(*) = cardinality($1::int[]) THEN '1' \
                                 ELSE 'stock is missing: run lydite check' END AS int) FROM taken"
                .into(),

            // Several rows in the text: lists of fixed length are filled up by repeating the last row.
            ManyItems => {
                let items: Vec<String> = (1..=MAX_ORDER_LINES).map(|number| format!("${number}")).collect();
                format!("SELECT i_id, i_price, i_name, i_data FROM item WHERE i_id IN ({})", items.join(", "))
            }
            // $1 is the number of S_DIST_xx, then pairs of warehouse and item.
            ManyStocks => format!(
                "SELECT s_w_id, s_i_id, s_quantity, s_data, elt($1, s_dist_01, s_dist_02, s_dist_03, s_dist_04, \
                 s_dist_05, s_dist_06, s_dist_07, s_dist_08, s_dist_09, s_dist_10) FROM stock WHERE {}{lock}",
                any_of(2, MAX_ORDER_LINES, &["s_w_id", "s_i_id"])
            ),
            Insert01Line | Insert02Lines | Insert03Lines | Insert04Lines | Insert05Lines | Insert06Lines
            | Insert07Lines | Insert08Lines | Insert09Lines | Insert10Lines | Insert11Lines | Insert12Lines
            | Insert13Lines | Insert14Lines | Insert15Lines => {
                let count = self.index() - Insert01Line.index() + 1;
                let rows: Vec<String> = (0..count).map(|row| order_line(1 + 9 * row)).collect();
                format!(
                    "INSERT INTO order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_supply_w_id, \
                     ol_delivery_d, ol_quantity, ol_amount, ol_dist_info) VALUES {}",
                    rows.join(", ")
                )
            }
            // $3 is what the payment puts before C_DATA of a customer with bad credit (clause 2.5.2.2).
            PayCustomer => "UPDATE customer SET c_balance = c_balance - $1, c_ytd_payment = c_ytd_payment + $2, \
                            c_payment_cnt = c_payment_cnt + 1, c_data = CASE c_credit WHEN 'BC' \
                            THEN left(concat($3, c_data), 500) ELSE c_data END \
                            WHERE c_w_id = $4 AND c_d_id = $5 AND c_id = $6"
                .into(),
            PaidCustomer => "SELECT c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state, c_zip, \
                             c_phone, c_since, c_credit, c_credit_lim, c_discount, c_balance, c_id, \
                             CASE WHEN c_credit = 'BC' THEN left(c_data, 200) END FROM customer \
                             WHERE c_w_id = $1 AND c_d_id = $2 AND c_id = $3"
                .into(),
            // Pairs of district and order follow the warehouse.
            DeleteNewOrders => format!(
                "{} WHERE no_w_id = $1 AND ({})",
                dialect.delete_new_order,
                any_of(2, DISTRICTS, &["no_d_id", "no_o_id"])
            ),
            SetCarriers => format!(
                "UPDATE orders SET o_carrier_id = $1 WHERE o_w_id = $2 AND ({})",
                any_of(3, DISTRICTS, &["o_d_id", "o_id"])
            ),
            SetDeliveryDates => format!(
                "UPDATE order_line SET ol_delivery_d = {now} WHERE ol_w_id = $1 AND ({})",
                any_of(2, DISTRICTS, &["ol_d_id", "ol_o_id"])
            ),
            DeliveredOrders => format!(
                "SELECT o_d_id, o_c_id, sum(ol_amount) FROM orders JOIN order_line ON ol_w_id = o_w_id \
                 AND ol_d_id = o_d_id AND ol_o_id = o_id WHERE o_w_id = $1 AND ({}) GROUP BY o_d_id, o_c_id",
                any_of(2, DISTRICTS, &["o_d_id", "o_id"])
            ),

            // Stored procedures.
            CallNewOrder => format!("{call} lydite_new_order($1, $2, $3, $4, $5, $6, $7, $8)"),
            CallPayment => format!("{call} lydite_payment($1, $2, $3, $4, $5, $6, $7)"),
            CallOrderStatus => format!("{call} lydite_order_status($1, $2, $3, $4)"),
            CallDelivery => format!("{call} lydite_delivery($1, $2, $3)"),
            CallStockLevel => format!("{call} lydite_stock_level($1, $2, $3)"),
            CallUpdateStock => format!("{call} lydite_update_stock($1, $2, $3, $4)"),
            CallUpdateItem => format!("{call} lydite_update_item($1, $2)"),
            CallUpdateBalance => format!("{call} lydite_update_balance($1, $2)"),
            CallSelectBalance => format!("{call} lydite_select_balance($1)"),
        };
        dialect.placeholders(&text)
    }
}

/// `(a = $1 AND b = $2) OR (a = $3 AND b = $4) …`, from parameter `first` on.
fn any_of(first: usize, rows: usize, columns: &[&str]) -> String {
    let row = |row: usize| {
        let equal: Vec<String> = columns
            .iter()
            .enumerate()
            .map(|(column, name)| format!("{name} = ${}", first + row * columns.len() + column))
            .collect();
        format!("({})", equal.join(" AND "))
    };
    (0..rows).map(row).collect::<Vec<_>>().join(" OR ")
}

/// The values of an order line as a row of VALUES, from parameter `first` on.
fn order_line(first: usize) -> String {
    let values = |from: usize, to: usize| {
        (first + from..first + to).map(|number| format!("${number}")).collect::<Vec<_>>().join(", ")
    };
    format!("({}, NULL, {})", values(0, 6), values(6, 9))
}

fn pay_customer() -> String {
    format!(
        "UPDATE customer SET c_balance = c_balance - $4, c_ytd_payment = c_ytd_payment + $4, \
         c_payment_cnt = c_payment_cnt + 1, \
         c_data = CASE WHEN c_credit = 'BC' THEN {BAD_CREDIT_DATA} ELSE c_data END \
         WHERE c_w_id = $1 AND c_d_id = $2 AND"
    )
}

const PAID_CUSTOMER: &str = "RETURNING c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state, c_zip, \
                             c_phone, c_since, c_credit, c_credit_lim, c_discount, c_balance, c_id, \
                             CASE WHEN c_credit = 'BC' THEN left(c_data, 200) END";
