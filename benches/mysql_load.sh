#!/usr/bin/env bash
# Compares the speed at which lydite loads MariaDB with LOAD DATA LOCAL INFILE by MariaDB's own client, from ready-made
# files of the same rows. Both use the same number of connections, and make the same indexes, foreign keys and ANALYZE
# afterwards.
# Variables: WAREHOUSES (10), JOBS (2).
source "$(dirname "$0")/server.bash"
warehouses=${WAREHOUSES:-10}
jobs=${JOBS:-2}
start_mariadb
my mysql "CREATE DATABASE ours; CREATE DATABASE theirs"

say "lydite load, $warehouses warehouses, $jobs jobs"
cpu_of "$lydite" load "$my_url/ours" --warehouses "$warehouses" --jobs "$jobs" --quiet
ours=$wall_s ours_cpu=$cpu_s

say "writing the same rows to files"
tables=(order_line stock customer orders history new_order item district warehouse)
declare -A keys constraints
for table in "${tables[@]}"; do
  column=$(my ours "SELECT column_name FROM information_schema.columns WHERE table_schema = 'ours' AND table_name = '$table' AND column_name REGEXP '^([a-z]+_)?w_id$' AND column_name NOT REGEXP '_c_w_id|supply' ORDER BY ordinal_position LIMIT 1")
  if [ -z "$column" ]; then
    my ours "SELECT * FROM $table" --quick >"$work/$table.1.tsv"
  else
    for job in $(seq "$jobs"); do
      my ours "SELECT * FROM $table WHERE $column % $jobs = $((job - 1))" --quick >"$work/$table.$job.tsv"
    done
  fi
  # The files have NULL as a word.
  sed -i 's/\tNULL\b/\t\\N/g' "$work/$table".*.tsv
  definition=$(my ours "SHOW CREATE TABLE $table" --raw | cut -f2-)
  keys[$table]=$(grep -E '^  KEY' <<<"$definition" | sed 's/,$//; s/^  /ADD /' | paste -sd,) || true
  constraints[$table]=$(grep -E '^  CONSTRAINT' <<<"$definition" | sed 's/,$//; s/^  /ADD /' | paste -sd,) || true
  plain=$(grep -vE '^  (KEY|CONSTRAINT)' <<<"$definition" | sed -z 's/,\n)/\n)/')
  my theirs "$plain"
done
cat "$work"/*.tsv >/dev/null

load_part() {
  local job=$1 table
  for table in "${tables[@]}"; do
    [ -e "$work/$table.$job.tsv" ] && my theirs "LOAD DATA LOCAL INFILE '$work/$table.$job.tsv' INTO TABLE $table CHARACTER SET utf8mb4"
  done
  return 0
}
index_part() {
  local job=$1 table index=0
  for table in "${tables[@]}"; do
    [ -n "${keys[$table]}" ] || continue
    index=$((index + 1))
    [ $((index % jobs)) != $((job - 1)) ] || my theirs "ALTER TABLE $table ${keys[$table]}"
  done
}
constrain() {
  local table
  for table in "${tables[@]}"; do
    [ -z "${constraints[$table]}" ] || my theirs "SET foreign_key_checks = 0; ALTER TABLE $table ${constraints[$table]}"
  done
}
each_job() {
  local job pids=() pid
  for job in $(seq "$jobs"); do "$1" "$job" & pids+=($!); done
  for pid in "${pids[@]}"; do wait "$pid"; done
}
say "LOAD DATA LOCAL INFILE of the same rows by mariadb, $jobs connections"
cpu_of each_job load_part
copied=$wall_s
cpu_of each_job index_part
indexed=$wall_s
cpu_of constrain
constrained=$wall_s
cpu_of my theirs "ANALYZE TABLE $(IFS=,; echo "${tables[*]}")"
theirs=$(awk "BEGIN { print $copied + $indexed + $constrained + $wall_s }")
for table in "${tables[@]}"; do
  [ "$(my ours "SELECT count(*) FROM $table")" = "$(my theirs "SELECT count(*) FROM $table")" ] || { say "$table: not the same rows"; exit 1; }
done
[ "$(my ours "SELECT count(*) FROM information_schema.statistics WHERE table_schema = 'ours' AND table_name NOT LIKE 'lydite%'")" = \
  "$(my ours "SELECT count(*) FROM information_schema.statistics WHERE table_schema = 'theirs'")" ] || { say "not the same indexes"; exit 1; }
bytes=$(cat "$work"/*.tsv | wc -c)
echo "mysql load: lydite ${ours} s (client CPU ${ours_cpu} s); LOAD DATA ${copied} s + indexes ${indexed} s + foreign keys ${constrained} s + ANALYZE ${wall_s} s = ${theirs} s; $((bytes / 1000000)) MB of files"
echo "mysql load: rate of lydite / rate of LOAD DATA = $(ratio "$theirs" "$ours") (aim: at least 0.80)"

cpu_of "$lydite" check "$my_url/ours" --quiet
echo "mysql check: twelve conditions on $warehouses warehouses in ${wall_s} s"
