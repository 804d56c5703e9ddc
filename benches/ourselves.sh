#!/usr/bin/env bash
# Measures lydite itself, on the target that answers at once: transactions per second with full input generation and
# recording, and the lateness and memory of 100 000 emulated users.
source "$(dirname "$0")/server.bash"
value() { grep -o "\"$1\": *[0-9.e+-]*" "$work/result.json" | head -1 | sed 's/.*: *//'; }

"$lydite" run null: --warehouses 10 --terminals 2 --duration 10s --warmup 1s --quiet --json "$work/result.json" >"$work/out"
echo "direct, 2 sessions: $(value tps) transactions/s (aim: at least 300 000)"

printf '[rte]\nwait_factor = 1.0\n' >"$work/plan.toml"
users() {
  "$lydite" run null: --mode rte --warehouses $(($1 / 10)) --sessions 4 --duration 20s --warmup 5s --quiet \
    --config "$work/plan.toml" --json "$work/result.json" >"$work/out"
}
users 100
base=$(value peak_rss_bytes)
users 100000
peak=$(value peak_rss_bytes)
late=$(grep -o '"lateness_ms": *{[^}]*}' "$work/result.json" | grep -o '"p99": *[0-9.e+-]*' | sed 's/.*: *//')
echo "rte, 100 000 emulated users: p99 lateness $late ms (aim: under 10), $(((peak - base) / 100000)) bytes each over the base (aim: under 1024), $(value tps) transactions/s"
