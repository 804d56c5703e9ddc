//! New-Order (clause 2.4): its statements, and a function for each way of sending them.

use crate::profile::{OrderHead, has_unused_item, is_brand, left_in_stock};
use crate::sql::connection::Step;
use crate::sql::session::{
    LONGEST_PIPELINE, Played, SqlSession, changed, committed_one_each, one, returned_one,
};
use crate::sql::sql_error::SqlError;
use crate::sql::statement::SqlText::{Made, Sql};
use crate::sql::statement::{Statement, Way, any_of, first, statements};
use crate::sql::tx_error::SqlTxError;
use crate::sql::value::{Rows, Value};
use arrayvec::ArrayVec;
use lydite_tpcc::input::Contended;
use lydite_tpcc::outcome::{NewOrderLine, NewOrderOutcome};
use lydite_tpcc::text::Text;
use lydite_tpcc::transaction::{MAX_ORDER_LINES, NewOrder, OrderLineInput};
use lydite_tpcc::{Cents, DistrictId, OrderId, Outcome, RolledBackOrder, TransactionKind, WarehouseId};
use std::slice;

statements! {
    from first(TransactionKind::NewOrder);

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

    Stock01 [Statements] Made(|sql| stock_text(sql.for_update, 1));
    Stock02 [Statements] Made(|sql| stock_text(sql.for_update, 2));
    Stock03 [Statements] Made(|sql| stock_text(sql.for_update, 3));
    Stock04 [Statements] Made(|sql| stock_text(sql.for_update, 4));
    Stock05 [Statements] Made(|sql| stock_text(sql.for_update, 5));
    Stock06 [Statements] Made(|sql| stock_text(sql.for_update, 6));
    Stock07 [Statements] Made(|sql| stock_text(sql.for_update, 7));
    Stock08 [Statements] Made(|sql| stock_text(sql.for_update, 8));
    Stock09 [Statements] Made(|sql| stock_text(sql.for_update, 9));
    Stock10 [Statements] Made(|sql| stock_text(sql.for_update, 10));

    /// Has the parameters of [`taken_from_stock`].
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

    Insert01Line [MultiRow] Made(|_| insert_lines_text(1));
    Insert02Lines [MultiRow] Made(|_| insert_lines_text(2));
    Insert03Lines [MultiRow] Made(|_| insert_lines_text(3));
    Insert04Lines [MultiRow] Made(|_| insert_lines_text(4));
    Insert05Lines [MultiRow] Made(|_| insert_lines_text(5));
    Insert06Lines [MultiRow] Made(|_| insert_lines_text(6));
    Insert07Lines [MultiRow] Made(|_| insert_lines_text(7));
    Insert08Lines [MultiRow] Made(|_| insert_lines_text(8));
    Insert09Lines [MultiRow] Made(|_| insert_lines_text(9));
    Insert10Lines [MultiRow] Made(|_| insert_lines_text(10));
    Insert11Lines [MultiRow] Made(|_| insert_lines_text(11));
    Insert12Lines [MultiRow] Made(|_| insert_lines_text(12));
    Insert13Lines [MultiRow] Made(|_| insert_lines_text(13));
    Insert14Lines [MultiRow] Made(|_| insert_lines_text(14));
    Insert15Lines [MultiRow] Made(|_| insert_lines_text(15));

    CallNewOrder [Procedures] Sql("{call} lydite_new_order($1, $2, $3, $4, $5, $6, $7, $8)");
}

/// Returns the statement that reads stock with the information of a district (S_DIST_xx, clause 2.4.2.2).
fn stock_text(for_update: &str, district: usize) -> String {
    format!(
        "SELECT s_quantity, s_data, s_dist_{district:02} FROM stock WHERE s_w_id = $1 AND s_i_id = $2{for_update}"
    )
}

/// Number of parameters of an order line.
const OF_LINE: usize = 9;

/// Returns the statement that inserts `count` order lines.
fn insert_lines_text(count: usize) -> String {
    let parameters =
        |from: usize, to: usize| (from..to).map(|number| format!("${number}")).collect::<Vec<_>>().join(", ");
    let line = |first: usize| {
        format!("({}, NULL, {})", parameters(first, first + 6), parameters(first + 6, first + OF_LINE))
    };
    let lines: Vec<String> = (0..count).map(|number| line(1 + OF_LINE * number)).collect();
    format!(
        "INSERT INTO order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_supply_w_id, \
         ol_delivery_d, ol_quantity, ol_amount, ol_dist_info) VALUES {}",
        lines.join(", ")
    )
}

