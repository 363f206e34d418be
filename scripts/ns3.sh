#!/bin/sh
# Installs the ns-3 builds that `make page NAME=bench` compares with, in target/peers: the wheel from PyPI, and the distribution's
# source package built with ns-3's profile "release" (-O3, no logging, no assertions; packages differ in these). The profile
# "optimized" also uses instructions of this processor, not all of which valgrind supports. scripts/setup.sh installs
# libns3-dev. Builds that are not available are reported and skipped.
set -eu
cd "$(dirname "$0")/.."
peers=$PWD/target/peers
mkdir -p "$peers"
report() { echo "bench: $*" >&2; }

if [ ! -e "$peers/ns3" ]; then
    report "installing the wheel ns3"
    .venv/bin/uv pip install --quiet --no-deps --target "$peers/ns3.partial" ns3 && mv "$peers/ns3.partial" "$peers/ns3" ||
        report "no wheel of ns3 for this host: skipped"
fi

# Libraries and headers contain their build path, so build in the final location; the stamp marks a complete build.
built=$peers/ns-3-release
[ ! -e "$built/made" ] || exit 0
# Lists of source packages, separate from the host's own lists.
lists=$peers/apt
mkdir -p "$lists/lists/partial" "$lists/cache/archives/partial" "$lists/sources.list.d"
for file in /etc/apt/sources.list /etc/apt/sources.list.d/*; do
    [ -f "$file" ] || continue
    sed 's/^deb /deb-src /; s/^Types: deb$/Types: deb-src/' "$file" > "$lists/sources.list.d/$(basename "$file")"
done
apt="apt-get -qq -o Dir::Etc::sourcelist=/dev/null -o Dir::Etc::sourceparts=$lists/sources.list.d \
    -o Dir::State::lists=$lists/lists -o Dir::Cache=$lists/cache -o APT::Sandbox::User=root"
$apt update >/dev/null 2>&1 || true
if ! (cd "$lists" && $apt source --download-only ns3 >/dev/null 2>&1); then
    report "no source package of ns3: the release build is skipped"
    exit 0
fi
report "building ns-3 from source (once; takes some minutes)"
rm -rf "$built"
mkdir "$built"
tar -xf "$lists"/ns3_*.orig.tar.* -C "$built"
source=$(find "$built" -name CMakeLists.txt -printf '%d %h\n' | sort -n | head -1 | cut -d' ' -f2)
if cmake -S "$source" -B "$built/cmake" -DCMAKE_BUILD_TYPE=Release -DNS3_NATIVE_OPTIMIZATIONS=OFF \
    -DNS3_OUTPUT_DIRECTORY="$built/ns3" -DNS3_WARNINGS_AS_ERRORS=OFF \
    -DNS3_ENABLED_MODULES="applications;internet;point-to-point;traffic-control" >"$built/log" 2>&1 &&
    cmake --build "$built/cmake" -j "$(nproc)" \
        --target libapplications libinternet libpoint-to-point libtraffic-control >>"$built/log" 2>&1; then
    touch "$built/made"
else
    report "building ns-3 failed, see $built/log: the release build is skipped"
fi
