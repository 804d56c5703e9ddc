//! Lydite's own conditions as SQL queries over sets: a query sums or returns what breaks a condition. Where sums over a
//! warehouse differ from what was loaded, a second query names the rows.

use crate::facts::ConditionFinding;
use crate::sql::dialect::Dialect;
use crate::sql::findings::{EXAMPLES, ask};
use crate::sql::meta::{Admin, in_words};
use crate::sql::sql_error::SqlError;
use lydite_tpcc::consistency::{
    CUSTOMER_CONDITION, DISTRICT_CONDITION, ENTRIES_THAT_FIT, HISTORY_CONDITION, ITEM_CONDITION,
    ORDER_LINE_CONDITION, ORDERS_CONDITION, PAYMENTS, PRICES, STOCK_CONDITION, WAREHOUSE_CONDITION,
    exchanged, stock_residue,
};
use lydite_tpcc::meta::Played;
use lydite_tpcc::population::{INITIAL_OL_QUANTITY, INITIAL_PAYMENT, LineSums, Population};
use lydite_tpcc::rows::Address;
use lydite_tpcc::{Cents, Rate, WarehouseId};
use std::collections::BTreeMap;

/// A sum for each W_ID and D_ID.
type OfDistricts = BTreeMap<(i64, i64), i64>;

/// Condition on ORDER.
const REMOTE_ORDERS: &str = "\
     SELECT 'w_id=' || o_w_id || ' d_id=' || o_d_id || ' o_id=' || o_id || ': o_all_local ' || o_all_local || \
     ', o_carrier_id ' || coalesce(o_carrier_id, 0) AS example FROM orders \
     WHERE o_all_local < 0 OR o_all_local > 1 OR o_carrier_id < 1 OR o_carrier_id > 10 \
     UNION ALL SELECT 'w_id=' || w || ' d_id=' || d || ' o_id=' || o || \
     CASE WHEN says = 0 THEN ': o_all_local 1, a line of another warehouse' \
     ELSE ': o_all_local 0, no line of another warehouse' END \
     FROM (SELECT w, d, o, sum(says) AS says, sum(has) AS has \
     FROM (SELECT o_w_id AS w, o_d_id AS d, o_id AS o, 1 AS says, 0 AS has FROM orders WHERE o_all_local = 0 \
     UNION ALL SELECT ol_w_id, ol_d_id, ol_o_id, 0, 1 FROM order_line WHERE ol_supply_w_id <> ol_w_id \
     GROUP BY ol_w_id, ol_d_id, ol_o_id) AS parts GROUP BY w, d, o) AS counted WHERE says <> has";

/// Facts about a database that is checked.
#[derive(Clone, Copy)]
pub(crate) struct Known {
    /// Other transactions than the standard's that ran since the load.
    pub(crate) played: Played,
    /// True if OL_NUMBER of the lines of each order sums to what O_OL_CNT says.
    pub(crate) numbers_add_up: bool,
}

/// A check of one of the conditions.
struct Check<'a, A> {
    admin: &'a mut A,
    dialect: &'a Dialect,
    population: &'a Population,
    known: Known,
    finding: &'a mut ConditionFinding,
}

/// Evaluates one of Lydite's own conditions on a database that was loaded with `population`. Adds what breaks it to
/// `finding`.
pub(crate) fn evaluate<A: Admin>(
    admin: &mut A,
    dialect: &Dialect,
    population: &Population,
    known: Known,
    finding: &mut ConditionFinding,
) -> Result<(), SqlError> {
    let mut check = Check { admin, dialect, population, known, finding };
    match check.finding.condition.number {
        ITEM_CONDITION => check.item(),
        STOCK_CONDITION => check.stock(),
        ORDERS_CONDITION => check.also(REMOTE_ORDERS),
        ORDER_LINE_CONDITION => check.order_line(),
        CUSTOMER_CONDITION => check.customer(),
        HISTORY_CONDITION => check.history(),
        WAREHOUSE_CONDITION => check.warehouse(),
        DISTRICT_CONDITION => check.district(),
        number => Err(SqlError::Decode(format!("there is no condition {number}"))),
    }
}

