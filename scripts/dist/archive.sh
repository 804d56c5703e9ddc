#!/usr/bin/env bash
# Makes the archive of an architecture (programs, manual, completions, licences, bill of materials) and, beside it, the
# archive of their debug information.
#
# usage: scripts/dist/archive.sh make|try x86_64|aarch64
set -euo pipefail
cd "$(dirname "$0")/../.."
. scripts/dist/common.sh
. scripts/dist/roots.sh

action=$1 arch=$2
name=lydite-$(version)-$arch-linux
archive=$DIST_OUT/$name.tar.xz
debug=$DIST_OUT/$name-debug.tar.xz
# Every xz undoes the filter of this architecture, and only new ones that of arm64.
bcj=
[ "$arch" != x86_64 ] || bcj=x86

make_archives() {
    local from place=$DIST_WORK/archive/$name file
    need_made programs "$arch"
    need_made pages "$arch"
    from=$(stage "$arch")
    rm -rf "$place" "$place-debug"
    for file in lydite gemel; do
        install_file 755 "$from/$file" "$place/bin/$file"
        install_file 644 "$from/$file.debug" "$place-debug/$file.debug"
    done
    for file in "$(pages)"/man/*.1; do
        install_file 644 "$file" "$place/share/man/man1/$(basename "$file")"
    done
    install_completions "$place/share" site-functions
    for file in README.md CHANGELOG.md LICENSE-MIT LICENSE-APACHE "$from/LICENSES.txt" "$from/lydite.cdx.json"; do
        install_file 644 "$file" "$place/share/doc/lydite/$(basename "$file")"
    done
    pack "$place" "$archive" "$bcj"
    pack "$place-debug" "$debug"
    at_most "$archive" "$ARCHIVE_LIMIT"
    mark_made archive "$arch" "$(basename "$archive")" "$(basename "$debug")"
}

try() {
    # Not local: the trap needs it.
    root=$(fresh_root "$arch")
    trap 'rm -rf "$root"' EXIT
    mkdir -p "${root:?}/opt"
    tar -xJf "$archive" -C "$root/opt"
    try_programs "$arch" "$root" "/opt/$name/bin/lydite" "/opt/$name/bin/gemel"
    [ -z "$(find "$root/opt/$name" ! -perm -444)" ] || fail "$archive has files that not everybody can read"
}

case $action in
make) make_archives ;;
try) try ;;
*) fail "no action $action: use make or try" ;;
esac