impl Statement {
    /// Returns the statement that reads stock with the information of a district (S_DIST_xx, clause 2.4.2.2).
    fn stock(district: DistrictId) -> Self {
        const BY_DISTRICT: [Statement; 10] = [
            Statement::Stock01,
            Statement::Stock02,
            Statement::Stock03,
            Statement::Stock04,
            Statement::Stock05,
            Statement::Stock06,
            Statement::Stock07,
            Statement::Stock08,
            Statement::Stock09,
            Statement::Stock10,
        ];
        BY_DISTRICT[usize::from(district.stock_column() - 1)]
    }

    /// Returns the statement that inserts `count` order lines, from 1 to 15.
    fn insert_lines(count: usize) -> Self {
        const BY_COUNT: [Statement; MAX_ORDER_LINES] = [
            Statement::Insert01Line,
            Statement::Insert02Lines,
            Statement::Insert03Lines,
            Statement::Insert04Lines,
            Statement::Insert05Lines,
            Statement::Insert06Lines,
            Statement::Insert07Lines,
            Statement::Insert08Lines,
            Statement::Insert09Lines,
            Statement::Insert10Lines,
            Statement::Insert11Lines,
            Statement::Insert12Lines,
            Statement::Insert13Lines,
            Statement::Insert14Lines,
            Statement::Insert15Lines,
        ];
        BY_COUNT[count - 1]
    }
}

/// Runs one New-Order.
pub(crate) fn play(session: &mut SqlSession, input: &NewOrder) -> Played {
    match session.way {
        Way::Statements => statements(session, input),
        Way::Batched => batched(session, input),
        Way::MultiRow => multi_row(session, input),
        Way::Procedures => procedures(session, input),
    }
}

fn statements(session: &mut SqlSession, input: &NewOrder) -> Played {
    let w = Value::Int(input.w_id.get());
    let d = Value::Int(input.d_id.get());
    let c = Value::Int(input.c_id.get());
    session.step(Statement::BeginWrite, &[])?;
    let rows = session.step(Statement::OrderWarehouse, &[w])?;
    one(rows, || format!("warehouse {}", input.w_id))?;
    let (w_tax, entry_d) = (rows.rate(0, 0)?, rows.time(0, 1)?);
    let rows = session.step(Statement::OrderCustomer, &[w, d, c])?;
    one(rows, || format!("customer {}/{}/{}", input.w_id, input.d_id, input.c_id))?;
    let (c_discount, c_last, c_credit) = (rows.rate(0, 0)?, rows.fixed(0, 1)?, rows.fixed(0, 2)?);
    session.report_request(Contended::District);
    let rows = session.step(Statement::OrderDistrict, &[w, d])?;
    one(rows, || format!("district {}/{}", input.w_id, input.d_id))?;
    let (d_tax, o_id) = (rows.rate(0, 0)?, OrderId(rows.int(0, 1)?));
    let head = OrderHead { o_id, entry_d, c_last, c_credit, c_discount, w_tax, d_tax };
    let o = Value::Int(o_id.get());
    session.change(Statement::TakeOrderId, &[w, d])?;
    let count = Value::Int(input.lines.len() as i64);
    let all_local = Value::Int(i64::from(input.all_local()));
    session.change(Statement::InsertOrder, &[o, d, w, c, Value::Time(entry_d), count, all_local])?;
    session.change(Statement::InsertNewOrder, &[o, d, w])?;

    let mut lines: ArrayVec<Option<NewOrderLine>, MAX_ORDER_LINES> =
        input.lines.iter().map(|_| None).collect();
    for (place, index) in input.access_order().into_iter().enumerate() {
        let line = &input.lines[index];
        let item = Value::Int(line.i_id.get());
        let supply = Value::Int(line.supply_w_id.get());
        let rows = session.step(Statement::Item, &[item])?;
        if rows.is_empty() {
            // The unused item: all valid lines are done, so the profile ends here (clause 2.4.2.3).
            return Err(item_is_missing(input, head.rolled_back()));
        }
        let i_price = rows.money(0, 0)?;
        let i_name = rows.fixed(0, 1)?;
        let i_data: Text<50> = rows.fixed(0, 2)?;
        if place == 0 {
            session.report_request(Contended::Stock);
        }
        let rows = session.step(Statement::stock(input.d_id), &[supply, item])?;
        one(rows, || format!("stock {}/{}", line.supply_w_id, line.i_id))?;
        let quantity = i32::from(line.quantity);
        let in_stock: i32 = rows.int(0, 0)?;
        let brand = is_brand(&i_data, rows.text(0, 1)?);
        let dist_info: Text<24> = rows.fixed(0, 2)?;
        let s_quantity = left_in_stock(in_stock, quantity);
        let ordered = Value::Int(i64::from(quantity));
        session.change(Statement::UpdateStock, &taken_from_stock(s_quantity, line, input.w_id))?;
        let amount = i_price.times(u32::from(line.quantity));
        let number = Value::Int(index as i64 + 1);
        session.change(
            Statement::InsertOrderLine,
            &[o, d, w, number, item, supply, ordered, Value::Money(amount), Value::Text(&dist_info)],
        )?;
        lines[index] = Some(NewOrderLine { i_name, s_quantity, brand, i_price, amount });
    }
    session.commit()?;
    Ok(head.complete(lines.into_iter().flatten()))
}

