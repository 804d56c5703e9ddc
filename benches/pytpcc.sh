#!/usr/bin/env bash
# Measures py-tpcc's own loop and Lydite's (driver:pytpcc) with the same unmodified driver, in turns. Both have one
# configuration, and each plays the rows that it loaded itself, from a fresh copy in every turn. No waits, no warm-up,
# no checks. The printed ratios are medians over the turns, with the lowest and the highest. Each loads once.
#
# The loops differ, so the ratio is a price, not a contest:
# - py-tpcc calls the driver as a function and throws its answers away. Lydite sends each transaction to the driver's
#   process, and reads and type-checks the columns of the answer that a terminal shows.
# - py-tpcc draws type and warehouse of each transaction. Lydite deals the standard's deck, and a session visits the
#   warehouses in turn.
# - py-tpcc goes on after an error without a rollback, unless the driver rolls back. So SQLite commits the half
#   transaction with the next one, and PostgreSQL rejects all that follow. Lydite rolls back after an error.
# - 1 % of new orders have an unused item. Lydite always sends them, and looks up the number of a rolled back order.
#   apavlo's loop has them switched off; forks send them and count an abort.
# - apavlo's loop runs in Python 2, and Lydite runs the driver in Python 3.
# - py-tpcc prints no throughput: its rate is the number of transactions by the sum of their times, of all clients.
#
# Variables: PYTPCC (needed: a checkout), DRIVER (sqlite; also postgres or postgresql, as the checkout calls it),
# WAREHOUSES (2), SECONDS_EACH (20), TURNS (3), CLIENTS (1), PYTHON (python3: runs the driver under Lydite; needs
# psycopg2 for PostgreSQL), OWN_PYTHON (runs py-tpcc's own loop: PYTHON, or python2.7 if tpcc.py is for Python 2).
if [ ! -f "${PYTPCC:-}/pytpcc/tpcc.py" ]; then
  cat >&2 <<'HELP'
set PYTPCC to a checkout of py-tpcc whose own loop runs its driver, such as one of these:
  git clone https://github.com/apavlo/py-tpcc          DRIVER=sqlite, needs python2.7
  git clone https://github.com/cxdorn/ty-tpcc          DRIVER=sqlite or postgres
  git clone https://github.com/mongodb-labs/py-tpcc    DRIVER=postgresql (not sqlite: its loop can't import that)
HELP
  exit 1
fi
# The database is in memory: SQLite syncs at each commit, and the disk would hide the loops.
if [ "${DRIVER:-sqlite}" = sqlite ] && [ -w /dev/shm ]; then export TMPDIR=${TMPDIR:-/dev/shm}; fi
source "$(dirname "$0")/server.bash"
driver=${DRIVER:-sqlite} warehouses=${WAREHOUSES:-2} seconds=${SECONDS_EACH:-20} turns=${TURNS:-3} clients=${CLIENTS:-1}
python=${PYTHON:-python3}

# end_descendants PID: ends them, since a signal to this script leaves a step in its subshell running.
end_descendants() {
  local child
  for child in $(pgrep -P "$1"); do
    end_descendants "$child"
    kill "$child" 2>/dev/null || true
  done
}
trap 'end_descendants $$; finish' EXIT

# A copy, since py-tpcc writes its log beside its code.
cp -r "$PYTPCC/pytpcc" "$work/pytpcc"
if "$python" -c 'import ast, sys; ast.parse(open(sys.argv[1]).read())' "$work/pytpcc/tpcc.py" 2>/dev/null; then
  own_python=${OWN_PYTHON:-$python}
else
  own_python=${OWN_PYTHON:-python2.7}
fi
if ! (cd "$work/pytpcc" && "$own_python" -c "import drivers.${driver}driver"); then
  say "py-tpcc's own loop can't import its driver $driver with $own_python: set DRIVER, OWN_PYTHON or PYTPCC"
  exit 1
fi
ddl=$work/pytpcc/tpcc.sql
[ ! -f "$work/pytpcc/tpcc_$driver.sql" ] || ddl=$work/pytpcc/tpcc_$driver.sql

# keep SIDE: puts the loaded database aside. fresh SIDE: copies it back.
database=tpcc
if [ "$driver" = sqlite ]; then
  database=$work/tpcc.db
  keep() { mv "$database" "$work/$1.db"; }
  fresh() { cp "$work/$1.db" "$database"; }
else
  # shellcheck disable=SC2119 # no settings
  start_postgres
  sql postgres -c "CREATE DATABASE tpcc"
  # Some drivers connect as the user who runs them.
  export LOGNAME=postgres
  keep() {
    sql tpcc -c "VACUUM ANALYZE"
    sql postgres -c "ALTER DATABASE tpcc RENAME TO loaded_$1" -c "CREATE DATABASE tpcc"
  }
  fresh() { sql postgres -c "DROP DATABASE tpcc" -c "CREATE DATABASE tpcc TEMPLATE loaded_$1"; }
fi
cat >"$work/config" <<CONFIG
[$driver]
database = $database
host = 127.0.0.1
port = ${pg_port:-0}
user = postgres
password =
CONFIG
url="driver:pytpcc?path=$work/pytpcc/drivers/${driver}driver.py&config=$work/config&ddl=$ddl&python=$python"

own() (
  cd "$work/pytpcc" &&
  exec "$own_python" tpcc.py --config "$work/config" --ddl "$ddl" --scalefactor 1 --warehouses "$warehouses" "$@" \
    "$driver"
)
# measure SIDE STEP COMMAND…: keeps the output, the processor time and the duration.
measure() {
  say "$1: $2"
  cpu_of "${@:3}"
  cat "$work/out" "$work/err" >"$work/$1.$2.out"
  echo "$cpu_s $wall_s" >"$work/$1.$2.time"
}
measure own load own --reset --no-execute --clients 1
# Only starts and connects.
measure own start own --no-load --no-execute
keep own
measure lydite load "$lydite" load "$url" --warehouses "$warehouses" --jobs 1 --fresh --quiet
keep lydite
for turn in $(seq "$turns"); do
  order="own lydite"
  [ $((turn % 2)) = 1 ] || order="lydite own"
  for side in $order; do
    fresh "$side"
    if [ "$side" = own ]; then
      measure own "$turn" own --no-load --duration "$seconds" --clients "$clients"
    else
      measure lydite "$turn" "$lydite" run "$url" --terminals "$clients" --warmup 0s --duration "${seconds}s" \
        --no-check --quiet --json "$work/lydite.$turn.json"
    fi
  done
done
echo "$driver in $work; py-tpcc's loop: $("$own_python" --version 2>&1), Lydite's: $("$python" --version 2>&1)"
"$python" "$root/benches/pytpcc_report.py" "$work" "$turns" "$seconds"
cat <<'END'
Processor time: all processes of the client from the first transaction to the end; with SQLite the database is in it.
py-tpcc calls the driver in its own process and throws answers away; Lydite sends requests to it and reads the answers.
After an error only Lydite rolls back, unless the driver does. The head of this script lists the other differences.
END
