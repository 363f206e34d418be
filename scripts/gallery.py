"""Write docs/gallery: run the six scenarios on the kernel engine, draw their figures, list each with its command.

`make page NAME=gallery` calls this.
"""

import shlex
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from png import shrink

ROOT = Path(__file__).resolve().parents[1]
GALLERY = ROOT / "docs" / "gallery"
DUMBBELL = Path(sys.executable).parent / "dumbbell"
WORK = ROOT / "runs" / "gallery"
"""Existing runs are reused; `make clean` removes them."""
SCALE = "1.25"


@dataclass(frozen=True)
class Figure:
    """One figure: its run, the arguments of `dumbbell plot`, and a caption."""

    name: str
    of: str
    arguments: str
    sentence: str


RUNS = {
    "cyclic": "cyclic",
    "cyclic-seeds": "cyclic --seed 1..6 --set duration=40s",
    "two-classes": "two-classes --case 'as reported'",
    "lossy-lan": "lossy-lan --seed 1..3",
    "lossy-download": "lossy-download --seed 1..5",
    "bufferbloat": "bufferbloat",
    "bufferbloat-cured": "bufferbloat-cured",
}
"""Folders, and the arguments of `dumbbell run` that fill them."""

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


def main() -> int:
    """Run the scenarios, draw and write; returns 1 if a run or a figure fails."""
    GALLERY.mkdir(parents=True, exist_ok=True)
    if not all(_run(WORK / name, arguments) for name, arguments in RUNS.items()):
        return 1
    if not all(_draw(figure, WORK / figure.of) for figure in FIGURES):
        return 1
    parts = [_HEAD, *map(_section, FIGURES)]
    (GALLERY / "index.md").write_text("\n".join(parts), encoding="utf-8")
    return 0


_HEAD = """# Gallery

Figures of the six built-in scenarios on the kernel engine. `make page NAME=gallery` writes this page;
`dumbbell plot --list` names every figure.
"""


def _run(folder: Path, arguments: str) -> bool:
    if not folder.exists():
        done = _called(f"run {arguments} --engine kernel --out {folder}")
        sys.stderr.write(f"{arguments}: {done.returncode} {done.stderr.strip()[-200:]}\n")
    return folder.exists()


def _draw(figure: Figure, folder: Path) -> bool:
    file = GALLERY / f"{figure.name}.png"
    names = " ".join(map(str, _folders(folder)))
    done = _called(f"plot {names} {figure.arguments} --scale {SCALE} -o {file}")
    sys.stderr.write(done.stderr)
    if done.returncode == 0:
        shrink(file)
    return done.returncode == 0


def _folders(folder: Path) -> list[Path]:
    """The folder of the run, or those of its cases in alphabetical order."""
    cases = sorted(path for path in folder.iterdir() if (path / "run.json").exists())
    return [folder] if (folder / "run.json").exists() else cases


def _section(figure: Figure) -> str:
    several = "" if figure.arguments.startswith("--panels") or figure.name == "cyclic-rtt-cdf" else "/*"
    lines = [
        f"## {figure.name}",
        "",
        figure.sentence,
        "",
        f"![{figure.sentence}]({figure.name}.png)",
        "",
        "```sh",
        f"dumbbell run {RUNS[figure.of]} --engine kernel --out runs/{figure.of}",
        f"dumbbell plot runs/{figure.of}{several} {figure.arguments} -o {figure.name}.png",
        "```",
        "",
    ]
    return "\n".join(lines)


def _called(arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([DUMBBELL, *shlex.split(arguments)], capture_output=True, text=True, check=False)


if __name__ == "__main__":
    sys.exit(main())
