#!/usr/bin/env bash
# Makes sure that the tests can start PostgreSQL, MariaDB and Redis servers of their own. Does nothing when they can.
set -euo pipefail
cd "$(dirname "$0")/.."

found=0
pg_bin=$(scripts/pg-bin.sh) || found=$?
case $found in
0)
    echo "==> test dependencies: PostgreSQL's server programs are in $pg_bin, nothing to install"
    ;;
1)
    # psql comes with it; the packages -contrib and -client add nothing that the tests use.
    scripts/install-packages.sh "PostgreSQL's server programs (or set PG_BIN)" postgresql
    if ! pg_bin=$(scripts/pg-bin.sh); then
        echo "error: the package postgresql is installed but /usr/lib/postgresql/*/bin is incomplete; set PG_BIN" >&2
        exit 1
    fi
    echo "==> test dependencies: installed PostgreSQL's server programs in $pg_bin"
    ;;
*)
    exit 1
    ;;
esac

# PostgreSQL refuses to run as root, so the tests then start it as this user (made by the Debian package).
if [ "$(id -u)" -eq 0 ] && ! id postgres >/dev/null 2>&1; then
    echo "error: run as root, the tests start servers as user postgres, which is missing; do: useradd --system postgres" >&2
    exit 1
fi

# Drivers of the tests are programs in Python and Go; what they need beside these languages is in the repository.
if ! command -v python3 >/dev/null; then
    scripts/install-packages.sh "Python 3 (python3)" python3
fi
# What turns Python 2 into Python 3; Debian has it apart.
if ! python3 -W ignore -c 'import lib2to3' 2>/dev/null && ! python3 -c 'import fissix' 2>/dev/null; then
    scripts/install-packages.sh "lib2to3 of Python 3 (or fissix)" python3-lib2to3
fi
if ! command -v go >/dev/null; then
    scripts/install-packages.sh "Go (go)" golang-go
fi

# On a Debian system only root's path has the directory of servers.
PATH=$PATH:/usr/sbin
missing_of_mariadb() {
    local program
    for program in mariadbd mariadb-install-db mariadb mariadb-admin; do
        command -v "$program" >/dev/null || { echo "$program"; return; }
    done
}
if [ -n "$(missing_of_mariadb)" ]; then
    # Not mariadb-server: that is these two and a service, which would start and stay.
    scripts/install-packages.sh "MariaDB's server programs" mariadb-server-core mariadb-client
fi
if [ -n "$(missing_of_mariadb)" ]; then
    echo "error: $(missing_of_mariadb): not found, though MariaDB's packages are installed; put it on the PATH" >&2
    exit 1
fi
echo "==> test dependencies: MariaDB's server is $(command -v mariadbd)"

# Engines and clusters of MariaDB. Debian's plugins bring the library and the rsync that Galera needs with them.
plugin_dir=$(mariadbd --no-defaults --verbose --help 2>/dev/null | awk '$1 == "plugin-dir" { print $2 }')
missing_of_clusters() {
    local plugin
    for plugin in ha_rocksdb.so ha_spider.so; do
        [ -e "$plugin_dir/$plugin" ] || { echo "MariaDB's plugin $plugin"; return; }
    done
    [ -e /usr/lib/galera/libgalera_smm.so ] || { echo "/usr/lib/galera/libgalera_smm.so"; return; }
    command -v rsync >/dev/null || { echo "rsync"; return; }
    # A lab's cluster makes its certificate by it.
    command -v openssl >/dev/null || echo "openssl"
}
if [ -n "$(missing_of_clusters)" ]; then
    scripts/install-packages.sh "$(missing_of_clusters)" mariadb-plugin-rocksdb mariadb-plugin-spider galera-4 rsync openssl
fi
if [ -n "$(missing_of_clusters)" ]; then
    echo "error: $(missing_of_clusters): not found, though its package is installed" >&2
    exit 1
fi

# MariaDB refuses to run as root too. Only its service's package makes this user.
if [ "$(id -u)" -eq 0 ] && ! id mysql >/dev/null 2>&1; then
    useradd --system --user-group --no-create-home --home-dir /nonexistent --shell /usr/sbin/nologin mysql
fi

# Debian's redis-tools has the server's program under another name, and no service that would start and stay.
if ! command -v redis-server >/dev/null && ! command -v redis-check-rdb >/dev/null; then
    scripts/install-packages.sh "Redis" redis-tools
fi

# Faults on other hosts are tested on an SSH server of the tests' own.
if ! command -v sshd >/dev/null; then
    scripts/install-packages.sh "the SSH server" openssh-server openssh-client
fi

if ! command -v pgbouncer >/dev/null; then
    scripts/install-packages.sh "PgBouncer" pgbouncer
fi

if ! command -v etcd >/dev/null; then
    scripts/install-packages.sh "etcd" etcd-server
fi

# Fleets talk over it. Not Debian's package, which is a service that would start and stay.
nats=${CARGO_TARGET_DIR:-target}/test-deps/bin
if ! command -v nats-server >/dev/null && ! [ -x "$nats/nats-server" ]; then
    mkdir -p "$nats"
    bin=$(scripts/go-bin.sh)
    PATH=$bin:$PATH GOBIN=$(realpath "$nats") go install github.com/nats-io/nats-server/v2@v2.11.4
    echo "==> test dependencies: built nats-server in $nats"
fi

# The fault clock-jump moves the clocks of servers by it.
if ! compgen -G '/usr/lib/*/faketime/libfaketime.so.1' >/dev/null && ! [ -e /usr/lib/faketime/libfaketime.so.1 ] &&
    ! [ -e /usr/lib64/faketime/libfaketime.so.1 ] && ! [ -e /usr/local/lib/faketime/libfaketime.so.1 ]; then
    scripts/install-packages.sh "libfaketime" libfaketime
fi

# Faults on the network.
if ! command -v iptables >/dev/null; then
    scripts/install-packages.sh "iptables" iptables
fi

scripts/install-seekdb.sh
scripts/install-tidb.sh
