#!/usr/bin/env bash
# Measures how long commits of tables in memory take while the disk engine flushes: with the machine's disk, and with one
# that takes SYNC_MS (500) longer for each sync of the disk engine's files. The aim for the ratio of the two at p99.9 is
# at most 2.
# Variables: SECONDS_EACH (5), ROUNDS (5), SYNC_MS (500).
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
seconds=${SECONDS_EACH:-5}
rounds=${ROUNDS:-5}
sync_ms=${SYNC_MS:-500}
work=$(mktemp -d "${TMPDIR:-/tmp}/lydite-bench-XXXXXX")
work=$(realpath "$work")
trap 'rm -rf "$work"' EXIT

cc -O2 -Wall -Werror -shared -fPIC -o "$work/slow_sync.so" "$root/benches/slow_sync.c" -ldl
# shellcheck disable=SC2086 # flags, split on purpose
cargo build --quiet ${CARGO_FLAGS:-} --release --manifest-path "$root/Cargo.toml" -p gemel --example tail
tail=${CARGO_TARGET_DIR:-$root/target}/release/examples/tail

# The two take turns, because the speed of a machine varies by the minute.
for round in $(seq "$rounds"); do
  for disk in as-is slow; do
    preload=
    [ "$disk" = as-is ] || preload=$work/slow_sync.so
    numbers=$(LD_PRELOAD=$preload SLOW_SYNC_BELOW=$work/db/disk SLOW_SYNC_MS=$sync_ms "$tail" "$work/db" "$seconds")
    echo "$round $disk $numbers" >>"$work/results"
    rm -rf "$work/db"
  done
done

python3 - "$work/results" "$sync_ms" <<'PYTHON'
import statistics, sys
runs = {"as-is": [], "slow": []}
for line in open(sys.argv[1]):
    _, disk, *numbers = line.split()
    runs[disk].append([float(number) for number in numbers])
names = {"as-is": "the machine's disk", "slow": f"{sys.argv[2]} ms more for each sync"}
print(f"{'commits in memory, medians of ' + str(len(runs['slow'])) + ' rounds':40} {'p50 µs':>8} {'p99 µs':>8} {'p99.9 µs':>9} "
      f"{'max µs':>9} {'commits':>9} {'on disk':>8} {'flushes':>8}")
for disk, rows in runs.items():
    p50, p99, p999, most, commits, on_disk, flushes = (statistics.median(column) for column in zip(*rows))
    print(f"{names[disk]:40} {p50:8.2f} {p99:8.2f} {p999:9.2f} {most:9.0f} {commits:9.0f} {on_disk:8.0f} {flushes:8.0f}")
def ratios(column):
    return sorted(slow[column] / fast[column] for fast, slow in zip(runs["as-is"], runs["slow"]))
for name, column in [("p99", 1), ("p99.9", 2), ("max", 3)]:
    found = ratios(column)
    print(f"{name}: slow / as is {statistics.median(found):.2f}, from {found[0]:.2f} to {found[-1]:.2f}"
          + (" (aim: at most 2)" if name == "p99.9" else ""))
PYTHON
