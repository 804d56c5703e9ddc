#!/usr/bin/env bash
# Cuts the power of a lab's disk under load, CUTS times, and counts what was acknowledged and lost:
#   benches/power_cuts.sh KIND CUTS [SETTING]
# KIND is pg, mariadb or gemel; SETTING is one of the server's own, as fsync=off, innodb_flush_log_at_trx_commit=2 or
# durability=none. Needs root. Each cut comes LOAD seconds (2) after the begin of a run of TERMINALS (4); then the disk is
# mounted again, the server recovers within RECOVERY seconds (4), and the run compares its success log, its ledger and the
# conditions with the rows. A server that does not come back, or whose data is broken, is counted, and a new lab follows.
source "$(dirname "$0")/server.bash"
kind=${1:?KIND: pg, mariadb or gemel}
cuts=${2:?CUTS: a number of power cuts}
setting=${3:-}
load=${LOAD:-2}
terminals=${TERMINALS:-4}
case $kind in
  pg | mariadb | gemel) ;;
  *) say "$kind: use pg, mariadb or gemel"; exit 2 ;;
esac
# A place of its own for the lab and the notes of faults.
export TMPDIR=$work XDG_RUNTIME_DIR=
end_lab() {
  "$lydite" lab down "$kind" >/dev/null 2>&1 || true
  "$lydite" faults clear >/dev/null 2>&1 || true
}
trap 'end_lab; rm -rf "$work"' EXIT

start_lab() {
  url=$("$lydite" lab up "$kind" --disk "${DISK:-1G}" ${setting:+--set "$setting"} 2>"$work/up") || { cat "$work/up" >&2; exit 1; }
  "$lydite" load "$url" --warehouses 1 --size small --quiet
  # An unsafe server has its rows in memory alone, and a cut would take the whole database.
  sync -f "$work/lydite-lab-$(id -u)/$kind/disk"
}

# What the result of the run says: acknowledged, lost, and whether the server came back after the cut (True or False).
found_in_result() {
  python3 -c 'import json, sys
result = json.load(open(sys.argv[1]))
log, fault = result.get("success_log") or {}, result["faults"][0]
print(log.get("committed", "-"), log.get("lost", "-"), fault["ok"])' "$work/result.json" 2>/dev/null || echo "- - -"
}

acknowledged=0 lost=0 gone=0 found=0 cut=0 tries=0
start_lab
while [ "$cut" -lt "$cuts" ]; do
  rm -f "$work/result.json" "$work/success.log"
  code=0
  "$lydite" run "$url" --duration "$((load + ${RECOVERY:-4}))s" --warmup 0 --terminals "$terminals" --quiet \
    --fault "power-cut@${load}s..$load.5s/lab:$kind" --success-log "$work/success.log" --json "$work/result.json" \
    >"$work/run" 2>&1 || code=$?
  read -r of_cut of_lost ok < <(found_in_result)
  if [ "$of_lost" != - ] && [ "$code" -le 1 ]; then
    cut=$((cut + 1)) acknowledged=$((acknowledged + of_cut)) lost=$((lost + of_lost)) found=$((found + code))
    say "cut $cut: $of_cut acknowledged, $of_lost lost, exit code $code"
  elif [ "$ok" = False ]; then
    cut=$((cut + 1)) gone=$((gone + 1)) found=$((found + 1))
    say "cut $cut: the server did not come back: $(grep -m1 'power-cut' "$work/run" || tail -1 "$work/run")"
  else
    # The server may still have recovered at the end of the run, on a slow machine.
    tries=$((tries + 1))
    say "cut $((cut + 1)) shows nothing, exit code $code: $(tail -1 "$work/run")"
    [ "$tries" -lt 20 ] || { say "give it more time, as RECOVERY=20"; exit 1; }
  fi
  # The conditions of a broken database would fail before the next run.
  if [ "$code" != 0 ] && [ "$cut" -lt "$cuts" ]; then
    end_lab
    start_lab
  fi
done
printf '%s%s: %d power cuts, %d acknowledged New-Orders and Payments, %d of them lost' "$kind" "${setting:+ with $setting}" \
  "$cuts" "$acknowledged" "$lost"
printf '; %d servers did not come back; %d of %d cuts found a fault\n' "$gone" "$found" "$cuts"
