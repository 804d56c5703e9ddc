#!/usr/bin/env bash
# Measures what Gemel's registry of snapshots costs, with it and without it in turns, so a machine whose speed changes
# disturbs both alike. First the microbenchmark of the Skeena thesis, in one process that changes sides ten times a
# second; then runs of TPC-C. For each case it prints ratios of throughput and of processor time, with a 95 % interval.
# The aims: at most 2 % with one engine, at most 5 % with both.
# Variables: TURNS (200 pairs of turns of the microbenchmark, at least 20; 0 for none), KIND (read-only, read-write or
# write-only; all of them without it), PAIRS (20 pairs of runs of TPC-C; 0 for none), SECONDS_EACH (3), SESSIONS (2),
# WAREHOUSES (2), CASES (a pattern of cases of TPC-C), LYDITE (the release build).
source "$(dirname "$0")/server.bash"
pairs=${PAIRS:-20}
seconds=${SECONDS_EACH:-3}
sessions=${SESSIONS:-2}


# measure CASE CSR FLAGS…: appends the case, the switch, throughput and processor time to the results.
measure() {
  local name=$1 csr=$2 target=$3
  shift 3
  "$lydite" run "$target&csr=$csr" "$@" --terminals "$sessions" --duration "${seconds}s" --warmup 1s --no-check --quiet \
    --json "$work/r.json" >"$work/out"
  python3 -c "
import json
r = json.load(open('$work/r.json'))
print('$name', '$csr', r['tps'], r['client']['cpu_us_per_transaction'], sep='\t')" >>"$work/results"
}

# compare CASE TARGET FLAGS…: runs the pairs of a case, each in another order than the one before.
compare() {
  [[ $1 =~ ${CASES:-.} ]] || return 0
  local name=$1 target=$2 pair
  shift 2
  for pair in $(seq "$pairs"); do
    if ((pair % 2)); then measure "$name" on "$target" "$@"; measure "$name" off "$target" "$@"
    else measure "$name" off "$target" "$@"; measure "$name" on "$target" "$@"; fi
  done
  say "$name: done"
}

if [ "${TURNS:-200}" != 0 ]; then
  cargo run --quiet --release --manifest-path "$root/Cargo.toml" -p gemel --example registry -- "$work/micro" "${TURNS:-200}" ${KIND:+"$KIND"}
fi
[ "$pairs" != 0 ] || exit 0
compare "TPC-C, all in memory" "gemel:?placement=all-memory&durability=relaxed" --warehouses "${WAREHOUSES:-2}"
compare "TPC-C, HISTORY on disk" "gemel:?placement=archive-only&durability=relaxed" --warehouses "${WAREHOUSES:-2}"

python3 - "$work/results" <<'PYTHON'
import math, statistics, sys
cases = {}
for line in open(sys.argv[1]):
    name, csr, tps, cpu = line.rstrip("\n").split("\t")
    cases.setdefault(name, {"on": [], "off": []})[csr].append((float(tps), float(cpu)))

def interval(values):
    """The median, and the order statistics around it that contain the true one with a probability of 95 %."""
    values, n = sorted(values), len(values)
    below, lower = 0.0, 0
    while lower < n // 2 and below + math.comb(n, lower) / 2 ** n <= 0.025:
        below += math.comb(n, lower) / 2 ** n
        lower += 1
    lower = max(lower - 1, 0)
    return f"{statistics.median(values):.3f} ({values[lower]:.3f} to {values[n - 1 - lower]:.3f})"

print(f"{'':40} {'throughput with / without':>26} {'processor with / without':>26}")
for name, runs in cases.items():
    turns = list(zip(runs["on"], runs["off"]))
    print(f"{name:40} {interval([on[0] / off[0] for on, off in turns]):>26} "
          f"{interval([on[1] / off[1] for on, off in turns]):>26}")
PYTHON