/// Values of a row of an answer.
struct Values<'a> {
    columns: &'a [Option<&'a str>],
    next: usize,
}

impl Values<'_> {
    fn text(&mut self) -> Option<&str> {
        self.next += 1;
        self.columns.get(self.next - 1).copied().flatten()
    }

    /// Takes a whole number. Some databases return a sum with decimals.
    fn number(&mut self) -> Option<i64> {
        let text = self.text()?;
        text.split_once('.').map_or(text, |(whole, _)| whole).parse().ok()
    }

    /// Takes an amount that [`Dialect::money_text`] made.
    fn cents(&mut self) -> Option<Cents> {
        fixed(self.text()?, 2).map(Cents)
    }

    /// Takes a tax: a decimal, or the whole number of ten-thousandths that SQLite has.
    fn rate(&mut self) -> Option<Rate> {
        let text = self.text()?;
        let value = if text.contains('.') { fixed(text, 4)? } else { text.parse().ok()? };
        i32::try_from(value).ok().map(Rate)
    }
}

/// Reads a decimal as a whole number of its unit with this many digits after the point.
fn fixed(text: &str, digits: usize) -> Option<i64> {
    let (sign, text) = text.strip_prefix('-').map_or((1, text), |text| (-1, text));
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let kept = fraction.get(..digits.min(fraction.len()))?;
    (fraction[kept.len()..].bytes().all(|byte| byte == b'0')).then_some(())?;
    Some(sign * format!("{whole}{kept:0<digits$}").parse::<i64>().ok()?)
}

