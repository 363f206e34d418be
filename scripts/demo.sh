#!/bin/sh
# Runs one experiment on the simulator and on the real kernel, and compares both. Each part is compiled when it is needed:
# the simulator's answer comes first, then the kernel and the agent, then the page of `dumbbell ui`.
# Without a kernel (it cannot be built on every host) the simulator's result is shown alone; that is not a failure.
set -eu
cd "$(dirname "$0")/.."
DUMBBELL_SETUP_BEGAN=$(date +%s)
export DUMBBELL_SETUP_BEGAN
step() { printf 'demo: %4d s  %s\n' "$(($(date +%s) - DUMBBELL_SETUP_BEGAN))" "$*" >&2; }

scripts/setup.sh first
out="runs/demo-$(date +%Y%m%d-%H%M%S)"
mkdir -p "$out"
.venv/bin/dumbbell run cyclic --engine sim --seed 1 --out "$out/sim"
runs="$out/sim"
step "the simulator's answer is above"

echo
echo "Now the same experiment on the real Linux kernel (built once; takes some minutes)."
# Side by side: the kernel's build has parts that use one core only.
setsid .venv/bin/python build_native.py agent &
agent=$!
trap 'kill -- -$agent 2>/dev/null || true' EXIT
trap 'exit 130' INT TERM
status=0
.venv/bin/dumbbell kernel build || status=$?
[ "$status" != 130 ] || exit 130
wait $agent || { step "the agent could not be compiled"; exit 1; }
trap - EXIT INT TERM
if [ "$status" = 0 ]; then
    step "kernel and agent are built"
    .venv/bin/dumbbell run cyclic --engine kernel --seed 1 --out "$out/kernel" >/dev/null
    runs="$out/sim $out/kernel"
    echo
    .venv/bin/dumbbell stats "$out/sim" "$out/kernel"
    step "the kernel's answer is above"
else
    echo "The kernel could not be built (see above). The report shows the simulator only."
fi

# shellcheck disable=SC2086
.venv/bin/dumbbell report $runs -o "$out/report.html" 2>/dev/null
.venv/bin/python build_native.py page
step "done"
echo
echo "Report: $PWD/$out/report.html"
