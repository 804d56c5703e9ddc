//! Stored rows as an auditor sees them (clause 9.2.2): row counts, rules and distributions of the tables that Lydite
//! loaded. All queries are aggregates over whole tables, or return the first violations, so they work on any number of
//! rows.

use crate::error::TargetError;
use crate::facts::ConditionFinding;
use crate::sql::foreign::{ReadOnly, population};
use crate::sql::sql_error::SqlError;
use lydite_tpcc::meta::DatabaseMeta;
use lydite_tpcc::nurand::last_name;
use lydite_tpcc::schema::Table;

/// A distribution that stored values must have.
#[derive(Debug)]
pub struct Spread {
    /// Clause that says so.
    pub clause: &'static str,
    /// Values and their distribution, in a few words.
    pub title: &'static str,
    /// True if transactions change the values, so that they are as loaded before the first one only.
    pub until_first_transaction: bool,
    /// Returns all values with their probabilities.
    pub expected: fn(&DatabaseMeta) -> Vec<(String, f64)>,
    /// Returns the expression of the value, and the rows that have one.
    rows: fn(&DatabaseMeta) -> (String, String),
}

/// Returns equal probabilities for whole numbers.
fn equal(values: std::ops::RangeInclusive<u32>) -> Vec<(String, f64)> {
    let share = 1.0 / f64::from(values.end() - values.start() + 1);
    values.map(|value| (value.to_string(), share)).collect()
}

/// The distributions. Orders that transactions added are left out.
pub static SPREADS: [Spread; 9] = [
    Spread {
        clause: "4.3.2.3",
        title: "C_LAST of the customers behind the first of each name, by NURand(255, …) with C-Load",
        until_first_transaction: false,
        expected: |meta| {
            let probabilities = meta.c_load.last_name_probabilities(meta.size);
            (0..).map(|number| last_name(number).to_string()).zip(probabilities).collect()
        },
        rows: |meta| ("c_last".into(), format!("customer WHERE c_id > {}", meta.size.last_names())),
    },
    Spread {
        clause: "4.3.2.7",
        title: "first digit of C_ZIP",
        until_first_transaction: false,
        expected: |_| equal(0..=9),
        rows: |_| ("substr(c_zip, 1, 1)".into(), "customer".into()),
    },
    Spread {
        clause: "4.3.3.1",
        title: "last digit of C_PHONE",
        until_first_transaction: false,
        expected: |_| equal(0..=9),
        rows: |_| ("substr(c_phone, 16, 1)".into(), "customer".into()),
    },
    Spread {
        clause: "4.3.3.1",
        title: "I_IM_ID, modulo 100",
        until_first_transaction: false,
        expected: |_| equal(0..=99),
        rows: |_| ("i_im_id % 100".into(), "item".into()),
    },
    Spread {
        clause: "4.3.3.1",
        title: "S_QUANTITY",
        until_first_transaction: true,
        expected: |_| equal(10..=100),
        rows: |_| ("s_quantity".into(), "stock".into()),
    },
    Spread {
        clause: "4.3.3.1",
        title: "O_OL_CNT of loaded orders",
        until_first_transaction: false,
        expected: |_| equal(5..=15),
        rows: |meta| ("o_ol_cnt".into(), format!("orders WHERE o_id <= {}", meta.size.orders())),
    },
    Spread {
        clause: "4.3.3.1",
        title: "O_CARRIER_ID of orders loaded as delivered",
        until_first_transaction: false,
        expected: |_| equal(1..=10),
        rows: |meta| ("o_carrier_id".into(), format!("orders WHERE o_id <= {}", meta.size.delivered())),
    },
    Spread {
        clause: "4.3.3.1",
        title: "half of the customers that the first half of the loaded orders belong to",
        until_first_transaction: false,
        expected: |_| equal(1..=2),
        rows: |meta| {
            let half = meta.size.customers() / 2;
            (
                format!("CASE WHEN o_c_id <= {half} THEN 1 ELSE 2 END"),
                format!("orders WHERE o_id <= {}", meta.size.orders() / 2),
            )
        },
    },
    Spread {
        clause: "4.3.3.1",
        title: "OL_I_ID of loaded lines, modulo 100",
        until_first_transaction: false,
        expected: |_| equal(0..=99),
        rows: |meta| ("ol_i_id % 100".into(), format!("order_line WHERE ol_o_id <= {}", meta.size.orders())),
    },
];

