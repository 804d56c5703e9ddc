//! The companions of a run, a file for each, and the table of those that a run of TPC-C has.

mod agents;
mod answers;
mod balances;
mod conditions;
pub(crate) mod counters;
mod declared;
pub(crate) mod faults;
pub(crate) mod function_tests;
mod ledger;
mod node_sizes;
pub(crate) mod observing;
mod sample;
pub(crate) mod servers;
mod success_log;
mod tables;

use crate::companion::Begun;
use crate::ready::tpcc::Ready;
use lydite_database::Tpcc;

/// The companions of a run of TPC-C. They begin, are finished and add to the result in this order, and the first one goes on
/// around all others. They check the other way round: the last look before the window is followed by the first one after it.
pub(crate) const OF_TPCC: &[fn(&Ready<'_>) -> Begun<Tpcc>] = &[
    servers::begin,
    declared::begin,
    observing::begin,
    agents::begin,
    balances::begin,
    conditions::begin,
    function_tests::begin,
    node_sizes::begin,
    faults::begin,
    sample::begin,
    answers::begin,
    success_log::begin,
    ledger::begin,
    tables::begin,
];
