//! New-Order (clause 2.4): its statements, and a file for each way of sending them.

mod batched;
mod lines;
mod multi_row;
mod procedures;
mod statements;

pub(crate) use lines::taken_from_stock;
pub use procedures::UNUSED_ITEM;

use crate::sql::session::{Played, SqlSession};
use crate::sql::statement::SqlText::{Each, Made, Sql};
use crate::sql::statement::{Way, any_of, statements};
use lydite_tpcc::transactions::{MAX_ORDER_LINES, NewOrder, NewOrderOutcome};
use lydite_tpcc::{DISTRICTS_PER_WAREHOUSE, StandardKind, TransactionKind};

statements! {
    of Some(TransactionKind::Standard(StandardKind::NewOrder));

    /// W_TAX, and O_ENTRY_D by the database's clock.
    OrderWarehouse [Statements Batched MultiRow]
        Sql("SELECT w_tax, {now} FROM warehouse WHERE w_id = $1");

    /// Some databases need a lock here. Payment locks the customer, then the district; InsertOrder's foreign key may wait
    /// for the customer while New-Order has the district locked.
    OrderCustomer [Statements Batched MultiRow]
        Sql("SELECT c_discount, c_last, c_credit FROM customer \
             WHERE c_w_id = $1 AND c_d_id = $2 AND c_id = $3{customer_lock}");

    OrderDistrict [Statements MultiRow]
        Sql("SELECT d_tax, d_next_o_id FROM district WHERE d_w_id = $1 AND d_id = $2{for_update}");

    TakeOrderId [Statements MultiRow]
        Sql("UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = $1 AND d_id = $2");

    InsertOrder [Statements Batched MultiRow]
        Sql("INSERT INTO orders (o_id, o_d_id, o_w_id, o_c_id, o_entry_d, o_carrier_id, o_ol_cnt, o_all_local) \
             VALUES ($1, $2, $3, $4, $5, NULL, $6, $7)");

    InsertNewOrder [Statements Batched MultiRow]
        Sql("INSERT INTO new_order (no_o_id, no_d_id, no_w_id) VALUES ($1, $2, $3)");

    Item [Statements] Sql("SELECT i_price, i_name, i_data FROM item WHERE i_id = $1");

    /// Statements for each S_DIST_xx, the information of a district (clause 2.4.2.2).
    Stock [Statements] Each {
        count: DISTRICTS_PER_WAREHOUSE as usize,
        name: |district| format!("Stock{district:02}"),
        text: |sql, district| {
            format!(
                "SELECT s_quantity, s_data, s_dist_{district:02} FROM stock WHERE s_w_id = $1 AND s_i_id = $2{}",
                sql.for_update
            )
        },
    };

    /// Takes the parameters that `taken_from_stock` returns.
    UpdateStock [Statements MultiRow]
        Sql("UPDATE stock SET s_quantity = $1, s_ytd = s_ytd + $2, s_order_cnt = s_order_cnt + 1, \
             s_remote_cnt = s_remote_cnt + $3 WHERE s_w_id = $4 AND s_i_id = $5");

    InsertOrderLine [Statements]
        Sql("INSERT INTO order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_supply_w_id, \
             ol_delivery_d, ol_quantity, ol_amount, ol_dist_info) VALUES ($1, $2, $3, $4, $5, $6, NULL, $7, $8, $9)");

    BatchTakeOrderId [Batched]
        Sql("UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = $1 AND d_id = $2 \
             RETURNING d_tax, d_next_o_id - 1");

    BatchItems [Batched]
        Sql("SELECT number, i_price, i_name, i_data FROM unnest($1::int[]) WITH ORDINALITY AS line (item, number) \
             JOIN item ON i_id = item");

    /// Parameters: order, district, warehouse, then one array per column of the lines. The commit is sent with it, so a
    /// missing row must be an error of the statement. The text that is cast to a number is its message. An INSERT in a
    /// WITH reports no number of rows, so it returns them. Over shards postgres_fdw then sends each line by itself.
    BatchLines [Batched]
        Sql("WITH line AS (SELECT * FROM unnest($4::int[], $5::int[], $6::int[], $7::int[], \
             $8::numeric[]) AS line (number, item, supply, quantity, amount)), \
             taken AS (UPDATE stock SET \
             s_quantity = s_quantity - quantity + CASE WHEN s_quantity >= quantity + 10 THEN 0 ELSE 91 END, \
             s_ytd = s_ytd + quantity, s_order_cnt = s_order_cnt + 1, \
             s_remote_cnt = s_remote_cnt + CASE WHEN supply <> $3::int THEN 1 ELSE 0 END \
             FROM line WHERE s_w_id = supply AND s_i_id = item \
             RETURNING line.*, s_quantity, s_data, (ARRAY[s_dist_01, s_dist_02, s_dist_03, s_dist_04, s_dist_05, \
             s_dist_06, s_dist_07, s_dist_08, s_dist_09, s_dist_10])[($2::int - 1) % 10 + 1] AS dist), \
             inserted AS (INSERT INTO order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_supply_w_id, \
             ol_delivery_d, ol_quantity, ol_amount, ol_dist_info) \
             SELECT $1::bigint, $2::int, $3::int, number, item, supply, NULL, quantity, amount, dist FROM taken \
             RETURNING ol_number) \
             SELECT array_agg(number), array_agg(s_quantity), array_agg(s_data), \
             CAST(CASE WHEN count(*) <> cardinality($4::int[]) \
             THEN 'UPDATE stock of the order changed too few rows: run lydite check' \
             WHEN count(*) <> (SELECT count(*) FROM inserted) \
             THEN 'INSERT INTO order_line of the order changed too few rows: run lydite check' \
             ELSE '1' END AS int) FROM taken");

    /// Here and in the next statement, lists of fixed length repeat their last row.
    ManyItems [MultiRow] Made(|_| {
        let items: Vec<String> = (1..=MAX_ORDER_LINES).map(|number| format!("${number}")).collect();
        format!("SELECT i_id, i_price, i_name, i_data FROM item WHERE i_id IN ({})", items.join(", "))
    });

    /// $1 is the number of S_DIST_xx, then pairs of warehouse and item.
    ManyStocks [MultiRow] Made(|sql| {
        format!(
            "SELECT s_w_id, s_i_id, s_quantity, s_data, elt($1, s_dist_01, s_dist_02, s_dist_03, s_dist_04, \
             s_dist_05, s_dist_06, s_dist_07, s_dist_08, s_dist_09, s_dist_10) FROM stock WHERE {}{}",
            any_of(2, MAX_ORDER_LINES, &["s_w_id", "s_i_id"]),
            sql.for_update
        )
    });

    /// Statements for each number of lines.
    InsertLines [MultiRow] Each {
        count: MAX_ORDER_LINES,
        name: |lines| format!("Insert{lines:02}Line{}", if lines == 1 { "" } else { "s" }),
        text: |_, lines| multi_row::insert_lines_text(lines),
    };

    CallNewOrder [Procedures] Sql("{call} lydite_new_order($1, $2, $3, $4, $5, $6, $7, $8)");
}

/// Runs one New-Order.
pub(crate) fn play(session: &mut SqlSession, input: &NewOrder) -> Played<NewOrderOutcome> {
    match session.way {
        Way::Statements => statements::play(session, input),
        Way::Batched => batched::play(session, input),
        Way::MultiRow => multi_row::play(session, input),
        Way::Procedures => procedures::play(session, input),
    }
}
