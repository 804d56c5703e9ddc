#!/usr/bin/env bash
# Checks the dependencies against deny.toml. Arguments: the checks of cargo-deny to run.
set -euo pipefail
cd "$(dirname "$0")/.."

if ! command -v cargo-deny >/dev/null; then
    echo "error: cargo-deny: not found; install by hand: cargo install --locked cargo-deny" >&2
    exit 1
fi

echo "==> cargo deny check $*"
exec cargo deny check "$@"
