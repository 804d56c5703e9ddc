#!/usr/bin/env bash
# Runs every test of the workspace. Arguments go to `cargo test`.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/install-build-deps.sh
scripts/install-test-deps.sh
PG_BIN=$(scripts/pg-bin.sh)
export PG_BIN
PSYCOPG_PYTHON=$(scripts/psycopg-python.sh)
export PSYCOPG_PYTHON

echo "==> go test (sdk/go)"
(cd sdk/go && go test ./...)
# Modules of their own, with dependencies, which Go fetches.
(cd sdk/go/examples/pgx && go vet ./... && go test ./...)
(cd benches/drivers && go vet ./...)

echo "==> cargo test --workspace $*"
# The dev profile: it is optimised enough (see Cargo.toml) and keeps the overflow checks and debug assertions.
# shellcheck disable=SC2086 # flags, split on purpose
exec cargo test ${CARGO_FLAGS:-} --workspace "$@"
