//! Durability (clause 3.5): after a failure, the database has each order that it acknowledged, and no other.

use crate::finding::{Finding, LoadFacts, Scope, Seen, Trouble};
use crate::ledger::Acknowledged;
use crate::load::shortness;
use crate::success_file::{Order, SuccessFile};
use lydite_database::{LedgerCounts, Target, TargetError, Written, WrittenOrder};
use lydite_tpcc::WarehouseId;
use lydite_tpcc::consistency::CONDITIONS;
use lydite_tpcc::meta::DatabaseMeta;
use std::collections::HashSet;
use std::time::{Duration, Instant};

/// Most orders that a finding names.
const EXAMPLES: usize = 3;

/// A failure that the database has to survive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The database ends at once, and starts again on its data.
    Crash,
    /// A node loses its data for good, and gets a new disk.
    DiskLoss,
    /// A node loses its data for good under full load; later another one is killed, and starts again.
    NodesLost,
    /// The disk loses its power, and the database with it; then it starts again on what is left.
    PowerLoss,
}

/// The test: begun before the load, judged after the recovery.
pub struct Trial {
    failure: Failure,
    scope: Scope,
    begun: Instant,
    steps: Vec<String>,
    load: Option<LoadFacts>,
    before: Before,
    ledger: Ledger,
    /// Further words about the course, for a finding that is good.
    observed: String,
}

/// The ledger of a test, which needs a load whose process survives the failure.
#[derive(Default)]
struct Ledger {
    before: LedgerCounts,
    /// Greatest number of orders that one Delivery delivers.
    districts: u64,
    /// Transactions of the load; none if it did not report them.
    acknowledged: Option<Acknowledged>,
}

impl Trial {
    /// Begins the test: reads the database before the load.
    ///
    /// # Errors
    /// The database fails.
    pub fn begin(
        target: &dyn Target,
        meta: &DatabaseMeta,
        failure: Failure,
        scope: Scope,
    ) -> Result<Self, TargetError> {
        let begun = Instant::now();
        let before = Before(target.written(&(1..=meta.warehouses), None)?);
        let mut ledger = Ledger::default();
        if failure == Failure::PowerLoss {
            let districts = (1..=meta.warehouses).map(|w_id| meta.districts.of(WarehouseId(w_id)));
            ledger.districts = districts.max().map_or(0, u64::from);
            ledger.before = target.counts(&(1..=meta.warehouses))?;
        }
        let steps = vec![format!("count1, the sum of D_NEXT_O_ID, is {}", before.count())];
        Ok(Self { failure, scope, begun, steps, load: None, before, ledger, observed: String::new() })
    }

    /// Returns the finding of a test that could not begin.
    #[must_use]
    pub fn impossible(failure: Failure, scope: Scope, why: impl Into<String>) -> Finding {
        Self::unbegun(failure, scope).not_run(why)
    }

    /// Returns the finding of a test that did not begin because the user wants that.
    #[must_use]
    pub fn skipped(failure: Failure, scope: Scope) -> Finding {
        Self::unbegun(failure, scope).stopped()
    }

    fn unbegun(failure: Failure, scope: Scope) -> Self {
        let before = Before(Written::default());
        let ledger = Ledger::default();
        let (steps, observed) = (Vec::new(), String::new());
        Self { failure, scope, begun: Instant::now(), steps, load: None, before, ledger, observed }
    }

    /// Notes a step.
    pub fn step(&mut self, words: impl Into<String>) {
        self.steps.push(words.into());
    }

    /// Notes further words about the course, for a finding that is good.
    pub fn observed(&mut self, words: impl Into<String>) {
        self.observed = format!("; {}", words.into());
    }

    /// Notes the load before the failure: its terminals, its duration, and the entries of its success file.
    pub fn loaded(&mut self, terminals: u32, duration: Duration, entries: usize) {
        let load = LoadFacts::new(duration.as_secs_f64(), entries as u64, None);
        self.step(format!(
            "a load of {terminals} terminals for {:.0} s{}: {entries} entries in the success file so far ({:.0} NOPM)",
            load.seconds,
            shortness(duration),
            load.nopm
        ));
        self.load = Some(load);
    }

