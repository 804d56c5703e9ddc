#!/usr/bin/env bash
# Runs experiments/adapters.toml on a PostgreSQL that it starts: Lydite's own client, four libraries of Python, pgx and
# pgjdbc side by side. It leaves the page and the numbers in out/adapters. Arguments go to lydite sweep.
source "$(dirname "$0")/server.bash"
cd "$root"
python=$(scripts/psycopg-python.sh)
command -v go >/dev/null || { say "go: not found: run make test once, which installs it"; exit 1; }
# Fetches and builds before the first run, because a driver that builds is silent and may exceed its timeout.
(cd sdk/go/examples/pgx && go build -buildvcs=false -o .build/driver .)
sdk/java/examples/jdbc/build
export PYTHONPATH=$root/sdk/python
mkdir "$work/bin"
printf '#!/bin/sh\nexec "%s" "$@"\n' "$(command -v "$python")" >"$work/bin/python3"
chmod +x "$work/bin/python3"
start_postgres max_connections=120
sql postgres -c "CREATE DATABASE adapters"
sed -e "s/localhost:5432/127.0.0.1:$pg_port/" -e "s/host=localhost port=5432/host=127.0.0.1 port=$pg_port/" \
  -e "s/port:5432/port:$pg_port/" \
  experiments/adapters.toml >"$work/adapters.toml"
# --fresh: each start has another port, which makes it another experiment.
PATH=$work/bin:$PATH "$lydite" sweep "$work/adapters.toml" --out out/adapters --fresh "$@"
