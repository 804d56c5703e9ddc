#!/usr/bin/env bash
# Runs tests of Gemel's code with pointers in Miri, which finds undefined behaviour. Skipped if rustup has no nightly
# toolchain with Miri. The tests take some 40 s. Arguments are names of more tests: mvcc::tree::tests takes 70 s more.
set -euo pipefail
cd "$(dirname "$0")/.."

installed=$(rustup component list --toolchain nightly --installed 2>/dev/null || true)
if ! grep -q '^miri' <<<"$installed" || ! grep -q '^rust-src' <<<"$installed"; then
    echo "==> Miri is skipped: to run it, do 'rustup toolchain install nightly --component miri --component rust-src'"
    exit 0
fi

# The epochs' crate violates stacked borrows, and leaves what it has not freed at the end.
export MIRIFLAGS="-Zmiri-tree-borrows -Zmiri-permissive-provenance -Zmiri-ignore-leaks -Zmiri-disable-isolation"
echo "==> cargo miri test (gemel)"
# shellcheck disable=SC2086 # flags, split on purpose
cargo +nightly miri test ${CARGO_FLAGS:-} -p gemel --lib -- \
    memory::tests::chains mvcc::history mvcc::tree::tests::a_key mvcc::tree::tests::keys_that_never_change "$@"
