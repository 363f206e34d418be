"""Makes docs/gallery: runs the six scenarios, draws their figures, writes the page that shows them.

On the kernel: what Linux does. Every picture's command stands beside it, so that anybody can make it anew.
`make gallery` calls this.
"""

import shlex
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from pictures import shrink

ROOT = Path(__file__).resolve().parents[1]
GALLERY = ROOT / "docs" / "gallery"
DUMBBELL = Path(sys.executable).parent / "dumbbell"
WORK = ROOT / "runs" / "gallery"
"""Runs that are there already are not run again; `make clean` removes them."""
SCALE = "1.25"


@dataclass(frozen=True)
class Picture:
    """One picture: of which run, by which words to `dumbbell plot`, and what to see in it."""

    name: str
    of: str
    words: str
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
"""Folder, and the words to `dumbbell run` that fill it."""

PICTURES = [
    Picture(
        "cyclic-turns", "cyclic", "--panels groups,cwnd,rtt,queue",
        "Two BBR and two CUBIC flows at a shallow buffer: BBR takes the link and gives it back, while the queue stands "
        "at its limit but for the moments at which BBR probes for the RTT.",
    ),
    Picture(
        "cyclic-states", "cyclic", "--panels states,inflight,loss,loss-rate",
        "The same run: a turn ends with a PROBE_RTT (orange bands); while BBR has more than a BDP in flight the "
        "queue drops, and all flows repeat packets.",
    ),
    Picture(
        "cyclic-fairness", "cyclic", "--panels fairness,bandwidth,rates",
        "Jain's index falls towards one half when only the two BBR flows get something; below, what they believe "
        "the bandwidth to be, and their delivery and pacing rates.",
    ),
    Picture(
        "cyclic-rtt-cdf", "cyclic", "--figure rtt-cdf",
        "How the RTT of each flow is distributed: the queue is nearly always full.",
    ),
    Picture(
        "cyclic-throughput-delay", "cyclic-seeds", "--figure throughput-delay",
        "Six seeds: each controller's throughput against its delay, with an ellipse of one standard deviation.",
    ),
    Picture(
        "two-classes", "two-classes", "--panels throughput,cwnd,rates",
        "1 % loss and 10 ms for each: BBR's throughput and window dip in PROBE_RTT, while the socket keeps its last "
        "sample of the delivery rate; CUBIC stays far below.",
    ),
    Picture(
        "lossy-lan", "lossy-lan", "--figure box --metric flows.0.throughput_mbps",
        "512 MB at 1 Gbit/s with 0 to 3 % loss, three seeds: what loss costs each controller.",
    ),
    Picture(
        "lossy-download", "lossy-download", "--figure box --metric flows.0.throughput_mbps",
        "Five seeds of 61 MB at 0, 1, 5 and 10 % loss: the boxes show how far five seeds differ.",
    ),
    Picture(
        "bufferbloat", "bufferbloat", "--figure queue",
        "Drop-tail queues of 10, 100 and 200 packets, one flow in each, on one axis: fill, drop, halve, fill again.",
    ),
    Picture(
        "bufferbloat-cwnd", "bufferbloat", "--figure cwnd",
        "The congestion windows of the same three runs: slow start overshoots, then a sawtooth about the limit.",
    ),
    Picture(
        "bufferbloat-cured", "bufferbloat-cured", "--figure rtt",
        "The RTT on a log axis while the rate steps 100, 10, 1, 50, 1, 100 Mbit/s: drop-tail worst, CoDel lowest.",
    ),
]  # fmt: skip


def main() -> int:
    """Runs, draws, writes. Gives 1 when a picture could not be made."""
    GALLERY.mkdir(parents=True, exist_ok=True)
    if not all(_run(WORK / name, words) for name, words in RUNS.items()):
        return 1
    if not all(_draw(picture, WORK / picture.of) for picture in PICTURES):
        return 1
    parts = [_HEAD, *map(_part, PICTURES)]
    (GALLERY / "README.md").write_text("\n".join(parts), encoding="utf-8")
    return 0


_HEAD = """# Gallery

Figures of the six built-in scenarios on the real kernel. `make gallery` runs them and makes this page;
`dumbbell plot --list` names every figure.
"""


def _run(folder: Path, words: str) -> bool:
    if not folder.exists():
        done = _called(f"run {words} --engine kernel --out {folder}")
        sys.stderr.write(f"{words}: {done.returncode} {done.stderr.strip()[-200:]}\n")
    return folder.exists()


def _draw(picture: Picture, folder: Path) -> bool:
    file = GALLERY / f"{picture.name}.png"
    names = " ".join(map(str, _folders(folder)))
    done = _called(f"plot {names} {picture.words} --scale {SCALE} -o {file}")
    sys.stderr.write(done.stderr)
    if done.returncode == 0:
        shrink(file)
    return done.returncode == 0


def _folders(folder: Path) -> list[Path]:
    """The run, or its cases as a shell's * gives them."""
    cases = sorted(path for path in folder.iterdir() if (path / "run.json").exists())
    return [folder] if (folder / "run.json").exists() else cases


def _part(picture: Picture) -> str:
    several = "" if picture.words.startswith("--panels") or picture.name == "cyclic-rtt-cdf" else "/*"
    lines = [
        f"## {picture.name}",
        "",
        picture.sentence,
        "",
        f"![{picture.sentence}]({picture.name}.png)",
        "",
        "```sh",
        f"dumbbell run {RUNS[picture.of]} --engine kernel --out runs/{picture.of}",
        f"dumbbell plot runs/{picture.of}{several} {picture.words} -o {picture.name}.png",
        "```",
        "",
    ]
    return "\n".join(lines)


def _called(words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([DUMBBELL, *shlex.split(words)], capture_output=True, text=True, check=False)


if __name__ == "__main__":
    sys.exit(main())
