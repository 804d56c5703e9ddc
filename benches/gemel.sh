#!/usr/bin/env bash
# Measures Gemel, the embedded database, under TPC-C: the placements of its tables, the cost of the registry of
# cross-engine snapshots, and the gain of pipelined commit. Then it runs Skeena's microbenchmark with the registry and
# without.
# Variables: SECONDS_EACH (15), WAREHOUSES (2), SESSIONS (2), MICRO_SECONDS (3 for each of 30 runs), MICRO_RECORDS
# (25000 in each of 2 x 4 tables).
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
lydite=${CARGO_TARGET_DIR:-$root/target}/release/lydite
seconds=${SECONDS_EACH:-15}
warehouses=${WAREHOUSES:-2}
sessions=${SESSIONS:-2}
micro_seconds=${MICRO_SECONDS:-3}
micro_records=${MICRO_RECORDS:-25000}
work=$(mktemp -d "${TMPDIR:-/tmp}/lydite-bench-XXXXXX")
trap 'rm -rf "$work"' EXIT

say() { printf '%s\n' "$*" >&2; }
[ -x "$lydite" ] || { say "building lydite (release)"; cargo build --release --manifest-path "$root/Cargo.toml" -p lydite; }
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

# The two take turns, because the speed of a machine varies by the minute.
with=0 without=0
for _ in 1 2 3; do
  tpcc "all-memory, relaxed durability, registry off" "placement=all-memory&durability=relaxed&csr=off" "${closed[@]}"
  without=$((without + tps))
  tpcc "all-memory, relaxed durability (aim: at least 60000)" "placement=all-memory&durability=relaxed" "${closed[@]}"
  with=$((with + tps)) memory=$tps
done
echo "all-memory: with the registry / without, of three runs each $(ratio "$with" "$without") (aim: at least 0.98)"
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

# micro CSR UPDATES PERCENT: sets tps, and lost: aborted attempts, and those that the registry aborted, in %. All runs
# use one database; the first run loads it.
micro() {
  "$lydite" run "gemel:$work/micro?durability=relaxed&csr=$1" --workload micro --set "micro.records=$micro_records" \
    --set "micro.updates=$2" --set "micro.disk_percent=$3" --terminals "$sessions" --duration "${micro_seconds}s" \
    --warmup 1s --quiet --json "$work/r.json" >"$work/out"
  read -r tps lost < <(python3 -c "
import json
r = json.load(open('$work/r.json'))
done, aborts = r['transactions']['micro']['committed'], r['aborts']
share = 100 / max(1, done + sum(aborts.values()))
print(round(r['tps']), '%.3f/%.3f' % (share * sum(aborts.values()), share * aborts['csr']))")
}

echo "microbenchmark, $sessions sessions, 4 tables of $micro_records records in each engine; transactions/s; aborts/csr aborts in %"
printf '%-11s %6s %9s %9s %7s %13s\n' mix '% disk' 'csr on' 'csr off' on/off aborts
for mix in read-only:0 read-write:2 write-only:10; do
  for percent in 0 30 50 80 100; do
    micro on "${mix#*:}" "$percent"; on=$tps aborts=$lost
    micro off "${mix#*:}" "$percent"
    printf '%-11s %6s %9s %9s %7s %13s\n' "${mix%:*}" "$percent" "$on" "$tps" "$(ratio "$on" "$tps")" "$aborts"
  done
done
cargo test --quiet --release --manifest-path "$root/Cargo.toml" -p gemel --lib -- --ignored --nocapture durable_commits 2>/dev/null | grep -i "commits" || true
