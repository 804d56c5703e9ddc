#!/usr/bin/env bash
# How fast Gemel opens after a crash: a checkpoint, and a log, of BYTES (2000000000) of rows in the memory engine, which are
# written to a temporary directory (TMPDIR). Needs three times as much memory. The aim is 200 MB/s of each core.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
exec cargo run --quiet --release --manifest-path "$root/Cargo.toml" -p gemel --example recovery -- "${BYTES:-2000000000}"
