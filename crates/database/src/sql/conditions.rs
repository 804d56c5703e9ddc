//! The twelve consistency conditions (clause 3.3.2) as SQL queries over sets. Each query returns the keys that violate the
//! condition. Lydite's own conditions are in `own_conditions.rs`.

use crate::kv::meta::initial_rows;
use crate::sql::dialect::Dialect;
use crate::sql::meta::Admin;
use crate::sql::own_conditions;
use crate::sql::sql_error::SqlError;
use crate::target::ConditionFinding;
use lydite_tpcc::DISTRICTS_PER_WAREHOUSE;
use lydite_tpcc::consistency::{CONDITION_COUNT, Condition, not_compared};
use lydite_tpcc::meta::DatabaseMeta;
use lydite_tpcc::schema::Table;
use std::time::Instant;

/// Most offending keys that a finding names.
pub(crate) const EXAMPLES: usize = 5;

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

/// Returns the query for the offenders of a condition: texts with the key and the values that disagree. Rows that are
/// never deleted (clause 1.4.11) must exist, because otherwise all conditions would hold on an empty database. `meta`
/// describes the loaded database.
fn offenders(condition: Condition, dialect: &Dialect, meta: &DatabaseMeta) -> String {
    let districts = districts(meta);
    let (customers, delivered_before) = (meta.size.customers(), meta.size.delivered());
    let money = dialect.money_text;
    // A sum over no rows is null.
    let sum = |column: &str| money(&format!("coalesce({column}, 0.00)"));
    let delivered = if dialect.joins_by_row { DELIVERED_WITHOUT_JOIN } else { DELIVERED };
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
             ', delivered ' || {} || ', paid ' || {} AS example FROM customer \
             LEFT JOIN ({delivered}) AS o ON w = c_w_id AND d = c_d_id AND c = c_id \
             LEFT JOIN (SELECT h_c_w_id, h_c_d_id, h_c_id, sum(h_amount) AS paid FROM history \
             GROUP BY h_c_w_id, h_c_d_id, h_c_id) AS h ON h_c_w_id = c_w_id AND h_c_d_id = c_d_id AND h_c_id = c_id \
             WHERE c_balance <> coalesce(delivered, 0) - coalesce(paid, 0)",
            money("c_balance"),
            sum("delivered"),
            sum("paid")
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
             WHERE c_balance + c_ytd_payment <> coalesce(delivered, 0) \
             UNION ALL SELECT 'w_id=' || d_w_id || ' d_id=' || d_id || ': ' || customers || \
             ' customers instead of {customers}' FROM (SELECT d_w_id, d_id, count(c_id) AS customers FROM district \
             LEFT JOIN customer ON c_w_id = d_w_id AND c_d_id = d_id GROUP BY d_w_id, d_id) AS n \
             WHERE customers <> {customers}",
            money("c_balance"),
            money("c_ytd_payment"),
            sum("delivered")
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

/// Codes of a column that does not exist, in PostgreSQL and in MySQL.
const NO_COLUMN: [&str; 2] = ["42703", "1054"];

/// Names the table of a missing column that a condition reads, and the way out. The database names only the column.
fn explained(mut error: SqlError, condition: Condition) -> SqlError {
    if let SqlError::Database { code, message, .. } = &mut error
        && (NO_COLUMN.contains(&code.as_str()) || message.starts_with("no such column"))
    {
        let words = |letter: char| !letter.is_ascii_alphanumeric() && letter != '_';
        let lacks = message.split(words).find_map(|word| {
            let has = |table: &&Table| table.schema().columns.iter().any(|column| column.name == word);
            let table = condition.reads.iter().find(has)?;
            Some(format!("table {} has no column {word}", table.name()))
        });
        if let Some(lacks) = lacks {
            *message += &format!(": {lacks}: its schema was changed by hand: load again with --fresh");
        }
    }
    error
}

/// Evaluates a condition on a database that was loaded with `meta`.
pub fn evaluate(
    admin: &mut impl Admin,
    dialect: &Dialect,
    meta: &DatabaseMeta,
    condition: Condition,
) -> Result<ConditionFinding, SqlError> {
    let begin = Instant::now();
    let not_compared = not_compared(&condition, meta.played);
    let mut finding =
        ConditionFinding { condition, offenders: 0, examples: Vec::new(), seconds: 0.0, not_compared };
    let evaluated = if usize::from(condition.number) <= CONDITION_COUNT {
        ask(admin, &offenders(condition, dialect, meta), &mut finding)
    } else {
        let population = initial_rows(meta).map_err(SqlError::Decode)?;
        own_conditions::evaluate(admin, dialect, &population, meta.played, &mut finding)
    };
    evaluated.map_err(|error| explained(error, condition))?;
    finding.seconds = begin.elapsed().as_secs_f64();
    Ok(finding)
}

/// Queries the offenders and adds them to the finding, in the order of the keys.
pub(crate) fn ask<A: Admin + ?Sized>(
    admin: &mut A,
    offenders: &str,
    finding: &mut ConditionFinding,
) -> Result<(), SqlError> {
    let sql = format!(
        "SELECT example, count(*) OVER () FROM ({offenders}) AS offenders ORDER BY example LIMIT {EXAMPLES}"
    );
    admin.query_each(&sql, &mut |row| {
        if let [example, Some(count)] = row {
            // A text with a null is null.
            finding.examples.push(example.unwrap_or("a row with nulls").to_string());
            finding.offenders = count.parse().unwrap_or(u64::MAX);
        }
    })
}
