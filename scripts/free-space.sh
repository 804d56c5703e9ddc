#!/usr/bin/env bash
# Stops with one line if the disks have too little space for the build and the tests. On a full disk MariaDB and
# PostgreSQL wait for space instead of failing, and a test run would hang.
#
# usage: scripts/free-space.sh build|tests [lint]
#   build  before a build: counts what the build will add to cargo's target directory
#   tests  before the tests
#   lint   clippy and the documentation are built, too
set -euo pipefail
cd "$(dirname "$0")/.."

# In MB: cargo's target directory after a build of a clean clone with the programs that tests need, what incremental
# builds, clippy and the documentation add to it, what a build adds to a directory that is built, and temporary files of
# the tests at one time.
built=6000
incremental=3000
lint=3000
rebuilt=1000
temporary=4000

target=${CARGO_TARGET_DIR:-target}
temp=${TMPDIR:-/tmp}

# Prints the file system of a directory, which need not exist yet, and its free MB.
free() {
    local place=$1
    while [ ! -e "$place" ]; do place=$(dirname "$place"); done
    df -Pk "$place" | awk 'NR == 2 { print $6, int($4 / 1024) }'
}

# Prints the MB of files; 0 if there are none.
size() {
    { du -smc "$@" 2>/dev/null || true; } | awk 'END { print $1 + 0 }'
}

gb() {
    awk -v mb="$1" 'BEGIN { printf "%.1f GB", mb / 1000 }'
}

wanted=0
if [ "$1" = build ]; then
    wanted=$built
    [ "${CARGO_INCREMENTAL:-1}" = 0 ] || wanted=$((wanted + incremental))
    [ "${2:-}" = lint ] && wanted=$((wanted + lint))
    there=$(size "$target")
    wanted=$((wanted > there + rebuilt ? wanted - there : rebuilt))
fi

read -r target_disk target_free <<<"$(free "$target")"
read -r temp_disk temp_free <<<"$(free "$temp")"

# Stops if MB of a file system are too few for what goes to these places.
check() {
    local disk=$1 free=$2 need=$3 places=$4 left
    [ "$free" -lt "$need" ] || return 0
    left=$(size "$temp"/lydite-*)
    echo "error: $disk has $(gb "$free") free, and the build and the tests need $(gb "$need") there ($places): delete" \
        "$target ($(gb "$(size "$target")"); cargo clean), or, while no test runs, $temp/lydite-* ($(gb "$left"))" >&2
    exit 1
}

if [ "$target_disk" = "$temp_disk" ]; then
    check "$temp_disk" "$temp_free" $((wanted + temporary)) "$target and $temp"
else
    check "$target_disk" "$target_free" "$wanted" "$target"
    check "$temp_disk" "$temp_free" "$temporary" "$temp"
fi