/// Returns the error of an order with a missing item: the rollback that the standard prescribes if the terminal entered
/// an unused item (clause 2.4.1.4).
fn item_is_missing(input: &NewOrder, order: RolledBackOrder) -> SqlTxError {
    if has_unused_item(input) {
        SqlTxError::UnusedItem(order)
    } else {
        SqlTxError::WrongRows(format!("an item of order {} is missing: run lydite check", order.o_id))
    }
}

/// Returns the parameters of [`Statement::UpdateStock`] for an order line. `left` is the new quantity, `home` the
/// warehouse of the order.
pub(crate) fn taken_from_stock(left: i32, line: &OrderLineInput, home: WarehouseId) -> [Value<'static>; 5] {
    [
        Value::Int(i64::from(left)),
        Value::Int(i64::from(line.quantity)),
        Value::Int(i64::from(line.supply_w_id != home)),
        Value::Int(line.supply_w_id.get()),
        Value::Int(line.i_id.get()),
    ]
}

/// Columns of an item: I_PRICE, I_NAME, I_DATA; `None` if it does not exist.
type FoundItem = Option<(Cents, Text<24>, Text<50>)>;
/// Columns of a line's stock: S_QUANTITY, S_DATA, S_DIST_xx; `None` if it does not exist.
type FoundStock = Option<(i32, Text<50>, Text<24>)>;

/// Reads the order without its lines, from the answers of [`Statement::OrderWarehouse`], [`Statement::OrderCustomer`],
/// and a statement that returns D_TAX and the number of the order.
fn read_head(
    input: &NewOrder,
    warehouse: &Rows,
    customer: &Rows,
    district: &Rows,
) -> Result<OrderHead, SqlTxError> {
    one(warehouse, || format!("warehouse {}", input.w_id))?;
    let (w_tax, entry_d) = (warehouse.rate(0, 0)?, warehouse.time(0, 1)?);
    one(customer, || format!("customer {}/{}/{}", input.w_id, input.d_id, input.c_id))?;
    let (c_discount, c_last, c_credit) = (customer.rate(0, 0)?, customer.fixed(0, 1)?, customer.fixed(0, 2)?);
    one(district, || format!("district {}/{}", input.w_id, input.d_id))?;
    let (d_tax, o_id) = (district.rate(0, 0)?, OrderId(district.int(0, 1)?));
    Ok(OrderHead { o_id, entry_d, c_last, c_credit, c_discount, w_tax, d_tax })
}

/// Returns the round of each line, from 1. One statement changes a row only once, so the second line of the same stock
/// goes into a second statement.
fn rounds(input: &NewOrder) -> ArrayVec<i32, MAX_ORDER_LINES> {
    let same = |a: usize, b: usize| {
        let (a, b) = (&input.lines[a], &input.lines[b]);
        (a.i_id, a.supply_w_id) == (b.i_id, b.supply_w_id)
    };
    (0..input.lines.len())
        .map(|line| (0..line).filter(|&before| same(before, line)).count() as i32 + 1)
        .collect()
}

