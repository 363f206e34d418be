"""The gallery: the six scenarios on the kernel engine, their figures, each with its command; and the README's figure.

`make page NAME=gallery` repeats it.
"""

import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import dumbbell as db
from studies.gallery import first_run
from studies.playground import experiment_of
from studies.study import DOCS, plot, ran, rendered, write

GALLERY = DOCS / "results" / "gallery"


@dataclass(frozen=True)
class Figure:
    """One figure: its run, the arguments of `dumbbell plot`, and a caption."""

    name: str
    of: str
    arguments: str
    sentence: str

    @property
    def runs(self) -> str:
        """The folders that the reader's `dumbbell plot` takes."""
        one = self.arguments.startswith("--panels") or self.name == "cyclic-rtt-cdf"
        return f"runs/{self.of}" if one else f"runs/{self.of}/*"


RUNS = {
    "cyclic": "cyclic",
    "cyclic-seeds": "cyclic --seed 1..6 --set duration=40s",
    "two-classes": "two-classes --case 'as reported'",
    "lossy-lan": "lossy-lan --seed 1..3",
    "lossy-download": "lossy-download --seed 1..5",
    "bufferbloat": "bufferbloat",
    "bufferbloat-cured": "bufferbloat-cured",
}
"""Names of the runs, and the arguments of `dumbbell run`."""

FIGURES = [
    Figure(
        "cyclic-alternation", "cyclic", "--panels groups,cwnd,rtt,queue",
        "Two BBR and two CUBIC flows at a shallow buffer: BBR takes the link and releases it, while the queue "
        "stays at its limit except when BBR probes for the RTT.",
    ),
    Figure(
        "cyclic-states", "cyclic", "--panels states,inflight,loss,loss-rate",
        "The same run: BBR's lead ends with a PROBE_RTT (orange bands); while BBR has more than a BDP in "
        "flight the queue drops packets, and all flows retransmit.",
    ),
    Figure(
        "cyclic-fairness", "cyclic", "--panels fairness,bandwidth,rates",
        "Jain's index falls towards one half while the two BBR flows have the link; below, their bandwidth "
        "estimates, delivery rates and pacing rates.",
    ),
    Figure(
        "cyclic-rtt-cdf", "cyclic", "--figure rtt-cdf",
        "Distribution of each flow's RTT: the queue is nearly always full.",
    ),
    Figure(
        "cyclic-throughput-delay", "cyclic-seeds", "--figure throughput-delay",
        "Six seeds: each controller's throughput against its delay, with an ellipse of one standard deviation.",
    ),
    Figure(
        "two-classes", "two-classes", "--panels throughput,cwnd,rates",
        "1 % loss and 10 ms for each: BBR's throughput and window fall in PROBE_RTT, while the socket keeps its last "
        "delivery rate; CUBIC stays far below.",
    ),
    Figure(
        "lossy-lan", "lossy-lan", "--figure box --metric flows.0.throughput_mbps",
        "512 MB at 1 Gbit/s with 0 to 3 % loss, three seeds: the cost of loss for each controller.",
    ),
    Figure(
        "lossy-download", "lossy-download", "--figure box --metric flows.0.throughput_mbps",
        "Five seeds of 61 MB at 0, 1, 5 and 10 % loss: the boxes show the spread over five seeds.",
    ),
    Figure(
        "bufferbloat", "bufferbloat", "--figure queue",
        "Drop-tail queues of 10, 100 and 200 packets, one flow in each, on one axis: fill, drop, halve, fill again.",
    ),
    Figure(
        "bufferbloat-cwnd", "bufferbloat", "--figure cwnd",
        "The congestion windows of the same three runs: slow start overshoots, then a sawtooth about the limit.",
    ),
    Figure(
        "bufferbloat-cured", "bufferbloat-cured", "--figure rtt",
        "The RTT on a log axis while the rate steps 100, 10, 1, 50, 1, 100 Mbit/s: drop-tail worst, CoDel lowest.",
    ),
]  # fmt: skip


def main(_arguments: list[str]) -> None:
    """Run the scenarios, draw and write."""
    folders = {name: ran(*shlex.split(arguments)) for name, arguments in RUNS.items()}
    for figure in FIGURES:
        plot(cases(folders[figure.of]), figure.arguments, GALLERY / f"{figure.name}.png")
    text = rendered(Path(__file__).with_name("page.md"), figures=FIGURES, runs=RUNS)
    write(GALLERY / "index.md", text)
    first_run.draw()


def figures() -> Iterator[tuple[Path, dict[str, db.Experiment]]]:
    """The experiments of each figure, by what distinguishes them."""
    yield first_run.FIGURE, experiment_of(first_run.SCENARIO)
    for each in FIGURES:
        yield GALLERY / f"{each.name}.png", experiment_of(RUNS[each.of])


def cases(folder: Path) -> list[Path]:
    """The folder of the run, or those of its cases in alphabetical order."""
    found = sorted(path for path in folder.iterdir() if (path / "run.json").exists())
    return [folder] if (folder / "run.json").exists() else found
