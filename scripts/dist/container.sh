#!/usr/bin/env bash
# Tries the image of deploy/Containerfile: buildah builds it, without a daemon, from a clean root in the place of Debian's
# image, since no image can be fetched everywhere. Makes an archive of the image for `podman load` and `docker load`.
#
# usage: scripts/dist/container.sh make|try x86_64|aarch64
set -euo pipefail
cd "$(dirname "$0")/../.."
. scripts/dist/common.sh
. scripts/dist/roots.sh

action=$1 arch=$2
image=lydite-$(version)-$arch
archive=$DIST_OUT/lydite-$(version)-$arch-linux.tar.xz

# A root that has what the first stage of the Containerfile installs.
debian_root() {
    # Not local: the trap needs it.
    root=$(fresh_root "$arch" ca-certificates,xz-utils)
    # debootstrap configures the package before the file is made.
    [ -s "$root/etc/ssl/certs/ca-certificates.crt" ] || within "$root" 0 update-ca-certificates --fresh >/dev/null
    echo "$root"
}

# Does what the Containerfile does, without a builder of images: image_root DEBIAN
image_root() {
    cp "$archive" "$1/tmp/archive.tar.xz"
    cp scripts/dist/container-root.sh "$1/tmp/"
    within "$1" 0 sh /tmp/container-root.sh /tmp/archive.tar.xz /root-of-image
}

make_root() {
    # Not local: the trap needs it.
    if [ "$arch" != "$(uname -m)" ]; then
        echo "    the root of $arch is made by a builder for that architecture only"
        return
    fi
    debian=$(debian_root)
    trap 'rm -rf "$debian"' EXIT
    image_root "$debian"
    rm -rf "${DIST_WORK:?}/$image"
    mv "$debian/root-of-image" "$DIST_WORK/$image"
    echo "    root of the image: $(du -sh --apparent-size "$DIST_WORK/$image" | cut -f1), $(find "$DIST_WORK/$image" -type f | wc -l) files"
}

try() {
    # Not local: the trap needs it.
    [ "$arch" = "$(uname -m)" ] || return 0
    root=$(mktemp -d "$DIST_WORK/trials/image-XXXXXX")
    trap 'rm -rf "$root"' EXIT
    cp -a "$DIST_WORK/$image/." "$root"
    # As a builder would start it: this user, this directory, nothing else than the program.
    within_image "$root" /usr/bin/lydite --version
    within_image "$root" /usr/bin/gemel --version
    within_image "$root" /usr/bin/lydite "${RUN[@]}" --json /home/lydite/result.json
    [ -s "$root/home/lydite/result.json" ] || fail "the image's user could not write a result"
    grep -q '^ENTRYPOINT \["/usr/bin/lydite"\]$' deploy/Containerfile
}

# Runs a program as the image's user in its directory.
within_image() {
    local root=$1
    shift
    # shellcheck disable=SC2016 # the shell inside has the arguments
    unshare --mount --pid --net --ipc --uts --fork sh -euc '
        root=$1
        shift
        mkdir -p "$root/proc" "$root/dev"
        mount -t proc proc "$root/proc"
        mount -t tmpfs tmpfs "$root/dev"
        for device in null zero urandom random; do
            : >"$root/dev/$device"
            mount --bind "/dev/$device" "$root/dev/$device"
        done
        exec env -i PATH=/usr/bin HOME=/home/lydite chroot --userspec=65532:65532 "$root" "$@"
    ' sh "$root" "$@"
}

case $action in
make) make_root ;;
try) try ;;
*) fail "no action $action: use make or try" ;;
esac
