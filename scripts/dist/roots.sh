#!/usr/bin/env bash
# shellcheck shell=bash
# Clean roots for the trials of products: a minimal Debian, made once by debootstrap and copied for each trial. It has
# no network. Commands for another architecture run under qemu-user. Read after common.sh.

# The oldest release that has debootstrap's usual mirror.
DEBIAN_RELEASE=${DEBIAN_RELEASE:-bookworm}
DEBIAN_KEYS=/usr/share/keyrings/debian-archive-keyring.gpg

# Removes a root that is not complete. A debootstrap that was stopped leaves /proc mounted in it, which is not its own.
remove_root() {
    local mount mounts
    mapfile -t mounts < <(awk '{ print $2 }' /proc/mounts | sort -r)
    for mount in "${mounts[@]}"; do
        [[ $mount != "$1"/* ]] || umount --lazy "$mount"
    done
    rm -rf --one-file-system "$1"
}

# Prints a new copy of the root of an architecture: fresh_root ARCH [PACKAGE]. A package is installed into it.
fresh_root() {
    local arch=$1 package=${2:-} kept copy flags=()
    kept=$DIST_ROOTS/$arch${package:+-$package}
    if [ ! -e "$kept.complete" ]; then
        [ "$(id -u)" -eq 0 ] || fail "trials run in a root of their own, as root: use --no-try to leave them out"
        command -v debootstrap >/dev/null || scripts/install-packages.sh debootstrap debootstrap >&2
        remove_root "$kept"
        mkdir -p "$(dirname "$kept")"
        [ -z "$package" ] || flags+=("--include=$package")
        # Another architecture is unpacked only: its programs run from outside.
        [ "$arch" = "$(uname -m)" ] || flags+=(--foreign)
        # Without the keys debootstrap takes packages of anybody.
        [ -e "$DEBIAN_KEYS" ] || scripts/install-packages.sh "Debian's keys" debian-archive-keyring >&2
        flags+=(--force-check-gpg "--keyring=$DEBIAN_KEYS")
        debootstrap --variant=minbase --arch="$(debian "$arch")" ${flags[@]+"${flags[@]}"} \
            "$DEBIAN_RELEASE" "$kept" >"$kept.log" 2>&1 ||
            fail "debootstrap: see $kept.log"
        rm -rf "$kept"/var/cache/apt/archives/*.deb
        touch "$kept.complete"
    fi
    mkdir -p "$DIST_WORK/trials"
    copy=$(mktemp -d "$DIST_WORK/trials/$arch-XXXXXX")
    cp -a "$kept/." "$copy"
    chmod 755 "$copy"
    echo "$copy"
}

# Runs a command in a root as a user: within ROOT UID COMMAND... It sees no process, mount or network of this machine.
within() {
    local root=${1:?} user=$2
    shift 2
    # shellcheck disable=SC2016 # the shell inside has the arguments
    unshare --mount --pid --net --ipc --uts --fork sh -euc '
        root=$1 user=$2
        shift 2
        mkdir -p "$root/proc" "$root/tmp" "$root/dev"
        mount -t proc proc "$root/proc"
        for device in null zero urandom random; do
            [ -e "$root/dev/$device" ] || : >"$root/dev/$device"
            mount --bind "/dev/$device" "$root/dev/$device"
        done
        exec chroot --userspec="$user:$user" "$root" /usr/bin/env -i PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin HOME=/tmp "$@"
    ' sh "$root" "$user" "$@"
}

# Runs a program of a root: run_in ARCH ROOT PROGRAM ARGUMENT... In a root of another architecture qemu runs it, with the
# libraries of the root and the files of this machine.
run_in() {
    local arch=$1 root=${2:?}
    shift 2
    if [ "$arch" = "$(uname -m)" ]; then
        within "$root" 65534 "$@"
        return
    fi
    command -v "qemu-$arch" >/dev/null || scripts/install-packages.sh "qemu-$arch" qemu-user >&2
    unshare --net "qemu-$arch" -L "$root" "$root$1" "${@:2}"
}

# Tries both programs of a root: try_programs ARCH ROOT LYDITE GEMEL
try_programs() {
    local arch=$1 root=$2 lydite=$3 gemel=$4
    run_in "$arch" "$root" "$lydite" --version
    run_in "$arch" "$root" "$gemel" --version
    run_in "$arch" "$root" "$lydite" "${RUN[@]}"
}
