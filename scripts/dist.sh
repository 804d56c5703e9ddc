#!/usr/bin/env bash
# Makes the products of a release in dist/, and tries each in a clean root; dist/log/PRODUCT-ARCH.log has the trial.
#
# usage: scripts/dist.sh [--no-try] [--twice] [PRODUCT]...     (default: all of the table below)
#   --no-try  make the products only; without root the image is left out
#   --twice   build a second time, from an export of the commit in another directory, and compare all bytes
#
#   DIST_ARCHS  architectures (default: x86_64 aarch64)
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/dist/common.sh

# Product and architectures: `each` of DIST_ARCHS, or none. scripts/dist/PRODUCT.sh makes it and tries it; a product
# needs those above it.
table='
programs    each
pages       each
archive     each
wheel       each
deb         each
container   each
kubernetes  none
crate       none
'
release=$(version)
read -ra archs <<<"${DIST_ARCHS:-x86_64 aarch64}"

trying=yes twice=no wanted=()
for argument in "$@"; do
    case $argument in
    --no-try) trying=no ;;
    --twice) twice=yes ;;
    -*) fail "no option $argument: use --no-try or --twice" ;;
    *)
        grep -q "^$argument " <<<"$table" ||
            fail "no product $argument: there are$(awk '{ printf " %s", $1 }' <<<"$table")"
        wanted+=("$argument")
        ;;
    esac
done

# Returns true if a product is to be made.
wants() {
    [ ${#wanted[@]} -eq 0 ] || [[ " ${wanted[*]} " == *" $1 "* ]]
}

# Stops if the plan can't be carried out to its end: a build takes long.
check_plan() {
    local arch host
    host=$(uname -m)
    [ ${#archs[@]} -gt 0 ] || fail "DIST_ARCHS names no architecture: use x86_64, aarch64 or both"
    for arch in "${archs[@]}"; do
        debian "$arch" >/dev/null
    done
    if wants pages && [ ! -x "$(stage "$host")/lydite" ]; then
        wants programs && [[ " ${archs[*]} " == *" $host "* ]] ||
            fail "the program of this machine writes the manual: make the programs of $host too, or leave pages out"
    fi
    [ "$twice" = no ] || git diff --quiet HEAD ||
        fail "--twice builds the commit: commit or stash your changes first"
}

# Runs an action for a product and its architectures, and keeps what it prints: for_product ACTION PRODUCT ARCHITECTURES
for_product() {
    local action=$1 product=$2 arch list=("") log begun
    [ "$3" = none ] || list=("${archs[@]}")
    for arch in "${list[@]}"; do
        log=$DIST_OUT/log/$product${arch:+-$arch}.log
        begun=$SECONDS
        echo "==> $action $product $arch"
        if [ "$action" = make ]; then
            "scripts/dist/$product.sh" make ${arch:+"$arch"}
        else
            "scripts/dist/$product.sh" try ${arch:+"$arch"} >"$log" 2>&1 || {
                tail -n 20 "$log" >&2
                fail "$product $arch: the trial failed; all of it is in $log"
            }
            grep -E '^ {4}[^ ]' "$log" || true
        fi
        echo "    after $((SECONDS - begun)) s"
    done
}

# Products of this version in a directory, or those newer than a file: files_of DIRECTORY [FILE]. Others stay there, and
# are no part of this release. What follows the version tells 1.0.0 from 1.0.0-rc.1.
files_of() {
    local part names=()
    for part in x86_64 aarch64 py3 1_ deploy; do
        names+=(-o -name "lydite[-_]$release-$part*")
    done
    (cd "$1" && find . -maxdepth 1 -type f ${2:+-newer "$2"} \( "${names[@]:1}" \) -printf '%f\n' | sort)
}

build_twice() {
    local second=$DIST_WORK/second first files file failed=0
    rm -rf "$second"
    mkdir -p "$second/lydite-src"
    git archive HEAD | tar -x -C "$second/lydite-src"
    echo "==> the second build, in $second/lydite-src"
    CARGO_TARGET_DIR=$second/target DIST_OUT=$second/dist DIST_WORK=$second/work \
        "$second/lydite-src/scripts/dist.sh" --no-try ${wanted[@]+"${wanted[@]}"}
    files=$(files_of "$second/dist")
    first=$(files_of "$DIST_OUT" "$stamp")
    diff <(echo "$first") <(echo "$files") || failed=1
    for file in $files; do
        if cmp "$DIST_OUT/$file" "$second/dist/$file"; then
            echo "    equal: $file"
        else
            failed=1
        fi
    done
    [ "$failed" -eq 0 ] || fail "two builds of one commit differ"
}

check_plan
mkdir -p "$DIST_OUT/log"
stamp=$DIST_WORK/begun
touch "$stamp"
while read -r product which; do
    [ -n "$product" ] || continue
    if wants "$product"; then
        # Programs of a trial may read their input, which is the rest of the table here.
        for_product make "$product" "$which" </dev/null
        [ "$trying" = no ] || for_product try "$product" "$which" </dev/null
    fi
done <<<"$table"

(cd "$DIST_OUT" && files_of . | xargs -r sha256sum >SHA256SUMS)
echo "==> products in $DIST_OUT"
(cd "$DIST_OUT" && files_of . | xargs -r ls -l | awk '{ printf "%10d  %s\n", $5, $NF }')
[ "$twice" = no ] || build_twice
