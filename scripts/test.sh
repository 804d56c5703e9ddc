#!/usr/bin/env bash
# Runs every test of the workspace, or those of the packages that -p names. Arguments go to `cargo test`. At the end it
# prints the seconds of each test program and of each test that took 10 s or more. If a nightly toolchain with Miri is
# installed, Gemel's code with pointers runs in Miri too.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/free-space.sh build
scripts/install-build-deps.sh
scripts/install-test-deps.sh
PG_BIN=$(scripts/pg-bin.sh)
export PG_BIN
PSYCOPG_PYTHON=$(scripts/psycopg-python.sh)
export PSYCOPG_PYTHON

packages=(--workspace)
miri=yes
for argument in "$@"; do
    case $argument in
    --) break ;;
    -p* | --package | --package=*) packages=() ;;
    esac
done
if [ ${#packages[@]} -eq 0 ] && [[ " $* " != *gemel* ]]; then
    miri=no
fi

if [ ${#packages[@]} -gt 0 ]; then
    echo "==> go test (sdk/go)"
    # Go does not see that files outside of its module have changed, and would give an earlier result.
    (cd sdk/go && go test -count=1 ./...)
    # Modules of their own, with dependencies, which Go fetches.
    (cd sdk/go/examples/pgx && go vet ./... && go test -count=1 ./...)
    (cd benches/drivers && go vet ./...)
fi

TEST_TIMES=$(mktemp -d)
export TEST_TIMES
trap 'rm -rf "$TEST_TIMES"' EXIT
# Most tests wait for servers, for children or for the end of a run, and take a third of a processor: more of them at a
# time than processors.
export RUST_TEST_THREADS="${RUST_TEST_THREADS:-$((3 * $(nproc)))}"

# The dev profile: it is optimised enough (see Cargo.toml) and keeps the overflow checks and debug assertions.
# shellcheck disable=SC2206 # flags, split on purpose
flags=(${CARGO_FLAGS:-} "${packages[@]}")
status=0
echo "==> cargo test ${packages[*]} $*"
cargo test "${flags[@]}" --no-run "$@"
scripts/free-space.sh tests
cargo test --config "target.'cfg(all())'.runner = ['$PWD/scripts/time-tests.sh']" "${flags[@]}" "$@" || status=$?

if [ "$miri" = yes ]; then
    scripts/miri.sh || status=$?
fi

if [ -s "$TEST_TIMES/programs" ]; then
    echo "==> seconds of each test program"
    sort -rn "$TEST_TIMES/programs"
    echo "==> tests that took 10 s or more"
    sort -rn "$TEST_TIMES/tests" | awk '$1 >= 10'
fi
exit "$status"
