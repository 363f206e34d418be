"""Doctor's findings about hosts: a recorded one, constructed ones, and ones whose commands print any text."""

import gzip
import json
import lzma
import os
import string
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dumbbell.host import controllers, findings, kernel_modules, tcp_settings
from dumbbell.host.findings import run_checks
from dumbbell.host.kernel_modules import Presence, presence
from dumbbell.host.sources import GROUPS, MARKS, Finding, LocalHost, Reading, as_json, rows, sysctl_path

ROUTES, LINKS, QUEUES = (" ".join(fields) for fields in (controllers.ROUTES, findings.LINKS, findings.QUEUES))

# As iproute2 6.1 printed them, on Linux 6.18 (routes, links) and 6.12 (congestion).
ROUTED = (
    '[{"dst":"default","gateway":"192.0.2.1","dev":"eth0","flags":[]},'
    '{"type":"local","dst":"127.0.0.0/8","dev":"lo","table":"local","protocol":"kernel","scope":"host",'
    '"prefsrc":"127.0.0.1","flags":[]},'
    '{"dst":"10.9.0.0/16","gateway":"10.0.2.1","dev":"left","flags":[],"metrics":[{"initcwnd":20,"congestion":"bbr"}]}]'
)
QUEUED = (
    '[{"kind":"noqueue","handle":"0:","dev":"lo","root":true,"refcnt":2,"options":{}},'
    '{"kind":"mq","handle":"0:","dev":"eth0","root":true,"options":{},"bytes":1,"drops":3,"backlog":4500},'
    '{"kind":"KIND","handle":"0:","dev":"eth0","parent":":2","options":{}},'
    '{"kind":"KIND","handle":"0:","dev":"eth0","parent":":1","options":{}},'
    '{"kind":"noqueue","handle":"0:","dev":"left","root":true,"refcnt":2,"options":{}}]'
)
SYSCTLS = {
    "kernel.osrelease": "6.12.117",
    "net.ipv4.tcp_available_congestion_control": "reno bbr cubic",
    "net.ipv4.tcp_allowed_congestion_control": "reno cubic",
    "net.ipv4.tcp_congestion_control": "cubic",
    "net.ipv4.tcp_rmem": "4096\t131072\t6291456",
    "net.ipv4.tcp_wmem": "4096\t16384\t4194304",
    "net.core.default_qdisc": "fq_codel",
    "net.core.somaxconn": "4096",
    "net.ipv4.tcp_ecn": "2",
    "net.ipv4.tcp_sack": "0",
}
MakeHost = Callable[..., LocalHost]


@pytest.fixture
def make_host(tmp_path: Path) -> MakeHost:
    def host_with(sysctls: dict[str, str] | None = None, queue: str = "fq_codel", **files: str) -> LocalHost:
        for key, value in (SYSCTLS | (sysctls or {})).items():
            path = tmp_path / str(sysctl_path(key)).lstrip("/")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"{value}\n")
        for name, text in files.items():
            path = tmp_path / name.replace("__", "/")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return LocalHost(tmp_path, {ROUTES: ROUTED, LINKS: "[]", QUEUES: QUEUED.replace("KIND", queue)})

    return host_with


def by_key(host: LocalHost, path: tcp_settings.Path | None = None) -> dict[str, Finding]:
    return {finding.key: finding for finding in run_checks(host, path or tcp_settings.Path())}


def test_findings_of_a_recorded_host_are_in_the_order_of_groups(make_host: MakeHost) -> None:
    found = by_key(make_host())
    groups = [finding.group for finding in found.values()]
    assert groups == sorted(groups, key=GROUPS.index)
    assert (found["controller.default"].value, found["controller.default"].mark) == ("cubic", "ok")
    assert found["controller.default"].change == ("sudo dumbbell enable bbr",)
    assert found["controller.allowed"].mark == "warning"
    assert found["controller.routes"].value == {"10.9.0.0/16": "bbr"}
    assert found["queues.eth0"].value == {
        "root": "mq", "leaves": {"fq_codel": 2}, "backlog_bytes": 4500, "dropped_packets": 3
    }  # fmt: skip
    assert found["queues.eth0"].shown == "mq over 2 × fq_codel, 4500 bytes backlog"
    assert "queues.lo" not in found
    assert (found["protocol.tcp_sack"].mark, found["protocol.tcp_sack"].change) == (
        "problem", ("sudo sysctl -w net.ipv4.tcp_sack=1",)
    )  # fmt: skip
    for key in ("controller.new_connection", "offloads.eth0", "connections.controllers", "protocol.tcp_timestamps"):
        assert found[key].mark == "unknown"
        assert found[key].meaning


