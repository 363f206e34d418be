"""The kernel's netlink dumps of qdiscs, classes and filters in a guest, set up once by tc and once by the agent."""

import json
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from dumbbell.engines.guest import Guest, run_guest
from dumbbell.engines.kernel import KernelEngine
from dumbbell.plan import plan_case
from dumbbell.spec import parse
from engines.measured import PYTHON

__all__ = ["BY_AGENT", "BY_TC", "Dump", "dumps", "without"]

BY_TC, BY_AGENT = "sender", "receiver"
"""The hosts where each executes its commands."""

# Prints each message of a dump behind its netlink header: type, device, bytes.
DUMP = """
import json, socket, struct, subprocess, sys
for line in sys.argv[1:]:
    subprocess.run(line.split(), check=True)
netlink = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)
netlink.bind((0, 0))
def dump(kind, index=0, parent=0):
    netlink.send(struct.pack("IHHIIIIIII", 36, kind, 0x301, 1, 0, 0, index, 0, parent, 0))
    while True:
        data = netlink.recv(1 << 20)
        while data:
            length, kind = struct.unpack_from("IH", data)
            if kind in (2, 3):
                return
            yield kind, data[16:length]
            data = data[(length + 3) // 4 * 4:]
number = lambda body, at: struct.unpack_from("I", body, at)[0]
names, found = dict(socket.if_nameindex()), []
# The kernel dumps the qdiscs of all devices.
qdiscs = [body for _, body in dump(38) if number(body, 8)]
for body in qdiscs:
    index, handle = number(body, 4), number(body, 8)
    found.append((36, names[index], body.hex()))
    found += [(kind, names[index], body.hex()) for kind, body in dump(46, index, handle)]
for index in {number(body, 4): None for body in qdiscs}:
    found += [(kind, names[index], body.hex()) for kind, body in dump(42, index)]
print(json.dumps(found))
"""

Dump = Mapping[tuple[int, str], Sequence[bytes]]
"""Bodies of messages by their type and device."""


def dumps(folder: Path, cases: Sequence[Sequence[str]]) -> tuple[Dump, Dump, dict[str, Any]]:
    """Execute each case's commands on a device of its own, by tc and by the agent; both dumps and `end.json`.

    `{dev}` in a command stands for the device; case N has device `tN`.
    """
    programs = "".join(
        f'[[programs]]\nname = "{on}"\non = "{on}"\nrun = ["{PYTHON}", "main.py"]\n'
        f"[programs.files]\n\"main.py\" = '''{DUMP}'''\n"
        for on in (BY_TC, BY_AGENT)
    )
    text = f'duration = "1s"\n[path]\nrtt = "1ms"\n[path.bottleneck]\nrate = "1gbit"\n{programs}'
    agents_plan = json.loads(plan_case(parse(text, folder / "dumps.toml")[0], 1).for_agent())
    commands = [line.format(dev=f"t{number}").split() for number, lines in enumerate(cases) for line in lines]
    agents_plan["setup"] += [_link(host, number) for host in (BY_TC, BY_AGENT) for number in range(len(cases))]
    agents_plan["setup"] += [{"host": BY_AGENT, "operation": {"tc": words}} for words in commands]
    by_tc = next(program for program in agents_plan["programs"]["all"] if program["host"] == BY_TC)
    by_tc["argv"] += [" ".join(["tc", *words]) for words in commands]
    # Only such a program may change its host's network.
    by_tc["typed"] = by_tc["keeps_powers"] = True
    (folder / "plan.json").write_text(json.dumps(agents_plan), encoding="utf-8")
    engine = KernelEngine()
    run_guest(Guest(engine.kernel, engine.agent, folder, 1, 1024, 120), lambda: 0.0)
    end = json.loads((folder / "end.json").read_text(encoding="utf-8"))
    errors = [(folder / "programs" / f"{number}.err").read_text() for number in range(2)]
    assert errors == ["", ""]
    by_tc, by_agent = (_read((folder / "programs" / f"{number}.out").read_text()) for number in range(2))
    return by_tc, by_agent, end


def _link(host: str, number: int) -> dict[str, Any]:
    end, peer = ({"device": f"{name}{number}", "hardware": None, "mtu": None, "host": None} for name in "tu")
    return {"host": host, "operation": {"add_veth": {"end": end, "peer": peer}}}


def _read(text: str) -> dict[tuple[int, str], list[bytes]]:
    found: dict[tuple[int, str], list[bytes]] = {}
    for kind, device, body in json.loads(text):
        found.setdefault((kind, device), []).append(bytes.fromhex(body))
    return found


def without(body: bytes, dropped: Callable[[tuple[int, ...]], bool], header: int = 20) -> bytes:
    """A message without attributes, given by their types from the outermost to the innermost."""
    return body[:header] + b"".join(_attributes(body[header:], dropped, ()))


def _attributes(data: bytes, dropped: Callable[[tuple[int, ...]], bool], above: tuple[int, ...]) -> Iterator[bytes]:
    while len(data) >= 4:
        length, kind = struct.unpack_from("HH", data)
        if length < 4:  # A structure, no attributes.
            yield data
            return
        path = (*above, kind & 0x3FFF)
        value = data[4:length]
        if not dropped(path):
            inner = b"".join(_attributes(value, dropped, path)) if _is_nested(path) else value
            yield struct.pack("HH", 4 + len(inner), kind) + inner
        data = data[(length + 3) // 4 * 4 :]


def _is_nested(path: tuple[int, ...]) -> bool:
    """TCA_OPTIONS of a filter, its actions, an action, and its options."""
    return path[:1] == (2,) and len(path) in (1, 2, 3, 4) and (len(path) < 4 or path[3] == 2)