impl<A: Admin> Check<'_, A> {
    /// Adds an offender.
    fn offend(&mut self, example: String) {
        self.finding.offenders = self.finding.offenders.saturating_add(1);
        if self.finding.examples.len() < EXAMPLES {
            self.finding.examples.push(example);
        }
    }

    /// Adds the offenders that a query returns.
    fn also(&mut self, offenders: &str) -> Result<(), SqlError> {
        let mut more = ConditionFinding { offenders: 0, examples: Vec::new(), ..self.finding.clone() };
        ask(self.admin, offenders, &mut more)?;
        self.finding.offenders = self.finding.offenders.saturating_add(more.offenders);
        self.finding.examples.extend(more.examples);
        self.finding.examples.truncate(EXAMPLES);
        Ok(())
    }

    /// Reads the rows of an answer with `read`, which returns none for a row that it does not understand.
    fn rows<T>(
        &mut self,
        sql: &str,
        read: impl Fn(&mut Values<'_>) -> Option<T>,
    ) -> Result<Vec<T>, SqlError> {
        let (mut rows, mut strange) = (Vec::new(), None);
        self.admin.query_each(sql, &mut |columns| match read(&mut Values { columns, next: 0 }) {
            Some(row) => rows.push(row),
            None => strange = Some(in_words(columns)),
        })?;
        match strange {
            Some(row) => {
                Err(SqlError::Decode(format!("{} has the row {row}", self.finding.condition.clause)))
            }
            None => Ok(rows),
        }
    }

    /// Returns the expression for the text of an amount that may be null.
    fn sum(&self, column: &str) -> String {
        (self.dialect.money_text)(&format!("coalesce({column}, 0.00)"))
    }

    fn amount(&self, amount: Cents) -> String {
        (self.dialect.amount)(amount)
    }

    fn item(&mut self) -> Result<(), SqlError> {
        let sql = format!(
            "SELECT count(*), {}, {} FROM item",
            self.sum("sum(i_price)"),
            self.sum("sum(i_price * i_id)")
        );
        let found = self.rows(&sql, |row| Some((row.number()?, row.cents()?, row.cents()?)))?;
        let (mut count, mut sum, mut weighted) = (0, Cents(0), Cents(0));
        for item in self.population.items() {
            count += 1;
            sum += item.price;
            weighted += item.price.times(item.id.0);
        }
        let Some(&(found_count, found_sum, found_weighted)) = found.first() else { return Ok(()) };
        if (found_count, found_sum) != (count, sum) {
            self.offend(format!(
                "all: {found_count} items, sum of i_price {found_sum}; {count} and {sum} were loaded"
            ));
        } else if self.known.played.update_item || found_weighted == weighted {
            return Ok(());
        }
        if self.known.played.update_item {
            return Ok(());
        }
        let price = (self.dialect.money_text)("i_price");
        let sql = format!("SELECT i_id, {price} FROM item ORDER BY i_id");
        let found: BTreeMap<i64, Cents> =
            self.rows(&sql, |row| Some((row.number()?, row.cents()?)))?.into_iter().collect();
        let mut repriced = Vec::new();
        for item in self.population.items() {
            let loaded = item.price;
            match found.get(&item.id.get()) {
                Some(&price) if price == loaded => {}
                Some(price) => {
                    repriced.push((item.id, *price, loaded));
                    self.offend(format!("i_id={}: i_price {price}, and {loaded} was loaded", item.id));
                }
                None => self.offend(format!("i_id={}: no row, and i_price {loaded} was loaded", item.id)),
            }
        }
        if let Some(why) = exchanged(&repriced)
            && let Some(last) = self.finding.examples.last_mut()
        {
            *last += &format!(": {why}");
        }
        Ok(())
    }

    fn stock(&mut self) -> Result<(), SqlError> {
        let orders = self.population.size.orders();
        // The `+ 0` keeps MariaDB from an index of the lines by stock, through which it looks up each line by itself.
        // SQLite joins by an index that it makes of columns alone.
        let [supply, item] = if self.dialect.joins_by_row {
            ["ol_supply_w_id + 0", "ol_i_id + 0"]
        } else {
            ["ol_supply_w_id", "ol_i_id"]
        };
        let joined = format!(
            "stock LEFT JOIN (SELECT {supply} AS w, {item} AS i, sum(ol_quantity) AS taken, \
             count(*) AS line_count, sum(CASE WHEN ol_supply_w_id <> ol_w_id THEN 1 ELSE 0 END) AS remote \
             FROM order_line WHERE ol_o_id > {orders} GROUP BY {supply}, {item}) AS l \
             ON w = s_w_id AND i = s_i_id"
        );
        // dUpdateStock takes stock without lines.
        let differs = if self.known.played.update_stock { "<" } else { "<>" };
        let bad = format!(
            "s_quantity < 10 OR s_quantity > 100 OR s_ytd < s_order_cnt OR s_ytd > 10 * s_order_cnt \
             OR s_remote_cnt < 0 OR s_remote_cnt > s_order_cnt OR s_ytd {differs} coalesce(taken, 0) \
             OR s_order_cnt {differs} coalesce(line_count, 0) OR s_remote_cnt {differs} coalesce(remote, 0)"
        );
        let sql = format!(
            "SELECT s_w_id, count(*), sum((s_quantity + s_ytd) % 91), sum(((s_quantity + s_ytd) % 91) * s_i_id), \
             sum(CASE WHEN {bad} THEN 1 ELSE 0 END) FROM {joined} GROUP BY s_w_id"
        );
        let found = self.rows(&sql, |row| {
            Some((row.number()?, (row.number()?, row.number()?, row.number()?), row.number()?))
        })?;
        if found.iter().any(|(.., bad)| *bad > 0) {
            self.also(&format!(
                "SELECT 's_w_id=' || s_w_id || ' s_i_id=' || s_i_id || ': s_quantity ' || s_quantity || ', s_ytd ' || \
                 s_ytd || ', s_order_cnt ' || s_order_cnt || ', s_remote_cnt ' || s_remote_cnt || \
                 '; lines since the load: quantity ' || coalesce(taken, 0) || ', number ' || coalesce(line_count, 0) || \
                 ', remote ' || coalesce(remote, 0) AS example FROM {joined} WHERE {bad}"
            ))?;
        }
        let found: BTreeMap<i64, (i64, i64, i64)> = found.into_iter().map(|(w, sums, _)| (w, sums)).collect();
        for w_id in self.population.warehouse_ids() {
            let (mut count, mut sum, mut weighted) = (0, 0, 0);
            for quantity in self.population.stock_quantities(w_id) {
                count += 1;
                sum += i64::from(stock_residue(quantity, 0));
                weighted += i64::from(stock_residue(quantity, 0)) * count;
            }
            let found = found.get(&w_id.get()).copied().unwrap_or_default();
            if found != (count, sum, weighted) {
                self.name_stock(w_id, found.0, count)?;
            }
        }
        Ok(())
    }

    /// Names the rows of a warehouse's stock that can't derive from the loaded ones.
    fn name_stock(&mut self, w_id: WarehouseId, found: i64, loaded: i64) -> Result<(), SqlError> {
        if found != loaded {
            self.offend(format!("s_w_id={w_id}: {found} rows of stock, and {loaded} were loaded"));
        }
        // Reading all rows of many warehouses takes long, and the first ones are named.
        if self.finding.examples.len() >= EXAMPLES {
            self.finding.offenders = self.finding.offenders.saturating_add(1);
            return Ok(());
        }
        let sql =
            format!("SELECT s_i_id, s_quantity, s_ytd FROM stock WHERE s_w_id = {w_id} ORDER BY s_i_id");
        let rows = self.rows(&sql, |row| Some((row.number()?, row.number()?, row.number()?)))?;
        let quantities: Vec<i32> = self.population.stock_quantities(w_id).collect();
        for (i_id, quantity, ytd) in rows {
            let loaded = usize::try_from(i_id - 1).ok().and_then(|place| quantities.get(place));
            let is_same = loaded.is_some_and(|&loaded| (quantity + ytd - i64::from(loaded)) % 91 == 0);
            if !is_same {
                let was = loaded.map_or("none".to_owned(), |loaded| loaded.to_string());
                self.offend(format!(
                    "s_w_id={w_id} s_i_id={i_id}: s_quantity {quantity}, s_ytd {ytd}, loaded s_quantity {was}"
                ));
            }
        }
        Ok(())
    }

    fn order_line(&mut self) -> Result<(), SqlError> {
        let orders = self.population.size.orders();
        let key =
            "'w_id=' || ol_w_id || ' d_id=' || ol_d_id || ' o_id=' || ol_o_id || ' number=' || ol_number";
        let amount = (self.dialect.money_text)("ol_amount");
        let wrong = if self.known.played.update_item {
            // Items have exchanged their prices.
            let [least, most] = [PRICES.start(), PRICES.end()].map(|&price| self.amount(price));
            let cent = self.amount(Cents(1));
            format!(
                "ol_amount < ol_quantity * {least} OR ol_amount > ol_quantity * {most} \
                 OR ol_amount % (nullif(ol_quantity, 0) * {cent}) <> 0"
            )
        } else {
            "ol_amount <> ol_quantity * price".to_owned()
        };
        self.also(&format!(
            "SELECT {key} || ': ol_i_id ' || ol_i_id || ', ol_quantity ' || ol_quantity || ', ol_amount ' || {amount} || \
             ', i_price ' || {price} AS example FROM order_line \
             LEFT JOIN (SELECT i_id AS i, max(i_price) AS price FROM item GROUP BY i_id) AS priced ON i = ol_i_id \
             WHERE ol_o_id > {orders} AND (price IS NULL OR ol_quantity < 1 OR ol_quantity > 10 OR {wrong})",
            price = self.sum("price"),
        ))?;
        let lines = format!(
            "SELECT ol_w_id, ol_d_id, count(*), sum(ol_i_id), {}, \
             sum(CASE WHEN ol_quantity <> {INITIAL_OL_QUANTITY} OR ol_supply_w_id <> ol_w_id THEN 1 ELSE 0 END) \
             FROM order_line WHERE ol_o_id <= {orders} GROUP BY ol_w_id, ol_d_id",
            self.sum("sum(ol_amount)")
        );
        let lines = self.rows(&lines, |row| {
            let key = (row.number()?, row.number()?);
            let (lines, items) = (row.number()? as u64, row.number()? as u64);
            Some((key, (LineSums { lines, items, amount: row.cents()? }, row.number()?)))
        })?;
        if lines.iter().any(|(_, (_, bad))| *bad > 0) {
            self.also(&format!(
                "SELECT {key} || ': ol_quantity ' || ol_quantity || ', ol_supply_w_id ' || ol_supply_w_id || \
                 ' in a loaded line' AS example FROM order_line \
                 WHERE ol_o_id <= {orders} AND (ol_quantity <> {INITIAL_OL_QUANTITY} OR ol_supply_w_id <> ol_w_id)"
            ))?;
        }
        let lines: BTreeMap<(i64, i64), (LineSums, i64)> = lines.into_iter().collect();
        let numbers = if self.known.numbers_add_up { None } else { Some(self.numbers()?) };
        for w_id in self.population.warehouse_ids() {
            for (loaded, d_id) in self.population.line_sums(w_id).into_iter().zip(1_i64..) {
                let key = (i64::from(w_id.0), d_id);
                let (found, _) = lines.get(&key).copied().unwrap_or_default();
                if found != loaded {
                    self.offend(format!(
                        "w_id={w_id} d_id={d_id}: loaded lines are {found}; {loaded} were loaded"
                    ));
                }
                let Some([numbers, counted]) = &numbers else { continue };
                let [numbers, counted] =
                    [numbers, counted].map(|of| of.get(&key).copied().unwrap_or_default());
                if numbers != counted {
                    self.offend(format!(
                        "w_id={w_id} d_id={d_id}: sum of ol_number {numbers}, and {counted} by o_ol_cnt"
                    ));
                }
            }
        }
        Ok(())
    }

    /// Returns, by district, the sum of OL_NUMBER and the one that O_OL_CNT gives.
    fn numbers(&mut self) -> Result<[OfDistricts; 2], SqlError> {
        let numbers = "SELECT ol_w_id, ol_d_id, sum(ol_number) FROM order_line GROUP BY ol_w_id, ol_d_id";
        let numbers = self.rows(numbers, |row| Some(((row.number()?, row.number()?), row.number()?)))?;
        let counts = "SELECT o_w_id, o_d_id, sum((o_ol_cnt + 0) * (o_ol_cnt + 1)) FROM orders \
                      GROUP BY o_w_id, o_d_id";
        let counts = self.rows(counts, |row| Some(((row.number()?, row.number()?), row.number()? / 2)))?;
        Ok([numbers, counts].map(|sums| sums.into_iter().collect()))
    }

    fn customer(&mut self) -> Result<(), SqlError> {
        let credit = (self.dialect.exact)("c_credit");
        let (delivered, initial) = (self.population.size.delivered(), self.amount(INITIAL_PAYMENT));
        // The conditions on HISTORY and condition 10 see the one payment of each customer that was loaded.
        let joined = format!(
            "customer LEFT JOIN (SELECT h_c_w_id, h_c_d_id, h_c_id, count(*) AS payments, sum(h_amount) AS paid \
             FROM history WHERE h_data LIKE '% %' GROUP BY h_c_w_id, h_c_d_id, h_c_id) AS h \
             ON h_c_w_id = c_w_id AND h_c_d_id = c_d_id AND h_c_id = c_id \
             LEFT JOIN (SELECT o_w_id, o_d_id, o_c_id, count(*) AS deliveries FROM orders \
             WHERE o_id > {delivered} AND o_carrier_id IS NOT NULL GROUP BY o_w_id, o_d_id, o_c_id) AS o \
             ON o_w_id = c_w_id AND o_d_id = c_d_id AND o_c_id = c_id"
        );
        // An entry of C_DATA ends with this character, which the loaded texts do not have.
        let entries = "(length(c_data) - length(replace(c_data, '|', '')))";
        let bad = format!(
            "c_payment_cnt - 1 <> coalesce(payments, 0) OR c_ytd_payment - {initial} <> coalesce(paid, 0) \
             OR c_delivery_cnt <> coalesce(deliveries, 0) \
             OR ({credit} = 'BC' AND ({entries} > c_payment_cnt - 1 OR {entries} < \
             CASE WHEN c_payment_cnt - 1 > {ENTRIES_THAT_FIT} THEN {ENTRIES_THAT_FIT} ELSE c_payment_cnt - 1 END))"
        );
        let sql = format!(
            "SELECT c_w_id, sum(CASE WHEN {credit} = 'GC' THEN 1 ELSE 0 END), \
             sum(CASE WHEN {credit} = 'GC' THEN length(c_data) ELSE 0 END), \
             sum(CASE WHEN {bad} THEN 1 ELSE 0 END) FROM {joined} GROUP BY c_w_id"
        );
        let found =
            self.rows(&sql, |row| Some((row.number()?, (row.number()?, row.number()?), row.number()?)))?;
        if found.iter().any(|(.., bad)| *bad > 0) {
            self.also(&format!(
                "SELECT 'w_id=' || c_w_id || ' d_id=' || c_d_id || ' c_id=' || c_id || ': c_payment_cnt ' || \
                 c_payment_cnt || ' of ' || (1 + coalesce(payments, 0)) || ', c_ytd_payment ' || {} || ' of ' || {} || \
                 ', c_delivery_cnt ' || c_delivery_cnt || ' of ' || coalesce(deliveries, 0) || \
                 ', c_data has ' || {entries} || ' entries for ' || (c_payment_cnt - 1) || ' payments since the load, \
                 c_credit ' || c_credit AS example FROM {joined} WHERE {bad}",
                (self.dialect.money_text)("c_ytd_payment"),
                (self.dialect.money_text)(&format!("({initial} + coalesce(paid, 0.00))")),
            ))?;
        }
        let found: BTreeMap<i64, (i64, i64)> = found.into_iter().map(|(w, sums, _)| (w, sums)).collect();
        for w_id in self.population.warehouse_ids() {
            let (mut count, mut length) = (0, 0);
            for customer in self.population.customers(w_id).filter(|customer| &*customer.credit == "GC") {
                count += 1;
                length += customer.data.len() as i64;
            }
            let found = found.get(&w_id.get()).copied().unwrap_or_default();
            if found != (count, length) {
                self.offend(format!(
                    "w_id={w_id}: {} customers with good credit have {} characters of c_data in all; {count} with {length} \
                     were loaded, and no payment changes them",
                    found.0, found.1
                ));
            }
        }
        self.entries()
    }

    /// Finds payments of customers with bad credit that C_DATA does not have, where all of them fit.
    fn entries(&mut self) -> Result<(), SqlError> {
        let most = ENTRIES_THAT_FIT + 1;
        let credit = (self.dialect.exact)("c_credit");
        let amount = (self.dialect.money_text)("h_amount");
        let entries = (self.dialect.exact)("('|' || entries)");
        let entry = format!(
            "h_c_id || ' ' || h_c_d_id || ' ' || h_c_w_id || ' ' || h_d_id || ' ' || h_w_id || ' ' || {amount}"
        );
        self.also(&format!(
            "SELECT 'w_id=' || w || ' d_id=' || d || ' c_id=' || c || ': c_data lacks the entry of a payment: ' || {entry} AS example \
             FROM history JOIN (SELECT c_w_id AS w, c_d_id AS d, c_id AS c, max(c_data) AS entries FROM customer \
             WHERE {credit} = 'BC' AND c_payment_cnt > 1 AND c_payment_cnt <= {most} GROUP BY c_w_id, c_d_id, c_id) AS b \
             ON w = h_c_w_id AND d = h_c_d_id AND c = h_c_id \
             WHERE h_data LIKE '% %' AND {entries} NOT LIKE ('%|' || {entry} || '|%')"
        ))
    }

    fn history(&mut self) -> Result<(), SqlError> {
        let [least, most] = [PAYMENTS.start(), PAYMENTS.end()].map(|&amount| self.amount(amount));
        let (initial, customers) = (self.amount(INITIAL_PAYMENT), self.population.size.customers());
        let amount = (self.dialect.money_text)("h_amount");
        let [data, names] = ["h_data", "names"].map(self.dialect.exact);
        // The loaded texts have no blanks.
        self.also(&format!(
            "SELECT 'w_id=' || h_w_id || ' d_id=' || h_d_id || ' of customer w_id=' || h_c_w_id || ' d_id=' || h_c_d_id || \
             ' c_id=' || h_c_id || ': h_amount ' || {amount} || ', h_data ' || h_data AS example FROM history \
             LEFT JOIN (SELECT d_w_id AS w, d_id AS d, max(w_name || '    ' || d_name) AS names FROM district \
             JOIN warehouse ON w_id = d_w_id GROUP BY d_w_id, d_id) AS n ON w = h_w_id AND d = h_d_id \
             WHERE CASE WHEN h_data LIKE '% %' \
             THEN CASE WHEN {data} = {names} AND h_amount >= {least} AND h_amount <= {most} THEN 0 ELSE 1 END \
             ELSE CASE WHEN h_amount = {initial} AND h_w_id = h_c_w_id AND h_d_id = h_c_d_id THEN 0 ELSE 1 END END = 1 \
             UNION ALL SELECT 'w_id=' || d_w_id || ' d_id=' || d_id || ': ' || coalesce(loaded, 0) || \
             ' rows without names in h_data, and {customers} were loaded' FROM district \
             LEFT JOIN (SELECT h_c_w_id, h_c_d_id, count(*) AS loaded FROM history WHERE h_data NOT LIKE '% %' \
             GROUP BY h_c_w_id, h_c_d_id) AS h ON h_c_w_id = d_w_id AND h_c_d_id = d_id \
             WHERE coalesce(loaded, 0) <> {customers}"
        ))
    }

    fn warehouse(&mut self) -> Result<(), SqlError> {
        let sql = "SELECT w_id, w_name, w_street_1, w_street_2, w_city, w_state, w_zip, w_tax FROM warehouse \
                   ORDER BY w_id";
        let rows = self.rows(sql, |row| Some((row.number()?, place(row)?)))?;
        let found: BTreeMap<i64, Place> = rows.into_iter().collect();
        for w_id in self.population.warehouse_ids() {
            let loaded = self.population.warehouse(w_id);
            let loaded = Place::of(&loaded.name, &loaded.address, loaded.tax);
            if let Some(place) = found.get(&i64::from(w_id.0)).filter(|place| **place != loaded) {
                self.offend(format!("w_id={w_id}: {place}; {loaded} was loaded"));
            }
        }
        Ok(())
    }

    fn district(&mut self) -> Result<(), SqlError> {
        let sql = "SELECT d_w_id, d_id, d_name, d_street_1, d_street_2, d_city, d_state, d_zip, d_tax FROM district";
        let rows = self.rows(sql, |row| Some(((row.number()?, row.number()?), place(row)?)))?;
        let found: BTreeMap<(i64, i64), Place> = rows.into_iter().collect();
        for w_id in self.population.warehouse_ids() {
            for district in self.population.districts(w_id) {
                let loaded = Place::of(&district.name, &district.address, district.tax);
                let key = (i64::from(w_id.0), i64::from(district.id.0));
                if let Some(place) = found.get(&key).filter(|place| **place != loaded) {
                    self.offend(format!("w_id={w_id} d_id={}: {place}; {loaded} was loaded", district.id));
                }
            }
        }
        Ok(())
    }
}