@pytest.mark.parametrize(
    ("release", "queue", "mark"),
    [
        ("4.12.1", "fq_codel", "problem"), ("4.12.1", "fq", "ok"), ("4.19.0", "pfifo_fast", "warning"),
        ("5.10.0-9-amd64", "pfifo_fast", "ok"), ("6.12.0", "netem", "warning"), ("odd", "pfifo_fast", "unknown"),
    ],
)  # fmt: skip
def test_whether_the_queue_matters_for_pacing_depends_on_the_kernel(
    make_host: MakeHost, release: str, queue: str, mark: str
) -> None:
    assert by_key(make_host({"kernel.osrelease": release}, queue))["queues.eth0"].mark == mark


def test_a_queue_that_the_kernel_lacks_is_not_advised(make_host: MakeHost) -> None:
    assert by_key(make_host({"kernel.osrelease": "4.12.1"}))["queues.eth0"].change
    host = make_host({"kernel.osrelease": "4.12.1"}, **{"boot__config-4.12.1": "# CONFIG_NET_SCH_FQ is not set\n"})
    assert by_key(host)["queues.eth0"].change == ()


@pytest.mark.parametrize(
    ("rate", "rtt", "receive", "send"),
    [(10**9, 80 * 10**6, "problem", "problem"), (10**8, 150 * 10**6, "warning", "warning"), (10**7, 10**7, "ok", "ok")],
)
def test_buffers_are_judged_against_the_path(make_host: MakeHost, rate: int, rtt: int, receive: str, send: str) -> None:
    found = by_key(make_host(), tcp_settings.Path(rate, rtt))
    assert (found["buffers.receive"].mark, found["buffers.send"].mark) == (receive, send)


def test_without_window_scaling_no_buffer_fills_a_long_path(make_host: MakeHost) -> None:
    path = tcp_settings.Path(10**7, 10**8)
    assert by_key(make_host(), path)["buffers.receive"].mark == "ok"
    found = by_key(make_host({"net.ipv4.tcp_window_scaling": "0"}), path)["buffers.receive"]
    assert (found.mark, found.value["window_bytes"]) == ("problem", 65_535)
    assert "window scaling is off" in found.meaning
    assert found.change == ("sudo sysctl -w net.ipv4.tcp_window_scaling=1",)


@pytest.mark.parametrize(("kind", "key"), [("tbf", "rate"), ("cake", "bandwidth")])
@pytest.mark.parametrize(("rate_bps", "mark"), [(10**9, "problem"), (10**7, "ok"), (None, "ok")])
def test_a_shaper_below_the_path_s_rate_is_a_problem(
    make_host: MakeHost, kind: str, key: str, rate_bps: int | None, mark: str
) -> None:
    """The rate as `tc -j` prints it: bytes a second."""
    host = make_host()
    shaped = f'[{{"kind":"{kind}","dev":"eth0","root":true,"options":{{"{key}":1250000}}}}]'
    host = LocalHost(host.root, {**host.commands, QUEUES: shaped})
    found = by_key(host, tcp_settings.Path(rate_bps, 10**7))["queues.eth0"]
    assert found.mark == mark
    assert ("limits the device to 10 Mbit/s, below the path's 1000 Mbit/s" in found.meaning) == (mark == "problem")


@pytest.mark.parametrize(("built", "mark"), [("cubic", "ok"), ("bbr", "warning"), (None, "ok")])
def test_the_kernel_s_own_default_applies_after_the_next_boot(
    make_host: MakeHost, built: str | None, mark: str
) -> None:
    files = {} if built is None else {"boot__config-6.12.117": f'CONFIG_DEFAULT_TCP_CONG="{built}"\n'}
    found = by_key(make_host(**files))["controller.at_boot"]
    assert found.mark == mark
    assert found.shown == ("the kernel's default" if built is None else f"the kernel's default, {built}")


