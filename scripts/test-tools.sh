#!/bin/sh
# A program that one test asks for a second opinion (tshark, on the simulator's captures). Without it that test is skipped.
command -v tshark >/dev/null 2>&1 && exit 0
if [ "$(id -u)" = 0 ]; then sudo=""
elif command -v sudo >/dev/null 2>&1 && sudo -n true 2>/dev/null; then sudo="sudo"
else exit 0
fi
echo "setup: installing tshark, for a test" >&2
DEBIAN_FRONTEND=noninteractive $sudo apt-get install -y -qq --no-install-recommends tshark >/dev/null 2>&1 || true
