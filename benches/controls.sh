#!/usr/bin/env bash
# What the controls cost where the database answers at once: inputs with control of the distribution, of contention, and of
# all that goes together, against plain ones, in turn, three times each.
source "$(dirname "$0")/server.bash"

cost() {
  "$lydite" run 'null:?nodes=9' --warehouses 180 --terminals 2 --mix 100,0,0,0,0 --duration 4s --warmup 1s --quiet \
    --json "$work/result.json" "$@" >"$work/out"
  grep -o '"cpu_us_per_transaction": *[0-9.e+-]*' "$work/result.json" | head -1 | sed 's/.*: *//'
}
median() { sort -g | sed -n 2p; }

for _ in 1 2 3; do
  cost >>"$work/plain"
  cost --dis-ratio 20 --dis-degree 3 --dis-strategy placed >>"$work/placed"
  cost --dis-ratio 20 --dis-degree 3 --dis-strategy expected >>"$work/expected"
  cost --ci 1 >>"$work/contention"
  # Distribution, homes that move and data that is skewed, in phases and by curves. (Contention goes with none of these.)
  cost --dis-ratio 'ramp(10,30)' --dis-degree 3 --dis-strategy placed --set 'data_skew=zipf(0.5)' \
    --set 'homes=zipf(0.99);hotspot(0.2,0.8)' --set 'homes_shift=ramp(0,90)' --phase 2s >>"$work/together"
done
plain=$(median <"$work/plain")
echo "New-Order, plain: $plain µs of processor (medians of three runs)"
for control in placed expected contention together; do
  echo "$control: $(median <"$work/$control") µs, $(awk -v a="$(median <"$work/$control")" -v b="$plain" 'BEGIN { printf "%.2f", a / b }') of the plain one (aim: at most 1.5)"
done
