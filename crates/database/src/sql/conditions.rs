//! The twelve consistency conditions (clause 3.3.2) as SQL queries over sets. Each query returns the keys that violate the
//! condition. Lydite's own conditions are in `own_conditions.rs`.

use crate::facts::ConditionFinding;
use crate::kv::meta::initial_rows;
use crate::sql::dialect::Dialect;
use crate::sql::findings::ask;
use crate::sql::meta::Admin;
use crate::sql::own_conditions;
use crate::sql::sql_error::SqlError;
use lydite_tpcc::DISTRICTS_PER_WAREHOUSE;
use lydite_tpcc::consistency::{
    CONDITION_COUNT, Condition, ORDER_LINE_CONDITION, ORDERS_CONDITION, not_compared,
};
use lydite_tpcc::meta::DatabaseMeta;
use lydite_tpcc::schema::Table;
use std::time::Instant;

/// Sum of the delivered lines of each customer. Joins lines with their orders. Most lines are loaded ones with an amount
/// of zero, which no sum needs.
const DELIVERED: &str = "SELECT o_w_id AS w, o_d_id AS d, o_c_id AS c, sum(amount) AS delivered \
                         FROM (SELECT ol_w_id, ol_d_id, ol_o_id, sum(ol_amount) AS amount FROM order_line \
                         WHERE ol_delivery_d IS NOT NULL AND ol_amount <> 0 \
                         GROUP BY ol_w_id, ol_d_id, ol_o_id) AS summed \
                         JOIN orders ON o_w_id = ol_w_id AND o_d_id = ol_d_id AND o_id = ol_o_id \
                         GROUP BY o_w_id, o_d_id, o_c_id";

/// [`DELIVERED`] by an aggregation of lines and orders. MariaDB looks up each order of a join by itself, and over
/// Spider each lookup is a statement to a shard.
const DELIVERED_WITHOUT_JOIN: &str = "SELECT w, d, c, sum(amount) AS delivered \
                         FROM (SELECT w, d, o, max(c) AS c, sum(amount) AS amount \
                         FROM (SELECT ol_w_id AS w, ol_d_id AS d, ol_o_id AS o, 0 AS c, sum(ol_amount) AS amount \
                         FROM order_line WHERE ol_delivery_d IS NOT NULL AND ol_amount <> 0 \
                         GROUP BY ol_w_id, ol_d_id, ol_o_id UNION ALL SELECT o_w_id, o_d_id, o_id, o_c_id, 0 FROM orders) AS parts \
                         GROUP BY w, d, o) AS summed \
                         GROUP BY w, d, c";

/// Condition 2. The `+ 0` keeps MariaDB from looking up a maximum in the index, which over Spider leaves out whole
/// warehouses.
const NEXT_ORDERS: &str = "\
     SELECT 'w_id=' || d_w_id || ' d_id=' || d_id || ': d_next_o_id ' || d_next_o_id || ', max o_id ' || \
     coalesce(last_order, 0) || ', max no_o_id ' || coalesce(last_new, 0) AS example FROM district \
     LEFT JOIN (SELECT o_w_id, o_d_id, max(o_id + 0) AS last_order FROM orders GROUP BY o_w_id, o_d_id) AS o \
     ON o_w_id = d_w_id AND o_d_id = d_id \
     LEFT JOIN (SELECT no_w_id, no_d_id, max(no_o_id + 0) AS last_new FROM new_order \
     GROUP BY no_w_id, no_d_id) AS n ON no_w_id = d_w_id AND no_d_id = d_id \
     WHERE d_next_o_id - 1 <> coalesce(last_order, 0) \
     OR (last_new IS NOT NULL AND last_new <> d_next_o_id - 1)";

/// Condition 3.
const GAPS_IN_NEW_ORDERS: &str = "\
     SELECT 'w_id=' || no_w_id || ' d_id=' || no_d_id || ': no_o_id ' || min(no_o_id) || ' to ' || \
     max(no_o_id) || ', rows ' || count(*) AS example FROM new_order GROUP BY no_w_id, no_d_id \
     HAVING max(no_o_id) - min(no_o_id) + 1 <> count(*)";

