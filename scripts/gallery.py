"""Makes docs/gallery: runs the six scenarios, draws their figures, writes the page that shows them.

On the kernel where one is built, otherwise, or where its guest fails, on the simulator; each picture says which.
Every picture's command stands beside it, so that anybody can make it anew. `make gallery` calls this.
"""

import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
GALLERY = ROOT / "docs" / "gallery"
DUMBBELL = Path(sys.executable).parent / "dumbbell"
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
    "two-classes": "two-classes --set duration=30s",
    "lossy-lan": "lossy-lan --set flows.0.bytes=64MB",
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
        "1 % loss and 10 ms for each: BBR's window and delivery rate dip in PROBE_RTT; CUBIC stays far below.",
    ),
    Picture(
        "lossy-lan", "lossy-lan", "--figure throughput",
        "A download at 1 Gbit/s with 0 to 3 % loss, by controller: a line ends when the download is done.",
    ),
    Picture(
        "lossy-download", "lossy-download", "--figure box --metric flows.0.throughput_mbps",
        "Five seeds of 61 MB at 0, 1, 5 and 10 % loss: the boxes show how much luck there is in it.",
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
    engine = "kernel" if "linux" in _called("kernel list").stdout else "sim"
    with tempfile.TemporaryDirectory() as work:
        ran = {name: _run(Path(work) / name, words, engine) for name, words in RUNS.items()}
        made = [_draw(picture, Path(work) / picture.of, ran[picture.of]) for picture in PICTURES]
    if not all(made):
        return 1
    parts = [_HEAD, *(_part(picture, ran[picture.of]) for picture in PICTURES)]
    (GALLERY / "README.md").write_text("\n".join(parts), encoding="utf-8")
    return 0


_HEAD = """# Gallery

Figures of the six built-in scenarios. `make gallery` runs them and makes this page;
`dumbbell plot --list` names every figure.
"""


def _run(folder: Path, words: str, engine: str) -> str:
    """Fill the folder; the command's words that did it, without the folder; empty when nothing could."""
    for chosen in dict.fromkeys((engine, "sim")):
        command = f"run {words} --engine {chosen}"
        done = _called(f"{command} --out {folder}")
        if folder.exists():
            return command
        sys.stderr.write(f"{command}: {done.stderr.strip().splitlines()[0] if done.stderr else 'no result'}\n")
    return ""


def _draw(picture: Picture, folder: Path, ran: str) -> bool:
    if not ran:
        return False
    folders = [folder] if (folder / "run.json").exists() else _cases(folder)
    names = " ".join(map(str, folders))
    done = _called(f"plot {names} {picture.words} --scale {SCALE} -o {GALLERY / picture.name}.png")
    sys.stderr.write(done.stderr)
    return done.returncode == 0


def _cases(folder: Path) -> list[Path]:
    """As a shell's * would give them."""
    return sorted(path for path in folder.iterdir() if (path / "run.json").exists())


def _part(picture: Picture, ran: str) -> str:
    several = "" if picture.words.startswith("--panels") or picture.name == "cyclic-rtt-cdf" else "/*"
    lines = [
        f"## {picture.name}",
        "",
        picture.sentence,
        "",
        f"![{picture.sentence}]({picture.name}.png)",
        "",
        "```sh",
        f"dumbbell {ran} --out runs/{picture.of}",
        f"dumbbell plot runs/{picture.of}{several} {picture.words} -o {picture.name}.png",
        "```",
        "",
    ]
    return "\n".join(lines)


def _called(words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([DUMBBELL, *words.split()], capture_output=True, text=True, check=False)


if __name__ == "__main__":
    sys.exit(main())
