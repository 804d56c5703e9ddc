#!/usr/bin/env bash
# Builds the image of deploy/Containerfile and tries it. buildah does it without a daemon; a root that debootstrap made
# takes the place of Debian's own image, since a registry of images is not within everybody's reach.
#
# usage: scripts/dist/container.sh make|try x86_64|aarch64
#   DIST_SOURCE  address of the repository, a label of the image
set -euo pipefail
cd "$(dirname "$0")/../.."
. scripts/dist/common.sh
. scripts/dist/roots.sh

action=$1 arch=$2
base=docker.io/library/debian:12-slim
image=localhost/lydite:$(version)
product=$DIST_OUT/lydite-$(version)-$arch-image.tar

# A builder for another architecture runs its commands; the workflow of a release has one.
if [ "$arch" != "$(uname -m)" ]; then
    echo "    no image of $arch on this machine"
    exit
fi
[ "$(id -u)" -eq 0 ] || fail "the image is made from a root of debootstrap, which needs root"

# buildah with a store of its own: images of this machine are neither seen nor changed.
images() {
    command -v buildah >/dev/null || scripts/install-packages.sh buildah buildah >&2
    STORAGE_DRIVER=vfs BUILDAH_ISOLATION=chroot \
        buildah --root "$DIST_WORK/images/root" --runroot "$DIST_WORK/images/run" "$@"
}

make_base() {
    local container
    # Not local: the trap needs it.
    root=$(fresh_root "$arch" ca-certificates,xz-utils)
    trap 'rm -rf "$root" "$root.tar"' EXIT
    tar --create --file "$root.tar" --directory "${root:?}" .
    container=$(images from scratch)
    images add --quiet "$container" "$root.tar" / >/dev/null
    images commit --quiet "$container" "$base" >/dev/null
    images rm "$container" >/dev/null
}

make_image() {
    local context=$DIST_WORK/context layout=$DIST_WORK/oci
    need_made archive "$arch"
    images inspect --type image "$base" >/dev/null 2>&1 || make_base
    # The archive of this build, wherever its products are.
    rm -rf "$context"
    mkdir -p "$context/dist" "$context/scripts/dist"
    cp "$DIST_OUT/lydite-$(version)-$arch-linux.tar.xz" "$context/dist/"
    cp scripts/dist/container-root.sh "$context/scripts/dist/"
    images build --quiet --pull=never --network host --timestamp "$SOURCE_DATE_EPOCH" --file deploy/Containerfile \
        --build-arg "TARGETARCH=$(debian "$arch")" --build-arg "VERSION=$(version)" \
        --build-arg "REVISION=$LYDITE_COMMIT" --build-arg "SOURCE=${DIST_SOURCE:-}" \
        --tag "$image" "$context" >/dev/null
    # Not to an archive, whose files buildah gives the time of now.
    rm -rf "$layout"
    images push --quiet "$image" "oci:$layout:lydite:$(version)"
    plain_tar "$layout" blobs index.json oci-layout >"$product"
    show_size "$product"
    mark_made container "$arch" "$(basename "$product")"
}

try() {
    container=$(images from --pull=never "$image")
    trap 'images rm "$container" >/dev/null' EXIT
    inside /usr/bin/lydite --version
    inside /usr/bin/gemel --version
    inside /usr/bin/lydite "${RUN[@]}" --json result.json
    # The configured user and directory, and nothing else than the program to read the result with.
    inside /usr/bin/lydite report result.json
    ! inside /bin/sh -c true 2>/dev/null || fail "the image has a shell"
}

# Runs a command in the container as its configuration says: user, directory.
inside() {
    images run "$container" -- "$@"
}

case $action in
make) make_image ;;
try) try ;;
*) fail "no action $action: use make or try" ;;
esac
