#!/usr/bin/env bash
# Measures how long one commit of ROWS (1000000) rows in Gemel holds up the small commits of another thread, in ms: for
# rows in memory and on disk, new ones and replaced ones.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
work=$(mktemp -d "${TMPDIR:-/tmp}/lydite-bench-XXXXXX")
trap 'rm -rf "$work"' EXIT
# shellcheck disable=SC2086 # flags, split on purpose
cargo build --quiet ${CARGO_FLAGS:-} --release --manifest-path "$root/Cargo.toml" -p gemel --example large_commit
"${CARGO_TARGET_DIR:-$root/target}/release/examples/large_commit" "$work/db" "${ROWS:-1000000}"
