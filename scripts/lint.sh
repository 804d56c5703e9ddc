#!/usr/bin/env bash
# Everything that is checked without running the code. All checks run, even when one fails.
#
# usage: scripts/lint.sh [format|clippy|docs|shell|names]...     (default: all)
set -euo pipefail
cd "$(dirname "$0")/.."

needs_component() {
    if ! cargo "$1" --version >/dev/null 2>&1; then
        echo "error: cargo $1: not found; install by hand: rustup component add $2" >&2
        return 1
    fi
}

check_format() {
    needs_component fmt rustfmt && cargo fmt --all --check &&
        cargo fmt --manifest-path benches/peers/Cargo.toml --check
}

check_clippy() {
    # The second crate is apart from the workspace, and no test compiles it.
    # shellcheck disable=SC2086 # flags, split on purpose
    needs_component clippy clippy &&
        cargo clippy ${CARGO_FLAGS:-} --workspace --all-targets -- -D warnings &&
        cargo clippy ${CARGO_FLAGS:-} --manifest-path benches/peers/Cargo.toml --all-targets -- -D warnings
}

check_docs() {
    # shellcheck disable=SC2086 # flags, split on purpose
    RUSTDOCFLAGS="-D warnings" cargo doc ${CARGO_FLAGS:-} --workspace --no-deps
}

check_shell() {
    local scripts=(.ci/run) script failed=0
    while IFS= read -r script; do
        scripts+=("$script")
    done < <(find scripts benches experiments -name '*.sh' 2>/dev/null | sort)
    for script in "${scripts[@]}"; do
        bash -n "$script" || failed=1
        if [ ! -x "$script" ]; then
            echo "$script: not executable; do: chmod +x $script" >&2
            failed=1
        fi
    done
    # A check that nobody sees is none: the check of a change installs it.
    if [ -n "${CI:-}" ] && ! command -v shellcheck >/dev/null; then
        scripts/install-packages.sh shellcheck shellcheck || failed=1
    fi
    if command -v shellcheck >/dev/null; then
        shellcheck --external-sources --source-path=SCRIPTDIR --severity=warning "${scripts[@]}" || failed=1
    else
        echo "shellcheck is not installed: syntax checked only"
    fi
    return "$failed"
}

# A path of somebody's machine or a host of somebody's network has no business in a public text.
check_names() {
    local home='(^|[^A-Za-z0-9_.~])/(home|Users|root)/[A-Za-z0-9]'
    local host='(//|@)[A-Za-z0-9.-]+\.(internal|intranet|corp|lan|local)\b'
    local address='(//|@)(10\.|192\.168\.|172\.(1[6-9]|2[0-9]|3[01])\.)[0-9.]+'
    local status=0
    # --no-index: the same in a clone and in an unpacked archive.
    git grep -nIE --no-index --exclude-standard -e "$home" -e "$host" -e "$address" -- . ':!scripts/lint.sh' || status=$?
    case $status in
    0)
        echo "error: the lines above name a home directory or a private host; use ~ or example.com" >&2
        return 1
        ;;
    1) ;;
    *) return "$status" ;;
    esac
}

checks=("$@")
[ ${#checks[@]} -gt 0 ] || checks=(format clippy docs shell names)

failed=()
for check in "${checks[@]}"; do
    if ! declare -F "check_$check" >/dev/null; then
        echo "error: no check named $check; there are: format clippy docs shell names" >&2
        exit 2
    fi
    echo "==> lint: $check"
    "check_$check" || failed+=("$check")
done

if [ ${#failed[@]} -gt 0 ]; then
    echo "lint failed: ${failed[*]}" >&2
    exit 1
fi
echo "lint passed: ${checks[*]}"
