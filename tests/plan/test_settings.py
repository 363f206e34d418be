"""A setting is written where Linux has it: on the host, or in every sender and receiver."""
# The rows of the table of buffers are long.
# ruff: noqa: E501

from pathlib import Path

import pytest

from dumbbell.errors import ExperimentError
from dumbbell.plan import buffers_note, plan_case
from dumbbell.spec import parse

TEXT = (
    'duration = "1s"\n[path]\nrtt = "1ms"\n[path.bottleneck]\nrate = "1mbit"\n[[flows]]\ncc = "cubic"\n[tcp.sysctl]\n'
)
SETTINGS = """
"net.core.rmem_max" = 4194304
"net.core.somaxconn" = 16
"net.ipv4.tcp_rmem" = "4096 131072 6291456"
"net.ipv4.ip_local_port_range" = "40000 50000"
"net.ipv4.tcp_max_orphans" = 10
"""


def test_a_setting_is_written_where_linux_has_it() -> None:
    plan = plan_case(parse(TEXT + SETTINGS, Path("x.toml"))[0], 1)
    hosts_of: dict[str, list[str]] = {}
    for command in plan.setup:
        if command.argv[0] == "sysctl":
            hosts_of.setdefault(command.argv[-1], []).append(command.host)
    ends = ["sender", "receiver"]
    assert hosts_of["net.core.rmem_max=4194304"] == [""]
    assert hosts_of["net.ipv4.tcp_max_orphans=10"] == [""]
    assert hosts_of["net.core.somaxconn=16"] == ends
    assert hosts_of["net.ipv4.tcp_rmem=4096 131072 6291456"] == ends
    assert "net.ipv4.tcp_rmem=4096 131072 67108864" not in hosts_of
    assert hosts_of["net.ipv4.ip_local_port_range=40000 50000"] == ends


def test_a_script_does_not_change_global_settings_of_its_host() -> None:
    script = plan_case(parse(TEXT + SETTINGS, Path("x.toml"))[0], 1).script("x")
    assert "net.core.rmem_max" not in script
    assert "ip netns exec receiver sysctl -w 'net.ipv4.tcp_rmem=4096 131072 6291456'" in script


@pytest.mark.parametrize(
    ("lines", "rmem", "wmem", "note"),
    [
        ("", 64 << 20, 64 << 20, '"dumbbell": net.ipv4.tcp_rmem up to 67108864 bytes, net.ipv4.tcp_wmem up to 67108864 bytes'),
        ('defaults = "linux"', 6291456, 4194304, '"linux": net.ipv4.tcp_rmem up to 6291456 bytes, net.ipv4.tcp_wmem up to 4194304 bytes'),
        ('rmem_max = "1MB"\ndefaults = "linux"', 1000000, 4194304, "tcp_rmem up to 1000000 bytes by tcp.rmem_max, net"),
        ('defaults = "linux"\nsysctl = { "net.ipv4.tcp_wmem" = "1 2 3" }', 6291456, None, "net.ipv4.tcp_wmem = 1 2 3 by tcp.sysctl"),
    ],
)  # fmt: skip
def test_the_defaults_of_buffers_are_set_and_noted(lines: str, rmem: int, wmem: int | None, note: str) -> None:
    case = parse(TEXT.replace("[tcp.sysctl]", "[tcp]") + lines, Path("x.toml"))[0]
    script = plan_case(case, 1).script("x", [buffers_note(case.experiment.tcp)])
    assert f"receiver sysctl -w 'net.ipv4.tcp_rmem=4096 131072 {rmem}'" in script
    assert f"receiver sysctl -w 'net.ipv4.tcp_wmem={'1 2 3' if wmem is None else f'4096 16384 {wmem}'}'" in script
    assert script.splitlines()[2].startswith("# TCP buffers: tcp.defaults = ")
    assert note in script.splitlines()[2]


@pytest.mark.parametrize(
    "line",
    [
        '"net.ipv6.conf.all.forwarding" = 1',
        '"kernel.panic" = 1',
        '"net.core..x" = 1',
        '"net.ipv4.tcp_x" = "1  2"',
        '"net.core.x" = "|y"',
    ],
)
def test_other_settings_are_refused(line: str) -> None:
    with pytest.raises(ExperimentError, match=r"tcp\.sysctl"):
        parse(TEXT + line, Path("x.toml"))
