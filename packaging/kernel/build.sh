#!/bin/sh
# Builds the kernel of the package dumbbell-kernel from the files of this folder. With the compiler that kernel.json
# names, the result has the hash that it names.
set -eu
cd "$(dirname "$0")"
rm -rf contents tree
dpkg-deb -x linux-source-*.deb contents
mkdir tree
tar -x -f contents/usr/src/linux-source-*.tar.xz -C tree --strip-components=1
patch -d tree -p1 < edits.patch
cp config tree/.config
export LC_ALL=C KBUILD_BUILD_USER=dumbbell KBUILD_BUILD_HOST=dumbbell KBUILD_BUILD_VERSION=1
export KBUILD_BUILD_TIMESTAMP='Thu Jan  1 00:00:00 UTC 1970'
kernel_make() {
    make -C tree ARCH=um SUBARCH=x86_64 LOCALVERSION= RUSTC=no-rustc PAHOLE=no-pahole \
        KCFLAGS='-mcmodel=small -fbuiltin' -j"$(nproc)" "$@"
}
kernel_make olddefconfig
kernel_make linux
gcc -shared -fPIC -O2 -Wall -o seeded_getrandom.so seeded_getrandom.c
mv tree/linux linux
sha256sum linux
grep binary_sha256 kernel.json
