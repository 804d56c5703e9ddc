#!/usr/bin/env bash
# How much memory lydite takes at most, beside pgbench, and sysbench if it is installed, with as many sessions on the same
# server: the whole mix in all three ways of sending, a run that loads first, the other modes, and targets without a server.
# SECONDS_EACH (10), SESSIONS (8), WAREHOUSES (8) and SIZE (standard, or small) may be set.
source "$(dirname "$0")/server.bash"
seconds=${SECONDS_EACH:-10}
sessions=${SESSIONS:-8}
warehouses=${WAREHOUSES:-8}
size=${SIZE:-standard}
[ -x /usr/bin/time ] || { say "GNU time is missing: apt-get install time"; exit 1; }

# peak NAME COMMAND…: prints the most memory that was resident, over the life of the process.
peak() {
  local name=$1
  shift
  /usr/bin/time -f %M -o "$work/peak" "$@" >"$work/out" 2>"$work/err" || { cat "$work/out" "$work/err" >&2; exit 1; }
  awk -v name="$name" '{ printf "%-40s %6.1f MB\n", name, $1 * 1024 / 1e6 }' "$work/peak"
}
# ours NAME TARGET [ARGUMENT…]
ours() {
  local name=$1 target=$2
  shift 2
  peak "lydite, $name" "$lydite" run "$target" --duration "${seconds}s" --warmup 1s --no-check --quiet \
    --json "$work/result.json" --report "$work/report.html" "$@"
}

start_postgres
for database in tpcc fresh micro others; do sql postgres -c "CREATE DATABASE $database"; done
say "loading $warehouses warehouses"
peak "lydite load" "$lydite" load "$pg_url/tpcc" --warehouses "$warehouses" --size "$size" --quiet
for mode in statements batched procedures; do
  ours "$mode" "$pg_url/tpcc" --terminals "$sessions" --tx "$mode"
done
peak "lydite, checked before and after" "$lydite" run "$pg_url/tpcc" --terminals "$sessions" --duration "${seconds}s" \
  --quiet
ours "loading first" "$pg_url/fresh" --terminals "$sessions" --warehouses "$warehouses" --size "$size"
ours "open, 200 requests per second" "$pg_url/tpcc" --mode open --rate 200 --sessions "$sessions"
ours "rte, ten terminals per warehouse" "$pg_url/tpcc" --mode rte --sessions "$sessions"
ours "micro, loading first" "$pg_url/micro" --workload micro --terminals "$sessions"

"$pg_bin/pgbench" -h 127.0.0.1 -p "$pg_port" -U postgres -i -q -s "$warehouses" others >"$work/out" 2>&1
peak "pgbench" "$pg_bin/pgbench" -h 127.0.0.1 -p "$pg_port" -U postgres -n -M prepared -c "$sessions" -j "$sessions" \
  -T "$seconds" others
if command -v sysbench >/dev/null; then
  oltp=(sysbench oltp_read_write --db-driver=pgsql --pgsql-host=127.0.0.1 --pgsql-port="$pg_port" --pgsql-user=postgres
    --pgsql-db=others --threads="$sessions" --time="$seconds")
  "${oltp[@]}" prepare >"$work/out"
  peak "sysbench" "${oltp[@]}" run
else
  say "sysbench is not installed: left out"
fi

ours "null:" null: --terminals "$sessions"
ours "null:, rte, 10 000 terminals" null: --mode rte --warehouses 1000 --sessions "$sessions"
ours "gemel:, the database included" gemel: --terminals "$sessions" --warehouses 2 --size small
