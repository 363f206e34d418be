#!/bin/sh
# Installs programs for tests: tshark (captures), Chromium (pages), valgrind (instruction counts), iperf3 (in a guest).
# Tests of a missing program are skipped. On Ubuntu, Chromium is a snap, which apt alone cannot install: install it yourself.
# What can't be installed is said here, and named in target/not-installed: only its tests may be skipped in CI.
set -u
cd "$(dirname "$0")/.."
mkdir -p target
: >target/not-installed
missing=""
command -v valgrind >/dev/null 2>&1 || missing="$missing valgrind"
command -v iperf3 >/dev/null 2>&1 || missing="$missing iperf3"
command -v tshark >/dev/null 2>&1 || missing="$missing tshark"
if ! command -v chromium >/dev/null 2>&1 && grep -qx 'ID=debian' /etc/os-release 2>/dev/null; then
	missing="$missing chromium"
fi
[ -n "$missing" ] || exit 0
if [ "$(id -u)" = 0 ]; then sudo=""
elif command -v sudo >/dev/null 2>&1 && sudo -n true 2>/dev/null; then sudo="sudo"
else exit 0
fi
apt() { DEBIAN_FRONTEND=noninteractive $sudo apt-get -qq -o DPkg::Lock::Timeout=120 -o Acquire::Retries=3 "$@"; }
install() { apt install -y --no-install-recommends "$@" 2>&1 >/dev/null; }
release=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)
updated=""
for package in $missing; do
	echo "setup: installing $package for tests" >&2
	install "$package" >/dev/null && continue
	# Lists older than the archive name files that are gone; an update that is gone leaves the release's own version.
	if [ -z "$updated" ]; then updated=yes; apt update >/dev/null 2>&1; fi
	install "$package" >/dev/null && continue
	said=$(install -t "$release" "$package") && continue
	echo "setup: $package could not be installed, its tests are skipped: $(echo "$said" | tail -n 1)" >&2
	echo "$package" >>target/not-installed
done
