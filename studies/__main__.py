"""Measures what a study shows, and writes its pages.

    python -m studies                     list the studies
    python -m studies NAME                repeat one as studies/studies.toml says
    python -m studies NAME ARGUMENT...    call it with arguments; --help shows which

`make page NAME=gallery` sets up and calls this. Studies marked `kernel` run guests.
"""

import importlib
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

from studies.study import ROOT

STUDIES = tomllib.loads(Path(__file__).with_name("studies.toml").read_text(encoding="utf-8"))


def repeat(name: str, study: dict[str, Any]) -> int:
    """Run a study's commands; the first failure ends it, unless differences are what the study is about."""
    worst = 0
    if study.get("kernel"):
        subprocess.run([sys.executable, "-m", "dumbbell", "kernel", "build"], cwd=ROOT, check=True)
    for command in study.get("run", [name]):
        sys.stderr.write(f"study {name}: {command}\n")
        status = called(*shlex.split(command))
        if status and not study.get("may_differ"):
            return status
        worst = worst or status
    return worst


def folder(name: str) -> Path:
    """Where a study's Python would be."""
    return Path(__file__).parent / name.replace("-", "_")


def called(program: str, *arguments: str) -> int:
    """The exit status of a study's `main`, or of a program of this checkout."""
    if folder(program).is_dir():
        return importlib.import_module(f"studies.{folder(program).name}").main(list(arguments)) or 0
    interpreter = [sys.executable] if program.endswith(".py") or program == "-m" else []
    return subprocess.run([*interpreter, program, *arguments], cwd=ROOT, check=False).returncode


def main(words: list[str]) -> int:
    """Repeat the named study, call it with arguments, or list all."""
    if not words:
        for name, study in STUDIES.items():
            sys.stdout.write(f"{name:16}{study['writes']}{' (kernel)' if study.get('kernel') else ''}\n")
        return 0
    if words[0] not in STUDIES:
        sys.stderr.write(f"no study is named {words[0]}; the studies are {', '.join(STUDIES)}\n")
        return 2
    if words[1:] and "run" in STUDIES[words[0]] and not folder(words[0]).is_dir():
        sys.stderr.write(f"the study {words[0]} takes no arguments; call its commands in studies/studies.toml\n")
        return 2
    return called(*words) if words[1:] else repeat(words[0], STUDIES[words[0]])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
