//! The statistics against known answers, and their errors by simulation with fixed seeds.

mod dice;
mod known;
mod searched;
mod simulated;
