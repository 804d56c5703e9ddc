#!/usr/bin/env bash
# Compares Gemel with other embedded databases under the same TPC-C-derived load, at two durabilities.
# Variables: SECONDS_EACH (15), WAREHOUSES (2), LARGE_WAREHOUSES (10), SESSIONS (2), STORES (a pattern of awk that
# selects lines).
#
# The first two groups of lines have WAREHOUSES and a cache that holds every row. The last two have LARGE_WAREHOUSES and
# a cache that holds a tenth of the rows. The system's own cache holds the files in all groups.
#
# This builds the program in benches/peers, outside of the workspace, with the other databases. Each line is loaded into
# a temporary directory (TMPDIR), runs after 3 s of warm-up, and has its twelve consistency conditions checked. All lines
# run one after the other, then once more in the opposite order, and the table has the means of the two.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
target=${CARGO_TARGET_DIR:-$root/target/peers}
seconds=${SECONDS_EACH:-15}
warehouses=${WAREHOUSES:-2}
large=${LARGE_WAREHOUSES:-10}
sessions=${SESSIONS:-2}
# The rows of a warehouse take about 80 MB. A connection of SQLite has a cache of its own, so it gets its share.
tenth=$((large * 8))
share=$((tenth / sessions > 0 ? tenth / sessions : 1))
work=$(mktemp -d "${TMPDIR:-/tmp}/lydite-bench-XXXXXX")
trap 'rm -rf "$work"' EXIT

say() { printf '%s\n' "$*" >&2; }
cargo build --release --locked --target-dir "$target" --manifest-path "$root/benches/peers/Cargo.toml"

# Group, name, warehouses, and the arguments of the program that name the database.
sqlite="foreign_keys=off&cache_mb"
awk -F'|' -v pick="${STORES:-.}" '$0 ~ pick' >"$work/lines" <<LINES
relaxed|Gemel all-memory|$warehouses|gemel:?placement=all-memory&durability=relaxed
relaxed|Gemel all-disk|$warehouses|gemel:?placement=all-disk&cache=1GB&durability=relaxed
relaxed|redb|$warehouses|redb relaxed 1000
relaxed|surrealkv|$warehouses|surrealkv relaxed 1000
relaxed|SQLite|$warehouses|sqlite:?synchronous=normal&$sqlite=512
full|Gemel all-memory|$warehouses|gemel:?placement=all-memory&commit=wait
full|Gemel all-disk|$warehouses|gemel:?placement=all-disk&cache=1GB&commit=wait
full|Gemel all-memory, pipelined (default)|$warehouses|gemel:
full|Gemel all-disk, pipelined|$warehouses|gemel:?placement=all-disk&cache=1GB
full|redb|$warehouses|redb full 1000
full|surrealkv|$warehouses|surrealkv full 1000
full|SQLite|$warehouses|sqlite:?synchronous=full&$sqlite=512
tenth, relaxed|Gemel all-disk|$large|gemel:?placement=all-disk&cache=${tenth}MB&durability=relaxed
tenth, relaxed|redb|$large|redb relaxed $tenth
tenth, relaxed|surrealkv|$large|surrealkv relaxed $tenth
tenth, relaxed|SQLite|$large|sqlite:?synchronous=normal&$sqlite=$share
tenth, full|Gemel all-disk|$large|gemel:?placement=all-disk&cache=${tenth}MB&commit=wait
tenth, full|Gemel all-disk, pipelined|$large|gemel:?placement=all-disk&cache=${tenth}MB
tenth, full|redb|$large|redb full $tenth
tenth, full|surrealkv|$large|surrealkv full $tenth
tenth, full|SQLite|$large|sqlite:?synchronous=full&$sqlite=$share
LINES

tac "$work/lines" | cat "$work/lines" - | while IFS='|' read -r group name load database; do
  say "$group: $name"
  read -ra named <<<"$database"
  numbers=$("$target/release/lydite-peers" "${named[@]}" "$load" "$sessions" "$seconds" </dev/null)
  printf '%s\t%s\t%s\n' "$group" "$name" "$numbers" >>"$work/results"
done

python3 - "$work/results" <<'PYTHON'
import sys
runs = {}
for line in open(sys.argv[1]):
    group, name, *numbers = line.rstrip("\n").split("\t")
    runs.setdefault((group, name), []).append([float(number) for number in numbers])
means = {key: [sum(column) / len(column) for column in zip(*values)] for key, values in runs.items()}
print(f"{'':45} {'tx/s':>8} {'NOPM':>9} {'p99 ms':>8} {'µs CPU':>8} {'aborts':>7} {'by disk':>8} {'by mem.':>8} {'runs':>15}")
for (group, name), (tps, nopm, p99, cpu, aborts, count) in means.items():
    def ratio(gemel):
        base = means.get((group, gemel))
        return f"{tps / base[0]:.2f}" if base else "-"
    spread = " ".join(f"{run[0]:.0f}" for run in runs[group, name])
    print(f"{group + ': ' + name:45} {tps:8.0f} {nopm:9.0f} {p99:8.2f} {cpu:8.1f} {aborts / count:7.2%} "
          f"{ratio('Gemel all-disk'):>8} {ratio('Gemel all-memory'):>8} {spread:>15}")
PYTHON
echo "p99: of New-Order, in ms. µs CPU: of the process, database included, for one transaction. by disk, by mem.: transactions/s"
echo "by those of Gemel with all tables on disk and in memory, in the same group, each session waiting for its commit."
