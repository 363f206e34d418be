"""A shell script of tc commands as an experiment file: `dumbbell import SCRIPT.sh --out EXPERIMENT.toml`.

The file holds the script's lines as they are; what the script does not say (the path's RTT, the flows, how long) is
written as an example with a comment. `crates/experiment` reads the lines, and what it can't do is an error with its
line.
"""

import re
from collections import Counter
from pathlib import Path

from dumbbell.errors import ExperimentError
from dumbbell.spec.document import parse, text_of

__all__ = ["experiment_of_script"]

_DEVICE = re.compile(r"\btc\b.*?\b(?:qdisc|class|filter)\s+(?:add|replace|change)\b.*?\bdev\s+(\S+)")
_PORT = re.compile(r"\bdport\s+(\d+)")
_NAMESPACE = re.compile(r"\bip\s+netns\s+exec\s+(\S+)\s.*\btc\b|\btc\s+-n(?:etns)?\s+(\S+)")
_TEMPLATE = '''# From {name}. The script says nothing about the keys marked with "?".
title = "{name}"
duration = "30s"          # ?

[path]
rtt = "20ms"              # ? without what the script's netem adds
offloads = {offloads}

[path.tc]
interface = "{device}"
host = "{host}"         # "sender" if these commands run where TCP sends, "router" if they run on the way
commands = """
{lines}
"""
{flows}'''


def experiment_of_script(file: Path, host: str | None = None) -> tuple[str, list[str]]:
    """The experiment's text, and notes. `host`: `sender` or `router`; without it, by the namespaces of the script.

    Raises `ExperimentError` for a script without tc commands, of several devices, or with lines that an experiment
    can't hold.
    """
    text = text_of(file)
    whole = text.replace("\\\n", " ")
    devices = Counter(_DEVICE.findall(whole))
    if not devices:
        raise ExperimentError("no tc command that adds a qdisc, a class or a filter", file=str(file))
    if len(devices) > 1:
        listed = ", ".join(f"{name} ({count} lines)" for name, count in devices.most_common())
        raise ExperimentError(
            "sets up several devices", file=str(file), value=listed,
            right="keep the lines of one in a copy; the other direction is path.reverse",
        )  # fmt: skip
    (device,) = devices
    namespaces = {first or second for first, second in _NAMESPACE.findall(whole)}
    known = host or ("router" if namespaces and all(name.startswith("r") for name in namespaces) else "sender")
    ports = list(dict.fromkeys(_PORT.findall(whole)))
    flows = "".join(
        f'\n[[flows]]\nname = "port-{port}"\ncc = "cubic"            # ?\nport = {port}\n' for port in ports
    )
    made = _TEMPLATE.format(
        name=file.name.replace('"', ""), device=device, host=known, lines=_escaped(text.strip()),
        offloads="false" if re.search(r"ethtool\s+(?:-K|--offload).*\boff\b", whole) else "true",
        flows=flows or '\n[[flows]]\ncc = "cubic"            # ?\n',
    )  # fmt: skip
    parse(made, file)
    return made, [] if host else [f'host = "{known}" is a guess: {_reason(known, namespaces)}']


def _reason(host: str, namespaces: set[str]) -> str:
    if host == "router":
        return f"the script runs in the namespace {', '.join(sorted(namespaces))}"
    return "the script names no router; write --host router if it runs on one"


def _escaped(text: str) -> str:
    """For a TOML text of several lines, in which a backslash at a line's end would join lines."""
    return text.replace("\\", "\\\\").replace('"""', '""\\"')
