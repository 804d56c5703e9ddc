#!/usr/bin/env bash
# Makes `lydite` available: the program on the PATH if there is one, else the archive of a release, checked against its
# sums, else a build of these sources. Prints the directory of the program.
#
# usage: scripts/install-release.sh REPOSITORY REF DIRECTORY
#   REPOSITORY  as OWNER/NAME on GitHub
#   REF         a tag, as v0.1.0: its release is fetched by `gh`; anything else is built from these sources, by cargo
set -euo pipefail

repository=$1 ref=$2 directory=$3

if found=$(command -v lydite); then
    echo "lydite is $found already" >&2
    dirname "$found"
    exit
fi
mkdir -p "$directory"
case $ref in
v[0-9]*)
    archive=lydite-${ref#v}-$(uname -m)-linux.tar.xz
    gh release download "$ref" --repo "$repository" --dir "$directory" --clobber \
        --pattern "$archive" --pattern SHA256SUMS >&2
    # Only the line of this archive: the others are not here.
    (cd "$directory" && grep -F "  $archive" SHA256SUMS | sha256sum --check --strict - >&2)
    tar -xJf "$directory/$archive" -C "$directory" --strip-components=1
    ;;
*)
    cd "$(dirname "$0")/.."
    scripts/install-build-deps.sh >&2
    cargo install --locked --path crates/lydite --root "$directory" >&2
    ;;
esac
realpath "$directory/bin"
