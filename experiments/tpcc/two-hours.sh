#!/usr/bin/env bash
# A run over the standard's shortest measurement interval, two hours (clause 5.5.2.1), on Gemel with durable commits:
# waiting times of the standard, ten terminals per warehouse, checkpoints within the interval. Then the ACID tests and the
# disclosure. It goes on in the background; DIRECTORY/log tells how far it is.
#
# usage: experiments/tpcc/two-hours.sh DIRECTORY
#   WAREHOUSES (40), WARMUP (10m), DURATION (120m), CHECKPOINT (32MB of log), LYDITE (the release build)
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
directory=${1:?DIRECTORY: for the database and the documents; it must not exist}
lydite=${LYDITE:-${CARGO_TARGET_DIR:-$root/target}/release/lydite}
[ -x "$lydite" ] || cargo build --release --locked --manifest-path "$root/Cargo.toml" -p lydite
mkdir "$directory"
directory=$(cd "$directory" && pwd)
url="gemel:$directory/tpcc?durability=full&checkpoint=${CHECKPOINT:-32MB}"

work() {
  "$lydite" run "$url" --warehouses "${WAREHOUSES:-40}" --mode rte --warmup "${WARMUP:-10m}" \
    --duration "${DURATION:-120m}" --observe db,host --seed 7 --label "two hours" \
    --json "$directory/result.json" --report "$directory/report.html"
  "$lydite" audit "$url" --duration 5m --json "$directory/audit.json"
  "$lydite" disclose "$directory/result.json" --audit "$directory/audit.json" -o "$directory/disclosure"
}

work >"$directory/log" 2>&1 </dev/null &
echo "process $! measures; its words are in $directory/log"
