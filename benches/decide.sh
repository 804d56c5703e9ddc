#!/usr/bin/env bash
# Measures how often `lydite ab` errs, and how soon it is right:
# - simulations of the crate lydite-decide, 2,000 experiments for each kind of noise, with their rates;
# - REAL (20) real experiments on `gemel:` with equal sides: at most 1 of 20 may find a difference;
# - FOUND (3) real experiments on a PostgreSQL server of its own, tx=statements against tx=batched.
# SIMULATIONS=0 leaves the simulations out. PAIRS (12) is the most pairs of each experiment, LENGTH (5s) the length of each
# run, WAREHOUSES (2) those of PostgreSQL. Experiments with equal sides take REAL * (PAIRS + 1) * 2 runs. Example of a short
# one: REAL=3 FOUND=1 PAIRS=4 LENGTH=2s.
source "$(dirname "${BASH_SOURCE[0]}")/server.bash"

# value FILE KEY: a key of the verdict in a document.
value() { python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["ab"][sys.argv[2]])' "$1" "$2"; }

if [ "${SIMULATIONS:-1}" != 0 ]; then
  say "simulations"
  simulated=$(cargo test --quiet --manifest-path "$root/Cargo.toml" -p lydite-decide --test it -- --nocapture 2>&1) \
    || { say "$simulated"; exit 1; }
  grep -E ' of 2000 ' <<<"$simulated"
fi

run=(--duration "${LENGTH:-5s}" --warmup 1s --pairs "${PAIRS:-12}" --set check=false --quiet)
real=${REAL:-20}
wrong=0
for number in $(seq "$real"); do
  out=$work/equal-$number
  "$lydite" ab gemel: -w 1 "${run[@]}" --order-seed "$number" --out "$out" >/dev/null
  verdict=$(value "$out/ab.json" verdict)
  [ "$verdict" = undecided ] || wrong=$((wrong + 1))
  say "equal sides on gemel:, $number of $real: $verdict, $(value "$out/ab.json" ratio)" \
    "($(value "$out/ab.json" low) to $(value "$out/ab.json" high)) after $(value "$out/ab.json" pairs) pairs"
done
echo "equal sides on gemel: $wrong of $real experiments wrong"

[ "${FOUND:-3}" -gt 0 ] || exit 0
start_postgres
sql postgres -c 'CREATE DATABASE decide'
for number in $(seq "${FOUND:-3}"); do
  out=$work/found-$number
  "$lydite" ab "$pg_url/decide" -w "${WAREHOUSES:-2}" "${run[@]}" --a-set tx=statements --b-set tx=batched \
    --order-seed "$number" --out "$out" >/dev/null
  echo "tx=statements against tx=batched on PostgreSQL, $number of ${FOUND:-3}: $(value "$out/ab.json" verdict)," \
    "$(value "$out/ab.json" ratio) ($(value "$out/ab.json" low) to $(value "$out/ab.json" high)) after" \
    "$(value "$out/ab.json" pairs) pairs"
done
