#!/usr/bin/env bash
# Has the program write its manual and completions, and lists licences and crates of each architecture.
#
# usage: scripts/dist/pages.sh make|try x86_64|aarch64
set -euo pipefail
cd "$(dirname "$0")/../.."
. scripts/dist/common.sh

action=$1 arch=$2

# The program of this machine's architecture writes the pages for all.
write_pages() {
    local place program
    place=$(pages)
    program=$(stage "$(uname -m)")/lydite
    rm -rf "$place"
    mkdir -p "$place/completions"
    "$program" man "$place/man" >/dev/null
    install_file 644 crates/gemel/gemel.1 "$place/man/gemel.1"
    "$program" completions bash >"$place/completions/lydite.bash"
    "$program" completions zsh >"$place/completions/_lydite"
    "$program" completions fish >"$place/completions/lydite.fish"
}

case $action in
make)
    need_made programs "$(uname -m)"
    need_made programs "$arch"
    tools=$(tools)
    write_pages
    "$tools/python" scripts/dist/crates.py "$arch-unknown-linux-gnu" "$(stage "$arch")"
    mark_made pages "$arch"
    ;;
try)
    for reader in man:man-db zsh:zsh fish:fish; do
        command -v "${reader%:*}" >/dev/null || scripts/install-packages.sh "${reader%:*}" "${reader#*:}"
    done
    # What is a warning of man is an error here.
    for page in "$(pages)"/man/*.1; do
        warnings=$(MANWIDTH=200 man --warnings -E UTF-8 -l "$page" 2>&1 >/dev/null)
        [ -z "$warnings" ] || fail "$page: $warnings"
    done
    bash -n "$(pages)/completions/lydite.bash"
    zsh -n "$(pages)/completions/_lydite"
    fish -n "$(pages)/completions/lydite.fish"
    echo "    $(find "$(pages)/man" -name '*.1' | wc -l) pages of the manual"
    tools=$(tools)
    "$tools/python" -c '
import json, sys
bill = json.load(open(sys.argv[1]))
refs = [component["bom-ref"] for component in bill["components"]]
assert len(refs) == len(set(refs)) > 100, "a component is listed twice, or most are missing"
used = {ref for entry in bill["dependencies"] for ref in [entry["ref"], *entry["dependsOn"]]}
unknown = used - set(refs) - {bill["metadata"]["component"]["bom-ref"]}
assert not unknown, f"unknown dependencies: {unknown}"
print(f"    bill of materials: {len(refs)} components")
' "$(stage "$arch")/lydite.cdx.json"
    ;;
*) fail "no action $action: use make or try" ;;
esac
