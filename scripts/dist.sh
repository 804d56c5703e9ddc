#!/usr/bin/env bash
# Makes the products of a release in dist/, and tries them, those with programs in a clean root. dist/log/PRODUCT-ARCH.log has
# the trial.
#
# usage: scripts/dist.sh [--no-try] [--twice] [--check] [PRODUCT]...     (default: all of the table below)
#   --no-try  make the products only; without root the image is left out
#   --twice   build a second time, from an export of the commit in another directory, and compare all bytes
#   --check   check the plan only, and install what it lacks
#
#   DIST_ARCHS  architectures (default: x86_64 aarch64)
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/dist/common.sh

# Product, architectures (`each` of DIST_ARCHS, or none), products that it is made from, and how it is tried: in a
# `root` of its own, by `tools`, or in a `box` that only the image has. scripts/dist/PRODUCT.sh makes it and tries it.
table='
programs    each  -               tools
pages       each  programs        tools
archive     each  programs,pages  root
wheel       each  programs,pages  root
deb         each  programs,pages  root
container   each  archive         box
kubernetes  none  -               tools
crate       none  -               tools
'
# Programs that products call, with their Debian packages: action, product, PROGRAM:PACKAGE...
called='
make programs    git:git
make archive     xz:xz-utils
make deb         readelf:binutils xz:xz-utils gzip:gzip dpkg-deb:dpkg
make container   xz:xz-utils buildah:buildah debootstrap:debootstrap
make kubernetes  xz:xz-utils
try  programs    readelf:binutils
try  pages       man:man-db zsh:zsh fish:fish
try  archive     xz:xz-utils debootstrap:debootstrap unshare:util-linux
try  wheel       debootstrap:debootstrap unshare:util-linux
try  deb         debootstrap:debootstrap unshare:util-linux lintian:lintian
'
host=$(uname -m)
read -ra archs <<<"${DIST_ARCHS:-x86_64 aarch64}"

trying=yes twice=no checking=no wanted=()
for argument in "$@"; do
    case $argument in
    --no-try) trying=no ;;
    --twice) twice=yes ;;
    --check) checking=yes ;;
    -*) fail "no option $argument: use --no-try, --twice or --check" ;;
    *)
        grep -q "^$argument " <<<"$table" ||
            fail "no product $argument: there are$(awk '{ printf " %s", $1 }' <<<"$table")"
        wanted+=("$argument")
        ;;
    esac