/// Condition 4.
const LINES_OF_DISTRICTS: &str = "\
     SELECT 'w_id=' || d_w_id || ' d_id=' || d_id || ': sum of o_ol_cnt ' || coalesce(ordered, 0) || \
     ', order lines ' || coalesce(line_count, 0) AS example FROM district \
     LEFT JOIN (SELECT o_w_id, o_d_id, sum(o_ol_cnt) AS ordered FROM orders GROUP BY o_w_id, o_d_id) AS o \
     ON o_w_id = d_w_id AND o_d_id = d_id \
     LEFT JOIN (SELECT ol_w_id, ol_d_id, count(*) AS line_count FROM order_line GROUP BY ol_w_id, ol_d_id) AS l \
     ON ol_w_id = d_w_id AND ol_d_id = d_id WHERE coalesce(ordered, 0) <> coalesce(line_count, 0)";

/// Condition 5.
const UNDELIVERED_ORDERS: &str = "\
     SELECT 'w_id=' || w || ' d_id=' || d || ' o_id=' || o || \
     CASE WHEN orders = 0 THEN ': in new_order without an order' \
     WHEN fresh = 0 THEN ': undelivered, but not in new_order' \
     ELSE ': delivered, but still in new_order' END AS example \
     FROM (SELECT w, d, o, sum(placed) AS orders, sum(undelivered) AS undelivered, sum(waiting) AS fresh \
     FROM (SELECT o_w_id AS w, o_d_id AS d, o_id AS o, 1 AS placed, \
     CASE WHEN o_carrier_id IS NULL THEN 1 ELSE 0 END AS undelivered, 0 AS waiting FROM orders \
     UNION ALL SELECT no_w_id, no_d_id, no_o_id, 0, 0, 1 FROM new_order) AS parts GROUP BY w, d, o) AS counted \
     WHERE undelivered <> fresh";

/// Condition 6.
const LINES_OF_ORDERS: &str = "\
     SELECT 'w_id=' || w || ' d_id=' || d || ' o_id=' || o || ': o_ol_cnt ' || sum(ordered) || ', lines ' || \
     sum(line_count) AS example FROM (SELECT o_w_id AS w, o_d_id AS d, o_id AS o, o_ol_cnt AS ordered, 0 AS line_count \
     FROM orders UNION ALL SELECT ol_w_id, ol_d_id, ol_o_id, 0, count(*) FROM order_line \
     GROUP BY ol_w_id, ol_d_id, ol_o_id) AS counted GROUP BY w, d, o HAVING sum(ordered) <> sum(line_count)";

/// Condition 7. Condition 6 finds lines without an order.
const DELIVERED_LINES: &str = "\
     SELECT 'w_id=' || w || ' d_id=' || d || ' o_id=' || o || ': ' || delivered || ' of ' || line_count || \
     ' lines delivered, order ' || CASE WHEN carried = 0 THEN 'undelivered' ELSE 'delivered' END AS example \
     FROM (SELECT w, d, o, sum(placed) AS orders, sum(carried) AS carried, sum(line_count) AS line_count, \
     sum(delivered) AS delivered FROM (SELECT o_w_id AS w, o_d_id AS d, o_id AS o, 1 AS placed, \
     CASE WHEN o_carrier_id IS NULL THEN 0 ELSE 1 END AS carried, 0 AS line_count, 0 AS delivered FROM orders \
     UNION ALL SELECT ol_w_id, ol_d_id, ol_o_id, 0, 0, count(*), count(ol_delivery_d) FROM order_line \
     GROUP BY ol_w_id, ol_d_id, ol_o_id) AS parts GROUP BY w, d, o) AS counted \
     WHERE orders = 1 AND delivered <> carried * line_count";

