#!/usr/bin/env bash
# Installs Debian packages when that is possible without a question, else says in one line what to install by hand.
#
# usage: scripts/install-packages.sh WHAT-IS-MISSING PACKAGE...
set -euo pipefail

missing=$1
shift

by_hand() {
    echo "error: $missing: not found, and $1; install by hand: $2" >&2
    exit 1
}

command -v apt-get >/dev/null ||
    by_hand "this system has no apt-get" "what your system calls the Debian package(s) $*"

if [ "$(id -u)" -ne 0 ]; then
    # -n: a script that waits for a password would hang where nobody can type one.
    if command -v sudo >/dev/null && sudo -n true 2>/dev/null; then
        exec sudo -n -- "$(realpath "$0")" "$missing" "$@"
    fi
    by_hand "installing it needs root or sudo without a password" "sudo apt-get install $*"
fi

echo "==> installing $* (for: $missing)"

# Debian's server package creates a database cluster and starts it. The tests make their own, so a service that
# nobody asked for would only take memory and port 5432. A cluster that was never created is never started either.
override_dir=/etc/postgresql-common/createcluster.d
override=$override_dir/lydite-no-main-cluster.conf
case " $* " in
*" postgresql "*)
    made=()
    for dir in /etc/postgresql-common "$override_dir"; do
        [ -d "$dir" ] || made=("$dir" "${made[@]}")
    done
    trap 'rm -f "$override"; for dir in "${made[@]}"; do rmdir "$dir" 2>/dev/null || true; done' EXIT
    # A signal ends the script through exit, so that the file above never stays behind.
    trap 'exit 130' INT TERM HUP
    mkdir -p "$override_dir"
    echo "create_main_cluster = false" >"$override"
    ;;
# Debian has the plugins of MariaDB, etcd and sshd only with a service. It is neither started now nor at the next boot,
# unless it was here before.
*" mariadb-plugin-"* | *" etcd-server "* | *" openssh-server "*)
    case " $* " in
    *" etcd-server "*) service=etcd package=etcd-server ;;
    *" openssh-server "*) service=ssh package=openssh-server ;;
    *) service=mariadb package=mariadb-server ;;
    esac
    policy=/usr/sbin/policy-rc.d
    policy_is_new=
    service_is_new=
    dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q ' installed$' || service_is_new=1
    leave_no_service() {
        [ -z "$policy_is_new" ] || rm -f "$policy"
        if [ -n "$service_is_new" ] && command -v systemctl >/dev/null; then
            systemctl disable --quiet "$service.service" 2>/dev/null || true
        fi
    }
    trap leave_no_service EXIT
    trap 'exit 130' INT TERM HUP
    if [ ! -e "$policy" ]; then
        policy_is_new=1
        printf '#!/bin/sh\nexit 101\n' >"$policy"
        chmod +x "$policy"
    fi
    ;;
esac

export DEBIAN_FRONTEND=noninteractive
apt=(apt-get -q -o DPkg::Lock::Timeout=120 -o Dpkg::Use-Pty=0)
"${apt[@]}" update </dev/null || echo "warning: apt-get update failed, trying with the package lists at hand" >&2
"${apt[@]}" install -y --no-install-recommends "$@" </dev/null ||
    by_hand "apt-get install failed (its own message is above)" "apt-get install $*"