    /// Notes the transactions that the load saw acknowledged until its end.
    pub fn acknowledged(&mut self, acknowledged: Option<Acknowledged>) {
        self.ledger.acknowledged = acknowledged;
    }

    /// Reads the recovered database, or one of its nodes, which has this port.
    ///
    /// # Errors
    /// The database fails: perhaps a node still recovers.
    pub fn recovered(
        &self,
        target: &dyn Target,
        meta: &DatabaseMeta,
        port: Option<u16>,
    ) -> Result<Recovered, TargetError> {
        let from = self.before.0.next_orders.values().min().copied();
        let written = target.written(&(1..=meta.warehouses), from)?;
        let by_power = self.failure == Failure::PowerLoss;
        // A torn page may break any of them.
        let conditions = if by_power { &CONDITIONS[..] } else { &CONDITIONS[2..3] };
        let findings = target.check(conditions, &|_| {})?;
        let broken = findings.iter().filter(|finding| !finding.holds());
        let broken = broken
            .map(|of| format!("condition {} does not hold: {}", of.condition.clause, of.examples.join("; ")));
        let counts = if by_power { Some(target.counts(&(1..=meta.warehouses))?) } else { None };
        Ok(Recovered { port, written, conditions: conditions.len(), broken: broken.collect(), counts })
    }

    /// Compares the recovered database, or each of its nodes alone, with the success file. `promised` is true if the
    /// database's settings make a commit survive the loss of power, which a killed process can't show, and a lost disk is
    /// not about.
    #[must_use]
    pub fn judge(
        mut self,
        recovered: &[Recovered],
        file: &SuccessFile,
        terminals: u32,
        promised: bool,
    ) -> Finding {
        // Terminals that go on after failures leave an attempt without an answer at each.
        let open = u32::try_from(file.open.values().sum::<u64>()).unwrap_or(u32::MAX);
        let terminals = if self.failure == Failure::NodesLost { terminals.max(open) } else { terminals };
        let compared = self.before.compare_all(recovered, file, terminals, &mut self.steps);
        let compared =
            compared.and_then(|seen| match self.ledger.compare(recovered, terminals, &mut self.steps) {
                problems if problems.is_empty() => Ok(seen),
                problems => Err(Trouble::Failed(problems.join("; "))),
            });
        let compared =
            compared.map(|seen| Seen { words: format!("{}{}", seen.words, self.observed), ..seen });
        if matches!(self.failure, Failure::DiskLoss | Failure::NodesLost) {
            return self.finding(compared);
        }
        let ended = match compared {
            Ok(seen) if !promised => Err(Trouble::Failed(format!(
                "by its settings a commit does not survive the loss of power (clause 3.5.3.4); this time {}",
                seen.words
            ))),
            ended => ended,
        };
        self.step(if promised {
            "as far as its settings are known, a commit survives the loss of power"
        } else {
            "by its settings a commit does not survive the loss of power"
        });
        self.finding(ended)
    }

    /// Ends the test without a verdict.
    #[must_use]
    pub fn not_run(self, why: impl Into<String>) -> Finding {
        self.finding(Err(Trouble::NotRun(why.into())))
    }

    /// Ends the test: the database did not come back.
    #[must_use]
    pub fn failed(self, why: impl Into<String>) -> Finding {
        self.finding(Err(Trouble::Failed(why.into())))
    }

    /// Ends the test because the user wants that.
    #[must_use]
    pub fn stopped(self) -> Finding {
        self.finding(Err(Trouble::Stopped))
    }

    fn finding(self, ended: Result<Seen, Trouble>) -> Finding {
        let (id, clause, title) = match self.failure {
            Failure::Crash => {
                ("durability-1", "3.5.4", "each acknowledged order survives a failure, and no other")
            }
            Failure::DiskLoss => {
                ("durability-2", "3.5.3.1", "each acknowledged order is on a node that had lost its disk")
            }
            Failure::NodesLost => (
                "durability-3",
                "3.5.3.1",
                "each acknowledged order survives the loss of a node for ever, and then the kill of another one",
            ),
            Failure::PowerLoss => (
                "durability-4",
                "3.5.3.4",
                "each acknowledged order survives the loss of power, and no other",
            ),
        };
        let finding = Finding::of(id, clause, title, self.scope);
        Finding { load: self.load, ..finding }.ended(ended, self.steps, self.begun)
    }
}