fn batched(session: &mut SqlSession, input: &NewOrder) -> Played {
    let w = Value::Int(input.w_id.get());
    let d = Value::Int(input.d_id.get());
    let c = Value::Int(input.c_id.get());
    let items: ArrayVec<i32, MAX_ORDER_LINES> = input.lines.iter().map(|line| line.i_id.0 as i32).collect();
    session.send(&[
        (Statement::BeginWrite, &[]),
        (Statement::OrderWarehouse, &[w]),
        (Statement::OrderCustomer, &[w, d, c]),
        (Statement::BatchItems, &[Value::Ints(&items)]),
        (Statement::BatchTakeOrderId, &[w, d]),
    ])?;
    let [_, warehouse, customer, item_rows, district, ..] = &session.rows;
    returned_one(district, || format!("UPDATE district {}/{}", input.w_id, input.d_id))?;
    let head = read_head(input, warehouse, customer, district)?;
    let found = items_of_lines(input, item_rows)?;
    let unused_item = found.iter().any(Option::is_none);

    let rounds = rounds(input);
    let last_round = rounds.iter().copied().max().unwrap_or(1);
    let mut lines: ArrayVec<Option<NewOrderLine>, MAX_ORDER_LINES> =
        input.lines.iter().map(|_| None).collect();
    let o = Value::Int(head.o_id.get());
    let count = Value::Int(input.lines.len() as i64);
    let all_local = Value::Int(i64::from(input.all_local()));
    let order_params = [o, d, w, c, Value::Time(head.entry_d), count, all_local];
    let new_order_params = [o, d, w];
    for round in 1..=last_round {
        let columns = Columns::of_round(input, &found, &rounds, round);
        let line_params = [
            o,
            d,
            w,
            Value::Ints(&columns.numbers),
            Value::Ints(&columns.items),
            Value::Ints(&columns.supplies),
            Value::Ints(&columns.quantities),
            Value::Monies(&columns.amounts),
        ];
        let mut steps: ArrayVec<Step<'_>, 4> = ArrayVec::new();
        if round == 1 {
            // The order comes before its lines, which refer to it.
            steps.push((Statement::InsertOrder, &order_params));
            steps.push((Statement::InsertNewOrder, &new_order_params));
        }
        let lines_step = steps.len();
        steps.push((Statement::BatchLines, &line_params));
        let committed = round == last_round && !unused_item;
        let sent = if committed {
            steps.push((Statement::Commit, &[]));
            session.send_with_commit(&steps)
        } else {
            session.send(&steps)
        };
        let order = || format!("order {}/{}/{}", input.w_id, input.d_id, head.o_id);
        sent.map_err(|error| error.named("the order", order))?;
        let inserts = [Statement::InsertOrder, Statement::InsertNewOrder];
        let answers = || inserts.into_iter().zip(&session.rows).take(lines_step);
        if committed {
            committed_one_each(answers(), session.dialect)?;
        } else {
            for (statement, rows) in answers() {
                changed(slice::from_ref(rows), 1, || statement.in_words(session.dialect))?;
            }
        }
        taken(&session.rows[lines_step], input, &found, &mut lines).map_err(|error| {
            if committed { SqlTxError::CommitFailed(error) } else { SqlTxError::Failed(error) }
        })?;
    }
    if unused_item {
        return Err(item_is_missing(input, head.rolled_back()));
    }
    Ok(head.complete(lines.into_iter().flatten()))
}

/// Reads the answer of [`Statement::BatchItems`].
fn items_of_lines(input: &NewOrder, rows: &Rows) -> Result<ArrayVec<FoundItem, MAX_ORDER_LINES>, SqlError> {
    let mut found: ArrayVec<FoundItem, MAX_ORDER_LINES> = input.lines.iter().map(|_| None).collect();
    for row in 0..rows.len() {
        let number: usize = rows.int(row, 0)?;
        let slot = found
            .get_mut(number.wrapping_sub(1))
            .ok_or_else(|| SqlError::Decode(format!("no line {number}")))?;
        *slot = Some((rows.money(row, 1)?, rows.fixed(row, 2)?, rows.fixed(row, 3)?));
    }
    Ok(found)
}

/// Lines of an order, as the columns of [`Statement::BatchLines`].
#[derive(Default)]
struct Columns {
    numbers: ArrayVec<i32, MAX_ORDER_LINES>,
    items: ArrayVec<i32, MAX_ORDER_LINES>,
    supplies: ArrayVec<i32, MAX_ORDER_LINES>,
    quantities: ArrayVec<i32, MAX_ORDER_LINES>,
    amounts: ArrayVec<Cents, MAX_ORDER_LINES>,
}

