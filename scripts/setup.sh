#!/bin/sh
# Installs Dumbbell's requirements: apt packages (as root or with sudo), a virtual environment, the simulator, the agent, the page.
# `setup.sh first` leaves out the agent and the page: the simulator runs without them. `tests` and `bench` add programs.
# Fast if everything is up to date.
set -eu
cd "$(dirname "$0")/.."

began=${DUMBBELL_SETUP_BEGAN:-$(date +%s)}
step() { printf 'setup: %3d s  %s\n' "$(($(date +%s) - began))" "$*" >&2; }
fail() { step "$*"; exit 1; }

# First everything that can be checked at once, a line for each fault.
faults=0
fault() { step "$*"; faults=1; }
command -v python3 >/dev/null 2>&1 || fail "python3 not found; Python 3.11 or newer is required: sudo apt-get install -y python3"
python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))' || fault "$(python3 -V) is too old; Python 3.11 or newer is required"
command -v cargo >/dev/null 2>&1 || PATH="$HOME/.cargo/bin:$PATH"
rust="Rust 1.88 or newer is required: https://rustup.rs"
if ! command -v cargo >/dev/null 2>&1; then fault "cargo not found; $rust"
# rustup's cargo exists before any toolchain does.
elif ! version=$(rustc --version 2>/dev/null); then fault "cargo has no toolchain; run: rustup default stable"
else
    minor=$(echo "$version" | sed -n 's/^rustc 1\.\([0-9]*\)\..*/\1/p')
    [ "${minor:-0}" -ge 88 ] || fault "$version is too old; $rust"
fi
free_mb=$(df -Pm . | awk 'NR == 2 { print $4 }')
need_mb=3000
[ "${1:-}" != tests ] || need_mb=6000
[ -x .venv/bin/dumbbell ] || [ "$free_mb" -ge "$need_mb" ] || fault "$free_mb MB are free on this disk; $need_mb MB are needed"
[ "$faults" = 0 ] || exit 1

# Programs and their Debian packages.
packages=""
need() { command -v "$1" >/dev/null 2>&1 || [ -x "/usr/sbin/$1" ] || [ -x "/sbin/$1" ] || packages="$packages $2"; }
need gcc gcc
need make make
need flex flex
need bison bison
need bc bc
need xz xz-utils
need ip iproute2
need tc iproute2
need setarch util-linux
need git git
# Tests of remote hosts start their own sshd. With systemd, installing the package would also start the host's sshd: skip it.
if [ "${1:-}" = tests ] && [ "$(id -u)" = 0 ] && [ ! -d /run/systemd/system ]; then
    need sshd openssh-server
    need ssh openssh-client
    need ethtool ethtool
fi
# Benchmarks compare with ns-3 (scripts/ns3.sh builds more of it) and count instructions.
if [ "${1:-}" = bench ]; then
    need g++ g++
    need cmake cmake
    need pkg-config pkg-config
    need valgrind valgrind
    [ -e /usr/include/ns3/core-module.h ] || packages="$packages libns3-dev"
fi
[ -e /usr/include/stdio.h ] || packages="$packages libc6-dev"
# A virtual environment needs ensurepip, which is a separate package in Debian.
python3 -c 'import ensurepip, venv' 2>/dev/null || packages="$packages python3-venv"

if [ -n "$packages" ] || ! apt-cache show linux-source >/dev/null 2>&1; then
    if [ "$(id -u)" = 0 ]; then sudo=""
    elif command -v sudo >/dev/null 2>&1 && sudo -n true 2>/dev/null; then sudo="sudo"
    elif [ -n "$packages" ]; then fail "missing packages; install them first: sudo apt-get install -y$packages"
    else sudo="none"; step "no package lists; if the kernel source is not found, run: sudo apt-get update"
    fi
    if [ "$sudo" != none ]; then
        step "updating the package lists"
        $sudo apt-get update -qq >/dev/null || fail "apt-get update failed; is the package registry reachable?"
    fi
    if [ -n "$packages" ]; then
        step "installing$packages"
        # shellcheck disable=SC2086
        DEBIAN_FRONTEND=noninteractive $sudo apt-get install -y -qq --no-install-recommends $packages >/dev/null ||
            fail "apt-get install failed for:$packages"
    fi
fi

# The simulator compiles while Python packages are downloaded. Compilations of a few seconds show no step.
export DUMBBELL_SETUP_BEGAN="$began"
installed=python/dumbbell/_sim.abi3.so
if [ -f $installed ] && [ -z "$(find crates Cargo.lock ui/src -newer $installed -type f 2>/dev/null | head -n 1)" ]; then
    unset DUMBBELL_SETUP_BEGAN
fi
# In a process group of its own: a shell's background jobs ignore Ctrl-C, so an early end has to stop the compiler itself.
setsid python3 build_native.py simulator &
simulator=$!
trap 'kill -- -$simulator 2>/dev/null || true' EXIT
trap 'exit 130' INT TERM

# Recreate the environment when its inputs change.
stamp=.venv/made-from
expected="$(cat pyproject.toml requirements.lock | cksum) $(python3 -V)"
if [ ! -x .venv/bin/dumbbell ] || [ "$(cat $stamp 2>/dev/null)" != "$expected" ]; then
    step "creating .venv"
    [ -x .venv/bin/python ] || python3 -m venv .venv
    .venv/bin/python -m pip --version >/dev/null 2>&1 || .venv/bin/python -m ensurepip >/dev/null
    # pip installs the locked uv; uv installs exactly the locked files, verified by hash.
    sed -n '/^uv==/,/[^\\]$/p' requirements.lock > .venv/uv.lock
    unreachable="Python packages could not be installed; is the package registry reachable?"
    .venv/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes --no-deps -r .venv/uv.lock ||
        fail "$unreachable"
    step "installing $(grep -c '^[a-z0-9]' requirements.lock) Python packages"
    .venv/bin/uv pip sync --quiet --python .venv/bin/python --require-hashes requirements.lock || fail "$unreachable"
    DUMBBELL_BUILT=1 .venv/bin/uv pip install --quiet --python .venv/bin/python --no-deps --no-build-isolation -e .
    echo "$expected" > $stamp
fi
wait $simulator || fail "the simulator could not be compiled"
trap - EXIT INT TERM
[ "${1:-}" = first ] || .venv/bin/python build_native.py agent page
