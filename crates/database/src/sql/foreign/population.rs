//! The rules of the initial population (clause 4.3.3.1), as queries for the rows that violate them. Some parts of them
//! hold only until the first transaction.

use crate::facts::ConditionFinding;
use crate::sql::dialect::Dialect;
use crate::sql::findings::ask;
use crate::sql::foreign::Forms;
use crate::sql::meta::Admin;
use crate::sql::sql_error::SqlError;
use lydite_tpcc::DISTRICTS_PER_WAREHOUSE;
use lydite_tpcc::consistency::Condition;
use lydite_tpcc::meta::DatabaseMeta;
use lydite_tpcc::scale::Size;
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
    /// Title for each [`Size`], in the order of [`Size::ALL`].
    titles: [&'static str; Size::ALL.len()],
    reads: &'static [Table],
    sql: fn(&Words<'_>) -> Vec<String>,
}

/// Numbers and expressions that the rules need.
pub(in crate::sql) struct Words<'a> {
    dialect: &'a Dialect,
    forms: &'a Forms,
    /// True if no transaction has changed the rows.
    fresh: bool,
    size: Size,
    districts: u64,
    customers: u64,
    delivered: u64,
    items: u64,
}

impl<'a> Words<'a> {
    /// Makes the words for a database that was loaded with `meta`. Unless it is `fresh`, the rules leave out what
    /// transactions change.
    pub(in crate::sql) fn new(
        dialect: &'a Dialect,
        forms: &'a Forms,
        meta: &DatabaseMeta,
        fresh: bool,
    ) -> Self {
        Self {
            dialect,
            forms,
            fresh,
            size: meta.size,
            districts: u64::from(DISTRICTS_PER_WAREHOUSE) * u64::from(meta.warehouses),
            customers: meta.size.customers().into(),
            delivered: meta.size.delivered().into(),
            items: meta.size.items().into(),
        }
    }

    /// Returns a rule if no transaction has changed the rows, else one that always holds.
    fn fresh(&self, rule: &str) -> String {
        if self.fresh { rule.to_string() } else { "1 = 1".to_string() }
    }

    /// Returns the queries if no transaction has changed the rows.
    fn only_fresh(&self, queries: Vec<String>) -> Vec<String> {
        if self.fresh { queries } else { Vec::new() }
    }

    /// Returns a rule for the orders that were loaded, not for those that transactions added.
    fn loaded(&self, order: &str, rule: &str) -> String {
        if self.fresh { rule.to_string() } else { format!("({order} > {} OR ({rule}))", self.customers) }
    }

