#!/usr/bin/env bash
# Runs every executable benches/*.sh, from the root of the repository, with LYDITE set to the release binary. pytpcc.sh
# runs only if PYTPCC names a checkout of py-tpcc.
set -euo pipefail
cd "$(dirname "$0")/.."

benches=()
for bench in benches/*.sh; do
    [ -x "$bench" ] || continue
    if [ "$bench" = benches/pytpcc.sh ] && [ -z "${PYTPCC:-}" ]; then
        echo "==> $bench is left out: PYTPCC names no checkout of py-tpcc" >&2
        continue
    fi
    benches+=("$bench")
done
if [ ${#benches[@]} -eq 0 ]; then
    echo "error: no executable benches/*.sh: nothing to run" >&2
    exit 1
fi

scripts/install-build-deps.sh
echo "==> building (release)"
# shellcheck disable=SC2086 # flags, split on purpose
cargo build ${CARGO_FLAGS:-} --release -p lydite
LYDITE=$(realpath "${CARGO_TARGET_DIR:-target}/release/lydite")
export LYDITE

failed=()
for bench in "${benches[@]}"; do
    echo "==> $bench"
    "$bench" || failed+=("$bench")
done
if [ ${#failed[@]} -gt 0 ]; then
    echo "failed: ${failed[*]}" >&2
    exit 1
fi
