#!/usr/bin/env bash
# Puts seekdb's server (OceanBase on one node) where the tests of oceanbase:// look for it. Does nothing when it is there, or
# when LYDITE_TEST_SEEKDB=off leaves those tests out. The server comes in a Python wheel; no Python of ours uses it.
set -euo pipefail
cd "$(dirname "$0")/.."

version=1.4.0.post1
place=${CARGO_TARGET_DIR:-target}/test-deps/seekdb

without="set LYDITE_TEST_SEEKDB=off to run the tests without it"
if [ "${LYDITE_TEST_SEEKDB:-}" = off ]; then
    echo "==> test dependencies: LYDITE_TEST_SEEKDB is off, oceanbase:// is not tested"
    exit 0
fi
if [ -n "${LYDITE_SEEKDB:-}" ]; then
    [ -x "$LYDITE_SEEKDB" ] || { echo "error: LYDITE_SEEKDB=$LYDITE_SEEKDB is no program; point it at seekdb's server or unset it" >&2; exit 1; }
    exit 0
fi
if ! command -v ip >/dev/null || ! command -v unshare >/dev/null; then
    scripts/install-packages.sh "ip and unshare, to keep seekdb off the network ($without)" iproute2 util-linux
fi
if [ -x "$place/pylibseekdb/seekdb" ]; then
    echo "==> test dependencies: seekdb's server is in $place"
    exit 0
fi
if ! python3 -m pip --version >/dev/null 2>&1; then
    scripts/install-packages.sh "pip, to fetch seekdb's server ($without)" python3-pip
fi
mkdir -p "$place"
# No dependencies: only the files of the wheel are wanted.
export PIP_ROOT_USER_ACTION=ignore
if ! python3 -m pip install --quiet --disable-pip-version-check --no-deps --only-binary :all: --upgrade \
    --target "$place" "pylibseekdb==$version"; then
    echo "error: pylibseekdb $version can't be had from PyPI (above is why); $without" >&2
    exit 1
fi
[ -x "$place/pylibseekdb/seekdb" ] || chmod +x "$place/pylibseekdb/seekdb"
echo "==> test dependencies: installed seekdb's server in $place"