def test_a_key_by_name_overrides_a_glob_at_boot(make_host: MakeHost) -> None:
    host = make_host(
        **{
            "etc__sysctl.d__10-a.conf": "net.ipv4.tcp_congestion_control = cubic\n",
            "etc__sysctl.d__90-b.conf": "net.ipv4.tcp_congestion_* = bbr\n",
        }
    )
    found = by_key(host)["controller.at_boot"]
    assert (found.mark, found.value, found.source) == ("ok", "cubic", "/etc/sysctl.d/10-a.conf, line 1")


@given(st.integers(10**5, 10**11), st.integers(10**5, 10**9))
def test_the_advised_buffers_are_sufficient(rate: int, rtt: int) -> None:
    """With the buffers that doctor advises, it reports no further problem."""

    class AdvisedHost(LocalHost):
        def file(self, name: str) -> Reading:
            return Reading(name, values.get(name))

    values = {str(sysctl_path(key)): value for key, value in SYSCTLS.items()}
    host, path = AdvisedHost(Path("/nowhere")), tcp_settings.Path(rate, rtt)
    for finding in tcp_settings.buffers(host, path):
        for command in finding.change:
            key, value = command.removeprefix("sudo sysctl -w ").split("=", 1)
            values[str(sysctl_path(key))] = value.strip("'")
    marks = {finding.key: finding.mark for finding in tcp_settings.buffers(host, path)}
    assert (marks["buffers.receive"], marks["buffers.send"]) == ("ok", "ok")


@pytest.mark.parametrize(("scale", "share"), [("1", 0.5), ("2", 0.75), ("-2", 0.25), ("0", 1), ("x", 0.5)])
def test_before_6_6_a_setting_gives_the_window_s_share_of_a_buffer(
    make_host: MakeHost, scale: str, share: float
) -> None:
    host = make_host({"kernel.osrelease": "6.1.0", "net.ipv4.tcp_adv_win_scale": scale})
    assert tcp_settings.window_share(host)[0] == share


V1, V3 = "bbr_lt_bw_sampling", "bbr_adapt_upper_bounds.isra.0"


@pytest.mark.parametrize(
    ("names", "version"), [([V1, "x"], "v1"), ([V3], "v3"), ([V1, V3], None), (["bbr_main"], None), ([], None)]
)
def test_kernel_symbols_give_the_version_of_bbr(names: list[str], version: str | None) -> None:
    assert kernel_modules.of_names(names)[0] == version


@given(st.binary(max_size=80))
def test_a_socket_s_info_gives_the_version_of_bbr_or_none(data: bytes) -> None:
    version, fields = kernel_modules.of_info(data)
    assert fields
    assert version == ("v1" if len(data) == 20 else f"v{data[39]}" if len(data) > 39 else None)


def test_contradictory_versions_of_bbr_are_unknown(make_host: MakeHost) -> None:
    symbols = f"0000000000000000 t {V1}\t[tcp_bbr]\n"
    host = make_host(**{"sys__module__tcp_bbr__version": "3\n", "proc__kallsyms": symbols})
    found = by_key(host)["controller.bbr_version"]
    assert (found.mark, found.value) == ("unknown", None)
    assert "contradictory" in found.meaning


def test_hidden_symbols_give_no_version_of_bbr(make_host: MakeHost) -> None:
    host = make_host(**{"proc__kallsyms": "0000000000000000 T tcp_ack\n"})
    found = by_key(host)["controller.bbr_version"]
    assert found.mark == "unknown"
    assert "kernel symbols are hidden" in found.meaning
    host = make_host(**{"sys__module__tcp_bbr__version": "3\n"})
    assert by_key(host)["controller.bbr_version"].value == "v3"


