#!/usr/bin/env bash
# Builds TiDB's own server, with its embedded store, where the tests of tidb:// look for it. Only LYDITE_TEST_TIDB=on wants
# it: the build takes about ten processor minutes and needs Go. Does nothing when it is there.
set -euo pipefail
cd "$(dirname "$0")/.."

version=v1.1.0-beta.0.20251126154744-e4e814fdc0af
parser=v0.0.0-20251126154744-e4e814fdc0af
place=${CARGO_TARGET_DIR:-target}/test-deps/tidb
program=$place/tidb-server-$version

[ "${LYDITE_TEST_TIDB:-}" = on ] || exit 0
if [ -n "${LYDITE_TIDB:-}" ]; then
    [ -x "$LYDITE_TIDB" ] || { echo "error: LYDITE_TIDB=$LYDITE_TIDB is no program; point it at tidb-server or unset it" >&2; exit 1; }
    exit 0
fi
if [ -x "$program" ]; then
    echo "==> test dependencies: TiDB's server is in $place"
    exit 0
fi
without="unset LYDITE_TEST_TIDB to run the tests without it"
command -v go >/dev/null || { echo "error: go is not installed, and TiDB's server is built with it: install Go 1.21 or newer, or $without" >&2; exit 1; }

mkdir -p "$place/build"
cat >"$place/build/go.mod" <<MOD
module lydite/tidbserver

go 1.26

require (
	github.com/pingcap/tidb $version
	github.com/pingcap/tidb/pkg/parser $parser
)

// A dependency takes no replacements from the modules it needs, so these are TiDB's own.
replace (
	github.com/go-ldap/ldap/v3 => github.com/YangKeao/ldap/v3 v3.4.5-0.20230421065457-369a3bab1117
	sourcegraph.com/sourcegraph/appdash => github.com/sourcegraph/appdash v0.0.0-20190731080439-ebfcffb1b5c0
	sourcegraph.com/sourcegraph/appdash-data => github.com/sourcegraph/appdash-data v0.0.0-20151005221446-73f23eafcf67
)
MOD
cat >"$place/build/tools.go" <<'GO'
//go:build tools

package tidbserver

import _ "github.com/pingcap/tidb/cmd/tidb-server"
GO
echo "==> test dependencies: building TiDB's server $version, about ten processor minutes"
# The server is moved into place at the end, so a stopped build is not taken for a finished one.
if ! (cd "$place/build" && GOTOOLCHAIN=${GOTOOLCHAIN:-auto} GOFLAGS=-mod=mod CGO_ENABLED=${CGO_ENABLED:-1} nice -n 15 \
    go build -ldflags "-s -w" -o tidb-server github.com/pingcap/tidb/cmd/tidb-server); then
    echo "error: TiDB's server can't be built (above is why); $without" >&2
    exit 1
fi
mv "$place/build/tidb-server" "$program"
ln -sfn "$(basename "$program")" "$place/tidb-server"
echo "==> test dependencies: built TiDB's server in $place"
