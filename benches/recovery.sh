#!/usr/bin/env bash
# Measures the speed at which Gemel opens after a crash, from a checkpoint and from a log of BYTES (2000000000) of rows
# in the memory engine, in a temporary directory (TMPDIR). It needs three times as much memory. The aim is 200 MB/s per
# core.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
exec cargo run --quiet --release --manifest-path "$root/Cargo.toml" -p gemel --example recovery -- "${BYTES:-2000000000}"
