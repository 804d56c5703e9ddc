#!/usr/bin/env bash
# Compares Gemel with other embedded databases under the same TPC-C-derived load, at two durabilities.
# Variables: SECONDS_EACH (15), WAREHOUSES (2), SESSIONS (2), STORES (a pattern of awk that selects lines).
#
# This builds the program in benches/peers, outside of the workspace, with the other databases. Each line is loaded into
# a temporary directory (TMPDIR), runs after 3 s of warm-up, and has its twelve consistency conditions checked. All lines
# run one after the other, then once more in the opposite order, and the table has the means of the two.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
target=${CARGO_TARGET_DIR:-$root/target/peers}
seconds=${SECONDS_EACH:-15}
warehouses=${WAREHOUSES:-2}
sessions=${SESSIONS:-2}
work=$(mktemp -d "${TMPDIR:-/tmp}/lydite-bench-XXXXXX")
trap 'rm -rf "$work"' EXIT

say() { printf '%s\n' "$*" >&2; }
cargo build --release --locked --target-dir "$target" --manifest-path "$root/benches/peers/Cargo.toml"

# Durability, name, and the arguments of the program. All stores on disk have a cache that holds every row.
sqlite="foreign_keys=off&cache_mb=512"
awk -F'|' -v pick="${STORES:-.}" '$0 ~ pick' >"$work/lines" <<LINES
relaxed|Gemel all-memory|gemel:?placement=all-memory&durability=relaxed|-
relaxed|Gemel all-disk|gemel:?placement=all-disk&cache=1GB&durability=relaxed|-
relaxed|redb|redb|relaxed
relaxed|surrealkv|surrealkv|relaxed
relaxed|SQLite|sqlite:?synchronous=normal&$sqlite|-
full|Gemel all-memory|gemel:?placement=all-memory&commit=wait|-
full|Gemel all-disk|gemel:?placement=all-disk&cache=1GB&commit=wait|-
full|Gemel all-memory, pipelined (default)|gemel:|-
full|Gemel all-disk, pipelined|gemel:?placement=all-disk&cache=1GB|-
full|redb|redb|full
full|surrealkv|surrealkv|full
full|SQLite|sqlite:?synchronous=full&$sqlite|-
LINES

tac "$work/lines" | cat "$work/lines" - | while IFS='|' read -r durability name store level; do
  say "$durability: $name"
  numbers=$("$target/release/lydite-peers" "$store" "$level" "$warehouses" "$sessions" "$seconds" </dev/null)
  printf '%s\t%s\t%s\n' "$durability" "$name" "$numbers" >>"$work/results"
done

python3 - "$work/results" <<'PYTHON'
import sys
runs = {}
for line in open(sys.argv[1]):
    durability, name, *numbers = line.rstrip("\n").split("\t")
    runs.setdefault((durability, name), []).append([float(number) for number in numbers])
means = {key: [sum(column) / len(column) for column in zip(*values)] for key, values in runs.items()}
print(f"{'':45} {'tx/s':>8} {'NOPM':>9} {'p99 ms':>8} {'µs CPU':>8} {'aborts':>7} {'by disk':>8} {'by mem.':>8} {'runs':>15}")
for (durability, name), (tps, nopm, p99, cpu, aborts, count) in means.items():
    def ratio(gemel):
        base = means.get((durability, gemel))
        return f"{tps / base[0]:.2f}" if base else "-"
    spread = " ".join(f"{run[0]:.0f}" for run in runs[durability, name])
    print(f"{durability + ': ' + name:45} {tps:8.0f} {nopm:9.0f} {p99:8.2f} {cpu:8.1f} {aborts / count:7.2%} "
          f"{ratio('Gemel all-disk'):>8} {ratio('Gemel all-memory'):>8} {spread:>15}")
PYTHON
echo "p99: of New-Order, in ms. µs CPU: of the process, database included, for one transaction. by disk, by mem.: transactions/s"
echo "by those of Gemel with all tables on disk and in memory, at the same durability, each session waiting for its commit."
