#!/usr/bin/env bash
# Prints a Python that has psycopg 3, redis-py and msgpack: PSYCOPG_PYTHON when set, else the system's, else one in a
# virtual environment under the target directory, which is made from the package index when it is not there.
set -euo pipefail
cd "$(dirname "$0")/.."

has_psycopg() {
    "$1" -c 'import psycopg, redis, msgpack' 2>/dev/null
}

for python in "${PSYCOPG_PYTHON:-}" python3; do
    if [ -n "$python" ] && has_psycopg "$python"; then
        echo "$python"
        exit 0
    fi
done

environment=$(realpath -m "${CARGO_TARGET_DIR:-target}/psycopg")
if ! has_psycopg "$environment/bin/python"; then
    echo "==> test dependencies: psycopg 3, redis-py and msgpack into $environment" >&2
    # Debian has venv apart.
    python3 -c 'import ensurepip' 2>/dev/null ||
        scripts/install-packages.sh "Python's venv (python3-venv)" python3-venv >&2
    python3 -m venv "$environment" >&2
    # Not bin/pip, which names its environment by path: in one that was copied it installs into the original.
    "$environment/bin/python" -m pip install --quiet 'psycopg[binary]>=3.1' 'redis>=4.2' 'msgpack>=1.0' >&2
fi
echo "$environment/bin/python"