    /// Returns the clause that selects the orders that were loaded.
    fn where_loaded(&self, order: &str) -> String {
        if self.fresh { String::new() } else { format!(" WHERE {order} <= {}", self.customers) }
    }

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
        self.count_where(parent, table, pairs, count, "")
    }

    /// Does the same as [`Words::count`] for the rows that a clause selects.
    fn count_where(
        &self,
        parent: Table,
        table: Table,
        pairs: &[(&str, &str)],
        count: u64,
        selected: &str,
    ) -> String {
        let (theirs, ours): (Vec<&str>, Vec<&str>) = pairs.iter().copied().unzip();
        let key: Vec<String> =
            theirs.iter().map(|name| format!("' {name}=' || {}", (self.dialect.as_text)(name))).collect();
        let on: Vec<String> = pairs.iter().map(|(their, our)| format!("{their} = {our}")).collect();
        format!(
            "SELECT '{}:' || {} || ': ' || coalesce(found, 0) || ' rows instead of {count}' AS example FROM {} \
             LEFT JOIN (SELECT {}, count(*) AS found FROM {}{selected} GROUP BY {}) AS counted ON {} \
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

    /// Returns the rule for a rate from 0 to so many ten-thousandths.
    fn rate(&self, column: &str, most: u32) -> String {
        let literal = self.forms.ten_thousandths;
        format!("{column} BETWEEN {} AND {}", literal(0), literal(most))
    }
}

/// True if a text contains ORIGINAL, in upper case. LIKE would ignore the case in some databases.
fn original(column: &str) -> String {
    format!("length(replace({column}, 'ORIGINAL', '')) < length({column})")
}

/// Columns that identify a district, with those of the table that refers to it.
const OF_DISTRICT: [&str; 2] = ["d_w_id", "d_id"];
/// Columns that identify a customer.
const OF_CUSTOMER: [&str; 3] = ["c_w_id", "c_d_id", "c_id"];

/// Title of the rule of ORDER-LINE.
const LINES: &str =
    "ORDER-LINE has amounts of 0.00 if delivered, else from 0.01 to 9 999.99, and quantities of 5";

/// The rules, in the order of the clause.
static RULES: [Rule; 9] = [
    Rule {
        titles: [
            "ITEM has 100 000 rows with prices from 1.00 to 100.00, ORIGINAL in a tenth",
            "ITEM has 10 000 rows with prices from 1.00 to 100.00, ORIGINAL in a tenth",
            "ITEM has 1 000 rows with prices from 1.00 to 100.00, ORIGINAL in a tenth",
        ],
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
        titles: [
            "WAREHOUSE has W_YTD 300 000.00 and taxes up to 0.2",
            "WAREHOUSE has W_YTD 30 000.00 and taxes up to 0.2",
            "WAREHOUSE has W_YTD 3 000.00 and taxes up to 0.2",
        ],
        reads: &[Table::Warehouse],
        sql: |words| {
            let paid = words.customers as i64 * i64::from(DISTRICTS_PER_WAREHOUSE) * 1_000;
            let paid = words.fresh(&format!("w_ytd = {}", words.money(paid)));
            let rule = format!("{paid} AND {}", words.rate("w_tax", 2_000));
            vec![words.rows(Table::Warehouse, &["w_id"], &["w_ytd", "w_tax"], &rule)]
        },
    },
    Rule {
        titles: [
            "STOCK has 100 000 rows per warehouse, quantities from 10 to 100, ORIGINAL in a tenth",
            "STOCK has 10 000 rows per warehouse, quantities from 10 to 100, ORIGINAL in a tenth",
            "STOCK has 1 000 rows per warehouse, quantities from 10 to 100, ORIGINAL in a tenth",
        ],
        reads: &[Table::Warehouse, Table::Stock],
        sql: |words| {
            let untouched = words.fresh(
                "s_quantity BETWEEN 10 AND 100 AND s_ytd = 0 AND s_order_cnt = 0 AND s_remote_cnt = 0",
            );
            let rule = format!("{untouched} AND length(s_data) BETWEEN 26 AND 50");
            let shown = ["s_quantity", "s_ytd", "s_order_cnt", "s_remote_cnt", "s_data"];
            vec![
                words.count(Table::Warehouse, Table::Stock, &[("w_id", "s_w_id")], words.items),
                words.rows(Table::Stock, &["s_w_id", "s_i_id"], &shown, &rule),
                words.tenth(Table::Stock, "ORIGINAL", &original("s_data")),
            ]
        },
    },
    Rule {
        titles: [
            "DISTRICT has D_YTD 30 000.00 and the next order 3 001",
            "DISTRICT has D_YTD 3 000.00 and the next order 301",
            "DISTRICT has D_YTD 300.00 and the next order 31",
        ],
        reads: &[Table::District],
        sql: |words| {
            let untouched = words.fresh(&format!(
                "d_ytd = {} AND d_next_o_id = {}",
                words.money(1_000 * words.customers as i64),
                words.customers + 1
            ));
            let rule = format!(
                "{untouched} AND {} AND d_id BETWEEN 1 AND {DISTRICTS_PER_WAREHOUSE}",
                words.rate("d_tax", 2_000)
            );
            vec![words.rows(Table::District, &OF_DISTRICT, &["d_ytd", "d_tax", "d_next_o_id"], &rule)]
        },
    },
    Rule {
        titles: [
            "CUSTOMER has 3 000 rows per district with the loaded balance, bad credit in a tenth",
            "CUSTOMER has 300 rows per district with the loaded balance, bad credit in a tenth",
            "CUSTOMER has 30 rows per district with the loaded balance, bad credit in a tenth",
        ],
        reads: &[Table::District, Table::Customer],
        sql: |words| {
            let untouched = words.fresh(&format!(
                "c_balance = {} AND c_ytd_payment = {} AND c_payment_cnt = 1 AND c_delivery_cnt = 0",
                words.money(-1_000),
                words.money(1_000)
            ));
            let rule = format!(
                "c_id BETWEEN 1 AND {} AND c_middle = 'OE' AND c_credit IN ('GC', 'BC') AND c_credit_lim = {} \
                 AND {} AND {untouched} AND length(c_data) BETWEEN 300 AND 500",
                words.customers,
                words.money(5_000_000),
                words.rate("c_discount", 5_000)
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
                words.rows(Table::Customer, &OF_CUSTOMER, &shown, &rule),
                words.tenth(Table::Customer, "bad credit", "c_credit = 'BC'"),
            ]
        },
    },
    Rule {
        titles: [
            "HISTORY has 3 000 rows per district, each a payment of 10.00 at home",
            "HISTORY has 300 rows per district, each a payment of 10.00 at home",
            "HISTORY has 30 rows per district, each a payment of 10.00 at home",
        ],
        reads: &[Table::District, Table::History],
        sql: |words| {
            let rule =
                format!("h_amount = {} AND h_w_id = h_c_w_id AND h_d_id = h_c_d_id", words.money(1_000));
            words.only_fresh(vec![
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
            ])
        },
    },
    Rule {
        titles: [
            "ORDER has 3 000 rows per district, one for each customer, the first 2 100 delivered",
            "ORDER has 300 rows per district, one for each customer, the first 210 delivered",
            "ORDER has 30 rows per district, one for each customer, the first 21 delivered",
        ],
        reads: &[Table::District, Table::Orders],
        sql: |words| {
            let rule = format!(
                "o_id BETWEEN 1 AND {} AND o_ol_cnt BETWEEN 5 AND 15 AND o_all_local = 1 AND CASE WHEN o_id <= {} \
                 THEN o_carrier_id BETWEEN 1 AND 10 ELSE {} END",
                words.customers,
                words.delivered,
                words.fresh("o_carrier_id IS NULL")
            );
            let (customers, loaded) = (words.customers, words.where_loaded("o_id"));
            vec![
                words.count_where(
                    Table::District,
                    Table::Orders,
                    &[("d_w_id", "o_w_id"), ("d_id", "o_d_id")],
                    customers,
                    &loaded,
                ),
                words.rows(
                    Table::Orders,
                    &["o_w_id", "o_d_id", "o_id"],
                    &["o_ol_cnt", "o_all_local", "o_carrier_id"],
                    &words.loaded("o_id", &rule),
                ),
                format!(
                    "SELECT 'orders: o_w_id=' || o_w_id || ' o_d_id=' || o_d_id || ': ' || count(DISTINCT o_c_id) || \
                     ' customers have an order instead of {customers}' AS example FROM orders{loaded} GROUP BY o_w_id, o_d_id \
                     HAVING count(DISTINCT o_c_id) <> {customers}"
                ),
            ]
        },
    },
    Rule {
        titles: [LINES; Size::ALL.len()],
        reads: &[Table::OrderLine],
        sql: |words| {
            let rule = format!(
                "ol_quantity = 5 AND ol_supply_w_id = ol_w_id AND ol_i_id BETWEEN 1 AND {} AND CASE WHEN ol_o_id <= {} \
                 THEN ol_amount = {} AND ol_delivery_d IS NOT NULL ELSE ol_amount BETWEEN {} AND {} AND {} END",
                words.items,
                words.delivered,
                words.money(0),
                words.money(1),
                words.money(999_999),
                words.fresh("ol_delivery_d IS NULL")
            );
            vec![words.rows(
                Table::OrderLine,
                &["ol_w_id", "ol_d_id", "ol_o_id", "ol_number"],
                &["ol_quantity", "ol_supply_w_id", "ol_i_id", "ol_amount", "ol_delivery_d"],
                &words.loaded("ol_o_id", &rule),
            )]
        },
    },
    Rule {
        titles: [
            "NEW-ORDER has the last 900 orders of each district",
            "NEW-ORDER has the last 90 orders of each district",
            "NEW-ORDER has the last 9 orders of each district",
        ],
        reads: &[Table::District, Table::NewOrder],
        sql: |words| {
            let (first, last) = (words.delivered + 1, words.customers);
            let rule = format!("no_o_id BETWEEN {first} AND {last}");
            words.only_fresh(vec![
                words.count(
                    Table::District,
                    Table::NewOrder,
                    &[("d_w_id", "no_w_id"), ("d_id", "no_d_id")],
                    last - words.delivered,
                ),
                words.rows(Table::NewOrder, &["no_w_id", "no_d_id", "no_o_id"], &[], &rule),
            ])
        },
    },
];

/// Clause of the formats.
const FORMAT_CLAUSE: &str = "4.3.2";

/// True if all characters of a text are digits.
fn digits(text: &str) -> String {
    let left = (0..10).fold(text.to_string(), |text, digit| format!("replace({text}, '{digit}', '')"));
    format!("length({left}) = 0")
}

/// Returns the rule for the address of a table whose columns begin with `letter`.
fn address(letter: char) -> String {
    let long = |name: &str| format!("length({letter}_{name}) BETWEEN 10 AND 20");
    format!(
        "{} AND {} AND {} AND length({letter}_state) = 2 AND length({letter}_zip) = 9 \
         AND substr({letter}_zip, 5, 5) = '11111' AND {}",
        long("street_1"),
        long("street_2"),
        long("city"),
        digits(&format!("substr({letter}_zip, 1, 4)"))
    )
}

/// The rules of the formats of texts. Transactions keep them.
static FORMATS: [Rule; 5] = [
    Rule {
        titles: ["addresses: streets and cities of 10 to 20 characters, zip codes of four digits and 11111";
            Size::ALL.len()],
        reads: &[Table::Warehouse, Table::District, Table::Customer],
        sql: |words| {
            vec![
                words.rows(Table::Warehouse, &["w_id"], &["w_zip", "w_city"], &address('w')),
                words.rows(Table::District, &OF_DISTRICT, &["d_zip", "d_city"], &address('d')),
                words.rows(Table::Customer, &OF_CUSTOMER, &["c_zip", "c_city"], &address('c')),
            ]
        },
    },
    Rule {
        titles: ["names: W_NAME and D_NAME of 6 to 10 characters, C_FIRST of 8 to 16, C_PHONE of 16 digits";
            Size::ALL.len()],
        reads: &[Table::Warehouse, Table::District, Table::Customer],
        sql: |words| {
            let of_customer = format!(
                "length(c_first) BETWEEN 8 AND 16 AND length(c_phone) = 16 AND {}",
                digits("c_phone")
            );
            vec![
                words.rows(Table::Warehouse, &["w_id"], &["w_name"], "length(w_name) BETWEEN 6 AND 10"),
                words.rows(Table::District, &OF_DISTRICT, &["d_name"], "length(d_name) BETWEEN 6 AND 10"),
                words.rows(Table::Customer, &OF_CUSTOMER, &["c_first", "c_phone"], &of_customer),
            ]
        },
    },
    Rule {
        titles: [
            "C_LAST: the first 1 000 customers of each district have one name each",
            "C_LAST: the first 100 customers of each district have one name each",
            "C_LAST: the first 10 customers of each district have one name each",
        ],
        reads: &[Table::Customer],
        sql: |words| {
            let (names, districts) = (words.size.last_names(), words.districts);
            vec![
                format!(
                    "SELECT 'customer: c_last=' || c_last || ': ' || count(*) || ' rows instead of {districts}' \
                     AS example FROM customer WHERE c_id <= {names} GROUP BY c_last HAVING count(*) <> {districts}"
                ),
                format!(
                    "SELECT 'customer: ' || found || ' names instead of {names}' AS example FROM (SELECT \
                     count(DISTINCT c_last) AS found FROM customer) AS counted WHERE found <> {names}"
                ),
            ]
        },
    },
    Rule {
        titles: ["S_DIST_01 to S_DIST_10 have 24 characters"; Size::ALL.len()],
        reads: &[Table::Stock],
        sql: |words| {
            let columns: Vec<String> = (1..=DISTRICTS_PER_WAREHOUSE)
                .map(|number| format!("length(s_dist_{number:02}) = 24"))
                .collect();
            vec![words.rows(Table::Stock, &["s_w_id", "s_i_id"], &["s_dist_01"], &columns.join(" AND "))]
        },
    },
    Rule {
        titles: ["OL_DIST_INFO has 24 characters, H_DATA 12 to 24"; Size::ALL.len()],
        reads: &[Table::OrderLine, Table::History],
        sql: |words| {
            let line = ["ol_w_id", "ol_d_id", "ol_o_id", "ol_number"];
            let payment = ["h_c_w_id", "h_c_d_id", "h_c_id"];
            vec![
                words.rows(Table::OrderLine, &line, &["ol_dist_info"], "length(ol_dist_info) = 24"),
                words.rows(Table::History, &payment, &["h_data"], "length(h_data) BETWEEN 12 AND 24"),
            ]
        },
    },
];

/// Evaluates the rules that apply, and reports each finding to `done`.
pub(in crate::sql) fn rules<A: Admin + ?Sized>(
    admin: &mut A,
    words: &Words<'_>,
    done: &mut dyn FnMut(&ConditionFinding),
) -> Result<Vec<ConditionFinding>, SqlError> {
    evaluate(admin, words, (CLAUSE, FIRST, &RULES), done)
}

/// Evaluates the rules of the formats of texts.
pub(in crate::sql) fn formats<A: Admin + ?Sized>(
    admin: &mut A,
    words: &Words<'_>,
) -> Result<Vec<ConditionFinding>, SqlError> {
    evaluate(admin, words, (FORMAT_CLAUSE, FIRST + RULES.len() as u8, &FORMATS), &mut |_| {})
}

/// Evaluates rules of a clause, which have numbers from the given one on.
fn evaluate<A: Admin + ?Sized>(
    admin: &mut A,
    words: &Words<'_>,
    (clause, first, rules): (&'static str, u8, &[Rule]),
    done: &mut dyn FnMut(&ConditionFinding),
) -> Result<Vec<ConditionFinding>, SqlError> {
    let mut findings = Vec::with_capacity(rules.len());
    for (number, rule) in (first..).zip(rules) {
        let queries = (rule.sql)(words);
        if queries.is_empty() {
            continue;
        }
        let title = rule.titles[words.size.index()];
        let condition = Condition { number, clause, title, statement: title, reads: rule.reads };
        let begin = Instant::now();
        let mut finding = ConditionFinding {
            condition,
            offenders: 0,
            examples: Vec::new(),
            seconds: 0.0,
            not_compared: None,
        };
        ask(admin, &queries.join(" UNION ALL "), &mut finding)?;
        finding.seconds = begin.elapsed().as_secs_f64();
        done(&finding);
        findings.push(finding);
    }
    Ok(findings)
}