/// Conditions that one query finds to hold, over one reading of the same large tables.
const TOGETHER: [&[u8]; 2] = [&[4, 6, 7, ORDERS_CONDITION, ORDER_LINE_CONDITION], &[10, 12]];

/// 1 if a line of an order comes from another warehouse, else 0.
const REMOTE: &str = "max(CASE WHEN ol_supply_w_id <> ol_w_id THEN 1 ELSE 0 END)";

/// Groups conditions that are evaluated together, by their first one. See [`evaluate`].
#[must_use]
pub fn groups(conditions: &[Condition]) -> Vec<Vec<Condition>> {
    let mut groups: Vec<Vec<Condition>> = Vec::new();
    for &condition in conditions {
        let numbers = TOGETHER.iter().find(|numbers| numbers.contains(&condition.number));
        let same =
            numbers.and_then(|numbers| groups.iter_mut().find(|group| numbers.contains(&group[0].number)));
        match same {
            Some(group) => group.push(condition),
            None => groups.push(vec![condition]),
        }
    }
    groups
}

/// Returns the work on a group, for errors.
#[must_use]
pub fn doing(group: &[Condition]) -> String {
    let names: Vec<&str> = group.iter().map(|condition| condition.clause).collect();
    let noun = if group.len() == 1 { "condition" } else { "conditions" };
    format!("check {noun} {}", names.join(", "))
}

/// Returns a query for the number of orders that break condition 4, 6, 7 or, if `own`, what Lydite's own conditions say
/// of an order: O_ALL_LOCAL, O_CARRIER_ID, and the sum of OL_NUMBER. They may hold nevertheless: conditions on a district
/// allow differences between its orders that cancel each other out.
fn strange_orders(dialect: &Dialect, own: bool) -> String {
    if dialect.joins_by_row {
        let lines = format!(", -{REMOTE}, -2 * sum(ol_number)");
        let [order, lines, differ] = if own {
            let order = ", CASE WHEN o_carrier_id < 1 OR o_carrier_id > 10 THEN 2 WHEN o_all_local = 0 THEN 1 \
                         WHEN o_all_local = 1 THEN 0 ELSE 2 END AS remote, (o_ol_cnt + 0) * (o_ol_cnt + 1) AS numbers";
            [order, &lines, " OR sum(remote) <> 0 OR sum(numbers) <> 0"]
        } else {
            [""; 3]
        };
        return format!(
            "SELECT count(*) FROM (SELECT w FROM (SELECT o_w_id AS w, o_d_id AS d, o_id AS o, o_ol_cnt AS line_count, \
             CASE WHEN o_carrier_id IS NULL THEN 0 ELSE o_ol_cnt END AS delivered{order} FROM orders \
             UNION ALL SELECT ol_w_id, ol_d_id, ol_o_id, -count(*), -count(ol_delivery_d){lines} FROM order_line \
             GROUP BY ol_w_id, ol_d_id, ol_o_id) AS parts GROUP BY w, d, o \
             HAVING sum(line_count) <> 0 OR sum(delivered) <> 0{differ}) AS strange"
        );
    }
    let lines = format!(", sum(ol_number) AS numbers, {REMOTE} AS remote");
    let [lines, hold] = if own {
        let hold = " AND o_all_local = 1 - remote AND (o_carrier_id IS NULL OR o_carrier_id BETWEEN 1 AND 10) \
                    AND 2 * numbers = (o_ol_cnt + 0) * (o_ol_cnt + 1)";
        [&lines, hold]
    } else {
        [""; 2]
    };
    // The counts find orders without lines, which the join leaves out, and orders that are there twice.
    format!(
        "SELECT (SELECT 2 * count(*) FROM orders) - count(o_id) \
         - (SELECT count(*) FROM (SELECT o_id FROM orders GROUP BY o_w_id, o_d_id, o_id) AS found) + sum(CASE WHEN line_count = o_ol_cnt \
         AND delivered = CASE WHEN o_carrier_id IS NULL THEN 0 ELSE o_ol_cnt END{hold} THEN 0 ELSE 1 END) \
         FROM (SELECT ol_w_id, ol_d_id, ol_o_id, count(*) AS line_count, count(ol_delivery_d) AS delivered{lines} \
         FROM order_line GROUP BY ol_w_id, ol_d_id, ol_o_id) AS l \
         LEFT JOIN orders ON o_w_id = ol_w_id AND o_d_id = ol_d_id AND o_id = ol_o_id"
    )
}

