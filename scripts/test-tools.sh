#!/bin/sh
# Installs programs for tests: tshark (captures), Chromium (pages), valgrind (instruction counts), iperf3 (in a guest).
# Tests of a missing program are skipped. On Ubuntu, Chromium is a snap, which apt alone cannot install: install it yourself.
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
for package in $missing; do
	echo "setup: installing $package for tests" >&2
	DEBIAN_FRONTEND=noninteractive $sudo apt-get install -y -qq --no-install-recommends "$package" >/dev/null 2>&1 || true
done
