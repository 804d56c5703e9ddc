#!/usr/bin/env bash
# Measures `lydite check` against that of another build, in turns: benches/check.sh FAMILY OTHER_LYDITE [ROUNDS]
# FAMILY is postgres, mariadb, sqlite or gemel. The database has WAREHOUSES (10), and has done a run of RUN (60s).
source "$(dirname "$0")/server.bash"
family=${1:?FAMILY: postgres, mariadb, sqlite or gemel}
other=${2:?OTHER_LYDITE: the path of another build}
rounds=${3:-5}
case $family in
  postgres) start_postgres; sql postgres -c "CREATE DATABASE tpcc"; url=$pg_url/tpcc ;;
  mariadb) start_mariadb; my mysql "CREATE DATABASE tpcc"; url=$my_url/tpcc ;;
  sqlite) url=sqlite:$work/tpcc.db ;;
  gemel) url=gemel:$work/tpcc ;;
  *) say "$family: use postgres, mariadb, sqlite or gemel"; exit 2 ;;
esac
"$lydite" load "$url" --warehouses "${WAREHOUSES:-10}" --quiet
"$lydite" run "$url" --duration "${RUN:-60s}" --warmup 0 --no-check --quiet >"$work/run"
# The second figure is the processor time of the client and, of an embedded database, of the server: others on the machine
# change it less than the first.
TIMEFORMAT='%R %U %S'
for _ in $(seq "$rounds"); do
  for build in "$other" "$lydite"; do
    name=$([ "$build" = "$other" ] && echo other || echo this)
    { time "$build" check "$url" >"$work/checked"; } 2>"$work/time"
    awk -v name="$name" '{ printf "%s %.2f s, processor %.2f s\n", name, $1, $2 + $3 }' "$work/time" | tee -a "$work/times"
  done
done
for name in other this; do
  for column in 2 5; do
    awk -v name="$name" -v column="$column" '$1 == name { print $column }' "$work/times" | sort -n |
      awk -v name="$name" -v what="$([ "$column" = 2 ] && echo time || echo processor)" \
        '{ time[NR] = $1 } END { printf "%s: median %s %.2f s of %d\n", name, what, time[int((NR + 1) / 2)], NR }'
  done
done
cat "$work/checked"
