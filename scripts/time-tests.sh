#!/usr/bin/env bash
# Runs a test program for cargo (scripts/test.sh names it as cargo's runner) and notes how long it and its tests took.
#
# usage: scripts/time-tests.sh PROGRAM [ARGUMENT]...     TEST_TIMES: the directory of the notes
set -uo pipefail

# Examples in the documentation come from rustdoc, with a harness of their own.
case $1 in
*/deps/*) ;;
*) exec "$@" ;;
esac

name="$CARGO_PKG_NAME $(basename "$1" | sed 's/-[0-9a-f]*$//')"
begin=$(date +%s%N)
# A stable toolchain reports times only when it is told to take unstable options. The program is built already: rustc does
# not see the variable.
RUSTC_BOOTSTRAP=1 "$@" -Zunstable-options --report-time | tee "$TEST_TIMES/output"
status=${PIPESTATUS[0]}
seconds=$((($(date +%s%N) - begin) / 1000000000))
count=$(grep -cE '^test .* \.\.\. (ok|FAILED|ignored)' "$TEST_TIMES/output")
printf '%6d s %5d tests  %s\n' "$seconds" "$count" "$name" >>"$TEST_TIMES/programs"
sed -nE "s/^test (.*) \.\.\. .*<([0-9.]+)s>.*/\2 s  ${name%% *} \1/p" "$TEST_TIMES/output" >>"$TEST_TIMES/tests"
exit "$status"