impl ReadOnly<'_> {
    fn failed(&self, doing: &str) -> impl Fn(SqlError) -> TargetError + use<> {
        let (doing, place) = (doing.to_string(), self.place.clone());
        move |error| error.on_target(&doing, &place)
    }

    /// Returns the answer of a query for texts with a number each.
    fn numbers(&mut self, sql: &str) -> Result<Vec<(String, u64)>, SqlError> {
        let mut found = Vec::new();
        let mut wrong = None;
        self.admin.query_each(sql, &mut |row| match row {
            [value, Some(count)] => match count.parse() {
                Ok(count) => found.push((value.unwrap_or("null").to_string(), count)),
                Err(_) => wrong = Some((*count).to_string()),
            },
            _ => wrong = Some("no number".into()),
        })?;
        match wrong {
            None => Ok(found),
            Some(answer) => Err(SqlError::Decode(format!("{sql}: the answer {answer:?} is no number"))),
        }
    }

    /// Returns the rows of each table.
    ///
    /// # Errors
    /// See [`crate::Target::describe`].
    pub fn table_rows(&mut self) -> Result<Vec<(Table, u64)>, TargetError> {
        let of = |table: &Table| format!("SELECT '{0}' AS name, count(*) AS found FROM {0}", table.name());
        let sql: Vec<String> = Table::ALL.iter().map(of).collect();
        let found = self.numbers(&sql.join(" UNION ALL ")).map_err(self.failed("count the rows"))?;
        let rows = |table: &Table| found.iter().find(|(name, _)| name == table.name()).map(|(_, rows)| *rows);
        Ok(Table::ALL.iter().map(|table| (*table, rows(table).unwrap_or(0))).collect())
    }

    /// Evaluates the rules of the initial population. Unless the database is `fresh`, parts of rules that transactions
    /// change are left out.
    ///
    /// # Errors
    /// See [`crate::Target::describe`].
    pub fn population(
        &mut self,
        meta: &DatabaseMeta,
        fresh: bool,
    ) -> Result<Vec<ConditionFinding>, TargetError> {
        let failed = self.failed("check the population");
        let words = population::Words::new(self.dialect, self.forms, meta, fresh);
        population::rules(&mut *self.admin, &words, &mut |_| {}).map_err(failed)
    }

    /// Evaluates the rules of the formats of stored texts.
    ///
    /// # Errors
    /// See [`crate::Target::describe`].
    pub fn formats(&mut self, meta: &DatabaseMeta) -> Result<Vec<ConditionFinding>, TargetError> {
        let failed = self.failed("check the formats");
        let words = population::Words::new(self.dialect, self.forms, meta, false);
        population::formats(&mut *self.admin, &words).map_err(failed)
    }

    /// Returns each value of a distribution with its number of rows.
    ///
    /// # Errors
    /// See [`crate::Target::describe`].
    pub fn spread(
        &mut self,
        spread: &Spread,
        meta: &DatabaseMeta,
    ) -> Result<Vec<(String, u64)>, TargetError> {
        let (value, rows) = (spread.rows)(meta);
        let text = (self.dialect.as_text)("seen");
        let sql = format!(
            "SELECT {text}, found FROM (SELECT seen, count(*) AS found FROM (SELECT {value} AS seen FROM {rows}) \
             AS read_rows GROUP BY seen) AS counted"
        );
        self.numbers(&sql).map_err(self.failed("count values"))
    }
}
