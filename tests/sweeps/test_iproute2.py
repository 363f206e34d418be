"""Which ip and tc a host has; two hosts must have the same versions."""

from pathlib import Path

import pytest

from dumbbell.engines.agent_engine import PATH
from dumbbell.sweeps import identity as here
from dumbbell.sweeps.identity import TOOLS, Tool, tools, unlike

OLD, NEW = Tool("iproute2-5.10.0", "aa"), Tool("iproute2-6.1.0", "bb")


@pytest.fixture
def bin_(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The first folder of the search path."""
    monkeypatch.setattr(here, "PATH", f"{tmp_path}:{PATH}")
    return tmp_path


def ip_that_runs(bin_: Path, command: str) -> Tool:
    program = bin_ / "ip"
    program.write_text(f"#!/bin/sh\n{command}\n")
    program.chmod(0o755)
    return tools.__wrapped__()["ip"]


def test_the_version_is_that_of_the_program_s_output(bin_: Path) -> None:
    first = ip_that_runs(bin_, "echo ip utility, iproute2-ss190107")
    assert first.version == "iproute2-ss190107"
    second = ip_that_runs(bin_, "echo ip utility, iproute2-6.9.0, libbpf 1.4.2")
    assert second.version == "iproute2-6.9.0"
    assert first.sha256 != second.sha256
    assert (
        ip_that_runs(bin_, "echo BusyBox v1.36 multi-call binary >&2; exit 1").version
        == "BusyBox v1.36 multi-call binary"
    )
    assert ip_that_runs(bin_, "exit 1").version == "unknown version"


@pytest.mark.kernel
def test_this_host_s_tools_have_one_version() -> None:
    found = tools()
    assert set(found) == set(TOOLS)
    assert len({tool.version for tool in found.values()}) == 1


def test_only_tools_of_other_versions_are_listed() -> None:
    both = {"ip": NEW, "tc": NEW}
    assert unlike(both, {"ip": NEW, "tc": Tool(NEW.version, "cc")}) == ""
    assert unlike(both, {"ip": OLD, "tc": NEW}) == "ip of iproute2-5.10.0 instead of iproute2-6.1.0"
    expected = "ip of iproute2-5.10.0 instead of iproute2-6.1.0 and tc of iproute2-5.10.0 instead of iproute2-6.1.0"
    assert unlike(both, {"ip": OLD, "tc": OLD}) == expected
    assert unlike({}, both) == ""
