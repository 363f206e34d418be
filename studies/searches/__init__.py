"""The searches of docs/results/search: how long each took, and the smallest experiment.

    python -m studies searches [NAME …]

Each `NAME.toml` there states the bounds, `NAME-worst.toml` is what the search saved. Trials are not taken from the
cache of sweeps, so that times are those of the search. With names it runs only these and keeps the page's other rows.
"""

import json
import os
import re
import subprocess
import time
import tomllib
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import polars as pl

from studies.study import COMMAND, DOCS, asked, rendered, table, write, write_figures

FOLDER = DOCS / "results" / "search"
ENGINES = ("sim", "kernel")
HEAD = "search | >trials | >first failure | >trials' time | >all of it | >unchanged | >simulator | >kernel"


SEARCHES: list[dict[str, Any]] = tomllib.loads(Path(__file__).with_name("searches.toml").read_text(encoding="utf-8"))[
    "searches"
]


def main(names: list[str]) -> None:
    """Search, check, write."""
    held: dict[str, Any] = json.loads((FOLDER / "figures.json").read_text())
    for each in SEARCHES:
        if each["name"] in names or not names:
            held[each["name"]] = _searched(each)
            write_figures("figures", held, FOLDER)
    shown = [(each, held[each["name"]]) for each in SEARCHES if each["name"] in held]
    sections = [
        (each, figures, (FOLDER / f"{each['name']}-worst.toml").read_text().partition("[source]")[0].strip(),
         table("why | >simulator | >kernel", _checks(figures["checks"])))
        for each, figures in shown
    ]  # fmt: skip
    summary = table(HEAD, [_row(each, figures) for each, figures in shown])
    cores = len(os.sched_getaffinity(0))
    template = Path(__file__).with_name("page.md")
    write(FOLDER / "index.md", rendered(template, cores=cores, summary=summary, sections=sections))


def _row(each: dict[str, Any], row: dict[str, Any]) -> list[object]:
    return [
        f"[{each['known']}](#{each['name']})", row["trials"], f"trial {row['first']}", f"{row['searched_s']:.0f} s",
        f"{row['took_s']:.0f} s", _number(row["unchanged"]), _mean(row["simulated"]), _mean(row["kernel"]),
    ]  # fmt: skip


def _checks(checks: list[Any]) -> list[list[str]]:
    """A row for each check; the simulator's and the kernel's follow each other."""
    pairs = zip(checks[::2], checks[1::2], strict=True)
    return [[f"`{sim[1]}`, {sim[0]}", _number(sim[2]), _number(kernel[2])] for sim, kernel in pairs]


def _searched(each: dict[str, Any]) -> dict[str, Any]:
    with TemporaryDirectory() as work:
        out = Path(work) / "found"
        found = asked(
            "search", f"{each['name']}.toml", *each.get("options", ()), "--no-cache", "--out", out, cwd=FOLDER
        )
        file = FOLDER / f"{each['name']}-worst.toml"
        file.write_text((out / "worst.toml").read_text())
        checks = [[check['what'], check['metric'], _checked(check, file, engine, work)] for check in each['checks']
                  for engine in ENGINES]  # fmt: skip
        runs = pl.read_parquet(out / "runs.parquet")
    return {
        "trials": runs["point"].n_unique(), "runs": runs.height, "first": found["first"], "took_s": found["wall_s"],
        "searched_s": found["trials_s"], "formula": found["objective"],
        "minimize": found["direction"] == "minimize", "unchanged": found["unchanged"]["mean"],
        "steps": len(found["smallest"]["steps"]), "confirmed": found["smallest"]["confirmed"],
        "simulated": found["smallest"]["simulated"], "kernel": found["smallest"]["kernel"], "checks": checks,
    }  # fmt: skip


def _checked(check: dict[str, Any], file: Path, engine: str, work: str) -> float | None:
    """The check's metric in the first seed's run; None if the engine can't run it."""
    text = file.read_text()
    access = re.search(r"\[flows\.access\]\n((?:.+\n)+)", text)
    table = "{ " + ", ".join(access[1].strip().splitlines()) + " }" if access else ""
    settings = [word for each in check.get("settings", ()) for word in ("--set", each.replace("{access}", table))]
    out = Path(work) / f"run-{time.monotonic_ns()}"
    run = [COMMAND, "run", file, "--engine", engine, "--seed", "1", "--out", out, *settings]
    subprocess.run(run, check=False, capture_output=True)
    if not (out / "run.json").exists():
        return None
    value: Any = asked("stats", out, *(["--from", check["start"]] if "start" in check else []))
    for key in check["metric"].split("."):
        value = value[int(key) if key.isdecimal() else key]
    return float(value)


def _mean(checked: dict[str, Any] | None) -> str:
    return "not run" if checked is None else _number(checked["mean"])


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.3g}"
