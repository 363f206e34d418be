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

_SET_UP = re.compile(r"\btc\b.*?\b(?:qdisc|class|filter)\s+(?:add|replace|change)\b.*?\bdev\s+(\S+)")
_DEVICE = re.compile(r"\bdev\s+(\S+)|\bethtool\s+\S+\s+(\S+)|\bip\s+link\s+(?:set|add|del)\s+(?:dev\s+|name\s+)?(\S+)")
_IFB = re.compile(r"\bip\s+l(?:ink)?\s+add\s+(?:dev\s+|name\s+)?(\S+)(?:\s.*)?\btype\s+ifb\b")
_REDIRECT = re.compile(r"\bdev\s+(\S+)\s.*\bmirred\b.*\bdev\s+(\S+)")
_ASSIGNED = re.compile(
    r"""\s*(?:export |readonly |local )?(?P<name>[A-Za-z_]\w*)=(?P<quote>["']?)(?P<value>[\w.:/%+-]*)(?P=quote)"""
    r"\s*;?\s*(?:#.*)?\Z",
    re.ASCII,
)
_VARIABLE = re.compile(r"\$(?:\{([A-Za-z_]\w*)\}|([A-Za-z_]\w*))", re.ASCII)
_PORT = re.compile(r"\bdport\s+(\d+)")
_NAMESPACE = re.compile(r"\bip\s+netns\s+exec\s+(\S+)\s.*\btc\b|\btc\s+-n(?:etns)?\s+(\S+)")
_HEAD = """# From {name}. The script says nothing about the keys marked with "?".
title = "{name}"
duration = "30s"          # ?

[path]
rtt = "20ms"              # ? without what the script's netem adds
offloads = {offloads}
"""
_SCRIPT = """
{table}
interface = "{device}"
host = "{host}"         # "sender" if these commands run where TCP sends, "router" if they run on the way
{towards}commands = \"""
{lines}
\"""
"""


def experiment_of_script(file: Path, host: str | None = None) -> tuple[str, list[str]]:
    """The experiment's text, and notes. `host`: the host of the commands; without it, by the namespaces of the script.

    A script of two devices is that of a router: its first device leads to the receivers, its second to the senders.
    Raises `ExperimentError` for a script without tc commands, of more devices, or with lines that an experiment can't
    hold.
    """
    text = _expanded(text_of(file))
    lines = _lines(text)
    ifbs = {name for line in lines for name in _IFB.findall(line)}
    devices = Counter(
        device for line in lines for device in _SET_UP.findall(line)
        if device not in ifbs and not device.startswith("ifb")
    )  # fmt: skip
    if not devices:
        raise ExperimentError("no tc command that adds a qdisc, a class or a filter", file=str(file))
    if len(devices) > MOST_DEVICES:
        listed = ", ".join(f"{name} ({count} lines)" for name, count in devices.most_common())
        raise ExperimentError(
            "sets up more than two devices", file=str(file), value=listed,
            right="keep the lines of two in a copy: one leads to the receivers, one to the senders",
        )  # fmt: skip
    namespaces = {first or second for line in lines for first, second in _NAMESPACE.findall(line)}
    on_router = len(devices) > 1 or (bool(namespaces) and all(name.startswith("r") for name in namespaces))
    known = host or ("router" if on_router else "sender")
    ports = list(dict.fromkeys(port for line in lines for port in _PORT.findall(line)))
    flows = "".join(
        f'\n[[flows]]\nname = "port-{port}"\ncc = "cubic"            # ?\nport = {port}\n' for port in ports
    )
    is_off = any(re.search(r"ethtool\s+(?:-K|--offload).*\boff\b", line) for line in lines)
    made = _HEAD.format(name=file.name.replace('"', ""), offloads="false" if is_off else "true")
    if list(devices) == [LOOPBACK] and host is None:
        return _of_loopback(made, flows, text, file)
    for number, device in enumerate(devices):
        side = 'towards = "senders"     # ?\n' if number else 'towards = "receivers"   # ?\n'
        made += _SCRIPT.format(
            table="[[path.tc]]" if len(devices) > 1 else "[path.tc]", device=device, host=known,
            towards=side if len(devices) > 1 else "",
            lines=_escaped("\n".join(_of_device(lines, device, list(devices), ifbs)) if number or len(devices) > 1
                           else text.strip()),
        )  # fmt: skip
    made += flows or '\n[[flows]]\ncc = "cubic"            # ?\n'
    parse(made, file)
    notes = [] if host else [f'host = "{known}" is a guess: {_reason(known, namespaces, len(devices))}']
    if len(devices) > 1:
        first, second = devices
        notes.append(f"{first} leads to the receivers and {second} to the senders: a guess, from their order")
    return made, notes


MOST_DEVICES = 2
LOOPBACK = "lo"


def _of_loopback(head: str, flows: str, text: str, file: Path) -> tuple[str, list[str]]:
    """Data and ACKs both leave by `lo`: the commands are for the sender and for the receiver."""
    made = head
    for host in ("sender", "receiver"):
        made += _SCRIPT.format(
            table="[[path.tc]]", device=LOOPBACK, host=host, towards="", lines=_escaped(text.strip())
        )
    made += flows or '\n[[flows]]\ncc = "cubic"            # ?\n'
    parse(made, file)
    return made, [
        "on lo data and ACKs pass one discipline; here each direction has its own, so a delay counts twice a round "
        "trip, as there, and a rate once each way"
    ]


def _expanded(text: str) -> str:
    """The text with its plain variables (`DEV=eth0`) put in, and without the lines that set them.

    A variable that is set by a command or an argument stays, and is an error with its line.
    """
    values: dict[str, str] = {}
    lines = []
    for line in text.splitlines():
        if match := _ASSIGNED.match(line):
            values[match["name"]] = match["value"]
            continue
        lines.append(_VARIABLE.sub(lambda found: values.get(found[1] or found[2], found[0]), line))
    return "\n".join(lines) + "\n"


def _lines(text: str) -> list[str]:
    """Lines as the shell reads them: continued ones are one."""
    return text.strip().replace("\\\n", " ").splitlines()


def _of_device(lines: list[str], device: str, devices: list[str], ifbs: set[str]) -> list[str]:
    """The lines of one device, of the ifbs that get its packets, and those of no device."""
    ours = {device, *(ifb for line in lines for own, ifb in _REDIRECT.findall(line) if own == device)}
    others = ({*devices, *ifbs, *(ifb for line in lines for _, ifb in _REDIRECT.findall(line))}) - ours
    return [line for line in lines if not (set(_names(line)) & others and not set(_names(line)) & ours)]


def _names(line: str) -> list[str]:
    return [name for found in _DEVICE.findall(line) for name in found if name]


def _reason(host: str, namespaces: set[str], devices: int) -> str:
    if devices > 1:
        return "the script sets up two devices"
    if host == "router":
        return f"the script runs in the namespace {', '.join(sorted(namespaces))}"
    return "the script names no router; write --host router if it runs on one"


def _escaped(text: str) -> str:
    """For a TOML text of several lines, in which a backslash at a line's end would join lines."""
    return text.replace("\\", "\\\\").replace('"""', '""\\"')
