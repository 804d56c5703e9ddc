#!/usr/bin/env bash
# Measures what observation costs. One observer costs less than a machine's speed changes from second to second, so the
# script measures twenty and divides. PostgreSQL has one long run of reads without observation. Beside it, in turns,
# twenty further lydites run, which send a transaction a second each: in one turn they observe db and host, in the next
# they do not. The throughput of the long run in each turn with observers is compared with that in its neighbour without.
# The script prints what one observer costs if the cost grows with their number, with a 95 % interval, and the processor
# time of its threads and of its connection's backend. The aims are at most 1 % of the throughput, and at most 3 % of a
# processor.
# Variables: TURNS (40 turns with observers, 2 at least), OBSERVERS (20), SECONDS_EACH (12, of which the first two after
# the last start and the last do not count), SESSIONS (4 of the long run).
source "$(dirname "$0")/server.bash"
turns=${TURNS:-40}
observers=${OBSERVERS:-20}
seconds=${SECONDS_EACH:-12}

start_postgres max_connections=300
sql postgres -c 'CREATE DATABASE micro'
"$lydite" load "$pg_url/micro" --workload micro --quiet >"$work/out"

# reads RESULT FLAGS…: a run of reads.
reads() {
  exec "$lydite" run "$pg_url/micro" --workload micro --set micro.updates=0 --no-check --quiet --json "$work/$1.json" \
    "${@:2}" >"$work/$1.out" 2>&1
}

# ticks NAME PID…: prints the processor time of these processes' threads whose names begin so. A tick is 10 ms.
ticks() {
  local name=$1 pid
  shift
  for pid in "$@"; do cat "/proc/$pid/task"/*/stat; done | awk -v name="$name" \
    'index($0, "(" name) { sub(/.*\) /, ""); ticks += $12 + $13 } END { print ticks + 0 }'
}

# turn SOURCES: a turn of the further lydites. They do the same in turns without observation.
turn() {
  kill -0 "$long" 2>/dev/null || { cat "$work/long.out" >&2; return 1; }
  local runs=() number run backends
  for number in $(seq "$observers"); do
    reads "turn-$number" --mode open --rate 1 --sessions 1 --warmup 0s --duration "${seconds}s" --observe "$1" &
    runs+=($!)
  done
  if [ "$1" != off ]; then
    sleep $((seconds - 1))
    backends=$(sql postgres -c "SELECT pid FROM pg_stat_activity WHERE application_name = 'lydite observer'")
    [ "$(wc -w <<<"$backends")" = "$observers" ] || { say "not $observers observers: $backends"; return 1; }
    # shellcheck disable=SC2086 # several numbers
    echo "$(ticks observ "${runs[@]}") $(ticks '' $backends)" >>"$work/costs"
  fi
  for run in "${runs[@]}"; do wait "$run" || { cat "$work"/turn-*.out >&2; return 1; }; done
  python3 - "$1" "$work"/turn-*.json >>"$work/turns" <<'PYTHON'
import json, sys
print(sys.argv[1], max(json.load(open(path))["window"]["start"] for path in sys.argv[2:]))
PYTHON
}

reads long --terminals "${SESSIONS:-4}" --duration 24h --warmup 5s --observe off &
long=$!
trap 'kill -INT "$long" 2>/dev/null || true; finish' EXIT
sleep 6
for pair in $(seq "$turns"); do
  if [ $((pair % 2)) = 1 ]; then
    turn off
    turn db,host
  else
    turn db,host
    turn off
  fi
done
kill -INT "$long" || { cat "$work/long.out" >&2; exit 1; }
wait "$long" || [ -s "$work/long.json" ]

python3 - "$work" "$seconds" "$observers" <<'PYTHON'
import datetime, json, math, statistics, student, sys
work, seconds, observers = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
moment = lambda text: datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()
run = json.load(open(f"{work}/long.json"))
begun, committed = moment(run["window"]["start"]), run["series"]["micro"]


def rate(start):
    """Transactions per second of the long run in a turn, of which the last lydite began its window at `start`."""
    first = math.ceil(moment(start) + 2 - begun)
    assert first >= 0, "the long run began late"
    return statistics.mean(committed[first:first + seconds - 4])


rates = [(source, rate(start)) for source, start in (line.split() for line in open(f"{work}/turns"))]
# Pairs of turns, of which each begins with the other kind than the one before: off and on, on and off, off and on.
losses = []
for first, second in zip(rates[::2], rates[1::2]):
    (_, plain), (_, observed) = (first, second) if first[0] == "off" else (second, first)
    losses.append((1 - observed / plain) / observers * 100)
half = student.half(losses)
costs = [[float(number) for number in line.split()] for line in open(f"{work}/costs")]
client, server = (statistics.mean(values) / observers / (seconds - 1) for values in zip(*costs))
plain = statistics.mean(value for source, value in rates if source == "off")
mean = statistics.mean(losses)
print(f"an observer of db and host took {client:.2f} % of a processor in Lydite and {server:.2f} % in the server (aim: 3 %)")
print(f"it cost {mean:.2f} % of the throughput, 95 % interval {mean - half:.2f} to {mean + half:.2f} % (aim: 1 %; "
      f"{len(losses)} turns with {observers} observers; {plain:.0f} transactions per second without)")
PYTHON
