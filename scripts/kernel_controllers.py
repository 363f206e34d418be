"""Run every controller on several kernels, and write the section `## Controllers` of a page.

    python scripts/kernel_controllers.py 6.1 6.12 7.3 [-o docs/results/linux-6.1-6.12-7.3.md]

One flow of each controller that all kernels have, 20 Mbit/s, 40 ms, drop-tail of 1 BDP, 30 s, joined by a CUBIC flow
after 15 s. Receivers read each segment on every version, as they always do on 7.x. No random draws but the kernel's
own. The first sample that differs between neighbouring versions, and the columns that do, come from both runs' tables
of flows.
"""

import argparse
import sys
import tempfile
from itertools import pairwise
from pathlib import Path

from dumbbell.analysis.summary import summary
from dumbbell.engines import KernelEngine, Request
from dumbbell.errors import DumbbellError
from dumbbell.kernels import find
from dumbbell.kernels.features import controllers
from dumbbell.results import result
from dumbbell.spec import parse
from kernels import first_difference, with_section

TEXT = """
duration = "30s"
[path]
rtt = "40ms"
[path.bottleneck]
rate = "20mbit"
qdisc = "bfifo limit 100000"
[[flows]]
name = "it"
cc = "{cc}"
ecn = "{ecn}"
prompt_reads = true
[[flows]]
name = "cubic"
cc = "cubic"
start = "15s"
prompt_reads = true
"""
MARKS = ("dctcp",)
"""Controllers that need ECN to be themselves."""


def main() -> None:
    """Run everything and write the section."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("kernels", nargs="+", metavar="KERNEL")
    arguments.add_argument("-o", "--output", type=Path)
    options = arguments.parse_args()
    found = [find(name) for name in options.kernels]
    every = [set(controllers(kernel) or ()) for kernel in found]
    head = " | ".join(f"{name} Mbit/s, CUBIC, retransmitted" for name in options.kernels)
    apart = " | ".join(f"{a} and {b} differ first" for a, b in pairwise(options.kernels))
    lines = [
        "## Controllers",
        "",
        f"Made by `python scripts/kernel_controllers.py {' '.join(options.kernels)}`: {PURPOSE}",
        "",
        f"| controller | {head} | {apart} |",
        "| --- |" + " ---: |" * len(found) + " --- |" * (len(found) - 1),
    ]
    for cc in sorted(set.intersection(*every)):
        lines.append(row(cc, [kernel.name for kernel in found]))
        sys.stderr.write(f"{lines[-1]}\n")
    text = "\n".join(lines) + "\n"
    if options.output:
        kept = options.output.read_text(encoding="utf-8")
        options.output.write_text(with_section(kept, text), encoding="utf-8")
    sys.stdout.write(text)


def row(cc: str, kernels: list[str]) -> str:
    """A controller on all kernels."""
    case = parse(TEXT.format(cc=cc, ecn="classic" if cc in MARKS else "auto"), Path(f"{cc}.toml"))[0]
    with tempfile.TemporaryDirectory() as temporary:
        cells = []
        folders = [Path(temporary) / name for name in kernels]
        for name, folder in zip(kernels, folders, strict=True):
            KernelEngine(name).run(Request(cc, case, 1, folder), lambda _: None)
            flows = summary(result.load(folder))["flows"]
            mbps = [f"{flow['throughput_mbps']:.2f}" for flow in flows]
            cells.append(f"{mbps[0]}, {mbps[1]}, {flows[0]['retransmits']}")
        differ = [first_difference({"first": {"runs": [a]}, "second": {"runs": [b]}}) for a, b in pairwise(folders)]
    return f"| {cc} | {' | '.join(cells)} | {' | '.join(differ)} |"


PURPOSE = (
    "one flow of each controller, 20 Mbit/s, 40 ms, drop-tail of 100 kB (1 BDP), 30 s, joined by a CUBIC flow after "
    "15 s, seed 1. Receivers read each segment on every version (`prompt_reads`), as they always do on 7.x."
)


if __name__ == "__main__":
    try:
        main()
    except DumbbellError as error:
        sys.exit(str(error))
