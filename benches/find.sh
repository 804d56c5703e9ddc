#!/usr/bin/env bash
# Measures how near `lydite find` comes to the truth:
# - QUEUES (20) searches on `null:` with a service time and 1, 2, 4 or 8 servers, a queue whose answer the Erlang C formula
#   gives: each found rate beside the computed one. PARALLEL (4) of them run at the same time; they mostly sleep.
# - a search on a PostgreSQL server of its own, then FRESH (10) runs of MINUTE (60s) at the found rate, and ABOVE (3) at 1.15
#   times of it in between: how many hold the objective. Each begins with a copy of the database that the search began with,
#   without anything to vacuum or to write. FRESH=0 leaves PostgreSQL out; RATE, found by an earlier search, saves the search.
# WINDOW (24s) is the length of the runs of a search, RESOLUTION (5%) that of PostgreSQL's.
# The server waits 10 ms in each commit, as for a slow disk, so that SESSIONS (4) are what limits it. Without that the limit is
# the processors, which the server shares with the client and with whatever else the machine does: it is then another one some
# minutes later, and with few warehouses retries make it fall by themselves. COMMIT_DELAY (10000, in microseconds) is 0 for such
# a search; it needs a quiet machine. TMPDIR=/dev/shm leaves a real disk and its stalls out. Example of a short one: QUEUES=2
# FRESH=2 MINUTE=10s.
source "$(dirname "${BASH_SOURCE[0]}")/server.bash"

# found FILE KEY: a key of the answer in a document.
found() { python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["find"][sys.argv[2]])' "$1" "$2"; }

# computed SERVICE_MS SERVERS LIMIT_MS: the rate at which one request in a hundred takes longer (Gross and Harris, 2.4).
computed() {
  python3 - "$@" <<'PYTHON'
import math, sys
service, servers, limit = float(sys.argv[1]) / 1e3, int(sys.argv[2]), float(sys.argv[3]) / 1e3

def over(rate):
    load = rate * service
    if load >= servers:
        return 1.0
    blocked = 1.0
    for n in range(1, servers + 1):
        blocked = load * blocked / (n + load * blocked)
    waits = blocked / (1.0 - load / servers * (1.0 - blocked))
    t, spare = limit / service, servers - 1.0 - load
    if abs(spare) < 1e-9:
        return math.exp(-t) * (1.0 + waits * t)
    return math.exp(-t) * (1.0 + waits * (1.0 - math.exp(-t * spare)) / spare)

low, high = 0.0, servers / service
for _ in range(60):
    middle = (low + high) / 2
    if over(middle) > 0.01:
        high = middle
    else:
        low = middle
print(f"{low:.1f}")
PYTHON
}

# search NUMBER: one search on a queue.
search() {
  local servers=(1 2 4 8)
  local number=$1 of service limit out expected
  # Queues that all answer 500 requests per second at most: their runs have as many requests.
  of=${servers[$((number % 4))]} service=$((2 * servers[number % 4]))
  limit=$((service * 12)) out=$work/queue-$number
  expected=$(computed "$service" "$of" "$limit")
  "$lydite" find "null:?service=${service}ms&servers=$of" --slo "latency.p99 < ${limit}ms" --sessions $((25 * of)) \
    --seed $((1000 * number)) --duration "${WINDOW:-24s}" --warmup 2s --set check=false --out "$out" --quiet >/dev/null
  python3 - "$out/find.json" "$expected" >"$out/error" <<'PYTHON'
import json, sys
found, expected = json.load(open(sys.argv[1]))["find"], float(sys.argv[2])
limit = found["limit"] or {"low": 0.0, "high": 0.0}
inside = found["highest"] <= expected <= found["next_above"]
print(f"{found['highest'] / expected - 1:+.3f}", int(inside), int(limit["low"] <= expected <= limit["high"]))
PYTHON
  say "$of servers of $service ms, p99 < $limit ms: found $(found "$out/find.json" highest), next above" \
    "$(found "$out/find.json" next_above), computed $expected, error, between, covered $(cat "$out/error"), confidence" \
    "$(found "$out/find.json" confidence), $(ls "$out/results" | wc -l) runs"
}

