//! The rules of the initial population (clause 4.3.3.1), as queries for the rows that violate them. They hold only right
//! after loading.

use crate::sql::conditions::ask;
use crate::sql::dialect::Dialect;
use crate::sql::foreign::Forms;
use crate::sql::meta::Admin;
use crate::sql::sql_error::SqlError;
use crate::target::ConditionFinding;
use lydite_tpcc::DISTRICTS_PER_WAREHOUSE;
use lydite_tpcc::consistency::Condition;
use lydite_tpcc::meta::DatabaseMeta;
use lydite_tpcc::schema::Table;
use std::time::Instant;

/// Clause of all rules.
const CLAUSE: &str = "4.3.3.1";
/// Number of the first rule: above the numbers of all conditions.
const FIRST: u8 = 101;
/// Least and greatest share of rows that a rule wants in a tenth of them, in thousandths: 5 % of the target may be off.
const TENTH: [u64; 2] = [95, 105];

/// A rule. Its queries return the violations as texts.
struct Rule {
    title: &'static str,
    reads: &'static [Table],
    sql: fn(&Words<'_>) -> Vec<String>,
}

/// Numbers and expressions that the rules need.
struct Words<'a> {
    dialect: &'a Dialect,
    forms: &'a Forms,
    customers: u64,
    delivered: u64,
    items: u64,
}

impl Words<'_> {
    /// Returns the query for rows of a table that violate `rule`, with their key and the columns that the rule is about.
    fn rows(&self, table: Table, key: &[&str], shown: &[&str], rule: &str) -> String {
        let text = |name: &&str| format!("' {name}=' || coalesce({}, 'null')", (self.dialect.as_text)(name));
        let parts: Vec<String> = key.iter().chain(shown).map(text).collect();
        format!(
            "SELECT '{}:' || {} AS example FROM {} WHERE NOT coalesce({rule}, 1 = 0)",
            table.name(),
            parts.join(" || "),
            table.name()
        )
    }

    /// Returns the query for warehouses or districts with another number of rows than `count`. `parent` is the table
    /// that has one row for each of them.
    fn count(&self, parent: Table, table: Table, pairs: &[(&str, &str)], count: u64) -> String {
        let (theirs, ours): (Vec<&str>, Vec<&str>) = pairs.iter().copied().unzip();
        let key: Vec<String> =
            theirs.iter().map(|name| format!("' {name}=' || {}", (self.dialect.as_text)(name))).collect();
        let on: Vec<String> = pairs.iter().map(|(their, our)| format!("{their} = {our}")).collect();
        format!(
            "SELECT '{}:' || {} || ': ' || coalesce(found, 0) || ' rows instead of {count}' AS example FROM {} \
             LEFT JOIN (SELECT {}, count(*) AS found FROM {} GROUP BY {}) AS counted ON {} \
             WHERE coalesce(found, 0) <> {count}",
            table.name(),
            key.join(" || "),
            parent.name(),
            ours.join(", "),
            table.name(),
            ours.join(", "),
            on.join(" AND ")
        )
    }

    /// Returns the query that answers a row if `rule` holds in another share of the rows than a tenth.
    fn tenth(&self, table: Table, what: &str, rule: &str) -> String {
        let [least, most] = TENTH;
        format!(
            "SELECT '{}: {what} in ' || hits || ' of ' || found || ' rows' AS example FROM (SELECT count(*) AS found, \
             coalesce(sum(CASE WHEN {rule} THEN 1 ELSE 0 END), 0) AS hits FROM {}) AS counted \
             WHERE hits * 1000 < found * {least} OR hits * 1000 > found * {most}",
            table.name(),
            table.name()
        )
    }

    /// Returns the literal of an amount.
    fn money(&self, cents: i64) -> String {
        (self.forms.cents)(cents)
    }
}

/// True if a text contains ORIGINAL, in upper case. LIKE would ignore the case in some databases.
fn original(column: &str) -> String {
    format!("length(replace({column}, 'ORIGINAL', '')) < length({column})")
}

/// Columns that identify a district, with those of the table that refers to it.
const OF_DISTRICT: [&str; 2] = ["d_w_id", "d_id"];

