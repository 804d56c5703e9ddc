#!/usr/bin/env bash
# Builds the book as a site. mdBook is built below the target directory when it is missing (about 3 minutes on 2
# processors). Arguments go to mdBook, as --open.
set -euo pipefail
cd "$(dirname "$0")/.."

version=0.5.4
tools=$PWD/target/tools
[[ ${CARGO_TARGET_DIR:-} = "" ]] || tools=$(realpath -m "$CARGO_TARGET_DIR")/tools

if [ "$("$tools/bin/mdbook" --version 2>/dev/null || true)" != "mdbook v$version" ]; then
    echo "==> building mdBook $version"
    # Without a server and without watching: a browser opens the pages as files.
    cargo install --locked --version "$version" --no-default-features --features search --root "$tools" mdbook
fi

"$tools/bin/mdbook" build docs --dest-dir "$PWD/target/book" "$@"
echo "book: $PWD/target/book/index.html"
