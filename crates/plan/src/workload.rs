//! The workload of a run.

use crate::entries::Entries;
use crate::problem::Problem;

/// A workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkloadName {
    /// TPC-C, with the Dike paper's transaction types.
    Tpcc,
    /// The microbenchmark of accesses to single records.
    Micro,
}

impl WorkloadName {
    /// Reads the key `workload`; none if its value is wrong.
    pub fn read(entries: &mut Entries) -> Option<Self> {
        match entries.text("workload") {
            None => Some(Self::Tpcc),
            Some(_) => entries.read("workload", |text| match text {
                "tpcc" => Ok(Self::Tpcc),
                "micro" => Ok(Self::Micro),
                _ => Err(Problem::from("is not known: use tpcc or micro")),
            }),
        }
    }
}