done
all_wanted=no
[ ${#wanted[@]} -gt 0 ] || all_wanted=yes

# Returns true if a product is to be made.
wants() {
    if [ "$1" = container ] && [ "$all_wanted" = yes ] && [ "$(id -u)" -ne 0 ]; then
        return 1
    fi
    [ "$all_wanted" = yes ] || [[ " ${wanted[*]} " == *" $1 "* ]]
}

# Prints the field of a product in the table: field_of PRODUCT NUMBER
field_of() {
    awk -v product="$1" -v number="$2" '$1 == product { print $number }' <<<"$table"
}

# Prints the architectures of a product: those that are made here, or none.
archs_of() {
    local arch
    if [ "$(field_of "$1" 2)" = none ]; then
        echo none
        return
    fi
    for arch in "${archs[@]}"; do
        # An image is built by the programs that it is made from.
        [ "$1" = container ] && [ "$arch" != "$host" ] || echo "$arch"
    done
}

products() {
    local product
    for product in $(awk '{ print $1 }' <<<"$table"); do
        ! wants "$product" || echo "$product"
    done
}

# Stops if a product is neither to be made in this run nor made of this commit already: will_be_there PRODUCT ARCH
will_be_there() {
    if wants "$1" && [[ " ${archs[*]} " == *" $2 "* ]]; then
        return
    fi
    [ "$twice" = no ] || fail "--twice builds everything again: name $1 and $2 too"
    need_made "$1" "$2"
}

# Stops if products lack those that they are made from.
check_needs() {
    local product need arch
    for product in $(products); do
        for need in $(field_of "$product" 3 | tr ',-' '  '); do
            for arch in $(archs_of "$product"); do
                will_be_there "$need" "$arch"
            done
        done
    done
    # It writes the manual and the completions.
    ! wants pages || will_be_there programs "$host"
}

# Stops if the plan needs root, and this is another user.
check_root() {
    local product kind
    [ "$(id -u)" -ne 0 ] || return 0
    if [ "$all_wanted" = yes ]; then
        echo "==> without root there is no image"
    fi
    for product in $(products); do
        kind=$(field_of "$product" 4)
        [ "$kind" != box ] || fail "the image is made from a root of debootstrap: run as root, or leave container out"
        [ "$trying" = no ] || [ "$kind" != root ] ||
            fail "$product is tried in a root of its own: run as root, or use --no-try"
    done
}

# Stops if programs that the products call are missing and can't be installed.
check_called() {
    local action product rest pair arch missing=() packages=()
    while read -r action product rest; do
        [ -n "$product" ] && wants "$product" && [ -n "$(archs_of "$product")" ] || continue
        [ "$action" = make ] || [ "$trying" = yes ] || continue
        for pair in $rest; do
            command -v "${pair%:*}" >/dev/null || { missing+=("${pair%:*}"); packages+=("${pair#*:}"); }
        done
    done <<<"$called"
    for product in $(products); do
        for arch in $(archs_of "$product"); do
            if [ "$trying" = yes ] && [ "$arch" != none ] && [ "$arch" != "$host" ] &&
                [ "$(field_of "$product" 4)" = root ] && ! command -v "qemu-$arch" >/dev/null; then
                missing+=("qemu-$arch")
                packages+=(qemu-user)
            fi
        done
    done
    if [ ${#missing[@]} -gt 0 ]; then
        mapfile -t missing < <(printf '%s\n' "${missing[@]}" | sort -u)
        mapfile -t packages < <(printf '%s\n' "${packages[@]}" | sort -u)
        scripts/install-packages.sh "${missing[*]}" "${packages[@]}"
    fi
    if wants programs || wants pages || wants crate; then
        scripts/install-build-deps.sh
    fi
    if wants programs || wants pages || wants wheel || { wants kubernetes && [ "$trying" = yes ]; }; then
        check_python
    fi
    ! wants programs || scripts/dist/programs.sh check "${archs[@]}"
}

# Stops if the plan can't be carried out to its end: a build takes long.
check_plan() {
    local arch product
    [ ${#archs[@]} -gt 0 ] || fail "DIST_ARCHS names no architecture: use x86_64, aarch64 or both"
    for arch in "${archs[@]}"; do
        debian "$arch" >/dev/null
    done
    python_version >/dev/null
    debian_version >/dev/null
    for product in ${wanted[@]+"${wanted[@]}"}; do
        [ -n "$(archs_of "$product")" ] || fail "no image of ${archs[*]} on this machine: add $host to DIST_ARCHS"
    done
    check_root
    check_needs
    [ "$twice" = no ] || check_clean
    check_called
}

# Runs an action for a product and its architectures, and keeps what it prints: for_product ACTION PRODUCT
for_product() {
    local action=$1 product=$2 arch log begun
    for arch in $(archs_of "$product"); do
        [ "$arch" != none ] || arch=
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

# Prints the sums of the files of all products that are made of this commit, for every architecture, sorted by name.
sums_of_release() {
    local product arch
    for product in $(awk '{ print $1 }' <<<"$table"); do
        for arch in x86_64 aarch64 none; do
            ! is_made "$product" "$arch" || sums_of "$product" "$arch"
        done
    done | sort -k 2
}

# Prints the sums of the files that this run has made.
sums_of_run() {
    local product arch
    for product in $(products); do
        for arch in $(archs_of "$product"); do
            sums_of "$product" "$arch"
        done
    done | sort -k 2
}

# Prints the names in a file of sums, which is missing if the run made no files.
names_in() {
    [ ! -e "$1" ] || awk '{ print $2 }' "$1"
}

build_twice() {
    local second=$DIST_WORK/second first file failed=0
    rm -rf "$second"
    mkdir -p "$second"
    git archive HEAD | tar -x -C "$second"
    echo "==> the second build, in $second"
    # All that it makes is below its sources, as a rule also with the first one: debug information has the paths of zig's
    # own sources, and zig names them from there.
    (cd "$second" && env -u CARGO_TARGET_DIR -u DIST_OUT -u DIST_WORK -u DIST_ROOTS \
        scripts/dist.sh --no-try ${wanted[@]+"${wanted[@]}"})
    first=$(sums_of_run)
    diff <(awk 'NF { print $2 }' <<<"$first") <(names_in "$second/dist/SHA256SUMS") || failed=1
    for file in $(names_in "$second/dist/SHA256SUMS"); do
        if cmp "$DIST_OUT/$file" "$second/dist/$file"; then
            echo "    equal: $file"
        else
            failed=1
        fi
    done
    [ "$failed" -eq 0 ] || fail "two builds of one commit differ"
}

check_plan
if [ "$checking" = yes ]; then
    for product in $(products); do
        echo "$product: $(archs_of "$product" | paste -sd' ')"
    done
    exit
fi
mkdir -p "$DIST_OUT/log"
for product in $(products); do
    for_product make "$product"
    [ "$trying" = no ] || for_product try "$product"
done

sums=$(sums_of_release)
# Programs and pages are no files of a release. A file without sums fails its own check.
if [ -n "$sums" ]; then
    printf '%s\n' "$sums" >"$DIST_OUT/SHA256SUMS"
else
    rm -f "$DIST_OUT/SHA256SUMS"
fi
echo "==> products in $DIST_OUT"
for file in $(awk '{ print $2 }' <<<"$sums"); do
    printf '%10d  %s\n' "$(stat -c %s "$DIST_OUT/$file")" "$file"
done
[ "$twice" = no ] || build_twice
