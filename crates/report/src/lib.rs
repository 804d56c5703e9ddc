//! The result of a run and its renderings: a terminal table, a comparison, an HTML page.
//!
//! [`RunResult`] is the contract: it holds all results of a run, and every rendering is a function of it alone. Nothing
//! here talks to a database or reads a clock.

pub mod ab;
pub mod audit;
pub mod compare;
pub mod controls;
pub mod disclosure;
mod document;
pub mod document_kind;
mod fault_words;
pub mod figures;
pub mod find;
pub mod findings;
pub mod gate;
pub mod groups;
pub mod hdr;
pub mod html;
mod interval;
pub mod live;
pub mod markdown;
pub mod metric;
pub mod metrics;
pub mod model;
pub mod names;
pub mod noise;
mod numbers;
pub mod observed;
pub mod phases;
pub mod plan;
mod reasons;
mod setting;
pub mod statements;
pub mod store;
pub mod suggest;
pub mod sweep;
pub mod table;
mod verdict;

pub use compare::{Comparison, compare, compare_all, render_comparison, render_comparisons};
pub use gate::{FailIf, Gate, LatencyLimit, Requirement};
pub use html::{
    render_ab, render_find, render_html, render_load, render_pictures, render_report, render_sweep,
};
pub use markdown::{render_comparison_summary, render_run_summary};
pub use metrics::{faults, render_metrics};
pub use model::RunResult;
pub use reasons::{BadClaim, BadCondition, BadValue, NotJudged, Unjudged, UnknownMetric};
pub use store::ResultError;
pub use table::{render_table, render_verbose_table};
pub use verdict::Verdict;