/// Returns a query for the number of customers that break condition 10 or 12.
fn strange_customers(dialect: &Dialect) -> String {
    format!(
        "SELECT count(*) FROM {} WHERE c_balance <> coalesce(delivered, 0) - coalesce(paid, 0) \
         OR c_balance + c_ytd_payment <> coalesce(delivered, 0)",
        balances(delivered(dialect))
    )
}

fn delivered(dialect: &Dialect) -> &'static str {
    if dialect.joins_by_row { DELIVERED_WITHOUT_JOIN } else { DELIVERED }
}

/// Returns the join of customers with what was delivered to them, and with what they paid.
fn balances(delivered: &str) -> String {
    format!(
        "customer LEFT JOIN ({delivered}) AS o ON w = c_w_id AND d = c_d_id AND c = c_id \
         LEFT JOIN (SELECT h_c_w_id, h_c_d_id, h_c_id, sum(h_amount) AS paid FROM history \
         GROUP BY h_c_w_id, h_c_d_id, h_c_id) AS h ON h_c_w_id = c_w_id AND h_c_d_id = c_d_id AND h_c_id = c_id"
    )
}

/// Returns the query for the offenders of a condition: texts with the key and the values that disagree. Rows that are
/// never deleted (clause 1.4.11) must exist, because otherwise all conditions would hold on an empty database. `meta`
/// describes the loaded database.
fn offenders(condition: Condition, dialect: &Dialect, meta: &DatabaseMeta) -> String {
    let districts = districts(meta);
    let delivered_before = meta.size.delivered();
    let money = dialect.money_text;
    // A sum over no rows is null.
    let sum = |column: &str| money(&format!("coalesce({column}, 0.00)"));
    let delivered = delivered(dialect);
    match condition.number {
        1 => format!(
            "SELECT 'w_id=' || w_id || ': w_ytd ' || {} || ', sum of d_ytd ' || {} AS example \
             FROM warehouse LEFT JOIN (SELECT d_w_id, sum(d_ytd) AS total FROM district GROUP BY d_w_id) AS d \
             ON d_w_id = w_id WHERE w_ytd <> coalesce(total, 0) \
             UNION ALL SELECT 'all: ' || found || ' warehouses, ' || value || ' were loaded' \
             FROM (SELECT count(*) AS found FROM warehouse) AS w, lydite_meta \
             WHERE name = 'warehouses' AND value <> {} \
             UNION ALL SELECT 'w_id=' || w_id || ': ' || districts || ' districts instead of ' || {districts} \
             FROM (SELECT w_id, count(d_id) AS districts FROM warehouse LEFT JOIN district ON d_w_id = w_id \
             GROUP BY w_id) AS n \
             WHERE districts <> {districts}",
            money("w_ytd"),
            sum("total"),
            (dialect.as_text)("found")
        ),
        2 => NEXT_ORDERS.into(),
        3 => GAPS_IN_NEW_ORDERS.into(),
        4 => LINES_OF_DISTRICTS.into(),
        5 => UNDELIVERED_ORDERS.into(),
        6 => LINES_OF_ORDERS.into(),
        7 => DELIVERED_LINES.into(),
        8 => format!(
            "SELECT 'w_id=' || w_id || ': w_ytd ' || {} || ', sum of h_amount ' || {} AS example \
             FROM warehouse LEFT JOIN (SELECT h_w_id, sum(h_amount) AS paid FROM history GROUP BY h_w_id) AS h \
             ON h_w_id = w_id WHERE w_ytd <> coalesce(paid, 0)",
            money("w_ytd"),
            sum("paid")
        ),
        9 => format!(
            "SELECT 'w_id=' || d_w_id || ' d_id=' || d_id || ': d_ytd ' || {} || ', sum of h_amount ' || {} \
             AS example FROM district LEFT JOIN (SELECT h_w_id, h_d_id, sum(h_amount) AS paid \
             FROM history GROUP BY h_w_id, h_d_id) AS h ON h_w_id = d_w_id AND h_d_id = d_id \
             WHERE d_ytd <> coalesce(paid, 0)",
            money("d_ytd"),
            sum("paid")
        ),
        10 => format!(
            "SELECT 'w_id=' || c_w_id || ' d_id=' || c_d_id || ' c_id=' || c_id || ': c_balance ' || {} || \
             ', delivered ' || {} || ', paid ' || {} AS example FROM {} \
             WHERE c_balance <> coalesce(delivered, 0) - coalesce(paid, 0)",
            money("c_balance"),
            sum("delivered"),
            sum("paid"),
            balances(delivered)
        ),
        // As printed, it holds only for the initial population: each delivery turns a new order into an old one.
        11 => format!(
            "SELECT 'w_id=' || d_w_id || ' d_id=' || d_id || ': orders ' || coalesce(orders, 0) || \
               ', new orders ' || coalesce(fresh, 0) || ', deliveries ' || coalesce(deliveries, 0) AS example \
               FROM district \
               LEFT JOIN (SELECT o_w_id, o_d_id, count(*) AS orders FROM orders GROUP BY o_w_id, o_d_id) AS o \
               ON o_w_id = d_w_id AND o_d_id = d_id \
               LEFT JOIN (SELECT no_w_id, no_d_id, count(*) AS fresh FROM new_order GROUP BY no_w_id, no_d_id) AS n \
               ON no_w_id = d_w_id AND no_d_id = d_id \
               LEFT JOIN (SELECT c_w_id, c_d_id, sum(c_delivery_cnt) AS deliveries FROM customer \
               GROUP BY c_w_id, c_d_id) AS c ON c_w_id = d_w_id AND c_d_id = d_id \
               WHERE coalesce(orders, 0) - coalesce(fresh, 0) <> {delivered_before} + coalesce(deliveries, 0)"
        ),
        12 => format!(
            "SELECT 'w_id=' || c_w_id || ' d_id=' || c_d_id || ' c_id=' || c_id || ': c_balance ' || {} || \
             ', c_ytd_payment ' || {} || ', delivered ' || {} AS example FROM customer \
             LEFT JOIN ({delivered}) AS o ON w = c_w_id AND d = c_d_id AND c = c_id \
             WHERE c_balance + c_ytd_payment <> coalesce(delivered, 0) UNION ALL {}",
            money("c_balance"),
            money("c_ytd_payment"),
            sum("delivered"),
            missing_customers(meta)
        ),
        number => unreachable!("clause 3.3.2 has twelve conditions, not {number}"),
    }
}

