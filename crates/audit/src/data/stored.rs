//! Stored rows: their numbers, rules and distributions, and the nodes that hold them.

use super::Judged;
use crate::finding::{Seen, Trouble};
use crate::stage::Stage;
use lydite_database::sql::foreign::ReadOnly;
use lydite_database::sql::stored::SPREADS;
use lydite_database::{ConditionFinding, LedgerCounts, TargetError, or_unknown};
use lydite_tpcc::WarehouseId;
use lydite_tpcc::schema::Table;

/// Largest deviation of ORDER-LINE from ten lines per order: 1 % (clause 4.2.2), or what chance does to few orders.
fn line_tolerance(orders: u64) -> f64 {
    let deviation = 10.0_f64.sqrt() / 10.0 / (orders as f64).sqrt();
    f64::max(0.01, 5.0 * deviation)
}

/// Reads in a session that can change nothing.
fn read_tables<R: Send + 'static>(
    stage: &Stage<'_>,
    by: impl FnOnce(&mut ReadOnly<'_>) -> Result<R, TargetError> + Send + 'static,
) -> Result<R, Trouble> {
    if stage.target.capabilities().foreign.is_none() {
        return Err(Trouble::NotRun(
            "the database has no SQL tables, and a key-value store has no aggregates: `lydite check` reads its rows"
                .into(),
        ));
    }
    stage.read_from(stage.target, move |target| by(&mut target.capabilities().foreign()?.read_only()?))
}

/// Returns the counts that transactions change, as loaded.
fn as_loaded(stage: &Stage<'_>) -> LedgerCounts {
    let (size, districts) = (stage.meta.size, districts(stage));
    LedgerCounts {
        next_order_ids: districts * u64::from(size.orders() + 1),
        payments: districts * u64::from(size.customers()),
        new_orders: districts * u64::from(size.orders() - size.delivered()),
    }
}

/// Returns the number of all districts.
fn districts(stage: &Stage<'_>) -> u64 {
    (1..=stage.meta.warehouses).map(|w_id| u64::from(stage.meta.districts.of(WarehouseId(w_id)))).sum()
}

/// True if no New-Order, Payment or Delivery has run since the load.
fn is_fresh(stage: &Stage<'_>) -> Result<bool, Trouble> {
    let fresh = stage.all_counts(stage.target)? == as_loaded(stage);
    stage.step(if fresh {
        "no transaction has run since the load: D_NEXT_O_ID, HISTORY and NEW-ORDER are as loaded"
    } else {
        "transactions have run since the load: what they change is left out"
    });
    Ok(fresh)
}

/// Compares the number of rows of each table with the one that clause 4.2.2 demands.
pub(super) fn cardinalities(stage: &Stage<'_>) -> Result<Seen, Trouble> {
    let fresh = is_fresh(stage)?;
    let rows = if stage.target.capabilities().foreign.is_some() {
        read_tables(stage, |tables| tables.table_rows())?
    } else {
        let sums = stage.read_from(stage.target, |target| target.checksums())?;
        sums.into_iter().map(|sum| (sum.table, sum.rows)).collect()
    };
    let orders = rows.iter().find(|(table, _)| *table == Table::Orders).map_or(0, |(_, rows)| *rows);
    let mut judged = Judged::default();
    for (table, rows) in rows {
        let size = stage.meta.size;
        let loaded: Option<u64> = match table {
            Table::Item => size.rows(table, 0),
            _ => (1..=stage.meta.warehouses)
                .map(|w_id| match table {
                    Table::Stock => Some(stage.meta.districts.stock(WarehouseId(w_id), size).into()),
                    _ => size.rows(table, stage.meta.districts.of(WarehouseId(w_id))),
                })
                .sum(),
        };
        let name = table.name();
        match (table, loaded) {
            (Table::OrderLine, _) if fresh => {
                let (mean, tolerance) = (rows as f64 / orders as f64, line_tolerance(orders));
                judged.judge(
                    stage,
                    (mean / 10.0 - 1.0).abs() <= tolerance,
                    format!(
                        "{name}: {rows} rows, {mean:.3} per order, which may be off 10 by {:.1} %",
                        100.0 * tolerance
                    ),
                );
            }
            (Table::OrderLine, _) => judged.judge(
                stage,
                (5 * orders..=15 * orders).contains(&rows),
                format!("{name}: {rows} rows, from 5 to 15 for each of {orders} orders"),
            ),
            (Table::NewOrder, _) if !fresh => {
                judged.judge(stage, rows <= orders, format!("{name}: {rows} rows of {orders} orders"));
            }
            (Table::History | Table::Orders, Some(loaded)) if !fresh => {
                judged.judge(stage, rows >= loaded, format!("{name}: {rows} rows, {loaded} of them loaded"));
            }
            (_, loaded) => {
                let loaded = loaded.unwrap_or(0);
                judged.judge(stage, rows == loaded, format!("{name}: {rows} rows, {loaded} demanded"));
            }
        }
    }
    judged.end("cardinalities")
}

