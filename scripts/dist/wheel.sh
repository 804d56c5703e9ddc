#!/usr/bin/env bash
# Makes the wheel of an architecture: the programs, and the package sdk/python/lydite. Its metadata are those that maturin
# makes from pyproject.toml; the programs are those that are built and split already.
#
# usage: scripts/dist/wheel.sh make|try x86_64|aarch64
set -euo pipefail
cd "$(dirname "$0")/../.."
. scripts/dist/common.sh
. scripts/dist/roots.sh

action=$1 arch=$2
platform=manylinux2014_$arch
# The same, for installers that know the name of the C library only.
tag=py3-none-manylinux_${GLIBC//./_}_$arch.$platform
wheel=$DIST_OUT/lydite-$(python_version)-$tag.whl

make_wheel() {
    local info=$DIST_WORK/wheel/$arch module=$DIST_WORK/wheel/$arch-module/lydite tools from
    need_made programs "$arch"
    need_made pages "$arch"
    tools=$(tools)
    from=$(stage "$arch")
    rm -rf "$info"
    mkdir -p "$info"
    "$tools/maturin" pep517 write-dist-info --metadata-directory "$info" --target "$arch-unknown-linux-gnu" \
        --compatibility manylinux2014 --manifest-path crates/lydite/Cargo.toml >/dev/null
    copy_sources sdk/python/lydite "$module"
    rm -f "$wheel"
    "$tools/python" scripts/dist/wheel.py --dist-info "$info"/*.dist-info --tag "$tag" --module "$module" \
        --scripts "$from/lydite" "$from/gemel" --data "$from/LICENSES.txt" "$from/lydite.cdx.json" --out "$DIST_OUT" >/dev/null
    [ -e "$wheel" ] || fail "maturin has other names than $wheel: $(ls "$info")"
    show_size "$wheel"
    mark_made wheel "$arch" "$(basename "$wheel")"
}

try() {
    local begun
    if [ "$arch" = "$(uname -m)" ]; then
        root=$(fresh_root "$arch" python3-venv)
    else
        root=$(fresh_root "$arch")
    fi
    trap 'rm -rf "$root"' EXIT
    if [ "$arch" != "$(uname -m)" ]; then
        # There is no Python to run: what pip would put into bin.
        "$(tools)/python" -m zipfile --extract "$wheel" "$root/tmp/wheel"
        install -m 755 "$root"/tmp/wheel/*.data/scripts/* "$root/usr/bin"
        try_programs "$arch" "$root" /usr/bin/lydite /usr/bin/gemel
        return
    fi
    cp "$wheel" "$root/tmp"
    begun=$(date +%s.%N)
    within "$root" 65534 python3 -m venv /tmp/fresh
    echo "    environment made after $(seconds_since "$begun") s"
    within "$root" 65534 /tmp/fresh/bin/pip install --no-index --quiet "/tmp/$(basename "$wheel")"
    echo "    installed after $(seconds_since "$begun") s"
    within "$root" 65534 /tmp/fresh/bin/lydite "${RUN[@]}"
    echo "    first result after $(seconds_since "$begun") s, 5 s of them measured"
    try_programs "$arch" "$root" /tmp/fresh/bin/lydite /tmp/fresh/bin/gemel
    within "$root" 65534 /tmp/fresh/bin/python -c \
        'import lydite; print(lydite.run("null:", duration="2s").nopm, lydite.serve.__name__)'
}

seconds_since() {
    awk -v from="$1" -v to="$(date +%s.%N)" 'BEGIN { printf "%.1f", to - from }'
}

case $action in
make) make_wheel ;;
try) try ;;
*) fail "no action $action: use make or try" ;;
esac
