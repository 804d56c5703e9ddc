#!/usr/bin/env bash
# Makes `lydite` available: the program on the PATH if there is one, else the archive of a release, checked against its
# sums, else a build of these sources. Prints the directory of the program.
#
# usage: scripts/install-release.sh REPOSITORY REF DIRECTORY
#   REPOSITORY  as OWNER/NAME on GitHub
#   REF         a tag, as v0.1.0, or a commit that has the tag of its version: the release is fetched by `gh`. Anything
#               else is built from these sources, by cargo, which takes minutes
set -euo pipefail

repository=$1 ref=$2 directory=$3

if found=$(command -v lydite); then
    echo "lydite is $found already" >&2
    dirname "$found"
    exit
fi
if [ "$(uname -s)" != Linux ]; then
    echo "error: Lydite runs on Linux, and this is $(uname -s): use a job with runs-on: ubuntu-latest" >&2
    exit 1
fi
mkdir -p "$directory"
directory=$(realpath "$directory")
cd "$(dirname "$0")/.."
# A commit has the sources of a release if the tag of their version names it.
if [[ $ref =~ ^[0-9a-f]{40}$ ]]; then
    tag=v$(sed -n '/^version = /{s/^version = "\(.*\)"$/\1/p;q}' Cargo.toml)
    if tagged=$(gh api "repos/$repository/commits/$tag" --jq .sha) && [ "$tagged" = "$ref" ]; then
        ref=$tag
    else
        echo "warning: commit $ref is not release $tag of $repository: building it takes minutes" >&2
    fi
fi
arch=$(uname -m)
case $ref in
v[0-9]*)
    case $arch in
    x86_64 | aarch64) ;;
    *)
        echo "error: release $ref has no program for $arch: put lydite on the PATH, by cargo install from a clone" >&2
        exit 1
        ;;
    esac
    archive=lydite-${ref#v}-$arch-linux.tar.xz
    gh release download "$ref" --repo "$repository" --dir "$directory" --clobber \
        --pattern "$archive" --pattern SHA256SUMS >&2
    # Only the line of this archive: the others are not here.
    (cd "$directory" && grep -F "  $archive" SHA256SUMS | sha256sum --check --strict - >&2)
    tar -xJf "$directory/$archive" -C "$directory" --strip-components=1
    ;;
*)
    scripts/install-build-deps.sh >&2
    cargo install --locked --path crates/lydite --root "$directory" >&2
    ;;
esac
echo "$directory/bin"
