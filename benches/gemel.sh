#!/usr/bin/env bash
# Measures Gemel, the embedded database, under TPC-C: the placements of its tables, and the gain of pipelined commit.
# registry.sh measures the cost of the registry of snapshots.
# Variables: SECONDS_EACH (15), WAREHOUSES (2), SESSIONS (2), LYDITE (the release build).
source "$(dirname "$0")/server.bash"
seconds=${SECONDS_EACH:-15}
warehouses=${WAREHOUSES:-2}
sessions=${SESSIONS:-2}

ratio() { awk "BEGIN { printf \"%.2f\", $1 / $2 }"; }

# tpcc NAME OPTIONS [FLAGS]: sets tps, csr (aborts by the registry) and count (transactions).
tpcc() {
  local name=$1 options=$2
  shift 2
  "$lydite" run "gemel:$work/db?$options" "$@" --warehouses "$warehouses" --duration "${seconds}s" \
    --warmup 3s --quiet --json "$work/r.json" >"$work/out"
  rm -rf "$work/db"
  read -r tps csr count < <(python3 -c "
import json
r = json.load(open('$work/r.json'))
print(round(r['tps']), r['aborts']['csr'], sum(t['committed'] for t in r['transactions'].values()))")
  echo "$name: $tps transactions/s, csr aborts $csr of $count"
}

closed=(--terminals "$sessions")
# A rate above the capacity, so a free session always finds a request.
pool=(--mode open --rate 100000 --sessions "$sessions")

tpcc "all-memory, relaxed durability (aim: at least 60000)" "placement=all-memory&durability=relaxed" "${closed[@]}"
memory=$tps
for placement in archive-only optimize-new-order optimize-payment all-disk; do
  tpcc "$placement, cache 40MB" "placement=$placement&durability=relaxed&cache=40MB" "${closed[@]}"
done
echo "all-memory / all-disk $(ratio "$memory" "$tps") (aim: at least 10)"
tpcc "all-disk, all in cache" "placement=all-disk&durability=relaxed&cache=1GB" "${closed[@]}"
tpcc "full durability, session waits for its commit" "durability=full&commit=wait" "${closed[@]}"; waits=$tps
tpcc "full durability, pipelined" "durability=full&commit=pipelined" "${closed[@]}"
echo "full durability, ten terminals for a warehouse: pipelined / waiting $(ratio "$tps" "$waits")"
tpcc "full durability, a pool of sessions that wait" "durability=full&commit=wait" "${pool[@]}"; waits=$tps
tpcc "full durability, a pool of sessions, pipelined" "durability=full&commit=pipelined" "${pool[@]}"
echo "full durability, a pool under more requests than it can answer: pipelined / waiting $(ratio "$tps" "$waits") (aim: at least 5)"
"$lydite" run "sqlite:?synchronous=normal" --warehouses "$warehouses" --terminals "$sessions" --duration "${seconds}s" \
  --warmup 3s --quiet --json "$work/r.json" >"$work/out"
python3 -c "
import json
print('sqlite, WAL, synchronous=normal:', round(json.load(open('$work/r.json'))['tps']), 'transactions/s')"

cargo test --quiet --release --manifest-path "$root/Cargo.toml" -p gemel --lib -- --ignored --nocapture durable_commits 2>/dev/null | grep -i "commits" || true
