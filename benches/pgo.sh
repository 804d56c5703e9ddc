#!/usr/bin/env bash
# Builds lydite once more, with a profile of its own runs (profile-guided optimisation), and compares it with the release
# build: TPC-C on Gemel, in turns. It prints the ratio of the throughputs, the geometric mean over all pairs with a 95 %
# interval, and leaves the program in target/pgo/TARGET/release/lydite. The two builds take about ten minutes on two
# processors. It needs rustup, which installs llvm-profdata.
# Variables: PAIRS (5), SECONDS_EACH (8), SESSIONS (2), WAREHOUSES (2), LYDITE (the release build).
source "$(dirname "$0")/server.bash"
cd "$root"
host=$(rustc -vV | sed -n 's/^host: //p')
built=${CARGO_TARGET_DIR:-$root/target}

rustup component add llvm-tools 2>/dev/null || { say "rustup can't install llvm-tools"; exit 1; }
profdata=$(rustc --print sysroot)/lib/rustlib/$host/bin/llvm-profdata

# build FLAG DIRECTORY: with --target, the flag is not for build scripts.
build() { RUSTFLAGS=$1 cargo build --release -p lydite --target "$host" --target-dir "$2"; }

placements=(all-memory\&durability=relaxed all-memory\&durability=full all-disk\&durability=relaxed)

# run PROGRAM PLACEMENT SECONDS: prints the transactions per second on a new database.
run() {
  rm -rf "$work/db"
  "$1" run "gemel:$work/db?placement=$2" --terminals "${SESSIONS:-2}" --warehouses "${WAREHOUSES:-2}" --duration "$3s" \
    --warmup 2s --no-check --quiet --json "$work/r.json" >/dev/null
  python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["tps"])' "$work/r.json"
}

say "building with counters"
build "-Cprofile-generate=$work/profiles" "$built/pgo-counters"
for placement in "${placements[@]}"; do run "$built/pgo-counters/$host/release/lydite" "$placement" 10 >"$work/trained"; done
"$profdata" merge -o "$work/lydite.profdata" "$work"/profiles/*.profraw
say "building with the profile"
build "-Cprofile-use=$work/lydite.profdata" "$built/pgo"
program=$built/pgo/$host/release/lydite

for placement in "${placements[@]}"; do
  for pair in $(seq "${PAIRS:-5}"); do
    # They take turns in going first, because the speed of a machine varies by the minute.
    if [ $((pair % 2)) = 0 ]; then
      plain=$(run "$lydite" "$placement" "${SECONDS_EACH:-8}") guided=$(run "$program" "$placement" "${SECONDS_EACH:-8}")
    else
      guided=$(run "$program" "$placement" "${SECONDS_EACH:-8}") plain=$(run "$lydite" "$placement" "${SECONDS_EACH:-8}")
    fi
    echo "$placement $guided $plain" | tee -a "$work/pairs" >&2
  done
done

python3 - "$work/pairs" <<'PYTHON'
import collections, statistics, student, sys
pairs = collections.defaultdict(list)
for line in open(sys.argv[1]):
    placement, guided, plain = line.split()
    pairs[placement].append((float(guided), float(plain)))
for placement, both in pairs.items():
    ratio, low, high = student.ratio(both)
    guided, plain = (statistics.median(values) for values in zip(*both))
    print(f"{placement}: {guided:.0f} tx/s against {plain:.0f}, ratio {ratio:.2f} ({low:.2f} to {high:.2f})")
PYTHON
say "the program: $program"
