//! The statistics against known answers, and their errors by simulation with fixed seeds.

mod known;
mod simulated;
