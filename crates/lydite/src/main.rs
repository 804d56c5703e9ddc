//! The program `lydite`; see [`lydite::main`].

use std::process::ExitCode;

/// Embedded targets are measured within this process, and multi-version engines live by their allocator: TPC-C in Gemel's
/// memory engine takes a tenth less processor time than with glibc's. Clients of servers do without its huge pages
/// (`memory.rs`).
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    lydite::main()
}
