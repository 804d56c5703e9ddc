#!/usr/bin/env bash
# Prints the section of a version in CHANGELOG.md, without its title. A pre-release may have none of its own: then it is
# that of what is unreleased.
#
# usage: scripts/release-notes.sh VERSION
set -euo pipefail
cd "$(dirname "$0")/.."

version=$1
section() {
    awk -v title="## [$1]" 'index($0, "## ") == 1 { within = index($0, title) == 1; next } within' CHANGELOG.md |
        sed -e '/./,$!d'
}
notes=$(section "$version")
case $version in
*-*) [ -n "$notes" ] || notes=$(section Unreleased) ;;
esac
if [ -z "$notes" ]; then
    echo "error: CHANGELOG.md has no section '## [$version]': rename that of what is unreleased, with the date" >&2
    exit 1
fi
echo "$notes"
