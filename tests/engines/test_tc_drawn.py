"""Drawn options of qdiscs: what `tc -j qdisc show` prints in a guest equals the settings that the reader gives."""

import json
import random
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from conftest import COMMAND
from engines.measured import CUBIC, experiment
from plan.tc_reader import reader

DRAWS = 25
"""Of each kind; one guest runs all."""
ADD = "qdisc add dev v0 root handle 1: "
JIFFY_US = 4000
Settings = dict[str, Any]


def ets(draw: random.Random) -> list[str]:
    bands = draw.randint(1, 16)
    strict = draw.randint(0, bands)
    quanta = [draw.choice([1, 256, 1514, 3028, 1 << 21]) for _ in range(draw.randint(0, bands - strict))]
    priorities = [draw.randrange(bands) for _ in range(draw.randint(0, 16))]
    options = [f"bands {bands} strict {strict}", *listed("quanta", quanta), *listed("priomap", priorities)]
    return [f"{ADD}ets {' '.join(options)}"]


def listed(name: str, numbers: list[int]) -> list[str]:
    return [f"{name} {' '.join(map(str, numbers))}"] if numbers else []


def sfb(draw: random.Random) -> list[str]:
    options = {
        "rehash": draw.randint(0, 10**6), "db": draw.randint(0, 10**5), "limit": draw.randint(1, 3000),
        "max": draw.randint(0, 70), "target": draw.randint(0, 70), "increment": f"{draw.random():.5f}",
        "decrement": f"{draw.random() ** 4:.6f}", "penalty_rate": draw.randint(0, 99),
        "penalty_burst": draw.randint(0, 99),
    }  # fmt: skip
    return [f"{ADD}sfb {some(options, draw)}"]


def hhf(draw: random.Random) -> list[str]:
    options = {
        "limit": draw.randint(1, 3000), "quantum": draw.randint(1, 9000), "hh_limit": draw.randint(1, 2048),
        "reset_timeout": f"{draw.randint(1, 10**6)}us", "admit_bytes": draw.randint(1, 10**6),
        "evict_timeout": f"{draw.randint(1, 3000)}ms", "non_hh_weight": draw.randint(1, 20),
    }  # fmt: skip
    return [f"{ADD}hhf {some(options, draw)}"]


def gred(draw: random.Random) -> list[str]:
    count = draw.randint(1, 16)
    flags = draw.choice(["", " ecn", " harddrop", " ecn harddrop"])
    limit = draw.choice(["", f" limit {draw.randint(9_000, 900_000)}"])
    lines = [f"{ADD}gred setup DPs {count} default {draw.randrange(count)}{draw.choice(['', ' grio'])}{limit}{flags}"]
    for number in draw.sample(range(count), min(count, 3)):
        low = draw.randint(3_000, 50_000)
        high = low + draw.randint(1_000, 90_000)
        options = {
            "prio": draw.randint(1, 9), "bandwidth": f"{draw.randint(1, 90)}mbit",
            "probability": f"{draw.uniform(0.01, 1):.3f}",
        }  # fmt: skip
        burst = low // 1000 + draw.randint(1, 60)
        lines.append(
            f"qdisc change dev v0 root handle 1: gred DP {number} limit {draw.randint(high, 400_000)} "
            f"min {low} max {high} avpkt 1000 burst {burst} {some(options, draw)}{flags}"
        )
    return lines


def some(options: dict[str, object], draw: random.Random) -> str:
    """Most of the options, in any order."""
    chosen = draw.sample(sorted(options), draw.randint(0, len(options)))
    return " ".join(f"{name} {options[name]}" for name in chosen)


def shown_ets(config: Settings) -> Settings:
    """The settings in the form of tc's JSON."""
    strict, quanta = config["strict"], config["quanta"]
    shown: Settings = {"bands": len(quanta), "strict": strict, "quanta": quanta[strict:], "priomap": config["default"]}
    return {name: value for name, value in shown.items() if value != [] and (name != "strict" or value)}


def shown_sfb(config: Settings) -> Settings:
    own = {name: config[name] for name in ("limit", "max", "target", "penalty_rate", "penalty_burst")}
    times = {"rehash": config["rehash"] * JIFFY_US, "db": config["warmup"] * JIFFY_US}
    return own | times | {name: config[name] for name in ("increment", "decrement")}


def shown_hhf(config: Settings) -> Settings:
    own = {name: config[name] for name in ("limit", "quantum", "hh_limit", "admit_bytes", "non_hh_weight")}
    return own | {name: config[name] * JIFFY_US for name in ("reset_timeout", "evict_timeout")}


def shown_gred(config: Settings) -> Settings:
    queues = [
        {
            "vq": queue["number"], "prio": queue["prio"], "limit": red["limit"], "min": red["min"], "max": red["max"],
            "ecn": red["ecn"], "harddrop": red["harddrop"], "ewma": red["wlog"], "Scell_log": red["scell_log"],
            "probability": pytest.approx(red["max_p"] / 2**32, rel=1e-5),
        }
        for queue in sorted(config["queues"], key=lambda queue: int(queue["number"]))
        for red in [queue["red"]]
    ]  # fmt: skip
    return {"dp_default": config["default"], "limit": config["limit"], "vqs": queues}


def as_settings(kind: str, options: Settings, expected: Settings) -> Settings:
    """What tc printed, in units of the kernel and without what an experiment cannot observe."""
    if kind == "ets":
        options["priomap"] = options["priomap"][0]
    for name in ("increment", "decrement") if kind == "sfb" else ():
        options[name] = round(options[name] * 65_535)
    if kind == "gred":
        known = set(expected["vqs"][0]) if expected["vqs"] else set()
        options["vqs"] = [{key: value for key, value in queue.items() if key in known} for queue in options["vqs"]]
    return {name: value for name, value in options.items() if name in expected}


KINDS: dict[str, tuple[Callable[[random.Random], list[str]], Callable[[Settings], Settings]]] = {
    "ets": (ets, shown_ets),
    "sfb": (sfb, shown_sfb),
    "hhf": (hhf, shown_hhf),
    "gred": (gred, shown_gred),
}


@pytest.mark.slow
@pytest.mark.kernel
def test_the_settings_equal_those_that_tc_prints(tmp_path: Path) -> None:
    draw = random.Random(1)
    drawn = [(kind, KINDS[kind][0](draw)) for kind in KINDS for _ in range(DRAWS)]
    text = "ip link add v0 type veth peer name v1; ip link set v0 up; ip link set v1 up\n"
    for _, lines in drawn:
        text += "".join(f"tc {line} 2>/dev/null || echo refused {line}\n" for line in lines)
        text += "tc -j -d qdisc show dev v0 root; echo; tc qdisc del dev v0 root\n"
    (tmp_path / "mine.toml").write_text(experiment(CUBIC, duration="20s"))
    command = [str(COMMAND), "shell", "mine.toml", "--out", "result", "--no-flows"]
    done = subprocess.run(command, cwd=tmp_path, input=text, capture_output=True, text=True, check=False)
    assert "refused" not in done.stdout, done.stdout
    answers = [line for line in done.stdout.splitlines() if line.strip()]
    assert len(answers) == len(drawn), done.stderr
    for (kind, lines), answer in zip(drawn, answers, strict=True):
        (printed,) = json.loads(answer)
        tree = reader(*lines).root
        assert tree is not None
        expected = KINDS[kind][1](tree["config"])
        assert as_settings(kind, printed["options"], expected) == expected, lines
