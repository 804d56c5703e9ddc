//! Running a workload.
