#!/usr/bin/env bash
# Makes the products of a release in dist/, and tries each in a clean root; dist/log/PRODUCT-ARCH.log has the trial.
#
# usage: scripts/dist.sh [--no-try] [--twice] [PRODUCT]...     (default: all of the table below)
#   --no-try  make the products only: neither root nor debootstrap is needed
#   --twice   build a second time, from an export of the commit in another directory, and compare the products byte by byte
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
read -ra archs <<<"${DIST_ARCHS:-x86_64 aarch64}"

trying=yes twice=no wanted=()
for argument in "$@"; do
    case $argument in
    --no-try) trying=no ;;
    --twice) twice=yes ;;
    -*) fail "no option $argument: use --no-try or --twice" ;;
    *)
        grep -q "^$argument " <<<"$table" || fail "no product $argument: there are$(awk '{ printf " %s", $1 }' <<<"$table")"
        wanted+=("$argument")
        ;;
    esac
done

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

# Files of a directory, which sums list.
files_of() {
    (cd "$1" && find . -maxdepth 1 -type f ! -name SHA256SUMS -printf '%f\n' | sort)
}

build_twice() {
    local second=$DIST_WORK/second file failed=0
    git diff --quiet HEAD || fail "--twice builds the commit: commit or stash your changes first"
    rm -rf "$second"
    mkdir -p "$second/lydite-src"
    git archive HEAD | tar -x -C "$second/lydite-src"
    echo "==> the second build, in $second/lydite-src"
    CARGO_TARGET_DIR=$second/target DIST_OUT=$second/dist DIST_WORK=$second/work \
        "$second/lydite-src/scripts/dist.sh" --no-try ${wanted[@]+"${wanted[@]}"}
    for file in $(files_of "$second/dist"); do
        if cmp "$DIST_OUT/$file" "$second/dist/$file"; then
            echo "    equal: $file"
        else
            failed=1
        fi
    done
    [ "$failed" -eq 0 ] || fail "two builds of one commit differ"
}

mkdir -p "$DIST_OUT/log"
while read -r product which; do
    [ -n "$product" ] || continue
    if [ ${#wanted[@]} -eq 0 ] || [[ " ${wanted[*]} " == *" $product "* ]]; then
        for_product make "$product" "$which"
        [ "$trying" = no ] || for_product try "$product" "$which"
    fi
done <<<"$table"

(cd "$DIST_OUT" && files_of . | xargs -r sha256sum >SHA256SUMS)
echo "==> products in $DIST_OUT"
(cd "$DIST_OUT" && files_of . | xargs -r ls -l | awk '{ printf "%10d  %s\n", $5, $NF }')
[ "$twice" = no ] || build_twice
