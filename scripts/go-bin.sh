#!/usr/bin/env bash
# Prints the directory of a Go that builds nats-server: the one on the PATH if it is new enough, else a toolchain from
# Go's module proxy, below the target directory. Any Go can fetch it, also Debian 12's, which is older than GOTOOLCHAIN.
set -euo pipefail
cd "$(dirname "$0")/.."

wanted=1.23
version=1.23.4

found=$(command -v go) || { echo "error: go: not found; install Debian's golang-go" >&2; exit 1; }
there=$(go env GOVERSION)
if [ "$(printf '%s\n' "$wanted" "${there#go}" | sort -V | head -n 1)" = "$wanted" ]; then
    dirname "$found"
    exit
fi

place=${CARGO_TARGET_DIR:-target}/test-deps/go-$version
if [ ! -x "$place/bin/go" ]; then
    module=golang.org/toolchain@v0.0.1-go$version.$(go env GOOS)-$(go env GOARCH)
    echo "==> test dependencies: fetching Go $version, since $there is older than $wanted" >&2
    # go checks its sum against Go's database of sums.
    fetched=$(cd / && go mod download -json "$module" | sed -n 's/^\t"Dir": "\(.*\)",*$/\1/p')
    [ -n "$fetched" ] || { echo "error: Go $version can't be fetched; install Go $wanted by hand" >&2; exit 1; }
    rm -rf "$place" "$place.new"
    mkdir -p "$(dirname "$place")"
    cp -r "$fetched" "$place.new"
    # Modules have neither programs nor files that can be written.
    chmod -R u+w "$place.new"
    chmod +x "$place.new"/bin/* "$place.new"/pkg/tool/*/*
    # Moved at the end, so a stopped copy is not taken for a finished one.
    mv "$place.new" "$place"
fi
realpath "$place/bin"
