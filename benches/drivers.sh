#!/usr/bin/env bash
# Measures the cost of a driver in another program, in three parts:
# 1. the protocol alone;
# 2. the driver over pgx under Lydite, against the same code called in a loop (same PostgreSQL, same inputs);
# 3. the gain from a second process of a Python driver, where the driver is the bottleneck.
# Variables: SECONDS_EACH (15); ROUNDS (3), SESSIONS (2) and WAREHOUSES (4) of the second part; PYTHON (python3).
source "$(dirname "$0")/server.bash"
seconds=${SECONDS_EACH:-15}
rounds=${ROUNDS:-3}
sessions=${SESSIONS:-2}
warehouses=${WAREHOUSES:-4}
python=${PYTHON:-python3}
command -v go >/dev/null || { say "go: not found: run make test once, which installs it"; exit 1; }
(cd "$root/benches/drivers" && go build -buildvcs=false -o "$work/" ./...)
(cd "$root/sdk/go/examples/pgx" && go build -buildvcs=false -o "$work/pgx" .)
export PYTHONPATH=$root/sdk/python NOTES=$work/notes
value() { grep -o "\"$1\": *[0-9.e+-]*" "$work/result.json" | head -1 | sed 's/.*: *//'; }
# run URL [ARGUMENT…]: sets tps, and cpu_us (Lydite's and the driver's, per transaction).
run() {
  "$lydite" run "$@" --warmup 2s --duration "${seconds}s" --no-check --quiet --json "$work/result.json" >"$work/out" ||
    { cat "$work/out" >&2; return 1; }
  tps=$(value tps)
  # Built-in targets have no driver time.
  driver_us=$(value driver_cpu_us_per_transaction) || driver_us=0
  cpu_us=$(awk "BEGIN { printf \"%.0f\", $(value cpu_us_per_transaction) + $driver_us }")
}
calc() { awk "BEGIN { printf \"$2\", $1 }"; }

run null: --warehouses 1 --terminals 1
nothing=$(calc "1e6 / $tps" %.3f)
for language in Go Python; do
  rm -f "$NOTES"
  url="driver:$work/nothing"
  [ "$language" = Go ] || url="driver:$python $root/benches/drivers/nothing.py"
  run "$url" --warehouses 1 --terminals 1
  cost=$(calc "1e6 / $tps - $nothing" %.1f)
  echo "protocol, $language: $cost µs per transaction over null: ($nothing µs), $cpu_us µs of processor in both processes"
done

start_postgres
sql postgres -c "CREATE DATABASE tpcc"
connection="host=127.0.0.1 port=$pg_port user=postgres dbname=tpcc"
say "loading $warehouses warehouses"
"$lydite" load "driver:$work/pgx $connection" --warehouses "$warehouses" --quiet
mkdir "$work/inputs"
say "recording the inputs"
# Records the inputs: a driver that answers at once gets more of them in a second than PostgreSQL's in all rounds.
RECORD=$work/inputs "$lydite" run "driver:$work/nothing" --warehouses "$warehouses" --terminals "$sessions" --warmup 0s \
  --duration "$(((seconds + 29) / 10))s" --no-check --quiet >"$work/out"
loop() { "$work/loop" "$work/inputs" "$sessions" "$1" "$connection"; }
loop 3 >/dev/null
direct=0 driven=0
for round in $(seq "$rounds"); do
  order="loop lydite"
  [ $((round % 2)) = 1 ] || order="lydite loop"
  for one in $order; do
    if [ "$one" = loop ]; then
      found=$(loop "$seconds")
      direct=$(calc "$direct + $found / $rounds" %.1f)
    else
      run "driver:$work/pgx $connection" --terminals "$sessions"
      found=$tps
      driven=$(calc "$driven + $found / $rounds" %.1f)
    fi
    say "round $round, $one: $found transactions/s"
  done
done
echo "pgx, $sessions sessions, $rounds rounds: $driven transactions/s under Lydite, $direct in a loop, ratio $(ratio "$driven" "$direct") (aim: at least 0.9)"

# About a millisecond of Python in each transaction.
export WORK=50000
single=
for processes in 1 2; do
  rm -f "$NOTES"
  run "driver:$python $root/benches/drivers/nothing.py?processes=$processes" --warehouses 1 --set jobs=1 --terminals "$processes"
  [ -n "$single" ] || single=$tps
  double=$tps
done
echo "busy Python driver: $double transactions/s with 2 processes, $single with 1, ratio $(ratio "$double" "$single") (aim: at least 1.8)"
