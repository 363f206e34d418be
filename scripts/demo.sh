#!/bin/sh
# The main job: one experiment on the simulator, then the same on the real kernel, side by side.
# Answers at once with the simulator; a kernel that can't be had here is told and is no failure.
set -eu
cd "$(dirname "$0")/.."
out="runs/demo-$(date +%Y%m%d-%H%M%S)"
mkdir -p "$out"

.venv/bin/dumbbell run cyclic --engine sim --seed 1 --out "$out/sim"
runs="$out/sim"

echo
echo "Now the same on the real Linux kernel (built once: some minutes)."
status=0
.venv/bin/dumbbell kernel build || status=$?
[ "$status" != 130 ] || exit 130
if [ "$status" = 0 ]; then
    .venv/bin/dumbbell run cyclic --engine kernel --seed 1 --out "$out/kernel" >/dev/null
    runs="$out/sim $out/kernel"
    echo
    .venv/bin/dumbbell stats "$out/sim" "$out/kernel"
else
    echo "No kernel can be built here (see above), so the simulator's answer stands alone."
fi

# shellcheck disable=SC2086
.venv/bin/dumbbell report $runs -o "$out/report.html" 2>/dev/null
echo
echo "the report: $PWD/$out/report.html"
