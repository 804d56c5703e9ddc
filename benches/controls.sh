#!/usr/bin/env bash
# Measures the cost of the controls on a target that answers at once. It compares inputs with control of distribution,
# of contention, and of all controls that can be combined, with plain inputs played just before or after. It prints the
# median, the least and the greatest of seven such ratios, because the speed of a shared machine varies by the second.
source "$(dirname "$0")/server.bash"

cost() {
  # -e is off in $(…), so a failed run must not leave the result of the run before.
  rm -f "$work/result.json"
  "$lydite" run 'null:?nodes=9' --warehouses 180 --terminals 2 --mix 100,0,0,0,0 --duration 2s --warmup 500ms --quiet \
    --json "$work/result.json" "$@" >"$work/out" || return 1
  grep -o '"cpu_us_per_transaction": *[0-9.e+-]*' "$work/result.json" | head -1 | sed 's/.*: *//'
}
# Writes the microseconds of the plain run and of the other one to a file with the control's name. They take turns in
# going first.
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
  # Distribution, moving homes and skewed data, in phases and by curves. (Contention cannot be combined with these.)
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
