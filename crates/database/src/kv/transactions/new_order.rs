//! New-Order (clause 2.4).

use super::steps::{KvTxError, Moment, Played, change, get, insert, missing};
use crate::kv::codec::Malformed;
use crate::kv::layout::{customer, district, item, order_by_customer, order_line, stock, warehouse};
use crate::kv::store::StoreTx;
use crate::profile::{OrderHead, is_original, left_in_stock};
use arrayvec::ArrayVec;
use lydite_tpcc::text::Text;
use lydite_tpcc::transactions::{MAX_ORDER_LINES, NewOrder, NewOrderLine, NewOrderOutcome, OrderLineInput};
use lydite_tpcc::{Cents, DistrictId, OrderId, WarehouseId, rows};

/// Runs New-Order, clause 2.4.2.
pub(super) fn play(
    tx: &mut impl StoreTx,
    input: &NewOrder,
    moment: &mut Moment<'_>,
) -> Played<NewOrderOutcome> {
    let now = moment.now;
    let NewOrder { w_id, d_id, c_id, ref lines } = *input;
    let mut value = Vec::with_capacity(order_line::WIDTH);
    let mut items: ArrayVec<_, MAX_ORDER_LINES> = lines.iter().map(|_| None).collect();
    tx.read_each(item::TABLE, lines.iter().map(|line| item::key(line.i_id)), |index, row| {
        items[index] = Some(OrderedItem::read(row));
    })?;
    let w_tax = get(tx, warehouse::TABLE, &warehouse::key(w_id), format_args!("warehouse {w_id}"), |row| {
        warehouse::TAX.get(row)
    })?;
    let (c_discount, c_last, c_credit) = get(
        tx,
        customer::TABLE,
        &customer::key(w_id, d_id, c_id),
        format_args!("customer {w_id}/{d_id}/{c_id}"),
        |row| Ok((customer::DISCOUNT.get(row)?, customer::LAST.get(row)?, customer::CREDIT.get(row)?)),
    )?;
    let (d_tax, o_id) = change(
        tx,
        district::TABLE,
        &district::key(w_id, d_id),
        format_args!("district {w_id}/{d_id}"),
        |row| {
            let o_id = district::NEXT_O_ID.get(row)?;
            district::NEXT_O_ID.add(row, OrderId(1))?;
            Ok((district::TAX.get(row)?, o_id))
        },
    )?;
    let head = OrderHead { o_id, entry_d: now, c_last, c_credit, c_discount, w_tax, d_tax };
    let row = rows::Order {
        id: o_id,
        d_id,
        w_id,
        c_id,
        entry_d: now,
        carrier_id: None,
        ol_cnt: lines.len() as u8,
        all_local: input.all_local(),
    };
    insert(tx, &row, &mut value)?;
    tx.put(order_by_customer::TABLE, &order_by_customer::key(w_id, d_id, c_id, o_id), &[])?;
    insert(tx, &rows::NewOrder { o_id, d_id, w_id }, &mut value)?;

    let order = input.access_order();
    // An unused item is the last. All lines before it are done (clause 2.4.2.3).
    let used = order.iter().position(|&index| items[index].is_none()).unwrap_or(order.len());
    let mut stocks: ArrayVec<_, MAX_ORDER_LINES> = lines.iter().map(|_| None).collect();
    let keys = order[..used].iter().map(|&index| stock::key(lines[index].supply_w_id, lines[index].i_id));
    tx.modify_each(stock::TABLE, keys, |number, row| {
        let index = order[number];
        let original = matches!(&items[index], Some(Ok(item)) if item.original);
        stocks[index] = Some(take_for_order(row, &lines[index], w_id, d_id, original));
    })?;
    let mut shown: ArrayVec<Option<NewOrderLine>, MAX_ORDER_LINES> = lines.iter().map(|_| None).collect();
    for &index in &order {
        let OrderLineInput { i_id, supply_w_id, quantity } = lines[index];
        let Some(item) = items[index].take() else {
            return Err(KvTxError::UnusedItem(head.rolled_back()));
        };
        let OrderedItem { price: i_price, name: i_name, .. } = item?;
        let stock = stocks[index].take();
        let stock = stock.ok_or_else(|| missing(format_args!("stock {supply_w_id}/{i_id}")))?;
        let OrderedStock { quantity: s_quantity, brand, dist_info } = stock?;
        let amount = i_price.times(u32::from(quantity));
        let number = index as u8 + 1;
        let row = rows::OrderLine {
            o_id,
            d_id,
            w_id,
            number,
            i_id,
            supply_w_id,
            delivery_d: None,
            quantity,
            amount,
            dist_info,
        };
        insert(tx, &row, &mut value)?;
        shown[index] = Some(NewOrderLine { i_name, s_quantity, brand, i_price, amount });
    }
    Ok(head.complete(shown.into_iter().flatten()))
}

/// The columns of an item that New-Order reads.
struct OrderedItem {
    price: Cents,
    name: Text<24>,
    original: bool,
}

impl OrderedItem {
    fn read(row: &[u8]) -> Result<Self, Malformed> {
        let original = is_original(item::data(row)?);
        Ok(Self { price: item::PRICE.get(row)?, name: item::NAME.get(row)?, original })
    }
}

/// The columns of a stock that New-Order returns or copies.
struct OrderedStock {
    quantity: i32,
    brand: bool,
    dist_info: Text<24>,
}

/// Applies an order line of a district to its row of stock. `original` is that of the item.
fn take_for_order(
    row: &mut [u8],
    line: &OrderLineInput,
    w_id: WarehouseId,
    d_id: DistrictId,
    original: bool,
) -> Result<OrderedStock, Malformed> {
    let quantity = take_from_stock(row, line, w_id)?;
    let dist_info = stock::DIST.nth(row, usize::from(d_id.stock_column()) - 1)?;
    let brand = original && is_original(stock::data(row)?);
    Ok(OrderedStock { quantity, brand, dist_info })
}

/// Applies an order line of `home` to its row of stock (clause 2.4.2.2). Returns the remaining quantity.
pub(super) fn take_from_stock(
    row: &mut [u8],
    line: &OrderLineInput,
    home: WarehouseId,
) -> Result<i32, Malformed> {
    let left = left_in_stock(stock::QUANTITY.get(row)?, i32::from(line.quantity));
    stock::QUANTITY.set(row, &left)?;
    stock::YTD.add(row, u32::from(line.quantity))?;
    stock::ORDER_CNT.add(row, 1)?;
    if line.supply_w_id != home {
        stock::REMOTE_CNT.add(row, 1)?;
    }
    Ok(left)
}
