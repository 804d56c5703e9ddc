#!/usr/bin/env bash
# Measures what observation costs: runs on PostgreSQL with --observe off and with db and host, in turns. It prints the
# processor time of the threads that observe and of their connection's backend, and the ratio of the throughputs: the
# geometric mean over all pairs, with a 95 % interval. The aims are 3 % of a processor, and at least 0.99.
# Variables: PAIRS (10), SECONDS_EACH (20), TERMINALS (4), WAREHOUSES (4), SIZE (standard).
source "$(dirname "$0")/server.bash"
pairs=${PAIRS:-10}
seconds=${SECONDS_EACH:-20}
terminals=${TERMINALS:-4}
warehouses=${WAREHOUSES:-4}

# The time of a commit on the disk varies by more than an observer costs.
start_postgres fsync=off
sql postgres -c 'CREATE DATABASE tpcc'
"$lydite" load "$pg_url/tpcc" --warehouses "$warehouses" --size "${SIZE:-standard}" --quiet >"$work/out"

# percent PID NAME: prints the processor time of the threads whose names begin so, in percent of a processor
# over the window so far. A tick is 10 ms, so a tick in each second is 1 %.
percent() {
  cat "/proc/$1/task"/*/stat | awk -v name="$2" -v seconds="$((seconds - 1))" \
    'index($0, "(" name) { sub(/.*\) /, ""); ticks += $12 + $13 } END { printf "%.2f\n", ticks / seconds }'
}

# tps SOURCES: prints the transactions per second of a run that observes them.
tps() {
  # -e is off in $(…), so a failed run must not leave the result of the run before.
  rm -f "$work/result.json"
  "$lydite" run "$pg_url/tpcc" --terminals "$terminals" --duration "${seconds}s" --warmup 2s --no-check --quiet \
    --observe "$1" --json "$work/result.json" >"$work/out" &
  local run=$!
  if [ "$1" != off ]; then
    # The warm-up of 2 s, and all but the last second of the window.
    sleep $((seconds + 1))
    backend=$(sql postgres -c "SELECT pid FROM pg_stat_activity WHERE application_name = 'lydite observer'")
    echo "$(percent "$run" observ) $(percent "$backend" '')" >>"$work/costs"
  fi
  wait "$run" || return 1
  python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["tps"])' "$work/result.json"
}

tps off >"$work/first"
for pair in $(seq "$pairs"); do
  # They take turns in going first, because the speed of a machine varies by the minute.
  if [ $((pair % 2)) = 0 ]; then
    without=$(tps off)
    with=$(tps db,host)
  else
    with=$(tps db,host)
    without=$(tps off)
  fi
  echo "$with $without" >>"$work/pairs"
done

python3 - "$work/pairs" "$work/costs" <<'PYTHON'
import math, statistics, sys
pairs = [[float(number) for number in line.split()] for line in open(sys.argv[1])]
logs = [math.log(observed / plain) for observed, plain in pairs]
mean = statistics.mean(logs)
# Quantiles of Student's t at 97.5 % by degrees of freedom.
t = {1: 12.71, 2: 4.30, 3: 3.18, 4: 2.78, 5: 2.57, 6: 2.45, 7: 2.36, 8: 2.31, 9: 2.26}.get(len(logs) - 1, 2.2)
half = t * statistics.stdev(logs) / math.sqrt(len(logs)) if len(logs) > 1 else math.inf
costs = [[float(number) for number in line.split()] for line in open(sys.argv[2])]
client, server = (statistics.mean(values) for values in zip(*costs))
print(f"observing db and host took {client:.2f} % of a processor in Lydite and {server:.2f} % in the server")
plain = statistics.mean(plain for _, plain in pairs)
print(f"transactions per second without observation: {plain:.0f} (mean of {len(pairs)} runs)")
print(f"with db and host: {math.exp(mean):.4f} of that, 95 % interval {math.exp(mean - half):.4f} to "
      f"{math.exp(mean + half):.4f} (aim: at least 0.99)")
PYTHON
