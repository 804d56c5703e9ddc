#!/usr/bin/env bash
# Builds Lydite and benchmarks the embedded default target: no server needed. Arguments go to `lydite run`.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/install-build-deps.sh

echo "==> building (release)"
# shellcheck disable=SC2086 # flags, split on purpose
cargo build ${CARGO_FLAGS:-} --release -p lydite

report=out/report.html
result=out/result.json
mkdir -p out
# Else a run that fails early would show the files of the one before.
rm -f "$report" "$result"

command=("${CARGO_TARGET_DIR:-target}/release/lydite" run --report "$report" --json "$result" "$@")
echo "==> ${command[*]}"
status=0
"${command[@]}" || status=$?

# A failed check or an interruption still leaves results.
[ ! -e "$report" ] || echo "report: $PWD/$report"
[ ! -e "$result" ] || echo "result: $PWD/$result"
[ "$status" -eq 0 ] || echo "lydite run: exit code $status" >&2
exit "$status"
