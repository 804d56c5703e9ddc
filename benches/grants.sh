#!/usr/bin/env bash
# grants.sh [pg|my]: takes away each single right that `lydite grant` prints, in turn, from an account on PostgreSQL or on
# MariaDB, and shows what fails then. A right without which nothing fails is NEEDLESS. With all rights everything must
# pass. The rights of --with are tried by themselves, as far as they are rights on tables or schemas: without those of
# observe a run only warns, and those of templates are the database's own. KINDS names some of them, as KINDS="run audit".
# LYDITE names another build than the release build.
. "$(dirname "${BASH_SOURCE[0]}")/server.bash"

# rights SQL: the statements of the SQL, one right each.
rights() {
  python3 - "$1" <<'PYTHON'
import re, sys
for line in open(sys.argv[1]).read().splitlines():
    found = re.match(r"GRANT (.*) ON (.*) TO (.*);$", line)
    if found:
        for right in found[1].split(", "):
            print(f"GRANT {right} ON {found[2]} TO {found[3]};")
PYTHON
}

# revoked RIGHT: the statement that takes it away.
revoked() { sed 's/^GRANT /REVOKE /; s/ TO \([^ ]*\);$/ FROM \1;/' <<<"$1"; }

quiet() { "$lydite" "$@" >>"$work/out" 2>&1; }

# works WORK URL: what the account is for.
works() {
  case $1 in
    load)
      quiet load "$2" -w 1 --size tiny --quiet && quiet run "$2" -d 1s --warmup 0s --quiet &&
        quiet run "$2" -d 1s --warmup 0s --quiet --tx procedures && quiet check "$2" --quiet &&
        quiet audit "$2" --quick -d 1s --only isolation --quiet && quiet drop "$2" --yes
      ;;
    run)
      quiet run "$2" -d 3s --warmup 0s --quiet && quiet run "$2" -d 3s --warmup 0s --quiet --tx batched &&
        quiet check "$2" --quiet &&
        # Deliveries that meet in a district lock the oldest order.
        quiet run "$2" -d 3s --warmup 0s --quiet --terminals 10 --mix new_order=50,delivery=50
      ;;
    audit)
      quiet audit "$2" -d 1s --only data,atomicity,consistency,isolation --quiet &&
        quiet verify "$2" --isolation --level read-committed -d 2s --quiet
      ;;
    dike)
      quiet run "$2" -d 3s --warmup 0s --quiet \
        --mix new_order=30,payment=20,delivery=10,update_stock=30,update_item=10
      ;;
    procedures) quiet run "$2" -d 3s --warmup 0s --quiet --tx procedures ;;
    *) say "unknown work: $1"; exit 1 ;;
  esac
}

# granted WORK OWNER: the SQL for the account. Work of --with comes with the rights of --for run.
granted() {
  case $1 in
    load | run) "$lydite" grant "$2" --to bench --for "$1" ;;
    *) "$lydite" grant "$2" --to bench --for run --with "$1" ;;
  esac
}

# each WORK OWNER URL ADMIN CLEAR: with all rights, then without each of those that the work adds.
each() {
  local kind=$1 owner=$2 url=$3 admin=$4 clear=$5 needless=0 right
  $clear
  [ "$kind" = load ] || quiet load "$owner" -w 1 --size tiny --quiet
  granted "$kind" "$owner" >"$work/all.sql"
  $admin <"$work/all.sql"
  : >"$work/out"
  works "$kind" "$url" || { say "$kind: all rights do not suffice:"; tail -3 "$work/out" >&2; exit 1; }
  rights "$work/all.sql" >"$work/rights"
  case $kind in
    load | run) ;;
    *)
      granted run "$owner" >"$work/run.sql"
      rights "$work/run.sql" >"$work/of_run"
      mv "$work/rights" "$work/of_both"
      # Status 1: the work adds none.
      grep -vxFf "$work/of_run" "$work/of_both" >"$work/rights" || [ $? = 1 ]
      ;;
  esac
  while read -r right <&3; do
    quiet drop "$owner" --yes || true
    [ "$kind" = load ] || quiet load "$owner" -w 1 --size tiny --quiet
    $admin <"$work/all.sql"
    revoked "$right" | $admin
    : >"$work/out"
    if works "$kind" "$url"; then
      needless=$((needless + 1)) && echo "NEEDLESS  $right"
    else
      echo "needed    $right  ($(tail -1 "$work/out" | cut -c1-110))"
    fi
  done 3<"$work/rights"
  echo "$kind: $(wc -l <"$work/rights") rights, $needless needless"
}

psql_admin() { "$pg_bin/psql" -X -q -v ON_ERROR_STOP=1 -d "$pg_url/tpcc"; }
pg_clear() {
  "$pg_bin/psql" -X -q -d "$pg_url/postgres" -c 'DROP DATABASE IF EXISTS tpcc' -c 'DROP ROLE IF EXISTS bench' \
    -c 'CREATE ROLE bench LOGIN' -c 'CREATE DATABASE tpcc' -c 'REVOKE ALL ON DATABASE tpcc FROM PUBLIC'
  "$pg_bin/psql" -X -q -d "$pg_url/tpcc" -c 'REVOKE ALL ON SCHEMA public FROM PUBLIC'
}
my_admin() { mariadb --no-defaults --socket="$work/socket" -u root tpcc; }
my_clear() {
  mariadb --no-defaults --socket="$work/socket" -u root -e "DROP DATABASE IF EXISTS tpcc; CREATE DATABASE tpcc; \
    DROP USER IF EXISTS bench@'%'; CREATE USER bench@'%'"
}

usual="load run audit dike"
[ "${1:-pg}" = pg ] || usual+=" procedures"
read -ra kinds <<<"${KINDS:-$usual}"
for kind in "${kinds[@]}"; do
  if [ "${1:-pg}" = pg ]; then
    [ -n "$pg_process" ] || start_postgres fsync=off shared_buffers=128MB max_wal_size=1GB
    each "$kind" "$pg_url/tpcc" "postgres://bench@127.0.0.1:$pg_port/tpcc" psql_admin pg_clear
  else
    # Else whoever makes a procedure also gets the right to call it.
    [ -n "$my_process" ] || start_mariadb innodb-buffer-pool-size=256M innodb-log-file-size=96M \
      innodb-flush-log-at-trx-commit=0 automatic-sp-privileges=off
    each "$kind" "mariadb://root@127.0.0.1:$my_port/tpcc" "mariadb://bench@127.0.0.1:$my_port/tpcc" my_admin my_clear
  fi
done