impl Columns {
    /// Returns the lines of one round whose items exist.
    fn of_round(input: &NewOrder, found: &[FoundItem], rounds: &[i32], round: i32) -> Self {
        let mut columns = Self::default();
        for index in input.access_order() {
            let line = &input.lines[index];
            let Some((i_price, _, _)) = &found[index] else { continue };
            if rounds[index] == round {
                columns.numbers.push(index as i32 + 1);
                columns.items.push(line.i_id.0 as i32);
                columns.supplies.push(line.supply_w_id.0 as i32);
                columns.quantities.push(i32::from(line.quantity));
                columns.amounts.push(i_price.times(u32::from(line.quantity)));
            }
        }
        columns
    }
}

/// Reads the answer of [`Statement::BatchLines`] into its lines.
fn taken(
    rows: &Rows,
    input: &NewOrder,
    found: &[FoundItem],
    lines: &mut [Option<NewOrderLine>],
) -> Result<(), SqlError> {
    if rows.is_null(0, 0) {
        // No line had an item that exists.
        return Ok(());
    }
    let (numbers, stocks, data) = (rows.array(0, 0)?, rows.array(0, 1)?, rows.array(0, 2)?);
    for row in 0..numbers.len() {
        let index = numbers.int::<usize>(row)?.wrapping_sub(1);
        let (Some(line), Some(Some((i_price, i_name, i_data))), Some(slot)) =
            (input.lines.get(index), found.get(index), lines.get_mut(index))
        else {
            return Err(SqlError::Decode(format!(
                "an order line number {} came back",
                index.wrapping_add(1)
            )));
        };
        *slot = Some(NewOrderLine {
            i_name: *i_name,
            s_quantity: stocks.int(row)?,
            brand: is_brand(i_data, &data.fixed::<50>(row)?),
            i_price: *i_price,
            amount: i_price.times(u32::from(line.quantity)),
        });
    }
    Ok(())
}

