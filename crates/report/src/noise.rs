//! Warnings about a machine that others use: runs write them, and experiments repeat the pairs that have them.

/// Begin of the warning that the host of a virtual machine took processors away.
pub const STEAL: &str = "The host of this virtual machine took";
/// Begin of the warning that other programs used the processors.
pub const OTHERS: &str = "Programs other than Lydite and the database used";

/// Returns true for a warning about a machine that others use.
#[must_use]
pub fn is_noise(warning: &str) -> bool {
    warning.starts_with(STEAL) || warning.starts_with(OTHERS)
}
