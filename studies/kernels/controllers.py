"""Every controller on several kernels.

One flow of each controller that all kernels have, 20 Mbit/s, 40 ms, drop-tail of 1 BDP, 30 s, joined by a CUBIC flow
after 15 s. Receivers read each segment on every version, as they always do on 7.x. No random draws but the kernel's
own. The first sample that differs between neighbouring versions, and the columns that do, come from both runs' tables
of flows.
"""

import sys
import tempfile
from itertools import pairwise
from pathlib import Path

from dumbbell.analysis.summary import summary
from dumbbell.engines import KernelEngine, Request
from dumbbell.kernels import find
from dumbbell.kernels.features import controllers
from dumbbell.results import result
from dumbbell.spec import parse
from studies.kernels.compare import PAGE, first_difference
from studies.study import fill, parser, rendered, table

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


def main(given: list[str]) -> None:
    """Run everything and fill the section."""
    arguments = parser(__doc__)
    arguments.add_argument("kernels", nargs="+", metavar="KERNEL")
    names = arguments.parse_args(given).kernels
    found = [find(name) for name in names]
    head = ["controller", *(f">{name} Mbit/s, CUBIC, retransmitted" for name in names)]
    head += [f"{a} and {b} differ first" for a, b in pairwise(names)]
    rows = []
    for cc in sorted(set.intersection(*(set(controllers(kernel) or ()) for kernel in found))):
        rows.append(row(cc, [kernel.name for kernel in found]))
        sys.stderr.write(f"{cc}\n")
    template = Path(__file__).with_name("controllers.md")
    fill(PAGE, "study of controllers", rendered(template, kernels=" ".join(names), rows=table(" | ".join(head), rows)))


def row(cc: str, kernels: list[str]) -> list[str]:
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
    return [cc, *cells, *differ]
