#!/usr/bin/env bash
# Makes the Debian package of an architecture. Not by cargo-deb: the programs are built and split already, and dpkg-deb,
# which is on each Debian, needs no two hundred crates to be compiled.
#
# usage: scripts/dist/deb.sh make|try x86_64|aarch64
#   DIST_MAINTAINER  maintainer in the package, as NAME <ADDRESS>; the default is an address that nobody has
#   DIST_SOURCE      address of the repository, its homepage
set -euo pipefail
cd "$(dirname "$0")/../.."
. scripts/dist/common.sh
. scripts/dist/roots.sh

action=$1 arch=$2
# A revision of 1: a version of a package, not of a program that Debian itself makes.
full=$(debian_version)-1
# Not with the ~ of a pre-release, which GitHub replaces in the names of files.
package=$DIST_OUT/lydite_$(version)-1_$(debian "$arch").deb
maintainer=${DIST_MAINTAINER:-Lydite developers <lydite@example.com>}

# Libraries of the system that the programs load, as packages.
depends() {
    local needed library found=("libc6 (>= $GLIBC)")
    needed=$(readelf --dynamic "$(stage "$arch")"/{lydite,gemel} | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | sort -u)
    for library in $needed; do
        case $library in
        libc.so.* | libm.so.* | libdl.so.* | libpthread.so.* | librt.so.* | libutil.so.* | ld-linux*) ;;
        libgcc_s.so.1) found+=("libgcc-s1 | libgcc1") ;;
        *) fail "the programs of $arch load $library, and no package of it is named in scripts/dist/deb.sh" ;;
        esac
    done
    printf '%s\n' "${found[@]}" | paste -sd, | sed 's/,/, /g'
}

# Copies a file compressed, without its name and time within: compress FROM TO
compress() {
    mkdir -p "$(dirname "$2")"
    gzip -9nc "$1" >"$2"
    touch -d "@$SOURCE_DATE_EPOCH" "$2"
}

# Prints the KiB of a directory's files. Directories are left out: each file system has other sizes for them.
installed_size() {
    find "$1" -type f -printf '%s\n' | awk '{ kib += int(($1 + 1023) / 1024) } END { print kib }'
}

write_control() {
    local size needs
    # Not within the text below, which would be written without what fails.
    size=$(installed_size "$1")
    needs=$(depends)
    cat <<END
Package: lydite
Version: $full
Architecture: $(debian "$arch")
Maintainer: $maintainer
Installed-Size: $size
Depends: $needs
Section: database
Priority: optional${DIST_SOURCE:+
Homepage: $DIST_SOURCE}
Description: TPC-C-derived benchmark that checks what it measures
 Lydite finds out how good a transactional database is: it loads the database,
 plays the transactions of TPC-C, and measures throughput and latency, while
 nodes, disks and networks fail if you like. It also checks what it measures:
 a database that is fast and loses an order fails.
 .
 The package also has gemel, the tool of the embedded database Gemel.
END
}

write_copyright() {
    local year holders text
    year=$(date -d "@$SOURCE_DATE_EPOCH" +%Y)
    holders=$(sed -n 's/^Copyright (c) //p' LICENSE-MIT)
    text=$(sed -e '1,/^$/d; /^Copyright/d; s/^$/./; s/^/ /' LICENSE-MIT)
    cat <<END
Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: lydite
Comment: The crates that the programs are linked from, with their licences, are
 listed in third-party.txt.gz, and in lydite.cdx.json.gz for machines.

Files: *
Copyright: $year $holders
License: MIT or Apache-2.0

License: MIT
$text

License: Apache-2.0
 On Debian systems the text is in /usr/share/common-licenses/Apache-2.0.
END
}

make_package() {
    local from tree=$DIST_WORK/deb/$arch file doc
    need_made programs "$arch"
    need_made pages "$arch"
    from=$(stage "$arch")
    rm -rf "$tree"
    doc=$tree/usr/share/doc/lydite
    for file in lydite gemel; do
        install_file 755 "$from/$file" "$tree/usr/bin/$file"
    done
    for file in "$(pages)"/man/*.1; do
        compress "$file" "$tree/usr/share/man/man1/$(basename "$file").gz"
    done
    install_completions "$tree/usr/share" vendor-completions
    compress CHANGELOG.md "$doc/changelog.gz"
    printf 'lydite (%s) unstable; urgency=medium\n\n  * Version %s; changelog.gz lists the changes.\n\n -- %s  %s\n' \
        "$full" "$(version)" "$maintainer" "$(date -R -d "@$SOURCE_DATE_EPOCH")" >"$DIST_WORK/changelog.Debian"
    compress "$DIST_WORK/changelog.Debian" "$doc/changelog.Debian.gz"
    compress "$from/LICENSES.txt" "$doc/third-party.txt.gz"
    compress "$from/lydite.cdx.json" "$doc/lydite.cdx.json.gz"
    write_copyright >"$DIST_WORK/copyright"
    install_file 644 "$DIST_WORK/copyright" "$doc/copyright"
    # It is no upload to Debian, and so closes no wish for a package there.
    printf 'lydite: initial-upload-closes-no-bugs *\n' >"$DIST_WORK/overrides"
    install_file 644 "$DIST_WORK/overrides" "$tree/usr/share/lintian/overrides/lydite"
    (cd "$tree" && find usr -type f | sort | xargs md5sum) >"$DIST_WORK/md5sums"
    write_control "$tree" >"$DIST_WORK/control"
    for file in control md5sums; do
        install_file 644 "$DIST_WORK/$file" "$tree/DEBIAN/$file"
    done
    # Times up to SOURCE_DATE_EPOCH stay, later ones become it.
    dpkg-deb --root-owner-group -Zxz --build "$tree" "$package" >/dev/null
    show_size "$package"
    mark_made deb "$arch" "$(basename "$package")"
}

try() {
    command -v lintian >/dev/null || scripts/install-packages.sh lintian lintian
    lintian --fail-on error,warning "$package"
    # Not local: the trap needs it.
    root=$(fresh_root "$arch")
    trap 'rm -rf "$root"' EXIT
    if [ "$arch" = "$(uname -m)" ]; then
        cp "$package" "${root:?}/tmp/lydite.deb"
        within "$root" 0 dpkg --install /tmp/lydite.deb
    else
        dpkg-deb --extract "$package" "${root:?}"
    fi
    try_programs "$arch" "$root" /usr/bin/lydite /usr/bin/gemel
}

case $action in
make) make_package ;;
try) try ;;
*) fail "no action $action: use make or try" ;;
esac
