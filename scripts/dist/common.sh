#!/usr/bin/env bash
# shellcheck shell=bash
# shellcheck disable=SC2034 # the scripts that read it use the variables
# Names, places and helpers of the scripts of `make dist`; they read it from the root of the repository.
#
#   DIST_OUT   directory of the products (default: dist)
#   DIST_WORK  directory of what is made on the way: tools, stages (default: dist below cargo's target directory)
#   DIST_ROOTS  directory of the roots that trials copy (default: roots in DIST_WORK)

DIST_OUT=${DIST_OUT:-dist}
DIST_WORK=${DIST_WORK:-${CARGO_TARGET_DIR:-target}/dist}
mkdir -p "$DIST_OUT" "$DIST_WORK"
DIST_OUT=$(realpath "$DIST_OUT")
DIST_WORK=$(realpath "$DIST_WORK")
DIST_ROOTS=${DIST_ROOTS:-$DIST_WORK/roots}
export DIST_OUT DIST_WORK DIST_ROOTS

# The oldest C library that the programs run with; manylinux2014 is the name of the same.
GLIBC=2.17
# Most bytes of a stripped program and of an archive.
PROGRAM_LIMIT=35000000
ARCHIVE_LIMIT=10000000
# The run that each product makes in its clean root.
RUN=(run gemel: -d 5s)

fail() {
    echo "error: $*" >&2
    exit 1
}

# Else a command that fails within $(...) does not end it.
shopt -s inherit_errexit 2>/dev/null || fail "bash $BASH_VERSION is too old: use 4.4 or newer"

version() {
    sed -n '/^version = /{s/^version = "\(.*\)"$/\1/p;q}' Cargo.toml
}

# Runs git in these sources, unless they are a copy within the repository of something else.
of_git() {
    local above
    if ! above=$(git rev-parse --show-prefix) || [ -n "$above" ] || ! git "$@"; then
        fail "no git repository: set LYDITE_COMMIT and SOURCE_DATE_EPOCH to commit and date of these sources"
    fi
}

# Commit and date come from git, or from whoever exported the sources.
if [ -z "${LYDITE_COMMIT:-}" ]; then
    LYDITE_COMMIT=$(of_git rev-parse --verify HEAD)
    git diff --quiet HEAD ||
        fail "the sources differ from the commit that programs and bill would name: commit them, or set LYDITE_COMMIT"
fi
[ -n "${SOURCE_DATE_EPOCH:-}" ] || SOURCE_DATE_EPOCH=$(of_git show --no-patch --format=%ct HEAD)
export LYDITE_COMMIT SOURCE_DATE_EPOCH
export LC_ALL=C TZ=UTC
umask 022

# The architecture as Debian names it.
debian() {
    case $1 in
    x86_64) echo amd64 ;;
    aarch64) echo arm64 ;;
    *) fail "no architecture $1: use x86_64 or aarch64" ;;
    esac
}

# Directory with the stripped programs of an architecture, and their debug information.
stage() {
    echo "$DIST_WORK/stage/$1"
}

# Pages of the manual, completions and licences: the same for every architecture. Made by pages.sh.
pages() {
    echo "$DIST_WORK/pages"
}

# Python with the tools of requirements.txt.
tools() {
    local place=$DIST_WORK/venv wanted=scripts/dist/requirements.txt
    if ! cmp -s "$wanted" "$place/requirements.txt"; then
        command -v python3 >/dev/null || scripts/install-packages.sh "Python 3 (python3)" python3 >&2
        python3 -m venv --clear "$place" >&2 || fail "python3 -m venv fails: install Debian's python3-venv"
        "$place/bin/pip" install --quiet --require-virtualenv -r "$wanted" >&2 ||
            fail "the tools of $wanted can't be installed: the message of pip is above"
        cp "$wanted" "$place/requirements.txt"
    fi
    echo "$place/bin"
}

# Copies files with the time of the commit and without the user's umask: install_file MODE FROM TO
install_file() {
    mkdir -p "$(dirname "$3")"
    install -m "$1" "$2" "$3"
    touch -h -d "@$SOURCE_DATE_EPOCH" "$3"
}

# Copies the completions of all shells: install_completions SHARE ZSH. ZSH is the directory below SHARE/zsh.
install_completions() {
    install_file 644 "$(pages)/completions/lydite.bash" "$1/bash-completion/completions/lydite"
    install_file 644 "$(pages)/completions/_lydite" "$1/zsh/$2/_lydite"
    install_file 644 "$(pages)/completions/lydite.fish" "$1/fish/vendor_completions.d/lydite.fish"
}

# Prints files of a directory as a tar with the same bytes each time: plain_tar DIRECTORY NAME...
plain_tar() {
    tar --create --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$SOURCE_DATE_EPOCH" --mode=u=rwX,go=rX \
        --format=ustar --directory "$@"
}

# Writes a directory as .tar.xz: pack DIRECTORY FILE [BCJ]. BCJ is the filter of xz for the instructions of an
# architecture, which every xz knows.
pack() {
    local filter=()
    [ -z "${3:-}" ] || filter=("--$3")
    plain_tar "$(dirname "$1")" "$(basename "$1")" |
        xz --threads=1 --check=crc32 ${filter[@]+"${filter[@]}"} --lzma2=preset=9e >"$2"
}

# Stops if a file has more bytes than it may.
at_most() {
    local bytes
    bytes=$(stat -c %s "$1")
    [ "$bytes" -le "$2" ] || fail "$1 has $bytes bytes, and at most $2 are wanted"
    show_size "$1"
}

# Prints the name and the bytes of a file.
show_size() {
    echo "    $(basename "$1"): $(stat -c %s "$1") bytes"
}