/// The database after its recovery, or one of its nodes.
pub struct Recovered {
    /// Port of the node.
    port: Option<u16>,
    written: Written,
    /// Number of evaluated conditions.
    conditions: usize,
    /// Conditions that do not hold, each with keys that break it.
    broken: Vec<String>,
    /// Counts for the ledger, if the test has one.
    counts: Option<LedgerCounts>,
}

impl Ledger {
    /// Compares the counts of each recovered node with what was acknowledged, and notes that. Returns what is wrong.
    fn compare(&self, recovered: &[Recovered], terminals: u32, steps: &mut Vec<String>) -> Vec<String> {
        if recovered.iter().all(|one| one.counts.is_none()) {
            return Vec::new();
        }
        let Some(acknowledged) = self.acknowledged else {
            steps.push(
                "the load had to be killed, and did not say what its terminals saw acknowledged: the ledger is not compared"
                    .to_owned(),
            );
            return Vec::new();
        };
        let Acknowledged { new_orders, payments, delivered } = acknowledged;
        steps.push(format!(
            "the terminals saw {new_orders} New-Orders, {payments} Payments and {delivered} deliveries acknowledged"
        ));
        let of =
            |counts: &LedgerCounts| acknowledged.problems(&self.before, counts, terminals, self.districts);
        recovered.iter().filter_map(|one| one.counts.as_ref()).flat_map(of).collect()
    }
}

/// The database before the load.
struct Before(Written);

/// Returns the sum of D_NEXT_O_ID.
fn count(written: &Written) -> u64 {
    written.next_orders.values().map(|next| next.0).sum()
}

/// Describes committed orders that are lost and rolled-back ones that are there.
fn missing_and_back(entries: u64, lost: &[Order], back: &[Order]) -> Vec<String> {
    let mut problems = Vec::new();
    if !lost.is_empty() {
        problems.push(format!("{} of {entries} committed New-Orders are lost: {}", lost.len(), listed(lost)));
    }
    if !back.is_empty() {
        problems.push(format!("{} rolled-back New-Orders are there: {}", back.len(), listed(back)));
    }
    problems
}

/// Returns the first orders in words.
fn listed(orders: &[Order]) -> String {
    let words = |((w_id, d_id, c_id), o_id): &Order| format!("order {o_id} of customer {w_id}/{d_id}/{c_id}");
    let first: Vec<String> = orders.iter().take(EXAMPLES).map(words).collect();
    match orders.len().saturating_sub(EXAMPLES) {
        0 => first.join(", "),
        more => format!("{} and {more} more", first.join(", ")),
    }
}

impl Before {
    /// Returns the sum of D_NEXT_O_ID: count1 of the clause.
    fn count(&self) -> u64 {
        count(&self.0)
    }

    /// Compares each recovered node with the success file, and notes each step.
    fn compare_all(
        &self,
        recovered: &[Recovered],
        file: &SuccessFile,
        terminals: u32,
        steps: &mut Vec<String>,
    ) -> Result<Seen, Trouble> {
        let (mut seen, mut ports) = (None, Vec::new());
        for one in recovered {
            let Some(port) = one.port else { return self.compare(one, file, terminals, steps) };
            steps.push(format!("the node on port {port} is read alone"));
            seen = Some(self.compare(one, file, terminals, steps).map_err(|trouble| match trouble {
                Trouble::Failed(words) => {
                    Trouble::Failed(format!("on the node on port {port} alone: {words}"))
                }
                trouble => trouble,
            })?);
            ports.push(port.to_string());
        }
        let place = match &ports[..] {
            [port] => format!("on the node on port {port} alone"),
            ports => format!("on each of the nodes on ports {} alone", ports.join(", ")),
        };
        match seen {
            Some(seen) => Ok(Seen { words: format!("{place}: {}", seen.words), ..seen }),
            None => Err(Trouble::NotRun("no node was read".into())),
        }
    }

