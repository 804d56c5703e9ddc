//! The programs whose files are understood: a file for each, with the table of its settings.

mod benchbase;
mod benchmarksql;
mod dike;
mod go_tpc;
mod hammerdb;
mod lines;
mod mixes;
mod py_tpcc;
mod sysbench;

use crate::table::Tool;

/// All programs, in the order of the book.
pub static TOOLS: [&Tool; 7] = [
    &benchbase::TOOL,
    &hammerdb::TOOL,
    &benchmarksql::TOOL,
    &go_tpc::TOOL,
    &sysbench::TOOL,
    &py_tpcc::TOOL,
    &dike::TOOL,
];
