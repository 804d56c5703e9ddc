//! The ACID tests of TPC-C (clause 3), step by step, and the data and inputs as an auditor sees them (clause 9.2.2). An
//! ACID test is a script of transactions that stop right before their
//! commit, or after a read, while others are looked at. A test never assumes that a transaction waits: it sees it.
//!
//! `TESTS` is the table of tests, and each property has a module.

mod act;
mod aside;
mod atomicity;
pub mod checkpoints;
pub mod consistency;
mod data;
pub mod durability;
mod engines;
mod finding;
mod ground;
mod isolation;
mod ledger;
pub mod load;
mod pairs;
mod replicas;
mod round;
mod stage;
pub mod success_file;

pub use finding::{Finding, LoadFacts, Property, Scope, Verdict};
pub use ledger::Acknowledged;
pub use pairs::Engines;
pub use round::Audit;

use act::Crew;
use finding::{Seen, Trouble};
use ground::Ground;
use lydite_database::{Placement, Target, TargetError};
use lydite_tpcc::meta::DatabaseMeta;
use lydite_tpcc::random::{Purpose, Stream};
use round::Round;
use stage::Stage;
use std::sync::Arc;
use std::time::Instant;

/// A test of the table.
struct Test {
    property: Property,
    id: &'static str,
    clause: &'static str,
    title: &'static str,
    extent: Extent,
    play: fn(&mut Stage<'_>, &mut Stream) -> Result<Seen, Trouble>,
}

/// The part of the database that a test is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Extent {
    /// Some rows. The test runs on one node, and again over nodes if the database has several.
    Rows,
    /// The whole database. The test runs once.
    Whole,
    /// The whole database, after a load. The test runs once.
    Loaded,
    /// Tables in two engines. The test runs once, if the tables are in several.
    Engines,
    /// The replicas. The test runs once, if there are any.
    Replicas,
}

/// Tests, in order. Those of the data come first, before a test enters orders.
static TESTS: &[&[Test]] =
    &[data::TESTS, atomicity::TESTS, consistency::TESTS, isolation::TESTS, engines::TESTS, replicas::TESTS];

/// The tests to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// All.
    All,
    /// All but `consistency-2`, which the durability test makes during its load.
    BeforeLoad,
    /// Only `consistency-2`, with a load of its own.
    AfterLoad,
}

/// Result of the tests.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Findings, in the order of the tests.
    pub findings: Vec<Finding>,
    /// The loss of the database that ended the tests.
    pub lost: Option<String>,
    /// True if the user stopped the tests.
    pub stopped: bool,
}

impl Report {
    /// Adds the result of further tests.
    pub fn extend(&mut self, more: Self) {
        self.findings.extend(more.findings);
        self.lost = self.lost.take().or(more.lost);
        self.stopped |= more.stopped;
    }
}

impl Audit<'_> {
    /// Returns the scope of tests of the whole database.
    #[must_use]
    pub fn widest(&self) -> Scope {
        if self.placement.is_some_and(|placement| placement.nodes.len() > 1) {
            Scope::Nodes
        } else {
            Scope::Local
        }
    }

    /// Returns true if a test is asked for.
    fn includes(&self, part: Part, test: &Test) -> bool {
        let of_part = match part {
            Part::All => true,
            Part::BeforeLoad => test.extent != Extent::Loaded,
            Part::AfterLoad => test.extent == Extent::Loaded,
        };
        of_part && self.only.contains(&test.property)
    }

    /// Returns the scopes in which a test runs. A test of the replicas has none if the user named no replicas, one of engines
    /// none if all tables are in one.
    fn scopes(&self, test: &Test) -> Vec<Scope> {
        match (test.extent, self.widest()) {
            (Extent::Replicas, _) if self.replicas.is_none() => vec![],
            (Extent::Engines, _) if self.engines.pairs().is_empty() => vec![],
            (Extent::Engines, _) => vec![Scope::Engines],
            (Extent::Whole | Extent::Loaded | Extent::Replicas, widest) => vec![widest],
            (Extent::Rows, Scope::Nodes) => vec![Scope::Local, Scope::Nodes],
            (Extent::Rows, Scope::Local | Scope::Engines) => vec![Scope::Local],
        }
    }

    /// Runs a part of the tests on the loaded database until `stop` says so, and reports each finding as it comes.
    pub fn run(
        &self,
        target: &Arc<dyn Target>,
        part: Part,
        stop: &dyn Fn() -> bool,
        found: &mut dyn FnMut(&Finding),
    ) -> Report {
        let mut report = Report::default();
        let round = Round { target, stop, crew: &Crew::default() };
        // Numbered before the choice, so that a test has the same rows whatever else is tested.
        for (number, test) in (0..).zip(TESTS.iter().flat_map(|tests| tests.iter())) {
            let scopes = if self.includes(part, test) { self.scopes(test) } else { vec![] };
            for scope in scopes {
                let finding = self.finding(
                    test,
                    scope,
                    2 * number + u64::from(scope == Scope::Nodes),
                    &round,
                    &mut report,
                );
                found(&finding);
                report.findings.push(finding);
            }
        }
        report
    }

    /// Runs one test, unless nothing can be tested any more.
    fn finding(
        &self,
        test: &Test,
        scope: Scope,
        number: u64,
        round: &Round<'_>,
        report: &mut Report,
    ) -> Finding {
        let begun = Instant::now();
        let mut stream = Stream::new(self.seed, Purpose::Audit, number);
        let ground = Ground::choose(scope, self.meta, self.placement, &mut stream);
        let (mut steps, mut load) = (Vec::new(), None);
        let ended = match ground {
            _ if report.stopped || (round.stop)() => Err(Trouble::Stopped),
            _ if report.lost.is_some() => Err(Trouble::NotRun("the database is away".into())),
            _ if round.crew.is_incomplete() => {
                Err(Trouble::NotRun("a session of an earlier test still has no answer".into()))
            }
            None => Err(Trouble::NotRun("the warehouses are on one node".into())),
            Some(ground) => {
                let mut stage = Stage::new(self, ground, round);
                let ended = (test.play)(&mut stage, &mut stream);
                (steps, load) = (stage.steps.take(), stage.load.take());
                ended
            }
        };
        match &ended {
            Err(Trouble::Lost(words)) => report.lost = Some(words.clone()),
            Err(Trouble::Stopped) => report.stopped = true,
            _ => {}
        }
        let finding = Finding::of(test.id, test.clause, test.title, scope);
        Finding { load, ..finding }.ended(ended, steps, begun)
    }
}

/// Returns the nodes of a database, if it reports several.
///
/// # Errors
/// The database fails.
pub fn placement(target: &dyn Target, meta: &DatabaseMeta) -> Result<Option<Placement>, TargetError> {
    target.capabilities().placement(meta.warehouses)
}
