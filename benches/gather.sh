#!/usr/bin/env bash
# Measures what Gemel gains when its log gathers pipelined commits: runs with gather=1 and with gather=off, in turns.
# Prints the ratios of throughput and of processor time per transaction, with the 95 % interval of Student's t.
# Variables: PAIRS (10), SECONDS_EACH (8), WAREHOUSES (2), SESSIONS (2), LYDITE (the release build).
source "$(dirname "$0")/server.bash"

for _ in $(seq "${PAIRS:-10}"); do
  for gather in off 1; do
    "$lydite" run "gemel:$work/db?gather=$gather" --warehouses "${WAREHOUSES:-2}" --terminals "${SESSIONS:-2}" \
      --warmup 2s --duration "${SECONDS_EACH:-8}s" --no-check --quiet --json "$work/r.json" >"$work/out"
    rm -rf "$work/db"
    python3 -c "
import json
r = json.load(open('$work/r.json'))
print(r['tps'], r['client']['cpu_us_per_transaction'], r['nopm'])"
  done
done | python3 -c '
import statistics, student, sys
rows = [[float(word) for word in line.split()] for line in sys.stdin]
off, on = rows[::2], rows[1::2]
for column, name in enumerate(("transactions/s", "µs of processor per transaction", "NOPM")):
    ratios = [b[column] / a[column] for a, b in zip(off, on)]
    mean, half = statistics.mean(ratios), student.half(ratios)
    middle = [statistics.median(row[column] for row in side) for side in (off, on)]
    print(f"{name}: {middle[0]:.1f} with gather=off, {middle[1]:.1f} with gather=1 (medians); "
          f"ratio {mean:.3f} ({mean - half:.3f} to {mean + half:.3f}, {len(ratios)} pairs)")'