/// Returns the expression for the number of districts that the warehouse `w_id` was loaded with.
fn districts(meta: &DatabaseMeta) -> String {
    let ranges = meta.districts.ranges();
    if ranges.is_empty() {
        return DISTRICTS_PER_WAREHOUSE.to_string();
    }
    let cases: String =
        ranges.iter().map(|(last, each)| format!(" WHEN w_id <= {last} THEN {each}")).collect();
    format!("CASE{cases} ELSE 0 END")
}

/// Returns the query for the districts that miss customers, a part of condition 12.
fn missing_customers(meta: &DatabaseMeta) -> String {
    let customers = meta.size.customers();
    format!(
        "SELECT 'w_id=' || d_w_id || ' d_id=' || d_id || ': ' || customers || \
         ' customers instead of {customers}' AS example FROM (SELECT d_w_id, d_id, count(c_id) AS customers \
         FROM district LEFT JOIN customer ON c_w_id = d_w_id AND c_d_id = d_id GROUP BY d_w_id, d_id) AS n \
         WHERE customers <> {customers}"
    )
}

/// Returns true if one query finds that the conditions of a group hold, but for the parts of condition 12 and of the own
/// condition on ORDER-LINE that speak of other rows.
fn hold_together(admin: &mut impl Admin, dialect: &Dialect, group: &[Condition]) -> Result<bool, SqlError> {
    let numbers: Vec<u8> = group.iter().map(|condition| condition.number).collect();
    let strange = match numbers[..] {
        [_] | [] => return Ok(false),
        [10, 12] | [12, 10] => strange_customers(dialect),
        _ if numbers.iter().all(|number| TOGETHER[0].contains(number)) => {
            strange_orders(dialect, numbers.iter().any(|number| usize::from(*number) > CONDITION_COUNT))
        }
        _ => return Ok(false),
    };
    let mut found = None;
    admin
        .query_each(&strange, &mut |row| found = row.first().copied().flatten().map(|count| count == "0"))?;
    Ok(found == Some(true))
}

