#!/usr/bin/env bash
# Measures what a fleet costs: runs on null: in one process and on 1, 2, 4, 8 and 16 agents on this machine, in turns,
# with the same number of terminals. It prints the ratio of the throughputs, the geometric mean over all pairs with a
# 95 % interval, the spread of the starts, the messages and bytes that the NATS server counts per second (/varz), and
# the processor time of the coordinator.
# The aim is at least 0.9 with 4 agents, and a spread of at most 5 ms.
# Variables: AGENTS (1 2 4 8 16), PAIRS (5), SECONDS_EACH (10), TERMINALS (16), NATS (nats-server), LYDITE (the release
# build).
source "$(dirname "$0")/server.bash"
pairs=${PAIRS:-5}
seconds=${SECONDS_EACH:-10}
terminals=${TERMINALS:-16}
nats=${NATS:-$(command -v nats-server || echo "${CARGO_TARGET_DIR:-$root/target}/test-deps/bin/nats-server")}
[ -x "$nats" ] || { say "nats-server is missing: install it, or name it in NATS"; exit 1; }
[ "$seconds" -ge 4 ] || { say "SECONDS_EACH is at least 4"; exit 1; }

server=
players=()
end_all() {
  [ ${#players[@]} = 0 ] || kill "${players[@]}" 2>/dev/null || true
  [ -z "$server" ] || kill "$server" 2>/dev/null || true
  wait
  finish
}
trap end_all EXIT

port=$(shuf -i 20000-29999 -n 1)
"$nats" --addr 127.0.0.1 --port "$port" --http_port $((port + 1)) >"$work/nats.log" 2>&1 &
server=$!
join=nats://127.0.0.1:$port
for _ in $(seq 100); do
  (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null && break
  sleep 0.1
done
# For the messages of runs whose time is taken.
exec 4>&2

# counts: prints the time and the server's counters: messages and bytes in, messages and bytes out.
counts() {
  python3 - "http://127.0.0.1:$((port + 1))/varz" <<'PYTHON'
import json, sys, time, urllib.request
found = json.load(urllib.request.urlopen(sys.argv[1]))
print(time.monotonic(), *(found[name] for name in ("in_msgs", "in_bytes", "out_msgs", "out_bytes")))
PYTHON
}

# run [FLAG…]: runs with these flags, and writes $work/result.json.
run() {
  rm -f "$work/result.json"
  "$lydite" run null: --terminals "$terminals" --duration "${seconds}s" --warmup 1s --no-check --quiet \
    --json "$work/result.json" "$@" >"$work/out" 2>"$work/err" || { cat "$work/err" >&4; return 1; }
}

# tps: prints the transactions per second of the last run.
tps() { python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["tps"])' "$work/result.json"; }

# spread: prints the time between the first and the last start, and the greatest bound of a clock, in milliseconds.
spread() {
  python3 - "$work/result.json" <<'PYTHON'
import json, sys
agents = json.load(open(sys.argv[1]))["agents"]
starts = [agent["start_s"] for agent in agents]
print(1000 * (max(starts) - min(starts)), max(agent["clock_bound_ms"] for agent in agents))
PYTHON
}

# alone: runs in one process, and sets one to its throughput.
alone() { run; one=$(tps); }

# together K: runs on K agents, sets fleet to its throughput, and notes messages and starts.
together() {
  local TIMEFORMAT='%U %S'
  { time run --agents "$1" --join "$join"; } 2>>"$work/cpu-$1" &
  local process=$!
  # The agents are chosen, connect, compare their clocks and warm up.
  sleep 3
  counts >>"$work/varz-$1"
  sleep $((seconds - 3))
  counts >>"$work/varz-$1"
  wait "$process"
  fleet=$(tps)
  spread >>"$work/spread-$1"
}

for agents in ${AGENTS:-1 2 4 8 16}; do
  [ "$agents" -le "$terminals" ] || { say "TERMINALS must be at least $agents"; exit 1; }
  players=()
  for number in $(seq "$agents"); do
    "$lydite" agent --join "$join" --name "agent-$number" >"$work/agent-$number" 2>&1 &
    players+=($!)
  done
  for pair in $(seq "$pairs"); do
    # They take turns in going first, because the speed of a machine varies by the minute.
    if [ $((pair % 2)) = 0 ]; then alone; together "$agents"; else together "$agents"; alone; fi
    echo "$fleet $one" >>"$work/pairs-$agents"
    say "$agents agents, pair $pair: $fleet against $one"
  done
  kill "${players[@]}"
  wait "${players[@]}" 2>/dev/null || true
  players=()
  echo "$agents" >>"$work/agents"
done

python3 - "$work" "$seconds" <<'PYTHON'
import statistics, student, sys
work, seconds = sys.argv[1], float(sys.argv[2])
def rows(name):
    return [[float(number) for number in line.split()] for line in open(f"{work}/{name}")]
print("| agents | of one process, with 95 % interval | starts within | clocks within | messages in per s | "
      "bytes in per s | messages out per s | bytes out per s | coordinator, of a processor |")
print("|---|---|---|---|---|---|---|---|---|")
for agents in (int(agents) for [agents] in rows("agents")):
    ratio, low, high = student.ratio(rows(f"pairs-{agents}"))
    varz = rows(f"varz-{agents}")
    rates = [[(after - before) / (end[0] - begin[0]) for before, after in zip(begin[1:], end[1:])]
             for begin, end in zip(varz[::2], varz[1::2])]
    messages_in, bytes_in, messages_out, bytes_out = (statistics.mean(values) for values in zip(*rates))
    starts, clocks = (max(values) for values in zip(*rows(f"spread-{agents}")))
    cpu = statistics.mean(user + system for user, system in rows(f"cpu-{agents}"))
    print(f"| {agents} | {ratio:.3f} ({low:.3f} to {high:.3f}) | "
          f"{starts:.2f} ms | {clocks:.2f} ms | {messages_in:.1f} | {bytes_in:,.0f} | {messages_out:.1f} | "
          f"{bytes_out:,.0f} | {100 * cpu / seconds:.1f} % |")
PYTHON
