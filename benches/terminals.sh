#!/usr/bin/env bash
# Measures emulated terminals on null:, which answers at once. First a million in one process: it fails if the process
# takes 1 KB or more for each terminal or 300 MB in all, or if the 99th percentile of lateness is 10 ms or more. Then
# lines to a WAS on this machine: prints how many its files, ports and memory allow, each read from the system, and
# which limit comes first; then a run with nearly as many.
# Variables: TERMINALS (1000000), SECONDS_EACH (60), LINES_WANTED (95 % of the limit).
source "$(dirname "$0")/server.bash"
terminals=${TERMINALS:-1000000}
seconds=${SECONDS_EACH:-60}

# Prints one value of a result: a path of keys with dots.
value() { python3 -c 'import json, sys
value = json.load(open(sys.argv[1]))
for key in sys.argv[2].split("."): value = value[key]
print(value)' "$1" "$2"; }

say "$terminals terminals in one process, $seconds s"
"$lydite" run null: --mode rte -w $(((terminals + 9) / 10)) --terminals "$terminals" --sessions 4 --warmup 10s \
  --duration "${seconds}s" --json "$work/process.json" --quiet
bytes=$(value "$work/process.json" client.peak_rss_bytes)
late=$(value "$work/process.json" client.lateness_ms.p99)
say "$(value "$work/process.json" tps) transactions/s, $((bytes / terminals)) bytes for each terminal," \
  "$((bytes / 1000000)) MB in all, p99 lateness $late ms"
failed=0
[ "$bytes" -lt 300000000 ] && [ $((bytes / terminals)) -lt 1024 ] || { say "too much memory"; failed=1; }
python3 -c 'import sys; sys.exit(float(sys.argv[1]) >= 10)' "$late" || { say "too late"; failed=1; }

# Each terminal takes a file on both ends, a port of this end, and memory of the kernel and of both processes.
files=$(($(ulimit -Hn) - 256))
read -r low high </proc/sys/net/ipv4/ip_local_port_range
used=$(($(wc -l </proc/net/tcp) - 1))
ports=$((high - low + 1 - used))
available=$(awk '$1 == "MemAvailable:" { print $2 * 1024 }' /proc/meminfo)

was=
run=
end_all() {
  [ -z "$run" ] || kill -INT "$run" 2>/dev/null || true
  [ -z "$was" ] || kill -INT "$was" 2>/dev/null || true
  finish
}
trap end_all EXIT

# Ends the WAS, which then writes its counts.
end_was() { kill -INT "$was" && wait "$was"; was=; }

# Runs $1 lines for $2 seconds over a new WAS and leaves the result in lines.json.
run_lines() {
  : >"$work/was.out"
  "$lydite" was null: --listen 127.0.0.1:0 --sessions 4 --json "$work/was.json" >"$work/was.out" &
  was=$!
  until grep -q "Ctrl-C ends it" "$work/was.out"; do
    kill -0 "$was"
    sleep 0.1
  done
  address=$(awk '{ print $3 }' "$work/was.out")
  "$lydite" run null: --mode rte -w $((($1 + 9) / 10)) --terminals "$1" --sessions 16 --was "$address" --warmup 5s \
    --duration "$2s" --json "$work/lines.json" --quiet >/dev/null &
  run=$!
  least=$available
  while kill -0 "$run" 2>/dev/null; do
    now=$(awk '$1 == "MemAvailable:" { print $2 * 1024 }' /proc/meminfo)
    [ "$now" -ge "$least" ] || least=$now
    sleep 0.2
  done
  wait "$run"
  run=
  end_was
}

sample=$((files < ports ? files : ports))
sample=$((sample < 2000 ? sample : 2000))
run_lines "$sample" 5
each=$(((available - least) / sample))
[ "$each" -gt 0 ] || each=1
memory=$((available / each))
limit=$files reason="open files (ulimit -Hn $(ulimit -Hn))"
[ "$ports" -ge "$limit" ] || { limit=$ports reason="ports ($low to $high, $used in use)"; }
[ "$memory" -ge "$limit" ] || { limit=$memory reason="memory ($((available / 1000000)) MB available)"; }
say "lines that this machine allows: $files by open files, $ports by ports, about $memory by memory" \
  "($each bytes for each line, both ends and the kernel)"
say "the limit is $limit, by $reason"
lines=${LINES_WANTED:-$((limit * 95 / 100))}
say "$lines terminals over a WAS, $seconds s"
available=$(awk '$1 == "MemAvailable:" { print $2 * 1024 }' /proc/meminfo)
run_lines "$lines" "$seconds"
say "$(value "$work/lines.json" tps) transactions/s, menu p90 $(value "$work/lines.json" terminals.was.menu_ms.p90) ms," \
  "lateness p99 $(value "$work/lines.json" client.lateness_ms.p99) ms," \
  "$(value "$work/lines.json" terminals.was.lost) lines lost"
exit "$failed"
