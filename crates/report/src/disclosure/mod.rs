//! A full disclosure as data: what its documents are made of, and what is still missing.

mod audit;
mod gaps;

pub use crate::html::{render_executive_summary, render_full_disclosure};
pub use audit::AuditDocument;
pub use gaps::Gap;

use crate::model::RunResult;
use crate::sweep::Sweep;
use lydite_tpcc::sizing::{Bytes, Prices, Space, Verdict};

/// Greatest difference between two runs that count as reproduced, in percent.
pub const REPRODUCED_PERCENT: f64 = 2.0;

/// Contents of both documents.
#[derive(Debug)]
pub struct Disclosure<'a> {
    /// The result that is disclosed.
    pub result: &'a RunResult,
    /// Results of the same plan on the same database, which show that the first can be reproduced.
    pub again: &'a [RunResult],
    /// Sweeps, such as that of response times against throughput.
    pub sweeps: &'a [Sweep],
    /// The ACID tests.
    pub audit: Option<&'a AuditDocument>,
    /// The priced configuration.
    pub prices: Option<Priced<'a>>,
    /// Space for 60 days; `None` if the size of a warehouse is not known.
    pub space: Option<SpaceFacts>,
    /// DDL, or the layout of a store.
    pub tables: Vec<Listing>,
    /// The transactions as they are sent; empty if their code is not Lydite's.
    pub transactions: Vec<Listing>,
    /// URL of the database, as it is typed into a shell.
    pub target: String,
    /// Paper of the documents.
    pub paper: Paper,
}

/// The priced configuration.
#[derive(Debug, Clone, Copy)]
pub struct Priced<'a> {
    /// Parts and sums.
    pub prices: &'a Prices,
    /// Least years of maintenance of a part.
    pub years: u32,
}

/// A piece of code with its title.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listing {
    /// Title.
    pub title: String,
    /// Text.
    pub text: String,
}

/// The computation of space.
#[derive(Debug, Clone)]
pub struct SpaceFacts {
    /// Bytes of a warehouse after loading.
    pub bytes_per_warehouse: Bytes,
    /// Source of that number, in words.
    pub source: &'static str,
    /// True if it is the size of this very database.
    pub measured: bool,
    /// Space for 60 days and 8 hours.
    pub space: Space,
    /// Verdicts on the rules of scaling.
    pub rules: Vec<Verdict>,
}

/// Paper size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Paper {
    /// 210 mm by 297 mm.
    #[default]
    A4,
    /// 8.5 inches by 11 inches.
    Letter,
}

impl Disclosure<'_> {
    /// Returns how far the throughput of each other result is from that of the first, in percent.
    pub(crate) fn differences(&self) -> impl Iterator<Item = f64> + '_ {
        let base = self.result.nopm;
        self.again.iter().map(move |other| if base > 0.0 { 100.0 * (other.nopm - base) / base } else { 0.0 })
    }

    /// Returns true if a sweep shows response times against throughput (clause 5.6.2).
    pub(crate) fn has_response_curve(&self) -> bool {
        let draws = |metrics: &[String]| metrics.iter().any(|metric| metric == "new_order.p90");
        self.sweeps.iter().flat_map(|sweep| &sweep.figures).any(|figure| draws(&figure.spec.y))
    }
}
