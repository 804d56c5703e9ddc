#!/usr/bin/env bash
# Builds the programs `lydite` and `gemel` of an architecture with zig as the linker, so that an old C library suffices,
# and splits their debug information off. Two builds of one commit give the same bytes, wherever the sources are.
#
# usage: scripts/dist/programs.sh make|try x86_64|aarch64
#        scripts/dist/programs.sh check ARCH...     stops if Rust lacks something for these architectures
set -euo pipefail
cd "$(dirname "$0")/../.."
. scripts/dist/common.sh

action=$1 arch=$2
target=$arch-unknown-linux-gnu
place=$(stage "$arch")

# Prints a path of the programs' debug information and panics for a path of this machine: FROM=TO, one a line.
mapped_paths() {
    local cargo built
    cargo=$(realpath "${CARGO_HOME:-$HOME/.cargo}")
    built=$(realpath -m "${CARGO_TARGET_DIR:-target}")
    # Also below the sources: the last match counts, and an export is built below the target directory of another.
    printf '%s\n' "$cargo=/cargo" "$PWD=/lydite" "$built=/lydite/target"
}

# Stops if Rust can't build programs of an architecture, or split them: check ARCH...
check() {
    local arch target libraries
    for arch in "$@"; do
        target=$arch-unknown-linux-gnu
        # Not by rustup, which other installations of Rust do not have.
        libraries=$(rustc --print target-libdir --target "$target")
        compgen -G "$libraries/libstd-*" >/dev/null || rustup target add "$target" ||
            fail "no Rust for $target: rustup target add $target"
    done
    objcopy --version >/dev/null || fail "Rust's own objcopy is missing: use a toolchain of rustup"
}

build() {
    local bin flags=() line separator=$'\x1f' tools paths
    scripts/install-build-deps.sh
    tools=$(tools)
    paths=$(mapped_paths)
    check "$arch"
    while IFS= read -r line; do
        flags+=("--remap-path-prefix=$line")
        CFLAGS="${CFLAGS:-} -ffile-prefix-map=$line"
    done <<<"$paths"
    # C code may name the time of its compilation, which is that of the commit, and zig's cache does not know of it.
    CFLAGS+=" -DSOURCE_DATE_EPOCH=$SOURCE_DATE_EPOCH"
    export CFLAGS
    CARGO_ENCODED_RUSTFLAGS=$(IFS=$separator; echo "${flags[*]}")
    export CARGO_ENCODED_RUSTFLAGS CARGO_INCREMENTAL=0
    # Caches of zig and cargo-zigbuild, and the Python that runs zig.
    export ZIG_GLOBAL_CACHE_DIR=$DIST_WORK/zig/$arch ZIG_LOCAL_CACHE_DIR=$DIST_WORK/zig/$arch
    export CARGO_ZIGBUILD_PYTHON_PATH=$tools/python CARGO_ZIGBUILD_CACHE_DIR=$DIST_WORK/zigbuild
    zig_parts "$tools"
    # shellcheck disable=SC2086 # flags, split on purpose
    "$tools/cargo-zigbuild" build ${CARGO_FLAGS:---locked} --profile packaged --target "$target.$GLIBC" \
        -p lydite -p gemel --bins
    check_parts
    mkdir -p "$place"
    # What is made from these programs is no longer of their commit.
    rm -f "$place"/*.made
    for bin in lydite gemel; do
        split "${CARGO_TARGET_DIR:-target}/$target/packaged/$bin" "$place" "$bin"
    done
    mark_made programs "$arch"
}

# Links zig's own parts into its cache without debug information: that has the directory of the build, which zig maps to no
# other. The program that is linked for it is one of this workspace, since a part is made anew for another directory in which
# the linker is called. zig_parts TOOLS
zig_parts() {
    local cache=$ZIG_GLOBAL_CACHE_DIR part
    [ ! -e "$cache/parts" ] || return 0
    # What is there was linked with that information.
    rm -rf "$cache" "$DIST_WORK/parts"
    # shellcheck disable=SC2086 # flags, split on purpose
    "$1/cargo-zigbuild" build --quiet ${CARGO_FLAGS:---locked} --target-dir "$DIST_WORK/parts" --target "$target.$GLIBC" \
        -p lydite-architecture --bins
    for part in "$cache"/o/*/*.[oa]; do
        objcopy --strip-debug "$part"
    done
    touch "$cache/parts"
}

# Stops if a part of zig's was made after zig_parts: its directory would be in the debug information.
check_parts() {
    local late
    late=$(find "$ZIG_GLOBAL_CACHE_DIR"/o -name '*.a' -newer "$ZIG_GLOBAL_CACHE_DIR/parts")
    [ -z "$late" ] || fail "zig made parts that zig_parts of scripts/dist/programs.sh did not: $late"
}

# Runs the objcopy that comes with Rust, which knows all architectures.
objcopy() {
    local root host
    root=$(rustc --print sysroot)
    host=$(rustc -vV | sed -n 's/^host: //p')
    LD_LIBRARY_PATH="$root/lib" "$root/lib/rustlib/$host/bin/rust-objcopy" "$@"
}

# Splits a program: split FROM DIRECTORY NAME
split() {
    (
        # The name in the link is the argument's.
        from=$(realpath "$1")
        cd "$2"
        rm -f "$3" "$3.debug"
        objcopy --only-keep-debug --compress-debug-sections=zlib "$from" "$3.debug"
        objcopy --strip-all --add-gnu-debuglink="$3.debug" "$from" "$3"
        chmod 644 "$3.debug"
        chmod 755 "$3"
    )
}

# Prints the newest version of the C library that a program asks for.
newest_glibc() {
    readelf --version-info --wide "$1" | grep -o 'GLIBC_[0-9.]*' | sort -uV | tail -n 1
}

try() {
    local bin newest
    for bin in lydite gemel; do
        newest=$(newest_glibc "$place/$bin")
        [ "$(printf '%s\n' "GLIBC_$GLIBC" "$newest" | sort -V | tail -n 1)" = "GLIBC_$GLIBC" ] ||
            fail "$bin of $arch asks for $newest, and GLIBC_$GLIBC must suffice"
        echo "    $bin of $arch: $newest suffices"
        at_most "$place/$bin" "$PROGRAM_LIMIT"
        ! grep -qaF -e "$PWD" -e "$HOME/" "$place/$bin" || fail "$bin of $arch has a path of this machine in it"
    done
}

case $action in
check) check "${@:2}" ;;
make) build ;;
try) try ;;
*) fail "no action $action: use make or try" ;;
esac
