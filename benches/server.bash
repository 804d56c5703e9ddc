# Functions that the benchmarks share: a PostgreSQL or MariaDB server of their own, the release build of lydite, and the
# CPU time of a command. Source it; do not run it. LYDITE names another build than the release build of this directory.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
lydite=${LYDITE:-${CARGO_TARGET_DIR:-$root/target}/release/lydite}
# For the Python modules beside this file.
export PYTHONPATH=$root/benches PYTHONDONTWRITEBYTECODE=1
work=$(mktemp -d "${TMPDIR:-/tmp}/lydite-bench-XXXXXX")
chmod 755 "$work"
pg_bin=${PG_BIN:-$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -V | tail -1 || true)}
pg_process=
my_process=

say() { printf '%s\n' "$*" >&2; }

[ -x "$lydite" ] || { say "building lydite (release)"; cargo build --release --manifest-path "$root/Cargo.toml" -p lydite; }

# as_server COMMAND…: runs it as postgres if root, since PostgreSQL refuses to run as root.
as_server() { if [ "$(id -u)" = 0 ]; then runuser -u postgres -- "$@"; else "$@"; fi; }

# start_postgres [SETTING=VALUE…]: starts a server on a free port; sets pg_port and pg_url (without the database).
start_postgres() {
  [ -n "$pg_bin" ] || { say "PostgreSQL's server programs are missing: run make test once, or set PG_BIN"; exit 1; }
  pg_port=$(shuf -i 20000-29999 -n 1)
  [ "$(id -u)" != 0 ] || chown postgres: "$work"
  as_server "$pg_bin/initdb" -U postgres -A trust --no-sync -E UTF8 --locale=C -D "$work/data" >"$work/initdb.log"
  local arguments=(-D "$work/data" -p "$pg_port" -c listen_addresses=127.0.0.1 -c unix_socket_directories=
    -c shared_buffers=2GB -c max_wal_size=16GB -c checkpoint_timeout=30min -c max_connections=100 -c logging_collector=off)
  local setting
  for setting in "$@"; do arguments+=(-c "$setting"); done
  if [ "$(id -u)" = 0 ]; then
    setpriv --reuid postgres --regid postgres --init-groups "$pg_bin/postgres" "${arguments[@]}" >"$work/log" 2>&1 &
  else
    "$pg_bin/postgres" "${arguments[@]}" >"$work/log" 2>&1 &
  fi
  pg_process=$!
  for _ in $(seq 100); do
    "$pg_bin/pg_isready" -q -h 127.0.0.1 -p "$pg_port" && break
    sleep 0.1
  done
  pg_url=postgres://postgres@127.0.0.1:$pg_port
}

# start_mariadb [SETTING=VALUE…]: starts a server on a free port; sets my_port and my_url (without the database).
start_mariadb() {
  PATH=$PATH:/usr/sbin
  command -v mariadbd >/dev/null || { say "MariaDB's server programs are missing: run make test once"; exit 1; }
  my_port=$(shuf -i 30000-39999 -n 1)
  local as=()
  # MariaDB refuses to run as root.
  if [ "$(id -u)" = 0 ]; then
    chown mysql: "$work"
    as=(setpriv --reuid mysql --regid mysql --init-groups)
  fi
  "${as[@]}" mariadb-install-db --no-defaults --auth-root-authentication-method=normal --skip-test-db \
    --datadir="$work/data" --tmpdir="$work" >"$work/install.log" 2>&1
  local arguments=(--no-defaults --datadir="$work/data" --tmpdir="$work" --socket="$work/socket" --port="$my_port"
    --bind-address=127.0.0.1 --skip-name-resolve --innodb-buffer-pool-size=2G --innodb-log-file-size=2G --max-connections=100)
  local setting
  for setting in "$@"; do arguments+=("--$setting"); done
  "${as[@]}" mariadbd "${arguments[@]}" >"$work/log" 2>&1 &
  my_process=$!
  for _ in $(seq 100); do
    mariadb-admin --no-defaults -u root -h 127.0.0.1 --port="$my_port" ping >/dev/null 2>&1 && break
    sleep 0.1
  done
  my_url=mariadb://root@127.0.0.1:$my_port
}

# my DATABASE SQL [mariadb arguments…]
my() {
  local database=$1 statements=$2
  shift 2
  mariadb --no-defaults --protocol=tcp -u root -h 127.0.0.1 --port="$my_port" --batch --skip-column-names --local-infile=1 \
    "$@" -e "$statements" "$database"
}

finish() {
  if [ -n "$pg_process" ]; then
    kill -INT "$pg_process" 2>/dev/null || true
    wait "$pg_process" 2>/dev/null || true
  fi
  if [ -n "$my_process" ]; then
    kill -TERM "$my_process" 2>/dev/null || true
    wait "$my_process" 2>/dev/null || true
  fi
  rm -rf "$work"
}
trap finish EXIT

# sql DATABASE [psql arguments…]
sql() {
  local database=$1
  shift
  "$pg_bin/psql" -X -q -A -t -v ON_ERROR_STOP=1 -h 127.0.0.1 -p "$pg_port" -U postgres -d "$database" "$@"
}

# cpu_of COMMAND…: runs it with its output in $work/out; sets cpu_s to its user and system time, wall_s to its duration.
cpu_of() {
  local TIMEFORMAT='%U %S %R'
  local times
  times=$({ time "$@" >"$work/out" 2>"$work/err"; } 2>&1) || { cat "$work/out" "$work/err" >&2; return 1; }
  read -r user system wall_s <<<"$times"
  cpu_s=$(awk "BEGIN { print $user + $system }")
}

# ratio A B
ratio() { awk "BEGIN { printf \"%.2f\", $1 / $2 }"; }