@pytest.mark.parametrize(("suffix", "pack"), [("", bytes), (".xz", lzma.compress), (".gz", gzip.compress)])
def test_the_file_of_an_unloaded_module_gives_the_version_of_bbr(
    tmp_path: Path, suffix: str, pack: Callable[[bytes], bytes]
) -> None:
    file = tmp_path / f"tcp_bbr.ko{suffix}"
    file.write_bytes(pack(b"\x7fELF\0" + V1.encode() + b"\0bbr_main\0"))
    host = LocalHost(tmp_path)
    assert kernel_modules.which(host, Presence("loadable", "", f"/{file.name}")).version == "v1"
    file.write_bytes(b"\xfd7zXZ\0broken" if suffix == ".xz" else b"\x1f\x8bbroken")
    assert kernel_modules.which(host, Presence("loadable", "", f"/{file.name}")).version is None


@pytest.mark.parametrize(
    ("files", "kind"),
    [
        ({"proc__modules": "tcp_bbr 20480 1 - Live 0x0\n"}, "loaded"),
        ({"proc__modules": "veth 1 0 - Live 0x0\n"}, "built in"),
        ({}, "built in"),
    ],
)
def test_an_available_controller_is_a_module_or_built_in(make_host: MakeHost, files: dict[str, str], kind: str) -> None:
    assert presence(make_host(**files), "bbr").kind == kind


def test_a_slow_clock_source_is_a_warning(make_host: MakeHost) -> None:
    folder = "sys__devices__system__clocksource__clocksource0__"
    files = {f"{folder}current_clocksource": "hpet\n", f"{folder}available_clocksource": "tsc hpet acpi_pm \n"}
    found = findings.clocksource(make_host(**files))
    assert (found.mark, found.value) == ("warning", "hpet")
    assert found.change[0].startswith("echo tsc |")


@given(st.sampled_from(tcp_settings.SETTINGS), st.integers(0, 2**64))
def test_every_value_of_a_setting_is_explained_in_a_sentence(setting: tcp_settings.Setting, value: int) -> None:
    mark, shown, meaning = setting.interpret(value)
    assert mark in MARKS
    assert shown
    assert meaning.endswith(".")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(string.ascii_letters, max_size=6),
    lambda children: (
        st.lists(children, max_size=4)
        | st.dictionaries(
            st.sampled_from(["dst", "dev", "kind", "root", "type", "metrics", "nexthops", "congestion", "backlog"]),
            children,
            max_size=5,
        )
    ),
    max_leaves=12,
)
OUTPUTS = st.one_of(JSON.map(json.dumps), st.lists(JSON, max_size=4).map(json.dumps), st.text())


@pytest.mark.slow
@given(OUTPUTS, OUTPUTS, OUTPUTS)
def test_any_output_of_commands_gives_every_finding(routes: str, links: str, queues: str) -> None:
    host = LocalHost(Path("/nonexistent"), {ROUTES: routes, LINKS: links, QUEUES: queues})
    found = run_checks(host, tcp_settings.Path())
    assert not [finding.meaning for finding in found if "can't be parsed" in finding.meaning]
    json.dumps(as_json(found), allow_nan=False)
    for finding in found:
        assert finding.mark != "unknown" or finding.meaning


@given(
    st.dictionaries(
        st.sampled_from([*SYSCTLS, *(setting.key for setting in tcp_settings.SETTINGS)]), st.text(max_size=30)
    )
)
def test_any_content_of_files_gives_every_finding(texts: dict[str, str]) -> None:
    class HostWithTexts(LocalHost):
        def file(self, name: str) -> Reading:
            return Reading(name, by_path.get(name), "no such file")

    by_path = {str(sysctl_path(key)): text for key, text in texts.items()}
    found = run_checks(HostWithTexts(Path("/nonexistent")), tcp_settings.Path(10**9, 10**7))
    assert not [finding.meaning for finding in found if "can't be parsed" in finding.meaning]
    assert {finding.group for finding in found} == set(GROUPS)


@pytest.mark.parametrize("text", ["", " \n"])
def test_no_rows_are_no_error(text: str) -> None:
    assert rows(Reading("x", text)) == ([], "")


def test_doctor_runs_each_command_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runs = tmp_path / "runs"
    for name in ("ip", "tc"):
        (tmp_path / name).write_text(f'#!/bin/sh\necho {name} "$@" >> {runs}\necho "[]"\n')
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    run_checks(LocalHost(), tcp_settings.Path())
    commands = runs.read_text().splitlines()
    assert "ip -j route show table all" in commands
    assert sorted(set(commands)) == sorted(commands)
