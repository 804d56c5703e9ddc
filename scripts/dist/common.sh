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

# The version as Cargo.toml has it, which is also that of file names and tags: 1.0.0, or 1.0.0-rc.1.
version() {
    sed -n '/^version = /{s/^version = "\(.*\)"$/\1/p;q}' Cargo.toml
}

# Prints the version with other words for alpha, beta and rc of a pre-release: version_as ALPHA BETA RC. Each has the
# sign before it and a $ for the number.
version_as() {
    local version number form
    version=$(version)
    number=${version##*.}
    case $version in
    *-alpha.*) form=$1 ;;
    *-beta.*) form=$2 ;;
    *-rc.*) form=$3 ;;
    *-*) form= ;;
    *)
        echo "$version"
        return
        ;;
    esac
    [ -n "$form" ] && [[ $version =~ ^[0-9.]+-[a-z]+\.[0-9]+$ ]] ||
        fail "version $version: Python has no such pre-release: use -alpha.N, -beta.N or -rc.N"
    echo "${version%%-*}${form//\$/$number}"
}

# The version as Python packages have it: 1.0.0rc1 for 1.0.0-rc.1.
python_version() {
    version_as 'a$' 'b$' 'rc$'
}

# The version as Debian packages have it: 1.0.0~rc.1 for 1.0.0-rc.1, since ~ sorts before the end.
debian_version() {
    version_as '~alpha.$' '~beta.$' '~rc.$'
}

# Returns true if these sources are a git repository, and no copy within the repository of something else.
is_repository() {
    local above
    above=$(git rev-parse --show-prefix 2>/dev/null) && [ -z "$above" ]
}

# Runs git in these sources.
of_git() {
    if ! is_repository || ! git "$@"; then
        fail "no git repository: set LYDITE_COMMIT and SOURCE_DATE_EPOCH to commit and date of these sources"
    fi
}

# Stops if a file differs from the commit, or is not in it.
check_clean() {
    local changes
    changes=$(of_git status --porcelain)
    [ -z "$changes" ] ||
        fail "the sources differ from the commit that the products would name: commit, ignore or delete" \
            "$(cut -c 4- <<<"$changes" | head -n 5 | paste -sd, | sed 's/,/, /g')${1:-}"
}

# Commit and date come from git, or from whoever exported the sources.
if [ -z "${LYDITE_COMMIT:-}" ]; then
    LYDITE_COMMIT=$(of_git rev-parse --verify HEAD)
    check_clean ", or set LYDITE_COMMIT"
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

# Copies the files of a directory that belong to the sources: those that git tracks, or all of an export.
# copy_sources DIRECTORY TO
copy_sources() {
    local file
    rm -rf "$2"
    while IFS= read -r -d '' file; do
        install_file 644 "$1/$file" "$2/$file"
    done < <(cd "$1" && if [ -n "$tracked" ]; then git ls-files -z; else find . -type f -printf '%P\0'; fi)
}
tracked=
! is_repository || tracked=yes

# File that says of which version and commit a product was made, with the sums of its files: mark_of PRODUCT ARCH. ARCH
# is `none` for a product that has no architecture.
mark_of() {
    echo "$(stage "$2")/$1.made"
}

# Notes that a product is made, of this version and commit: mark_made PRODUCT ARCH [FILE]... Files are in DIST_OUT.
mark_made() {
    local mark
    mark=$(mark_of "$1" "$2")
    mkdir -p "$(dirname "$mark")"
    echo "$(version) $LYDITE_COMMIT" >"$mark"
    [ $# -le 2 ] || (cd "$DIST_OUT" && sha256sum -- "${@:3}") >>"$mark"
}

# Prints the sums of the files of a product: sums_of PRODUCT ARCH
sums_of() {
    sed 1d "$(mark_of "$1" "$2")"
}

# Returns true if a product of this version and commit is there, and its files are as they were made.
is_made() {
    local mark sums
    mark=$(mark_of "$1" "$2")
    [ -e "$mark" ] && [ "$(head -n 1 "$mark")" = "$(version) $LYDITE_COMMIT" ] || return 1
    sums=$(sums_of "$1" "$2")
    [ -z "$sums" ] || (cd "$DIST_OUT" && sha256sum --check --status --strict <<<"$sums" 2>/dev/null)
}

# Stops unless a product that another one needs is of this version and commit: need_made PRODUCT ARCH
need_made() {
    local mark of
    is_made "$1" "$2" && return
    mark=$(mark_of "$1" "$2")
    of="there are none"
    [ ! -e "$mark" ] || of="those in $(dirname "$mark") are of $(head -n 1 "$mark"), or were changed"
    fail "$1 of $2 of version $(version), commit $LYDITE_COMMIT: $of: make them too, with" \
        "make dist ARGS='… $1 …'"
}

# Stops unless Python can make the environment of the tools.
check_python() {
    command -v python3 >/dev/null || scripts/install-packages.sh "Python 3 (python3)" python3 >&2
    python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))' ||
        fail "$(python3 --version) is too old for the scripts of make dist: put Python 3.11 or newer on the PATH"
    # Debian has it apart.
    python3 -c 'import ensurepip, venv' 2>/dev/null ||
        scripts/install-packages.sh "Python's venv (python3-venv)" python3-venv >&2
}

# Python with the tools of requirements.txt.
tools() {
    local place=$DIST_WORK/venv wanted=scripts/dist/requirements.txt
    if ! cmp -s "$wanted" "$place/requirements.txt"; then
        check_python
        python3 -m venv --clear "$place" >&2 || fail "python3 -m venv fails: install Debian's python3-venv"
        "$place/bin/pip" install --quiet --require-virtualenv --require-hashes -r "$wanted" >&2 ||
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
