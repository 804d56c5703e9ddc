#!/usr/bin/env bash
# Makes sure that cargo and a C compiler (for the bundled SQLite) are there. Does nothing when they are.
set -euo pipefail
cd "$(dirname "$0")/.."

# Not from Debian: its cargo is older than the rust-version that Cargo.toml asks for.
if ! command -v cargo >/dev/null; then
    echo "error: cargo: not found; install Rust by hand from https://rustup.rs" >&2
    exit 1
fi

if [ -z "${CC:-}" ] && ! command -v cc >/dev/null; then
    scripts/install-packages.sh "a C compiler (cc)" gcc libc6-dev
fi
