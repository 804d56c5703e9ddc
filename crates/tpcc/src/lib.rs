//! The TPC-C domain.
