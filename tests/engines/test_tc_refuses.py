"""What tc or the kernel refuses is refused by the grammar, and the other way round: random commands in a guest."""

import random
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from conftest import COMMAND
from dumbbell import _sim
from dumbbell.errors import Wrong
from dumbbell.spec.units import GRAMMAR, POLICE
from engines.measured import CUBIC, experiment

pytestmark = pytest.mark.kernel

SEED = 1
CASES = 400
"""Devices, one after another; each is set up and, mostly, changed."""
NOT_IN_THE_KERNEL = {"dualpi2", "skbprio"}
"""Kinds that Linux 6.12 lacks, or that the simulator lacks, so that the tree knows only its words."""
NOT_TC = {"every", "seed", "uniform"}
"""Options and words of netem that only the simulator or a later tc has."""
STRICTER = ("does not fit", "takes a packets, got '0'", "idle damping can't be computed")
"""Here the grammar refuses more: tc would keep the low bits of a number, and Linux accepts a queue of no packets."""

SPECIAL = [0, 1, 2, 3, 16, 17, 255, 256, 1_514, 65_535, 65_536, 2**31 - 1, 2**31, 2**32 - 1, 2**32]
"""Numbers at which tc or the kernel has a limit."""
NEEDED = {
    "tbf": "rate RATE burst SIZE limit SIZE",
    "red": "limit SIZE avpkt 1000",
    "choke": "limit NUMBER bandwidth RATE",
    "htb class": "rate RATE",
    POLICE: "rate RATE burst SIZE",
}
"""Options without which the rest would hardly be read."""


class Drawer:
    """Random commands."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def number(self) -> str:
        return str(
            self.random.choice(
                [self.random.choice(SPECIAL), self.random.randrange(5_000), self.random.randrange(10**6)]
            )
        )

    def time(self) -> str:
        few = f"{self.random.randrange(3_000)}{self.random.choice(['us', 'ms'])}"
        return self.random.choice([few, few, "0s", "1us", "274s", "275s", "4294s", "4295s"])

    def rate(self) -> str:
        some = f"{self.random.randrange(1, 900_000)}{self.random.choice(['kbit', 'kbit', 'mbit'])}"
        return self.random.choice([some, some, "1bit", "8bit", "1kbit", "4294967295bps", "4294967296bps", "1tbit"])

    def size(self) -> str:
        return self.random.choice([self.number(), f"{self.random.randrange(3_000)}kb", "4gb", "1kbit"])

    def argument(self, kind: str) -> str:
        plain: dict[str, Callable[[], str]] = {
            "time": self.time, "rate": self.rate, "size": self.size, "packets": self.number, "count": self.number,
            "class number": self.number,
            "share": lambda: self.random.choice(["0%", "0.01%", "40%", "100%"]),
            "fraction": lambda: self.random.choice(["0", "1e-9", "0.02", "1", "1.5"]),
            "value/mask": lambda: f"0x{self.random.randrange(256):x}/0x{self.random.randrange(256):x}",
        }  # fmt: skip
        if kind in plain:
            return plain[kind]()
        return self.random.choice([word for word in kind.split("|") if word not in NOT_TC])

    def option(self, name: str, arguments: tuple[str, ...]) -> str:
        optional = sum(argument.endswith("?") for argument in arguments)
        kept = len(arguments) - optional + self.random.randint(0, optional)
        return " ".join([name, *(self.argument(argument.rstrip("?")) for argument in arguments[:kept])])

    def options(self, kind: str, known: dict[str, tuple[str, ...]]) -> str:
        names = sorted(set(known) - NOT_TC)
        parts = [
            self.option(name, known[name])
            for name in self.random.sample(names, min(len(names), self.random.randrange(5)))
        ]
        if self.random.random() < 0.9:
            draw = {"RATE": self.rate, "SIZE": self.size, "NUMBER": self.number}
            words = [draw[word]() if word in draw else word for word in NEEDED.get(kind, "").split()]
            parts.insert(self.random.randint(0, len(parts)), " ".join(words))
        return " ".join(filter(None, parts))

    def case(self) -> list[str]:
        """Commands of one device: a qdisc and its change, a class and its change, or a filter."""
        root = "qdisc add dev v0 root handle 1:"
        kind = self.random.choice(
            [*sorted(set(GRAMMAR) - NOT_IN_THE_KERNEL), *(f"{kind} class" for kind in _sim.CLASSES if kind != "hfsc")]
        )
        if kind == POLICE:
            action = f"action police {self.options(POLICE, _sim.POLICE_ACTION)}"
            return [f"{root} prio", f"filter add dev v0 parent 1: protocol ip prio 1 matchall flowid 1:1 {action}"]
        if kind.endswith("class"):
            owner = kind.removesuffix(" class")
            lines = [f"{root} {owner}{' bands 4 strict 1' if owner == 'ets' else ''}"]
            for verb in ("change", "change") if owner == "ets" else ("add", "change"):
                place = f"class {verb} dev v0 parent 1: classid 1:{self.random.choice([1, 1, 2])}"
                lines.append(f"{place} {owner} {self.options(kind, _sim.CLASSES[owner])}")
            return lines
        return [f"{line} {kind} {self.options(kind, GRAMMAR[kind])}" for line in (root, root.replace("add", "change"))]


def refused_by_tc(folder: Path, cases: list[list[str]]) -> dict[tuple[int, int], str]:
    """The messages of refused commands in a guest, by case and line."""
    lines = [(f"{number} {index}", line) for number, case in enumerate(cases) for index, line in enumerate(case)]
    text = "".join(f"{at} {line}\n" for at, line in lines)
    (folder / "lines").write_text(text)
    (folder / "mine.toml").write_text(experiment(CUBIC, duration="60s"))
    script = (
        "ip link add v0 type veth peer name v1; last=0\n"
        "while read case index line; do\n"
        "[ $case = $last ] || tc qdisc del dev v0 root 2>/dev/null; last=$case\n"
        'message=$(tc $line 2>&1) || echo "refused $case $index" $message\n'
        f"done < {folder}/lines; echo finished\n"
    )
    command = [str(COMMAND), "shell", "mine.toml", "--out", "result", "--no-flows"]
    done = subprocess.run(command, cwd=folder, input=script, capture_output=True, text=True, check=False)
    assert "finished" in done.stdout, done.stderr
    answers = [line.split(" ", 3) for line in done.stdout.splitlines() if line.startswith("refused ")]
    return {(int(case), int(index)): message for _, case, index, message in answers}


@pytest.mark.slow
def test_the_grammar_refuses_what_tc_refuses(tmp_path: Path) -> None:
    drawer = Drawer(SEED)
    cases = [drawer.case() for _ in range(CASES)]
    refused = refused_by_tc(tmp_path, cases)
    assert len(refused) > CASES / 10
    differences = []
    for number, case in enumerate(cases):
        tree = _sim.TcTree(1514, 1000, {})
        for index, line in enumerate(case):
            by_tc, by_us, is_lacking = refused.get((number, index)), "", False
            try:
                tree.execute(line.split())
            except Wrong as error:
                by_us, is_lacking = error.problem, error.is_lacking
            refuses = bool(by_us) and not is_lacking
            if refuses != (by_tc is not None) and not any(words in by_us for words in STRICTER):
                differences.append(f"{case[: index + 1]}\n  tc: {by_tc}\n  grammar: {by_us or 'accepts'}")
            if by_us or by_tc is not None:  # The tree and the device may differ from here on.
                break
    assert not differences, "\n".join(differences)
