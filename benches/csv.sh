#!/usr/bin/env bash
# Measures rows as CSV files and measured loads on a PostgreSQL of its own:
# 1. lydite load --csv with one job and with JOBS: rows per second and processor (aim: at least 300 000), then loads of the
#    same rows directly and from the files, in turns (aim: files take at most 1.1 times as long, their check included).
# 2. direct loads without and with --json --report --observe db,host, in turns (aim: less than 1 % more time).
# Variables: WAREHOUSES (10), JOBS (2), PAIRS (3), PART (both: "files", "measures").
source "$(dirname "$0")/server.bash"
warehouses=${WAREHOUSES:-10}
jobs=${JOBS:-2}
pairs=${PAIRS:-3}
part=${PART:-both}

median() { sort -n | awk '{ v[NR] = $1 } END { print NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2 }'; }

rows_of() { awk -F'[:,]' '/"rows":/ { sum += $2 } END { print sum }' "$1/manifest.json"; }

write_files() {
  local j
  for j in 1 "$jobs"; do
    rm -rf "$work/files"
    cpu_of "$lydite" load --csv "$work/files" --warehouses "$warehouses" --jobs "$j" --quiet
    awk -v rows="$(rows_of "$work/files")" -v wall="$wall_s" -v cpu="$cpu_s" -v j="$j" 'BEGIN {
      printf "csv: %d rows written with %d jobs in %.1f s: %.0f rows/s, %.0f rows/s per processor second (aim: 300000)\n",
        rows, j, wall, rows / wall, rows / cpu }'
  done
}

# load_into DATABASE ARGUMENTS…: loads a new database; the time is in wall_s. The one before is dropped.
load_into() {
  local database=$1
  shift
  sql postgres -c "DROP DATABASE IF EXISTS $database" -c "CREATE DATABASE $database" -c CHECKPOINT
  cpu_of "$lydite" load "$pg_url/$database" --jobs "$jobs" --quiet "$@"
}

# compare NAME AIM: loads without and with the arguments in "more", in turns, and prints the ratio of the medians.
compare() {
  local name=$1 aim=$2 pair first second
  : >"$work/plain"; : >"$work/more"
  for pair in $(seq "$pairs"); do
    # Whoever comes second finds other caches, so the order changes.
    if [ $((pair % 2)) = 1 ]; then first=plain second=more; else first=more second=plain; fi
    for one in "$first" "$second"; do
      if [ "$one" = plain ]; then load_into loaded --warehouses "$warehouses"; else load_into loaded "${more[@]}"; fi
      echo "$wall_s" >>"$work/$one"
    done
  done
  awk -v a="$(median <"$work/plain")" -v b="$(median <"$work/more")" -v n="$name" -v aim="$aim" \
    'BEGIN { printf "%s: %.1f s, plain %.1f s, ratio %.3f (aim: %s)\n", n, b, a, b / a, aim }'
  echo "  plain: $(tr '\n' ' ' <"$work/plain"); $name: $(tr '\n' ' ' <"$work/more")"
}

[ "$part" = measures ] || write_files
start_postgres
say "warming up"
load_into loaded --warehouses "$warehouses"
if [ "$part" != measures ]; then
  more=(--from "$work/files")
  compare "from files" "at most 1.1"
  cpu_of "$lydite" check "$pg_url/loaded" --quiet
fi
if [ "$part" != files ]; then
  more=(--warehouses "$warehouses" --json "$work/l.json" --report "$work/l.html" --observe db --observe host)
  compare "measured" "below 1.01"
fi
