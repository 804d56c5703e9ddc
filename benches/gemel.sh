#!/usr/bin/env bash
# Gemel, the embedded database, under TPC-C: where its tables live, what the registry of cross-engine snapshots costs, what
# pipelined commit gains; and Skeena's microbenchmark. SECONDS_EACH (15), WAREHOUSES (2), SESSIONS (2) may be set.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
lydite=${CARGO_TARGET_DIR:-$root/target}/release/lydite
seconds=${SECONDS_EACH:-15}
warehouses=${WAREHOUSES:-2}
sessions=${SESSIONS:-2}
work=$(mktemp -d "${TMPDIR:-/tmp}/lydite-bench-XXXXXX")
trap 'rm -rf "$work"' EXIT

say() { printf '%s\n' "$*" >&2; }
[ -x "$lydite" ] || { say "building lydite (release)"; cargo build --release --manifest-path "$root/Cargo.toml" -p lydite; }
ratio() { awk "BEGIN { printf \"%.2f\", $1 / $2 }"; }

# tpcc NAME OPTIONS: sets tps, csr (aborts by the registry) and count (transactions).
tpcc() {
  "$lydite" run "gemel:$work/db?$2" --warehouses "$warehouses" --terminals "$sessions" --duration "${seconds}s" \
    --warmup 3s --quiet --json "$work/r.json" >"$work/out"
  rm -rf "$work/db"
  read -r tps csr count < <(python3 -c "
import json
r = json.load(open('$work/r.json'))
print(round(r['tps']), r['aborts']['csr'], sum(t['committed'] for t in r['transactions'].values()))")
  echo "$1: $tps transactions/s, csr aborts $csr of $count"
}

tpcc "all-memory, relaxed durability (aim: at least 60000)" "placement=all-memory&durability=relaxed"; memory=$tps
tpcc "all-memory, registry off" "placement=all-memory&durability=relaxed&csr=off"
echo "all-memory: with the registry / without $(ratio "$memory" "$tps") (aim: at least 0.98)"
for placement in archive-only optimize-new-order optimize-payment all-disk; do
  tpcc "$placement, cache 40MB" "placement=$placement&durability=relaxed&cache=40MB"
done
echo "all-memory / all-disk $(ratio "$memory" "$tps") (aim: at least 10)"
tpcc "all-disk, all in cache" "placement=all-disk&durability=relaxed&cache=1GB"
tpcc "full durability, session waits for its commit" "durability=full&commit=wait"; waits=$tps
tpcc "full durability, pipelined" "durability=full&commit=pipelined"
echo "full durability: pipelined / waiting $(ratio "$tps" "$waits") (aim: at least 5)"
"$lydite" run "sqlite:?synchronous=normal" --warehouses "$warehouses" --terminals "$sessions" --duration "${seconds}s" \
  --warmup 3s --quiet --json "$work/r.json" >"$work/out"
python3 -c "
import json
print('sqlite, WAL, synchronous=normal:', round(json.load(open('$work/r.json'))['tps']), 'transactions/s')"
cargo run --quiet --release --manifest-path "$root/Cargo.toml" -p gemel --example micro -- 3 "$sessions"
cargo test --quiet --release --manifest-path "$root/Cargo.toml" -p gemel --lib -- --ignored --nocapture durable_commits 2>/dev/null | grep -i "commits" || true