fn multi_row(session: &mut SqlSession, input: &NewOrder) -> Played {
    let w = Value::Int(input.w_id.get());
    let d = Value::Int(input.d_id.get());
    let c = Value::Int(input.c_id.get());
    let order = input.access_order();
    let mut items = [Value::Int(0); MAX_ORDER_LINES];
    let mut stocks = [Value::Int(i64::from(input.d_id.stock_column())); 1 + 2 * MAX_ORDER_LINES];
    for place in 0..MAX_ORDER_LINES {
        let line = &input.lines[order[place.min(order.len() - 1)]];
        items[place] = Value::Int(line.i_id.get());
        stocks[1 + 2 * place] = Value::Int(line.supply_w_id.get());
        stocks[2 + 2 * place] = items[place];
    }
    session.send(&[
        (Statement::BeginWrite, &[]),
        (Statement::OrderWarehouse, &[w]),
        (Statement::OrderCustomer, &[w, d, c]),
        (Statement::OrderDistrict, &[w, d]),
        (Statement::TakeOrderId, &[w, d]),
        (Statement::ManyItems, &items),
        (Statement::ManyStocks, &stocks),
    ])?;
    let [_, warehouse, customer, district, taken, item_rows, stock_rows, ..] = &session.rows;
    let head = read_head(input, warehouse, customer, district)?;
    changed(slice::from_ref(taken), 1, || format!("district {}/{}", input.w_id, input.d_id))?;
    let (items, stocks) = found(input, item_rows, stock_rows)?;
    let mut lines: ArrayVec<Option<NewOrderLine>, MAX_ORDER_LINES> =
        input.lines.iter().map(|_| None).collect();
    let booked = book(input, &order, &items, stocks, &mut lines)?;

    let o = Value::Int(head.o_id.get());
    let count = Value::Int(input.lines.len() as i64);
    let all_local = Value::Int(i64::from(input.all_local()));
    let order_params = [o, d, w, c, Value::Time(head.entry_d), count, all_local];
    let new_order_params = [o, d, w];
    let updates: ArrayVec<[Value<'_>; 5], MAX_ORDER_LINES> = booked
        .iter()
        .map(|booked| taken_from_stock(booked.s_quantity, &input.lines[booked.index], input.w_id))
        .collect();
    let mut values: ArrayVec<Value<'_>, { OF_LINE * MAX_ORDER_LINES }> = ArrayVec::new();
    for Booked { index, amount, dist_info, .. } in &booked {
        let line = &input.lines[*index];
        values.extend([
            o,
            d,
            w,
            Value::Int(*index as i64 + 1),
            Value::Int(line.i_id.get()),
            Value::Int(line.supply_w_id.get()),
            Value::Int(i64::from(line.quantity)),
            Value::Money(*amount),
            Value::Text(dist_info),
        ]);
    }
    let mut steps: ArrayVec<Step<'_>, LONGEST_PIPELINE> = ArrayVec::new();
    steps.push((Statement::InsertOrder, &order_params));
    steps.push((Statement::InsertNewOrder, &new_order_params));
    steps.extend(updates.iter().map(|update| -> Step<'_> { (Statement::UpdateStock, update) }));
    if !booked.is_empty() {
        steps.push((Statement::insert_lines(booked.len()), &values));
    }
    session.send(&steps)?;
    changed(&session.rows[..2], 1, || format!("order {}/{}/{}", input.w_id, input.d_id, head.o_id))?;
    changed(&session.rows[2..2 + updates.len()], 1, || format!("a stock of order {}", head.o_id))?;
    if !booked.is_empty() {
        let inserted = slice::from_ref(&session.rows[2 + updates.len()]);
        changed(inserted, booked.len() as u64, || format!("the lines of order {}", head.o_id))?;
    }
    if booked.len() < input.lines.len() {
        return Err(item_is_missing(input, head.rolled_back()));
    }
    session.commit()?;
    Ok(head.complete(lines.into_iter().flatten()))
}

/// Returns items and stocks by line, from the answers of [`Statement::ManyItems`] and [`Statement::ManyStocks`].
fn found(
    input: &NewOrder,
    item_rows: &Rows,
    stock_rows: &Rows,
) -> Result<(ArrayVec<FoundItem, MAX_ORDER_LINES>, ArrayVec<FoundStock, MAX_ORDER_LINES>), SqlError> {
    let mut items: ArrayVec<FoundItem, MAX_ORDER_LINES> = input.lines.iter().map(|_| None).collect();
    for row in 0..item_rows.len() {
        let i_id: i64 = item_rows.int(row, 0)?;
        let item = (item_rows.money(row, 1)?, item_rows.fixed(row, 2)?, item_rows.fixed(row, 3)?);
        for (line, slot) in input.lines.iter().zip(&mut items) {
            if line.i_id.get() == i_id {
                *slot = Some(item);
            }
        }
    }
    let mut stocks: ArrayVec<FoundStock, MAX_ORDER_LINES> = input.lines.iter().map(|_| None).collect();
    for row in 0..stock_rows.len() {
        let (supply_w_id, i_id): (i64, i64) = (stock_rows.int(row, 0)?, stock_rows.int(row, 1)?);
        let stock = (stock_rows.int(row, 2)?, stock_rows.fixed(row, 3)?, stock_rows.fixed(row, 4)?);
        for (line, slot) in input.lines.iter().zip(&mut stocks) {
            if (line.supply_w_id.get(), line.i_id.get()) == (supply_w_id, i_id) {
                *slot = Some(stock);
            }
        }
    }
    Ok((items, stocks))
}

/// A line whose item exists: its index, and values for its rows in STOCK and ORDER-LINE.
struct Booked {
    index: usize,
    s_quantity: i32,
    amount: Cents,
    dist_info: Text<24>,
}

/// Takes the quantities of the lines from their stock, in the order in which stock is accessed. Fills the answer of the
/// terminal into `lines`.
fn book(
    input: &NewOrder,
    order: &[usize],
    items: &[FoundItem],
    mut stocks: ArrayVec<FoundStock, MAX_ORDER_LINES>,
    lines: &mut [Option<NewOrderLine>],
) -> Result<ArrayVec<Booked, MAX_ORDER_LINES>, SqlTxError> {
    let mut booked = ArrayVec::new();
    for &index in order {
        let line = &input.lines[index];
        let Some((i_price, i_name, i_data)) = &items[index] else { continue };
        let Some((in_stock, s_data, dist_info)) = stocks[index] else {
            return Err(SqlTxError::WrongRows(format!(
                "stock {}/{} is missing: run lydite check",
                line.supply_w_id, line.i_id
            )));
        };
        let s_quantity = left_in_stock(in_stock, i32::from(line.quantity));
        // Later lines of the same stock find the new quantity.
        for (other, stock) in input.lines.iter().zip(&mut stocks) {
            if (other.i_id, other.supply_w_id) == (line.i_id, line.supply_w_id)
                && let Some((quantity, ..)) = stock
            {
                *quantity = s_quantity;
            }
        }
        let amount = i_price.times(u32::from(line.quantity));
        let brand = is_brand(i_data, &s_data);
        lines[index] = Some(NewOrderLine { i_name: *i_name, s_quantity, brand, i_price: *i_price, amount });
        booked.push(Booked { index, s_quantity, amount, dist_info });
    }
    Ok(booked)
}

/// SQLSTATE that `lydite_new_order` raises for an unused item. The detail is `O_ID|C_CREDIT|C_LAST`.
pub const UNUSED_ITEM: &str = "LY001";

fn procedures(session: &mut SqlSession, input: &NewOrder) -> Played {
    type Column = ArrayVec<i32, MAX_ORDER_LINES>;
    let order = input.access_order();
    let rounds = rounds(input);
    let numbers: Column = order.iter().map(|&index| index as i32 + 1).collect();
    let items: Column = order.iter().map(|&index| input.lines[index].i_id.0 as i32).collect();
    let supplies: Column = order.iter().map(|&index| input.lines[index].supply_w_id.0 as i32).collect();
    let quantities: Column = order.iter().map(|&index| i32::from(input.lines[index].quantity)).collect();
    let rounds: Column = order.iter().map(|&index| rounds[index]).collect();
    let params = [
        Value::Int(input.w_id.get()),
        Value::Int(input.d_id.get()),
        Value::Int(input.c_id.get()),
        Value::Ints(&numbers),
        Value::Ints(&items),
        Value::Ints(&supplies),
        Value::Ints(&quantities),
        Value::Ints(&rounds),
    ];
    let read = |rows: &Rows| called(rows, input);
    match session.call(Statement::BeginWrite, Statement::CallNewOrder, &params, read) {
        Err(SqlTxError::CommitFailed(SqlError::Database { code, detail: Some(detail), .. }))
            if code == UNUSED_ITEM =>
        {
            Err(item_is_missing(input, rolled_back(&detail)?))
        }
        played => played,
    }
}

/// Reads the detail of [`UNUSED_ITEM`].
fn rolled_back(detail: &str) -> Result<RolledBackOrder, SqlError> {
    let parse = || {
        let mut parts = detail.splitn(3, '|');
        let o_id = OrderId(parts.next()?.parse().ok()?);
        let c_credit = Text::from(parts.next()?).ok()?;
        let c_last = Text::from(parts.next()?).ok()?;
        Some(RolledBackOrder { o_id, c_last, c_credit })
    };
    parse().ok_or_else(|| {
        SqlError::Decode(format!("lydite_new_order reported {detail:?}: load the database again"))
    })
}

/// Reads the answer of [`Statement::CallNewOrder`].
fn called(rows: &Rows, input: &NewOrder) -> Result<Outcome, SqlError> {
    let names = rows.array(0, 8)?;
    let quantities = rows.array(0, 9)?;
    let brands = rows.array(0, 10)?;
    let prices = rows.array(0, 11)?;
    let mut lines = Vec::with_capacity(input.lines.len());
    for (index, line) in input.lines.iter().enumerate() {
        let i_price = prices.money(index)?;
        lines.push(NewOrderLine {
            i_name: names.fixed(index)?,
            s_quantity: quantities.int(index)?,
            brand: brands.bool(index)?,
            i_price,
            amount: i_price.times(u32::from(line.quantity)),
        });
    }
    Ok(Outcome::NewOrder(NewOrderOutcome {
        o_id: OrderId(rows.int(0, 0)?),
        entry_d: rows.time(0, 1)?,
        c_last: rows.fixed(0, 2)?,
        c_credit: rows.fixed(0, 3)?,
        c_discount: rows.rate(0, 4)?,
        w_tax: rows.rate(0, 5)?,
        d_tax: rows.rate(0, 6)?,
        total: rows.money(0, 7)?,
        lines,
    }))
}