    /// Compares the recovered database with the success file, and notes each step.
    fn compare(
        &self,
        recovered: &Recovered,
        file: &SuccessFile,
        terminals: u32,
        steps: &mut Vec<String>,
    ) -> Result<Seen, Trouble> {
        let Recovered { written: after, conditions, broken, .. } = recovered;
        let key = |order: &WrittenOrder| ((order.w_id, order.d_id, order.c_id), order.o_id);
        let there: HashSet<Order> = after.orders.iter().map(key).collect();
        let committed: HashSet<Order> = file.committed.iter().copied().collect();
        let lost: Vec<Order> =
            file.committed.iter().filter(|order| !there.contains(*order)).copied().collect();
        // An attempt without an answer may have taken the number of an order that was rolled back.
        let is_open = |order: &Order| file.open.get(&order.0).is_some_and(|open| *open > 0);
        let back: Vec<Order> = file
            .rolled_back
            .iter()
            .filter(|order| there.contains(*order) && !committed.contains(*order) && !is_open(order))
            .copied()
            .collect();
        let (count1, count2) = (self.count(), count(after));
        let entries = file.committed.len() as u64;
        steps.push(format!(
            "count1 is {count1}, count2 is {count2}: {} orders more",
            count2.saturating_sub(count1)
        ));
        steps.push(format!(
            "the success file has {entries} committed and {} rolled-back New-Orders",
            file.rolled_back.len()
        ));
        steps.push(match (&broken[..], conditions) {
            ([], 1) => "condition 3 holds".into(),
            ([], count) => format!("all {count} conditions hold"),
            (broken, _) => broken.join("; "),
        });
        let mut problems = missing_and_back(entries, &lost, &back);
        let excess = (count2.saturating_sub(count1)).checked_sub(entries);
        match excess {
            None => problems.push(format!("count2 - count1 is less than the {entries} committed New-Orders")),
            Some(excess) if excess > u64::from(terminals) => problems.push(format!(
                "{excess} orders more than the file has, and only {terminals} terminals could be without an answer"
            )),
            Some(_) => {}
        }
        problems.extend(broken.iter().cloned());
        if entries == 0 {
            return Err(Trouble::NotRun(
                "no New-Order was committed before the failure: use a longer --duration".into(),
            ));
        }
        if problems.is_empty() {
            let excess = excess.unwrap_or_default();
            Ok(Seen::plain(format!(
                "each of {entries} committed New-Orders is there, none of {} rolled-back ones, and {excess} without an \
                 answer (up to {terminals}, one for each terminal, are allowed)",
                file.rolled_back.len()
            )))
        } else {
            Err(Trouble::Failed(problems.join("; ")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lydite_tpcc::{CustomerId, DistrictId, OrderId, WarehouseId};

    fn order(o_id: u64, c_id: u32) -> WrittenOrder {
        WrittenOrder {
            w_id: WarehouseId(1),
            d_id: DistrictId(2),
            o_id: OrderId(o_id),
            c_id: CustomerId(c_id),
        }
    }

    fn entry(o_id: u64, c_id: u32) -> Order {
        ((WarehouseId(1), DistrictId(2), CustomerId(c_id)), OrderId(o_id))
    }

    fn written(next: u64, orders: &[WrittenOrder]) -> Written {
        let mut written = Written { orders: orders.to_vec(), ..Written::default() };
        written.next_orders.insert((WarehouseId(1), DistrictId(2)), OrderId(next));
        written
    }

    fn read(port: Option<u16>, next: u64, orders: &[WrittenOrder]) -> Recovered {
        Recovered { port, written: written(next, orders), conditions: 1, broken: Vec::new(), counts: None }
    }

    fn judge(next: u64, orders: &[WrittenOrder], file: &SuccessFile) -> Result<Seen, Trouble> {
        let recovered = read(None, next, orders);
        Before(written(301, &[])).compare_all(&[recovered], file, 2, &mut Vec::new())
    }

    fn failure(judged: Result<Seen, Trouble>) -> String {
        match judged {
            Err(Trouble::Failed(words)) => words,
            other => panic!("{other:?}"),
        }
    }

    fn file() -> SuccessFile {
        SuccessFile {
            committed: vec![entry(301, 7), entry(302, 8)],
            rolled_back: vec![entry(302, 5)],
            ..SuccessFile::default()
        }
    }

    #[test]
    fn exactly_the_committed_orders_and_a_few_without_an_answer_are_right() {
        assert!(judge(303, &[order(301, 7), order(302, 8)], &file()).is_ok());
        let more = [order(301, 7), order(302, 8), order(303, 1), order(304, 2)];
        assert!(judge(305, &more, &file()).is_ok());
        let words = failure(judge(306, &[&more[..], &[order(305, 3)]].concat(), &file()));
        assert_eq!(words, "3 orders more than the file has, and only 2 terminals could be without an answer");
    }

    #[test]
    fn a_lost_order_fails_even_if_another_one_has_its_number() {
        let words = failure(judge(302, &[order(301, 7)], &file()));
        assert!(
            words.starts_with("1 of 2 committed New-Orders are lost: order 302 of customer 1/2/8; "),
            "{words}"
        );
        let words = failure(judge(303, &[order(301, 7), order(302, 9)], &file()));
        assert_eq!(words, "1 of 2 committed New-Orders are lost: order 302 of customer 1/2/8");
    }

    #[test]
    fn a_rolled_back_order_that_is_there_fails_unless_its_customer_has_an_open_one() {
        let mut file = SuccessFile { committed: vec![entry(301, 7)], ..file() };
        let orders = [order(301, 7), order(302, 5)];
        let words = failure(judge(303, &orders, &file));
        assert_eq!(words, "1 rolled-back New-Orders are there: order 302 of customer 1/2/5");
        file.open.insert(entry(302, 5).0, 1);
        assert!(judge(303, &orders, &file).is_ok());
    }

    #[test]
    fn each_node_must_have_all_orders() {
        let on = |port, orders: &[WrittenOrder]| {
            let next = 301 + orders.len() as u64;
            read(Some(port), next, orders)
        };
        let all = [order(301, 7), order(302, 8)];
        let compared =
            |nodes: &[Recovered]| Before(written(301, &[])).compare_all(nodes, &file(), 2, &mut Vec::new());
        let seen = compared(&[on(4001, &all), on(4002, &all)]).expect("all are there");
        let words = "on each of the nodes on ports 4001, 4002 alone: each of 2 committed New-Orders is there";
        assert!(seen.words.starts_with(words), "{}", seen.words);
        let words = failure(compared(&[on(4001, &all), on(4002, &all[..1])]));
        assert!(words.starts_with("on the node on port 4002 alone: 1 of 2 committed New-Orders"), "{words}");
        let seen = compared(&[on(4002, &all)]).expect("all are there");
        assert!(seen.words.starts_with("on the node on port 4002 alone: each of 2"), "{}", seen.words);
    }

    #[test]
    fn a_load_without_a_commit_proves_nothing() {
        let judged = judge(301, &[], &SuccessFile::default());
        assert!(matches!(judged, Err(Trouble::NotRun(_))), "{judged:?}");
    }

    #[test]
    fn a_ledger_that_could_not_be_compared_says_so() {
        let ledger = Ledger { before: LedgerCounts::default(), districts: 10, acknowledged: None };
        let mut steps = Vec::new();
        assert_eq!(ledger.compare(&[read(None, 301, &[])], 2, &mut steps), [""; 0]);
        assert_eq!(steps, [""; 0], "a test without a ledger");
        let recovered = Recovered { counts: Some(LedgerCounts::default()), ..read(None, 301, &[]) };
        assert_eq!(ledger.compare(&[recovered], 2, &mut steps), [""; 0]);
        assert!(steps.len() == 1 && steps[0].ends_with("the ledger is not compared"), "{steps:?}");
    }
}
