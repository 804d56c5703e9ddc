#!/usr/bin/env bash
# Measures what the success file of the durability test costs. The load of `lydite audit` plays on PostgreSQL, and uses
# its success file in every second turn. Of each three turns the middle one is compared with the mean of the other two, so
# a drift cancels out. Prints the mean cost with the 95 % interval of Student's t. The aim is less than 5 %.
# Variables: TRIPLES (30), SECONDS_EACH (4), WAREHOUSES (10), TERMINALS (20), TARGET (a PostgreSQL of its own).
source "$(dirname "$0")/server.bash"
triples=${TRIPLES:-30}
seconds=${SECONDS_EACH:-4}
warehouses=${WAREHOUSES:-10}
terminals=${TERMINALS:-20}

if [ -z "${TARGET:-}" ]; then
  start_postgres
  sql postgres -c "CREATE DATABASE tpcc"
  TARGET=$pg_url/tpcc
fi
"$lydite" load "$TARGET" --warehouses "$warehouses" --quiet

# The load ends when its input does, after the URL.
{ echo "$TARGET"; sleep $(((3 * triples + 3) * seconds)); } |
  "$lydite" audit-load --terminals "$terminals" --seed 1 --file "$work/success" --turns "${seconds}s" |
  awk -F: '/New-Orders of each turn/ { print $2 }' | python3 -c '
import statistics, student, sys
triples, seconds = int(sys.argv[1]), float(sys.argv[2])
# The first two turns do not count.
counts = [int(word) for word in sys.stdin.read().split()][2:2 + 3 * triples]
costs = []
for first in range(0, len(counts), 3):
    one, other, last = counts[first:first + 3]
    outer = (one + last) / 2
    unused, used = (outer, other) if first % 2 == 0 else (other, outer)
    costs.append(100 * (1 - used / unused))
half, mean = student.half(costs), statistics.mean(costs)
print(f"{statistics.mean(counts[::2]) / seconds:.0f} New-Orders per second without the success file")
print(f"it costs {mean:.1f} % of them ({mean - half:.1f} to {mean + half:.1f} %, {len(costs)} times three turns)")' \
    "$triples" "$seconds"