/// The rules, in the order of the clause.
static RULES: [Rule; 9] = [
    Rule {
        title: "ITEM has 100 000 rows with prices from 1.00 to 100.00, ORIGINAL in a tenth",
        reads: &[Table::Item],
        sql: |words| {
            let (items, low, high) = (words.items, words.money(100), words.money(10_000));
            let rule = format!(
                "i_id BETWEEN 1 AND {items} AND i_im_id BETWEEN 1 AND 10000 AND i_price BETWEEN {low} AND {high} \
                 AND length(i_name) BETWEEN 14 AND 24 AND length(i_data) BETWEEN 26 AND 50"
            );
            vec![
                format!(
                    "SELECT 'item: ' || found || ' rows instead of {items}' AS example \
                     FROM (SELECT count(*) AS found FROM item) AS counted WHERE found <> {items}"
                ),
                words.rows(Table::Item, &["i_id"], &["i_im_id", "i_price", "i_name", "i_data"], &rule),
                words.tenth(Table::Item, "ORIGINAL", &original("i_data")),
            ]
        },
    },
    Rule {
        title: "WAREHOUSE has W_YTD 300 000.00 and taxes up to 0.2",
        reads: &[Table::Warehouse],
        sql: |words| {
            let paid = words.customers as i64 * i64::from(DISTRICTS_PER_WAREHOUSE) * 1_000;
            let rule = format!("w_ytd = {} AND w_tax BETWEEN 0 AND 0.2", words.money(paid));
            vec![words.rows(Table::Warehouse, &["w_id"], &["w_ytd", "w_tax"], &rule)]
        },
    },
    Rule {
        title: "STOCK has 100 000 rows per warehouse, quantities from 10 to 100, ORIGINAL in a tenth",
        reads: &[Table::Warehouse, Table::Stock],
        sql: |words| {
            let rule = "s_quantity BETWEEN 10 AND 100 AND s_ytd = 0 AND s_order_cnt = 0 AND s_remote_cnt = 0 \
                        AND length(s_data) BETWEEN 26 AND 50";
            let shown = ["s_quantity", "s_ytd", "s_order_cnt", "s_remote_cnt", "s_data"];
            vec![
                words.count(Table::Warehouse, Table::Stock, &[("w_id", "s_w_id")], words.items),
                words.rows(Table::Stock, &["s_w_id", "s_i_id"], &shown, rule),
                words.tenth(Table::Stock, "ORIGINAL", &original("s_data")),
            ]
        },
    },
    Rule {
        title: "DISTRICT has D_YTD 30 000.00 and the next order 3 001",
        reads: &[Table::District],
        sql: |words| {
            let rule = format!(
                "d_ytd = {} AND d_tax BETWEEN 0 AND 0.2 AND d_next_o_id = {} AND d_id BETWEEN 1 AND \
                 {DISTRICTS_PER_WAREHOUSE}",
                words.money(1_000 * words.customers as i64),
                words.customers + 1
            );
            vec![words.rows(Table::District, &OF_DISTRICT, &["d_ytd", "d_tax", "d_next_o_id"], &rule)]
        },
    },
    Rule {
        title: "CUSTOMER has 3 000 rows per district with the loaded balance, bad credit in a tenth",
        reads: &[Table::District, Table::Customer],
        sql: |words| {
            let rule = format!(
                "c_id BETWEEN 1 AND {} AND c_middle = 'OE' AND c_credit IN ('GC', 'BC') AND c_credit_lim = {} \
                 AND c_discount BETWEEN 0 AND 0.5 AND c_balance = {} AND c_ytd_payment = {} AND c_payment_cnt = 1 \
                 AND c_delivery_cnt = 0 AND length(c_data) BETWEEN 300 AND 500",
                words.customers,
                words.money(5_000_000),
                words.money(-1_000),
                words.money(1_000)
            );
            let shown =
                ["c_credit", "c_credit_lim", "c_discount", "c_balance", "c_ytd_payment", "c_payment_cnt"];
            vec![
                words.count(
                    Table::District,
                    Table::Customer,
                    &[("d_w_id", "c_w_id"), ("d_id", "c_d_id")],
                    words.customers,
                ),
                words.rows(Table::Customer, &["c_w_id", "c_d_id", "c_id"], &shown, &rule),
                words.tenth(Table::Customer, "bad credit", "c_credit = 'BC'"),
            ]
        },
    },
    Rule {
        title: "HISTORY has as many payments of 10.00 as customers, at home",
        reads: &[Table::District, Table::History],
        sql: |words| {
            let rule =
                format!("h_amount = {} AND h_w_id = h_c_w_id AND h_d_id = h_c_d_id", words.money(1_000));
            vec![
                words.count(
                    Table::District,
                    Table::History,
                    &[("d_w_id", "h_w_id"), ("d_id", "h_d_id")],
                    words.customers,
                ),
                words.rows(
                    Table::History,
                    &["h_c_w_id", "h_c_d_id", "h_c_id"],
                    &["h_amount", "h_w_id"],
                    &rule,
                ),
            ]
        },
    },
    Rule {
        title: "ORDER has 3 000 rows per district, one for each customer, the first 2 100 delivered",
        reads: &[Table::District, Table::Orders],
        sql: |words| {
            let rule = format!(
                "o_id BETWEEN 1 AND {} AND o_ol_cnt BETWEEN 5 AND 15 AND o_all_local = 1 AND CASE WHEN o_id <= {} \
                 THEN o_carrier_id BETWEEN 1 AND 10 ELSE o_carrier_id IS NULL END",
                words.customers, words.delivered
            );
            let customers = words.customers;
            vec![
                words.count(
                    Table::District,
                    Table::Orders,
                    &[("d_w_id", "o_w_id"), ("d_id", "o_d_id")],
                    customers,
                ),
                words.rows(
                    Table::Orders,
                    &["o_w_id", "o_d_id", "o_id"],
                    &["o_ol_cnt", "o_all_local", "o_carrier_id"],
                    &rule,
                ),
                format!(
                    "SELECT 'orders: o_w_id=' || o_w_id || ' o_d_id=' || o_d_id || ': ' || count(DISTINCT o_c_id) || \
                     ' customers have an order instead of {customers}' AS example FROM orders GROUP BY o_w_id, o_d_id \
                     HAVING count(DISTINCT o_c_id) <> {customers}"
                ),
            ]
        },
    },
    Rule {
        title: "ORDER-LINE has amounts of 0.00 if delivered, else from 0.01 to 9 999.99, and quantities of 5",
        reads: &[Table::OrderLine],
        sql: |words| {
            let rule = format!(
                "ol_quantity = 5 AND ol_supply_w_id = ol_w_id AND ol_i_id BETWEEN 1 AND {} AND CASE WHEN ol_o_id <= {} \
                 THEN ol_amount = {} AND ol_delivery_d IS NOT NULL ELSE ol_amount BETWEEN {} AND {} \
                 AND ol_delivery_d IS NULL END",
                words.items,
                words.delivered,
                words.money(0),
                words.money(1),
                words.money(999_999)
            );
            vec![words.rows(
                Table::OrderLine,
                &["ol_w_id", "ol_d_id", "ol_o_id", "ol_number"],
                &["ol_quantity", "ol_supply_w_id", "ol_i_id", "ol_amount", "ol_delivery_d"],
                &rule,
            )]
        },
    },
    Rule {
        title: "NEW-ORDER has the last 900 orders of each district",
        reads: &[Table::District, Table::NewOrder],
        sql: |words| {
            let (first, last) = (words.delivered + 1, words.customers);
            let rule = format!("no_o_id BETWEEN {first} AND {last}");
            vec![
                words.count(
                    Table::District,
                    Table::NewOrder,
                    &[("d_w_id", "no_w_id"), ("d_id", "no_d_id")],
                    last - words.delivered,
                ),
                words.rows(Table::NewOrder, &["no_w_id", "no_d_id", "no_o_id"], &[], &rule),
            ]
        },
    },
];

/// Evaluates all rules on a database that was loaded with `meta`, and reports each finding to `done`.
pub(super) fn check(
    admin: &mut impl Admin,
    dialect: &Dialect,
    forms: &Forms,
    meta: &DatabaseMeta,
    done: &mut dyn FnMut(&ConditionFinding),
) -> Result<Vec<ConditionFinding>, SqlError> {
    let words = Words {
        dialect,
        forms,
        customers: meta.size.customers().into(),
        delivered: meta.size.delivered().into(),
        items: meta.size.items().into(),
    };
    let mut findings = Vec::with_capacity(RULES.len());
    for (number, rule) in (FIRST..).zip(&RULES) {
        let condition =
            Condition { number, clause: CLAUSE, title: rule.title, statement: rule.title, reads: rule.reads };
        let begin = Instant::now();
        let mut finding = ConditionFinding { condition, offenders: 0, examples: Vec::new(), seconds: 0.0 };
        ask(admin, &(rule.sql)(&words).join(" UNION ALL "), &mut finding)?;
        finding.seconds = begin.elapsed().as_secs_f64();
        done(&finding);
        findings.push(finding);
    }
    Ok(findings)
}