/// Codes of a column that does not exist, in PostgreSQL and in MySQL.
const NO_COLUMN: [&str; 2] = ["42703", "1054"];

/// Names the table of a missing column that one of these conditions reads, and the way out. The database names only the column.
fn explained(mut error: SqlError, conditions: &[Condition]) -> SqlError {
    if let SqlError::Database { code, message, .. } = &mut error
        && (NO_COLUMN.contains(&code.as_str()) || message.starts_with("no such column"))
    {
        let words = |letter: char| !letter.is_ascii_alphanumeric() && letter != '_';
        let lacks = message.split(words).find_map(|word| {
            let has = |table: &&Table| table.schema().columns.iter().any(|column| column.name == word);
            let table = conditions.iter().flat_map(|condition| condition.reads).find(has)?;
            Some(format!("table {} has no column {word}", table.name()))
        });
        if let Some(lacks) = lacks {
            *message += &format!(": {lacks}: its schema was changed by hand: load again with --fresh");
        }
    }
    error
}

/// Evaluates a group of [`groups`] on a database that was loaded with `meta`. Conditions that one query finds to hold
/// together need none of their own, which name the rows. Each finding has an equal share of that query's time.
pub fn evaluate(
    admin: &mut impl Admin,
    dialect: &Dialect,
    meta: &DatabaseMeta,
    group: &[Condition],
) -> Result<Vec<ConditionFinding>, SqlError> {
    let begin = Instant::now();
    let hold = hold_together(admin, dialect, group).map_err(|error| explained(error, group))?;
    let shared = begin.elapsed().as_secs_f64() / group.len().max(1) as f64;
    group
        .iter()
        .map(|&condition| {
            let begin = Instant::now();
            let not_compared = not_compared(&condition, meta.played);
            let mut finding = ConditionFinding {
                condition,
                offenders: 0,
                examples: Vec::new(),
                seconds: 0.0,
                not_compared,
            };
            let evaluated = match condition.number {
                4 | 6 | 7 | 10 | ORDERS_CONDITION if hold => Ok(()),
                12 if hold => ask(admin, &missing_customers(meta), &mut finding),
                number if usize::from(number) <= CONDITION_COUNT => {
                    ask(admin, &offenders(condition, dialect, meta), &mut finding)
                }
                _ => {
                    let population =
                        initial_rows(meta).map_err(|error| SqlError::Decode(error.to_string()))?;
                    let known = own_conditions::Known { played: meta.played, numbers_add_up: hold };
                    own_conditions::evaluate(admin, dialect, &population, known, &mut finding)
                }
            };
            evaluated.map_err(|error| explained(error, &[condition]))?;
            finding.seconds = shared + begin.elapsed().as_secs_f64();
            Ok(finding)
        })
        .collect()
}