/// Judges findings of rules.
fn judge_rules(stage: &Stage<'_>, findings: &[ConditionFinding], what: &str) -> Result<Seen, Trouble> {
    let mut judged = Judged::default();
    for finding in findings {
        let title = finding.condition.title;
        let words = if finding.holds() {
            format!("{title} ({:.1} s)", finding.seconds)
        } else {
            format!("{title}: {} rows break it: {}", finding.offenders, finding.examples.join("; "))
        };
        judged.judge(stage, finding.holds(), words);
    }
    judged.end(what)
}

/// Ends the test as not run if the districts are skewed: the standard has no rules for them.
fn has_ten_districts(stage: &Stage<'_>) -> Result<(), Trouble> {
    match stage.meta.districts.skew() {
        None => Ok(()),
        Some(skew) => Err(Trouble::NotRun(format!(
            "the districts are spread by {skew}, and the rules are about ten each"
        ))),
    }
}

/// Evaluates the rules of clause 4.3.3.1, with the shares of ORIGINAL and of bad credit.
pub(super) fn population(stage: &Stage<'_>) -> Result<Seen, Trouble> {
    has_ten_districts(stage)?;
    let fresh = is_fresh(stage)?;
    let meta = stage.meta.clone();
    let findings = read_tables(stage, move |tables| tables.population(&meta, fresh))?;
    let what = if fresh { "rules" } else { "rules, without what transactions change," };
    judge_rules(stage, &findings, what)
}

/// Evaluates the rules of clause 4.3.2 about texts.
pub(super) fn formats(stage: &Stage<'_>) -> Result<Seen, Trouble> {
    let meta = stage.meta.clone();
    let findings = read_tables(stage, move |tables| tables.formats(&meta))?;
    judge_rules(stage, &findings, "rules")
}

/// Judges the distributions of stored values by χ².
pub(super) fn spreads(stage: &Stage<'_>) -> Result<Seen, Trouble> {
    let fresh = is_fresh(stage)?;
    let mut judged = Judged::default();
    for spread in SPREADS.iter().filter(|spread| fresh || !spread.until_first_transaction) {
        let meta = stage.meta.clone();
        let found = read_tables(stage, move |tables| tables.spread(spread, &meta))?;
        let (values, probabilities): (Vec<String>, Vec<f64>) =
            (spread.expected)(stage.meta).into_iter().unzip();
        if let Some((value, rows)) = found.iter().find(|(value, _)| !values.contains(value)) {
            judged.judge(
                stage,
                false,
                format!("{}: {rows} rows have {value}, which is no value of it", spread.title),
            );
            continue;
        }
        let count =
            |value: &String| found.iter().find(|(found, _)| found == value).map_or(0, |(_, rows)| *rows);
        let counts: Vec<u64> = values.iter().map(count).collect();
        judged.judge_counts(stage, &format!("{} {}", spread.clause, spread.title), &counts, &probabilities);
    }
    judged.end("distributions")
}

/// Tells which node has how many warehouses and bytes.
pub(super) fn nodes(stage: &Stage<'_>) -> Result<Seen, Trouble> {
    let (sizes, unknown) = stage.read_from(stage.target, |target| {
        let mut unknown = Vec::new();
        let sizes = or_unknown("the sizes of the nodes", target.capabilities().node_sizes(), &mut unknown)?;
        Ok((sizes.unwrap_or_default(), unknown))
    })?;
    unknown.into_iter().for_each(|step| stage.step(step));
    let bytes = |node: &str| {
        let size = sizes.iter().find(|size| size.node == node);
        size.map_or_else(String::new, |size| format!(", {} bytes", size.bytes))
    };
    let Some(placement) = stage.audit.placement else {
        if sizes.is_empty() {
            return Err(Trouble::NotRun("the database reports neither nodes nor bytes".into()));
        }
        sizes.iter().for_each(|size| stage.step(format!("{}: {} bytes", size.node, size.bytes)));
        let total: u64 = sizes.iter().map(|size| size.bytes).sum();
        let warehouses = stage.meta.warehouses_in_words();
        return Ok(Seen::plain(format!("one node has all rows: {total} bytes for {warehouses}")));
    };
    let mut counts = Vec::new();
    for (number, node) in (0..).zip(&placement.nodes) {
        let warehouses = placement.warehouses_of(number).count();
        counts.push(warehouses);
        stage.step(format!("{node}: {warehouses} of {} warehouses{}", stage.meta.warehouses, bytes(node)));
    }
    let placed: usize = counts.iter().sum();
    crate::stage::require(placed == stage.meta.warehouses as usize, || {
        format!("{placed} of {} warehouses are on a node", stage.meta.warehouses)
    })?;
    let (least, most) =
        (counts.iter().min().copied().unwrap_or(0), counts.iter().max().copied().unwrap_or(0));
    Ok(Seen::plain(format!("{} nodes with {least} to {most} warehouses each", counts.len())))
}
