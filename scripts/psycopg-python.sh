#!/usr/bin/env bash
# Prints a Python that has psycopg 3 and 2, SQLAlchemy, asyncpg, redis-py, msgpack, prometheus-client and mypy:
# PSYCOPG_PYTHON when set, else the system's, else one in a virtual environment under the target directory, which is made
# from the package index when it is not there.
set -euo pipefail
cd "$(dirname "$0")/.."

has_libraries() {
    "$1" -c 'import psycopg, psycopg2, sqlalchemy, asyncpg, redis, msgpack, prometheus_client, mypy' 2>/dev/null
}

for python in "${PSYCOPG_PYTHON:-}" python3; do
    if [ -n "$python" ] && has_libraries "$python"; then
        echo "$python"
        exit 0
    fi
done

environment=$(realpath -m "${CARGO_TARGET_DIR:-target}/psycopg")
if ! has_libraries "$environment/bin/python"; then
    echo "==> test dependencies: PostgreSQL's libraries, redis-py, msgpack, prometheus-client and mypy into $environment" >&2
    # Debian has venv apart.
    python3 -c 'import ensurepip' 2>/dev/null ||
        scripts/install-packages.sh "Python's venv (python3-venv)" python3-venv >&2
    python3 -m venv "$environment" >&2
    # Not bin/pip, which names its environment by path: in one that was copied it installs into the original.
    "$environment/bin/python" -m pip install --quiet 'psycopg[binary]>=3.1' 'psycopg2-binary>=2.9' 'sqlalchemy>=2.0' \
        'asyncpg>=0.27' 'redis>=4.2' 'msgpack>=1.0' 'prometheus-client>=0.20' 'mypy>=1.11' >&2
fi
echo "$environment/bin/python"
