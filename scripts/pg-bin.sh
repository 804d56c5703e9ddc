#!/usr/bin/env bash
# Prints the directory of PostgreSQL's server programs: PG_BIN when set, else the newest Debian version, else that
# of the pg_ctl on PATH. Exits 1, silently, when there is none, and 2 when PG_BIN is set but wrong.
set -euo pipefail

programs=(initdb pg_ctl postgres psql)

complete() {
    local program
    for program in "${programs[@]}"; do
        [ -x "$1/$program" ] || return 1
    done
}

if [ -n "${PG_BIN:-}" ]; then
    if ! complete "$PG_BIN"; then
        echo "error: PG_BIN=$PG_BIN lacks one of: ${programs[*]}; point it at a PostgreSQL bin directory or unset it" >&2
        exit 2
    fi
    echo "$PG_BIN"
    exit 0
fi

# -V: version 9.6 sorts before 15, as numbers do.
while read -r dir; do
    if complete "$dir"; then
        echo "$dir"
        exit 0
    fi
done < <(printf '%s\n' /usr/lib/postgresql/*/bin | sort -rV)

if on_path=$(command -v pg_ctl); then
    dir=$(dirname "$(realpath "$on_path")")
    if complete "$dir"; then
        echo "$dir"
        exit 0
    fi
fi
exit 1
