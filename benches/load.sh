#!/usr/bin/env bash
# Compares the speed at which lydite loads PostgreSQL with `psql \copy` of the same rows from ready-made CSV files. Both
# use the same number of connections, and make the same keys, indexes, foreign keys, VACUUM and checkpoint afterwards.
# Variables: WAREHOUSES (20), JOBS (2).
source "$(dirname "$0")/server.bash"
warehouses=${WAREHOUSES:-20}
jobs=${JOBS:-2}
start_postgres
sql postgres -c "CREATE DATABASE ours" -c "CREATE DATABASE theirs"

say "lydite load, $warehouses warehouses, $jobs jobs"
cpu_of "$lydite" load "$pg_url/ours" --warehouses "$warehouses" --jobs "$jobs" --quiet
ours=$wall_s ours_cpu=$cpu_s

say "writing the same rows as CSV"
tables=(order_line stock customer orders history new_order item district warehouse)
for table in "${tables[@]}"; do
  if [ "$table" = item ]; then
    sql ours -c "\\copy item TO '$work/item.1.csv' (FORMAT csv)"
  else
    column=$(sql ours -c "SELECT attname FROM pg_attribute WHERE attrelid = '$table'::regclass AND attname ~ '^[a-z]+_w_id$|^w_id$' AND attname !~ '_c_w_id|supply' ORDER BY attnum LIMIT 1")
    for job in $(seq "$jobs"); do
      sql ours -c "\\copy (SELECT * FROM $table WHERE $column % $jobs = $((job - 1))) TO '$work/$table.$job.csv' (FORMAT csv)"
    done
  fi
done
dump() { "$pg_bin/pg_dump" -h 127.0.0.1 -p "$pg_port" -U postgres -d ours --schema-only --no-owner "$@"; }
dump -Fc -f "$work/schema.dump"
restore() { "$pg_bin/pg_restore" -h 127.0.0.1 -p "$pg_port" -U postgres -d theirs "$@" "$work/schema.dump"; }
restore --section=pre-data
sql postgres -c CHECKPOINT
cat "$work"/*.csv >/dev/null

copy_part() {
  local job=$1 table
  for table in "${tables[@]}"; do
    [ -e "$work/$table.$job.csv" ] && sql theirs -c "\\copy $table FROM '$work/$table.$job.csv' (FORMAT csv)"
  done
  return 0
}
copy_all() {
  local job pids=()
  for job in $(seq "$jobs"); do copy_part "$job" & pids+=($!); done
  local pid
  for pid in "${pids[@]}"; do wait "$pid"; done
}
say "psql \\copy of the same rows, $jobs connections"
cpu_of copy_all
copied=$wall_s
PGOPTIONS='-c maintenance_work_mem=256MB' cpu_of restore --section=post-data -j "$jobs"
indexed=$wall_s
cpu_of "$pg_bin/vacuumdb" -h 127.0.0.1 -p "$pg_port" -U postgres -d theirs --analyze -j "$jobs" -q
vacuumed=$wall_s
cpu_of sql postgres -c CHECKPOINT
theirs=$(awk "BEGIN { print $copied + $indexed + $vacuumed + $wall_s }")
bytes=$(cat "$work"/*.csv | wc -c)
echo "load: lydite ${ours} s (client CPU ${ours_cpu} s); psql \\copy ${copied} s + keys ${indexed} s + vacuum ${vacuumed} s + checkpoint ${wall_s} s = ${theirs} s; $((bytes / 1000000)) MB of CSV"
echo "load: rate of lydite / rate of psql \\copy = $(ratio "$theirs" "$ours") (aim: at least 0.80)"

cpu_of "$lydite" check "$pg_url/ours" --quiet
echo "check: twelve conditions on $warehouses warehouses in ${wall_s} s (aim for 20: under 15 s)"
