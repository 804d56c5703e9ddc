#!/bin/sh
# Makes the whole file system of the container from an archive of `make dist` and the C library of the Debian that this
# runs in: programs, library, certificates, one user, nothing else. deploy/Containerfile runs it, and so does the trial.
#
# usage: container-root.sh ARCHIVE ROOT
set -eu

archive=$1 root=$2
unpacked=$(mktemp -d)
trap 'rm -rf "$unpacked"' EXIT
mkdir -p "$root/usr/bin" "$root/usr/share/doc" "$root/etc/ssl/certs" "$root/lydite"
tar -xJf "$archive" -C "$unpacked" --strip-components=1
cp "$unpacked/bin/lydite" "$unpacked/bin/gemel" "$root/usr/bin/"
cp -r "$unpacked/share/doc/lydite" "$root/usr/share/doc/"

# Libraries that the dynamic linker of this system finds for the programs, at the same paths. Not in a pipe, which would
# go on after an ldd that failed.
lydite=$(ldd "$root/usr/bin/lydite")
gemel=$(ldd "$root/usr/bin/gemel")
if printf '%s\n' "$lydite" "$gemel" | grep 'not found' >&2; then
    echo "error: this system lacks the libraries above" >&2
    exit 1
fi
printf '%s\n' "$lydite" "$gemel" |
    sed -n 's/.*=> \(\/[^ ]*\) .*/\1/p; s/^[[:space:]]*\(\/[^ ]*ld-[^ ]*\) .*/\1/p' |
    sort -u | while read -r library; do
    mkdir -p "$root$(dirname "$library")"
    cp -L "$library" "$root$library"
done
# The C library loads these by itself, to find hosts by name.
directory=$(dirname "$(printf '%s\n' "$lydite" | sed -n 's/.*libc\.so\.6 => \([^ ]*\) .*/\1/p')")
for library in libnss_dns.so.2 libnss_files.so.2 libresolv.so.2; do
    [ ! -e "$directory/$library" ] || cp -L "$directory/$library" "$root$directory/$library"
done

cp /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/"
echo 'lydite:x:65532:65532:Lydite:/lydite:/sbin/nologin' >"$root/etc/passwd"
echo 'lydite:x:65532:' >"$root/etc/group"
echo 'hosts: files dns' >"$root/etc/nsswitch.conf"
install -d -m 1777 "$root/tmp"
chown 65532:65532 "$root/lydite"
