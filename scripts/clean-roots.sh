#!/bin/sh
# Installs the wheels of dist/ in clean roots of Debian 12 and 13 as an ordinary user, and runs both engines there.
# target/roots/SUITE.txt is the transcript. It needs root, for chroot; `make test-all PARTS=clean-roots` calls it.
set -eu
cd "$(dirname "$0")/.."
[ "$(id -u)" = 0 ] || { echo "clean-roots: only root can make and enter a root" >&2; exit 1; }
ls dist/dumbbell-*_x86_64.whl dist/dumbbell_kernel-*.whl >/dev/null # make wheels

# What a new user types. Each command is shown, and its time after it.
typed='set -eu
cd "$HOME"
for compiler in gcc cc clang cargo rustc make; do
    ! command -v $compiler >/dev/null || { echo "a clean root has no $compiler" >&2; exit 1; }
done
type_() {
    printf "\$ %s\n" "$*"
    began=$(date +%s%N)
    eval "$*"
    printf "# %s ms\n\n" "$((($(date +%s%N) - began) / 1000000))"
}
type_ python3 -m venv venv
type_ . venv/bin/activate
type_ pip install --quiet --find-links dist "\"dumbbell[all]\"" dumbbell-kernel
type_ dumbbell run cyclic --seed 1 --out sim
type_ dumbbell run cyclic --engine kernel --seed 1 --out kernel
type_ dumbbell report sim kernel -o report.html
test -s report.html
grep -q "\"valid\": true" sim/run.json
grep -q "\"valid\": true" kernel/run.json
'

for suite in ${*:-bookworm trixie}; do
    root="target/roots/$suite"
    scripts/clean-root.sh "$suite" "$root"
    echo "clean-roots: $suite"
    # Registries may be set by PIP_* and may have certificates that this host knows.
    pip=$(env | grep '^PIP_' | grep -v '^PIP_FIND_LINKS' || true)
    # shellcheck disable=SC2016,SC2086
    unshare --mount --pid --fork --kill-child sh -eu -c '
        root=$1 typed=$2
        shift 2
        mount -t proc proc "$root/proc"
        mount --rbind /dev "$root/dev"
        mount -t tmpfs tmpfs "$root/dev/shm"
        mount -t tmpfs tmpfs "$root/home"
        mount -t tmpfs tmpfs "$root/tmp"
        mount --bind /etc/ssl/certs "$root/etc/ssl/certs"
        mount --bind /etc/resolv.conf "$root/etc/resolv.conf"
        mkdir -p "$root/home/user/dist"
        cp dist/*.whl "$root/home/user/dist"
        chown -R 1000:1000 "$root/home/user"
        exec chroot --userspec=1000:1000 "$root" env -i "$@" HOME=/home/user PATH=/usr/bin:/usr/sbin sh -c "$typed"
    ' sh "$root" "$typed" $pip > "$root.txt" 2>&1 || { cat "$root.txt" >&2; exit 1; }
done
