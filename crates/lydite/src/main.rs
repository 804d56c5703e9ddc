//! The command line of Lydite.

fn main() {}
