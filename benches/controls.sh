#!/usr/bin/env bash
# What the controls cost where the database answers at once: inputs with control of the distribution, of contention, and of
# all that goes together, each against plain ones played just before or after. The middle of seven such ratios, and the least and the
# greatest, as a machine that others use, too, is fast in one second and slow in the next.
source "$(dirname "$0")/server.bash"

cost() {
  # -e is off in $(…): what fails must say so itself, and must not leave the number of the run before.
  rm -f "$work/result.json"
  "$lydite" run 'null:?nodes=9' --warehouses 180 --terminals 2 --mix 100,0,0,0,0 --duration 2s --warmup 500ms --quiet \
    --json "$work/result.json" "$@" >"$work/out" || return 1
  grep -o '"cpu_us_per_transaction": *[0-9.e+-]*' "$work/result.json" | head -1 | sed 's/.*: *//'
}
# Writes "microseconds of the plain one, of the other" to a file of the control's name. Each of them is first every other time.
against_plain() {
  local control=$1 plain other
  shift
  if [ $((round % 2)) = 0 ]; then plain=$(cost); fi
  other=$(cost "$@")
  if [ $((round % 2)) = 1 ]; then plain=$(cost); fi
  echo "$plain $other" >>"$work/$control"
}

for round in 1 2 3 4 5 6 7; do
  against_plain placed --dis-ratio 20 --dis-degree 3 --dis-strategy placed
  against_plain expected --dis-ratio 20 --dis-degree 3 --dis-strategy expected
  against_plain contention --ci 1
  # Distribution, homes that move and data that is skewed, in phases and by curves. (Contention goes with none of these.)
  against_plain together --dis-ratio 'ramp(10,30)' --dis-degree 3 --dis-strategy placed --set 'data_skew=zipf(0.5)' \
    --set 'homes=zipf(0.99);hotspot(0.2,0.8)' --set 'homes_shift=ramp(0,90)' --phase 1s
done
echo "New-Order, µs of processor for each (aim: at most 1.5 of the plain one)"
for control in placed expected contention together; do
  awk '{ printf "%.3f %.3f %.3f\n", $2 / $1, $1, $2 }' "$work/$control" | sort -g | awk -v control="$control" '
    { ratio[NR] = $1; plain[NR] = $2; other[NR] = $3 }
    END {
      m = (NR + 1) / 2
      printf "%s: %.2f of the plain one (%s of %s µs), from %.2f to %.2f\n", control, ratio[m], other[m], plain[m], ratio[1], ratio[NR]
    }'
done
