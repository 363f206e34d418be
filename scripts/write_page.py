"""Measures what a page of the documentation shows, and writes the page.

    python scripts/write_page.py [NAME...]

Without a name it lists the pages. `make page NAME=gallery` sets up and calls this. Pages marked `kernel` run guests.
"""

import subprocess
import sys
from dataclasses import dataclass

from generated import ROOT


@dataclass(frozen=True)
class Page:
    """What is written, by which commands in this order."""

    writes: str
    commands: tuple[str, ...]
    uses_kernel: bool = True
    may_differ: bool = False
    """A failure of one command is part of the page: it lists what is out of tolerance."""


_LINUX = "docs/results/linux-6.1-6.12-7.3.md"
PAGES = {
    "bbr-cases": Page("docs/results/bbr-cases.md", ("scripts/bbr_cases.py",), uses_kernel=False),
    "bench": Page(
        "docs/benchmarks.md and bench/",
        (
            "bench/peers.py -o docs/benchmarks.md",
            "bench/simulator.py -o bench/simulator.md",
            "bench/sweep_overhead.py -o bench/sweep-overhead.md",
            "bench/sweep_runs.py -o bench/sweep.md",
            "bench/cluster.py",
            "bench/speed.py -o bench/speed.md",
            "bench/serve.py -o bench/serve.md",
            "bench/control_to_figure.py -o bench/control-to-figure.md",
            "bench/figure.py -o bench/figure.md",
            "bench/startup.py -o bench/startup.md",
        ),
    ),
    "conformance": Page(
        "target/random.md: both engines in 200 random experiments, each day others",
        ("validation/random_comparison.py --most-pairs 40 -o target/random.md",),
    ),
    "controllers": Page("docs/controllers and docs/queues: their measured tables", ("scripts/pages.py",)),
    "evaluations": Page("docs/results/evaluate", ("scripts/evaluations.py",), uses_kernel=False),
    "gallery": Page("docs/gallery and the README's figure", ("scripts/gallery.py", "scripts/readme.py")),
    "hpcc": Page("docs/hpcc.md", ("scripts/hpcc.py",), uses_kernel=False),
    "identifications": Page(
        "docs/results/identify",
        (
            "scripts/identification.py run develop",
            "scripts/identification.py develop",
            "scripts/identification.py run test",
            "scripts/identification.py test",
        ),
    ),
    "kernels": Page(
        f"{_LINUX} and docs/kernel-versions.md; builds Linux 6.1, 7.2 and 7.3",
        (
            "-m dumbbell kernel build 6.1",
            "-m dumbbell kernel build 7.2",
            "-m dumbbell kernel build 7.3",
            f"scripts/kernels.py 6.1 6.12 -o {_LINUX}",
            f"scripts/kernels.py 6.12 7.3 -o {_LINUX}",
            f"scripts/kernel_controllers.py 6.1 6.12 7.3 -o {_LINUX}",
            f"validation/random_kernels.py 6.1 6.12 7.3 -o {_LINUX}",
            "scripts/kernel_versions.py 6.1 6.12 7.2 7.3",
        ),
    ),
    "licences": Page("THIRD-PARTY-LICENSES.md", ("scripts/licences.py",), uses_kernel=False),
    "notebooks": Page("the examples as executed notebooks", ("scripts/notebook.py",), uses_kernel=False),
    "programs": Page("docs/programs.md", ("scripts/programs.py",)),
    "reports": Page("docs/results/reports.md: the five reports on both engines", ("scripts/reports.py",)),
    "same-bytes": Page(
        "validation/same-bytes.md: all scenarios in clean roots of Debian 12 and 13",
        ("validation/same_bytes.py -o validation/same-bytes.md",),
    ),
    "searches": Page("docs/results/search", ("scripts/searches.py",)),
    "sweeps": Page("docs/sweeps", ("scripts/sweeps.py",)),
    "validation": Page(
        "docs/fidelity.md and validation/: both engines, an independent harness, papers, formulas",
        (
            "validation/matrix.py -o docs/fidelity.md",
            "validation/divergence.py -o validation/divergence.md",
            "validation/theory.py -o validation/theory.md",
            "validation/against_reference.py --engine sim -o validation/reference-sim.md",
            "validation/against_reference.py -o validation/reference.md",
            "validation/published.py -o validation/published.md",
            "validation/odd_experiments.py --experiments 300 -o target/odd.md",
        ),
        may_differ=True,
    ),
    "versions": Page("docs/bbr1-against-bbr3.md", ("scripts/bbr_versions.py",), uses_kernel=False),
}


def write(name: str) -> int:
    """Run a page's commands; the first failure ends it, unless differences are what the page is about."""
    page, worst = PAGES[name], 0
    if page.uses_kernel:
        subprocess.run([sys.executable, "-m", "dumbbell", "kernel", "build"], cwd=ROOT, check=True)
    if name == "bench":
        subprocess.run(["scripts/setup.sh", "bench"], cwd=ROOT, check=True)
        subprocess.run(["scripts/ns3.sh"], cwd=ROOT, check=True)
    for command in page.commands:
        sys.stderr.write(f"page {name}: {command}\n")
        status = subprocess.run([sys.executable, *command.split()], cwd=ROOT, check=False).returncode
        if status and not page.may_differ:
            return status
        worst = worst or status
    return worst


def main() -> int:
    """Write the named pages, or list all."""
    names = sys.argv[1:]
    if unknown := [name for name in names if name not in PAGES]:
        sys.stderr.write(f"no page is named {', '.join(unknown)}; the pages are {', '.join(PAGES)}\n")
        return 2
    if not names:
        for name, page in PAGES.items():
            sys.stdout.write(f"{name:16}{page.writes}{' (kernel)' if page.uses_kernel else ''}\n")
    return max((write(name) for name in names), default=0)


if __name__ == "__main__":
    sys.exit(main())
