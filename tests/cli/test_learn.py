"""`dumbbell list controllers`: those of a host and those of the engines."""

from pathlib import Path

import pytest

from dumbbell.cli.list_commands import entries
from dumbbell.host.sources import LocalHost


@pytest.fixture
def host(tmp_path: Path) -> LocalHost:
    """Reno and a controller of its own are available, Vegas could be loaded."""
    for name, text in (
        ("proc/sys/kernel/osrelease", "6.12.0\n"),
        ("proc/sys/net/ipv4/tcp_available_congestion_control", "reno mine\n"),
        ("lib/modules/6.12.0/modules.dep", "kernel/net/ipv4/tcp_vegas.ko.xz:\n"),
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return LocalHost(tmp_path)


def test_a_host_s_controllers_are_those_available_or_loadable(host: LocalHost) -> None:
    listed = {entry["name"]: entry for entry in entries("controllers", host)}
    assert {name for name in listed if "host" in listed[name]["engines"]} == {"reno", "mine", "vegas"}
    assert listed["mine"]["engines"] == ["host"]
    assert all(entry["unknown"] == [] for entry in listed.values())


def test_controllers_of_a_host_without_that_file_are_unknown(tmp_path: Path) -> None:
    listed = entries("controllers", LocalHost(tmp_path))
    assert listed
    assert all(entry["unknown"] == ["host"] and "host" not in entry["engines"] for entry in listed)
