#!/usr/bin/env bash
# Measures the check of a history of TRANSACTIONS (100000) committed and aborted transactions. Gemel records one without
# an anomaly, and one with many: without its registry of snapshots. The aims are 10 s and 1 GB for 100000.
source "$(dirname "$0")/server.bash"
[ -x /usr/bin/time ] || { say "GNU time is missing: apt-get install time"; exit 1; }
transactions=${TRANSACTIONS:-100000}

for option in isolation=serializable csr=off; do
  for workload in list-append register; do
    "$lydite" verify "gemel:?durability=none&$option" --isolation --workload "$workload" --level read-committed \
      --transactions "$transactions" --duration 1h --history "$work/history" --quiet
    /usr/bin/time -f '%U s, %M KB' -o "$work/cost" \
      "$lydite" verify --check-history "$work/history" --level read-committed --quiet
    echo "$option, $workload: $(wc -l <"$work/history") transactions checked in $(cat "$work/cost")"
  done
done
