"""`dumbbell hosts restore`: put back what a lost run left on real hosts, without a run."""
# Modules are imported inside the commands: help and usage errors don't wait for them.
# ruff: noqa: PLC0415

from dataclasses import dataclass

import click

from dumbbell.cli.console import print_json, unwrapped_out
from dumbbell.cli.options import json_option

__all__ = ["hosts"]


@dataclass(frozen=True)
class _Machine:
    """What a connection needs to know."""

    role: str
    ssh: str


@click.group("hosts")
def hosts() -> None:
    """Look after the real hosts of experiments."""


@hosts.command("restore")
@click.argument("names", nargs=-1, required=True, metavar="SSH...", help="Hosts as ssh takes them, such as root@lab1.")
@json_option
def restore(names: tuple[str, ...], as_json: bool = False) -> None:
    """Restore hosts whose run was killed or cut off.

    Each host restores itself when it loses the connection; this is for one that lost power or its agent meanwhile.
    Needs root there, as a run does.
    """
    from dumbbell.engines.host_group import CONNECT_S, connect_hosts
    from dumbbell.host.agent import agent

    machines = [_Machine(f"host {number}", name) for number, name in enumerate(dict.fromkeys(names), start=1)]
    found = {}
    with connect_hosts(machines, agent().read_bytes(), lambda: None) as group:
        for machine in machines:
            head = group.expect(machine.role, "hello", CONNECT_S).head
            found[machine.ssh] = [str(sentence) for sentence in head.get("put_back", [])]
    if as_json:
        print_json({"hosts": [{"ssh": ssh, "restored": restored} for ssh, restored in found.items()]})
        return
    for ssh, restored in found.items():
        unwrapped_out.print(f"{ssh}: {'; '.join(restored) if restored else 'nothing to restore'}")