queues=${QUEUES:-20}
for number in $(seq "$queues"); do
  while [ "$(jobs -rp | wc -l)" -ge "${PARALLEL:-4}" ]; do wait -n || true; done
  search "$number" &
done
wait
if [ "$queues" -gt 0 ]; then
  [ "$(cat "$work"/queue-*/error | wc -l)" = "$queues" ] || { say "a search failed"; exit 1; }
  cat "$work"/queue-*/error | python3 -c '
import sys
lines = [line.split() for line in sys.stdin]
errors = [abs(float(line[0])) for line in lines]
near, between, covered = sum(error <= 0.05 for error in errors), *(sum(int(line[of]) for line in lines) for of in (1, 2))
print(f"queues: {near} of {len(errors)} found rates are within 5 % of the computed one, the farthest by {max(errors):.1%};"
      f" {between} times it is between the two levels, {covered} times in the interval of 90 %")'
fi

fresh=${FRESH:-10}
[ "$fresh" -gt 0 ] || exit 0
# A log that stays small, so that a directory in memory suffices.
start_postgres max_wal_size=2GB "commit_delay=${COMMIT_DELAY:-10000}" commit_siblings=0
sql postgres -c 'CREATE DATABASE find'
slo='new_order.p99 < 50ms'
size=(-w "${WAREHOUSES:-16}")
usual=("${size[@]}" --mode open --sessions "${SESSIONS:-4}" --set check=false)
"$lydite" load "$pg_url/find" "${size[@]}" --quiet
# Otherwise the server does this during the first minute after the load, and copies made before and after it differ.
sql find -c 'VACUUM (FREEZE, ANALYZE)'
sql postgres -c CHECKPOINT -c 'CREATE DATABASE base TEMPLATE find'
rate=${RATE:-}
if [ -z "$rate" ]; then
  "$lydite" find "$pg_url/find" --slo "$slo" "${usual[@]}" --start 100 --resolution "${RESOLUTION:-5%}" \
    --duration "${WINDOW:-24s}" --warmup 5s --out "$work/pg" --quiet
  rate=$(found "$work/pg/find.json" highest)
fi
above=$(python3 -c 'import sys; print(f"{1.15 * float(sys.argv[1]):.2f}")' "$rate")
held=0 held_above=0
for number in $(seq "$fresh"); do
  for level in "$rate" "$above"; do
    [ "$level" = "$rate" ] || [ "$number" -le "${ABOVE:-3}" ] || continue
    status=0
    sql postgres -c 'SET client_min_messages = warning' -c 'DROP DATABASE IF EXISTS fresh' \
      -c 'CREATE DATABASE fresh TEMPLATE base' -c CHECKPOINT
    "$lydite" run "$pg_url/fresh" "${usual[@]}" --rate "$level" --require "$slo" --duration "${MINUTE:-60s}" --warmup 5s \
      --seed $((500 + number)) --quiet --json "$work/fresh.json" >/dev/null 2>&1 || status=$?
    case $status in
      0) verdict=holds ;;
      4) verdict=fails ;;
      *) say "a run at $level ended with exit code $status"; exit 1 ;;
    esac
    p99=$(python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["transactions"]["new_order"]["latency_ms"]["p99"])' \
      "$work/fresh.json")
    say "fresh run $number of $fresh at $level: $verdict, p99 $p99 ms"
    [ "$verdict" = fails ] || { [ "$level" = "$rate" ] && held=$((held + 1)) || held_above=$((held_above + 1)); }
  done
done
echo "PostgreSQL: $rate transactions/s hold $slo in $held of $fresh fresh runs, $above in $held_above of ${ABOVE:-3}"
