#!/usr/bin/env bash
# Packs the crate `gemel` as `cargo publish` would, builds the packed sources, and stops before the upload. It depends on
# no other crate of this repository.
#
# usage: scripts/dist/crate.sh make|try
set -euo pipefail
cd "$(dirname "$0")/../.."
. scripts/dist/common.sh

case $1 in
make)
    # Cargo makes and uploads it by itself, so it is no file of a release.
    # shellcheck disable=SC2086 # flags, split on purpose
    cargo package ${CARGO_FLAGS:---locked} --allow-dirty --list -p gemel | grep -cx 'src/.*' >/dev/null
    mark_made crate none
    ;;
try)
    # shellcheck disable=SC2086 # flags, split on purpose
    cargo publish ${CARGO_FLAGS:---locked} --allow-dirty --dry-run -p gemel
    ;;
*) fail "no action $1: use make or try" ;;
esac
