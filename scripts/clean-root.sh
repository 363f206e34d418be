#!/bin/sh
# Makes a clean root of Debian with Python and iproute2: clean-root.sh SUITE FOLDER. A folder that exists is kept.
# It needs root, for mmdebstrap, which it installs.
set -eu
suite=$1 root=$2
[ ! -d "$root" ] || exit 0
[ "$(id -u)" = 0 ] || { echo "clean-root: only root can make and enter a root" >&2; exit 1; }
command -v mmdebstrap >/dev/null || DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends mmdebstrap >/dev/null
echo "clean-root: making $root" >&2
mkdir -p "$(dirname "$root")"
# An interrupted one leaves no folder that looks complete.
rm -rf "$root.new"
mmdebstrap --quiet --variant=minbase --include=python3,python3-venv,iproute2,ca-certificates "$suite" "$root.new"
touch "$root.new/etc/resolv.conf"
mv "$root.new" "$root"
