#!/bin/sh
# Installs Dumbbell's requirements: apt packages (as root or with sudo), a virtual environment, the simulator, the agent.
# Fast if everything is up to date.
set -eu
cd "$(dirname "$0")/.."

fail() { echo "setup: $*" >&2; exit 1; }

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
    else sudo="none"; echo "setup: no package lists; if the kernel source is not found, run: sudo apt-get update" >&2
    fi
    if [ "$sudo" != none ]; then
        echo "setup: apt-get update" >&2
        $sudo apt-get update -qq >/dev/null || fail "apt-get update failed"
    fi
    if [ -n "$packages" ]; then
        echo "setup: installing$packages" >&2
        # shellcheck disable=SC2086
        DEBIAN_FRONTEND=noninteractive $sudo apt-get install -y -qq --no-install-recommends $packages >/dev/null ||
            fail "apt-get install failed for:$packages"
    fi
fi

python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))' || fail "$(python3 -V) is too old; Python 3.11 or newer is required"
command -v cargo >/dev/null 2>&1 || PATH="$HOME/.cargo/bin:$PATH"
command -v cargo >/dev/null 2>&1 || fail "cargo not found; Rust 1.88 or newer with rustfmt and clippy is required: https://rustup.rs"

# Recreate the environment when its inputs change.
stamp=.venv/made-from
expected="$(cat pyproject.toml requirements.lock build_native.py | cksum) $(python3 -V)"
if [ ! -x .venv/bin/dumbbell ] || [ "$(cat $stamp 2>/dev/null)" != "$expected" ]; then
    echo "setup: creating .venv" >&2
    [ -x .venv/bin/python ] || python3 -m venv .venv
    .venv/bin/python -m pip --version >/dev/null 2>&1 || .venv/bin/python -m ensurepip >/dev/null
    # pip installs the locked uv; uv installs exactly the locked files, verified by hash.
    sed -n '/^uv==/,/[^\\]$/p' requirements.lock > .venv/uv.lock
    .venv/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes --no-deps -r .venv/uv.lock
    .venv/bin/uv pip sync --quiet --python .venv/bin/python --require-hashes requirements.lock
    .venv/bin/uv pip install --quiet --python .venv/bin/python --no-deps --no-build-isolation -e .
    echo "$expected" > $stamp
else
    .venv/bin/python build_native.py
fi
