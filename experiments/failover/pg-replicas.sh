#!/bin/sh
# Commands for faults of `lydite lab up pg-replicas`. See "Failover" in docs/src/faults.md.
#   lag      stops the processes of the primary that send its log to the replicas
#   resume   lets them go on, if the primary still runs
#   promote  after the primary was killed: promotes the replica that has received the most of its log, and starts it
#            again on the primary's port, as a virtual IP address would move; the other replica follows it there
# usage: experiments/failover/pg-replicas.sh lag|resume|promote [DIRECTORY OF THE LAB]
set -eu

command=${1:-}
lab=${2:-${TMPDIR:-/tmp}/lydite-lab-$(id -u)/pg-replicas}
cd /

fail() {
    echo "pg-replicas.sh: $1" >&2
    exit 1
}

# Prints the line of a number of a server's file: 1 is its process, 4 its port.
line() {
    sed -n "$1p" "$data/postmaster.pid"
}

# Runs a program of PostgreSQL as the owner of $data: it does not run as root.
as_owner() {
    if [ "$(id -u)" = 0 ]; then
        runuser -u "$(stat -c %U "$data")" -- "$@"
    else
        "$@"
    fi
}

# Prints the result of a statement on the server of $data.
query() {
    "$bin/psql" -XAt -p "$(line 4)" -c "$1"
}

[ -r "$lab/lab.json" ] || fail "$lab: no lab is there: start one with lydite lab up pg-replicas"
# The first URL is the primary's: postgres://postgres:PASSWORD@127.0.0.1:PORT/postgres.
url=$(grep -o 'postgres://[^"]*' "$lab/lab.json" | head -n 1)
port=${url##*:}
port=${port%%/*}
PGPASSWORD=${url#postgres://postgres:}
export PGPASSWORD="${PGPASSWORD%%@*}" PGUSER=postgres PGHOST=127.0.0.1 PGDATABASE=postgres PGCONNECT_TIMEOUT=5

received="SELECT pg_wal_lsn_diff(greatest(pg_last_wal_receive_lsn(), pg_last_wal_replay_lsn()), '0/0')::bigint"
primary='' promoted='' most=-1
for data in "$lab"/server-*/data "$lab"/disk/server-*/data; do
    [ -r "$data/postmaster.pid" ] || continue
    # A killed server has left its file behind.
    program=$(readlink "/proc/$(line 1)/exe") && [ -x "$(dirname "$program")/pg_ctl" ] || continue
    bin=$(dirname "$program")
    if [ "$(line 4)" = "$port" ]; then
        primary=$data
        continue
    fi
    bytes=$(query "$received") || continue
    if [ "$bytes" -gt "$most" ]; then
        most=$bytes promoted=$data
    fi
done

case $command in
lag)
    data=$primary
    [ -n "$data" ] || fail "the primary on port $port does not run"
    query 'SELECT pid FROM pg_stat_replication' | xargs kill -STOP
    ;;
resume)
    data=$primary
    [ -z "$data" ] || query 'SELECT pid FROM pg_stat_replication' | xargs -r kill -CONT
    ;;
promote)
    data=$promoted
    [ -z "$primary" ] || fail "the primary on port $port runs: kill it before"
    [ -n "$data" ] || fail "$lab: no replica answers"
    as_owner "$bin/pg_ctl" promote -D "$data" -w -t 60
    # A restart reads its options from this file.
    as_owner sed -i "s/\"-p\" \"[0-9]*\"/\"-p\" \"$port\"/" "$data/postmaster.opts"
    as_owner "$bin/pg_ctl" restart -D "$data" -m fast -w -t 60 -l "$(dirname "$data")/log"
    ;;
*)
    fail "name a command: lag, resume or promote"
    ;;
esac
