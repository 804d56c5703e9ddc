#!/usr/bin/env bash
# Exports a real run in every format, and reads the files with other programs: DuckDB, pandas, Polars, PyArrow,
# Prometheus' client library and promtool. Prints what each of them found, and fails if a total differs from the result's.
# The libraries go to a virtual environment under the target directory (about 500 MB, from PyPI).
#
# Variables: LYDITE (target/release/lydite; one with --features parquet writes Parquet, too), TARGET (gemel:),
# DURATION (5s), PROMTOOL (promtool, if it is on the PATH).
set -euo pipefail
cd "$(dirname "$0")/../.."
target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
lydite=$(realpath "${LYDITE:-$target/release/lydite}")
environment=$target/export-readers
if [ ! -x "$environment/bin/python" ]; then
  python3 -m venv "$environment"
  "$environment/bin/python" -m pip install --quiet duckdb pandas polars pyarrow prometheus-client
fi
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
PATH=$(dirname "$lydite"):$PATH
export PATH PYTHONPATH=$PWD/sdk/python PYTHONDONTWRITEBYTECODE=1
readers=$PWD/experiments/export/readers.py
cd "$scratch"
for run in a b; do
  "$lydite" run "${TARGET:-gemel:}" --duration "${DURATION:-5s}" --warmup 2s --label 'first, "quoted"' --observe host \
    --observe db --quiet --json "$run.json" >/dev/null
done
"$lydite" export a.json b.json --to csv -o csv
"$lydite" export a.json b.json --to openmetrics -o all.om
"$lydite" export a.json b.json --to influx -o all.lp
if [[ $("$lydite" --version) == *parquet* ]]; then
  "$lydite" export a.json b.json --to parquet -o parquet
else
  echo "this lydite was built without --features parquet: Parquet was not tried"
fi
"$environment/bin/python" "$readers"
if promtool=$(command -v "${PROMTOOL:-promtool}"); then
  "$promtool" tsdb create-blocks-from openmetrics all.om blocks
  "$promtool" tsdb list blocks
else
  echo "promtool is not installed: the blocks of Prometheus were not made"
fi
