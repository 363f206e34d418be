#!/bin/sh
# Runs one experiment on the simulator and on the real kernel, and compares both.
# Without a kernel (it cannot be built on every host) the simulator's result is shown alone; that is not a failure.
set -eu
cd "$(dirname "$0")/.."
out="runs/demo-$(date +%Y%m%d-%H%M%S)"
mkdir -p "$out"

.venv/bin/dumbbell run cyclic --engine sim --seed 1 --out "$out/sim"
runs="$out/sim"

echo
echo "Now the same experiment on the real Linux kernel (built once; takes some minutes)."
status=0
.venv/bin/dumbbell kernel build || status=$?
[ "$status" != 130 ] || exit 130
if [ "$status" = 0 ]; then
    .venv/bin/dumbbell run cyclic --engine kernel --seed 1 --out "$out/kernel" >/dev/null
    runs="$out/sim $out/kernel"
    echo
    .venv/bin/dumbbell stats "$out/sim" "$out/kernel"
else
    echo "The kernel could not be built (see above). The report shows the simulator only."
fi

# shellcheck disable=SC2086
.venv/bin/dumbbell report $runs -o "$out/report.html" 2>/dev/null
echo
echo "Report: $PWD/$out/report.html"