/// Name, address and tax of a warehouse or a district.
#[derive(Debug, PartialEq, Eq)]
struct Place {
    words: [String; 6],
    tax: Rate,
}

impl Place {
    fn of(name: &str, address: &Address, tax: Rate) -> Self {
        let Address { street_1, street_2, city, state, zip } = address;
        let words = [name, street_1, street_2, city, state, zip].map(str::to_owned);
        Self { words, tax }
    }
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}, tax {}", self.words.join(" "), self.tax)
    }
}

/// Reads the last columns of a row.
fn place(row: &mut Values<'_>) -> Option<Place> {
    let mut words: [String; 6] = Default::default();
    for word in &mut words {
        *word = row.text()?.to_owned();
    }
    Some(Place { words, tax: row.rate()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_and_taxes_are_read_in_the_forms_of_all_databases() {
        let cents: Vec<Option<i64>> = ["12.34", "-0.05", "7", "7.5", "1.2300", "1.234", "x"]
            .iter()
            .map(|text| fixed(text, 2))
            .collect();
        assert_eq!(cents, [Some(1_234), Some(-5), Some(700), Some(750), Some(123), None, None]);
        let rate = |text| Values { columns: &[Some(text)], next: 0 }.rate();
        assert_eq!(
            [rate("0.1234"), rate("1234"), rate(".1"), rate("a")].map(|rate| rate.map(|rate| rate.0)),
            [Some(1_234), Some(1_234), Some(1_000), None]
        );
    }
}
