//! The program `lydite`; see [`lydite::main`].

use std::process::ExitCode;

/// The allocator. Embedded targets run within this process, and multi-version engines depend on their allocator: TPC-C
/// in Gemel's memory engine takes a tenth less processor time than with glibc's. Clients of servers do without its huge
/// pages (`memory.rs`).
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    lydite::main()
}
