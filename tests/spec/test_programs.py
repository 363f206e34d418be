"""`[[programs]]`: how programs are parsed and planned, and their errors."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dumbbell.errors import ExperimentError
from dumbbell.plan import plan_case
from dumbbell.spec import Case, parse
from dumbbell.spec.typed import TypedCommand, with_typed
from dumbbell.spec.units import Wrong, value_of
from engines.measured import CUBIC, experiment


def case(programs: str, rest: str = "") -> Case:
    return parse(experiment(rest + programs), Path("x.toml"))[0]


def program(more: str = "", *, name: str = "p", on: str = "sender", run: str = '"true"') -> str:
    return f'[[programs]]\nname = "{name}"\non = "{on}"\nrun = {run}\n{more}\n'


def test_a_command_is_split_as_a_shell_splits_it() -> None:
    assert value_of("command", "curl -w '%{a} b' \"c d\" e\\ f") == ["curl", "-w", "%{a} b", "c d", "e f"]
    assert value_of("command", ["a b", "c"]) == ["a b", "c"]


@given(st.one_of(st.text(), st.lists(st.one_of(st.text(), st.integers())), st.integers(), st.none()))
def test_any_value_is_a_command_or_wrong(value: object) -> None:
    try:
        arguments = value_of("command", value)
    except Wrong:
        return
    assert arguments
    assert all("\0" not in argument for argument in arguments)


def test_programs_without_flows_have_a_sender_and_a_receiver() -> None:
    plan = plan_case(case(program() + program(name="q", on="receiver")), 1)
    assert plan.flows == []
    assert [each.host for each in plan.programs] == ["sender", "receiver"]
    made = json.loads(plan.for_agent())
    assert made["ends_when_done"]
    assert "10.0.1.1\tsender\n" in made["programs"]["hosts_file"]


def test_a_program_runs_on_its_group_s_host_with_the_requested_controller() -> None:
    groups = '[[flows]]\nname = "far"\ncc = "bbr"\ncount = 0\naccess = { delay = "5ms" }\n' + CUBIC
    plan = plan_case(case(program('group = "far"\ncc = "bbr"') + program('group = "cubic"', name="q"), groups), 1)
    assert [each.host for each in plan.programs] == ["sender1", "sender"]
    assert [setup_command.line for setup_command in plan.setup if "tcp_congestion_control" in setup_command.line] == [
        "sysctl -w net.ipv4.tcp_congestion_control=bbr"
    ]
    assert [flow.group for flow in plan.flows] == ["cubic"]
    # The bulk flow has no end, so the run does not end with the programs.
    assert not plan.ends_when_done


@pytest.mark.parametrize(
    ("programs", "message"),
    [
        (program(run='"it\'s"'), r"programs\.0\.run: not a command: no closing quotation"),
        (program(run="[]"), "an empty command"),
        (program('files = { "../x" = "" }'), "is not a file of the working folder"),
        (program('files = { "/etc/passwd" = "" }'), "is not a file of the working folder"),
        (program('writable = ["/proc"]'), "not a folder that can be made writable"),
        (program('writable = ["/var/../proc"]'), "not a folder that can be made writable"),
        (program("serves = 0.5"), "not a port"),
        (program("serves = false"), "not a port"),
        (program('serves = "udp/0"'), r"not a port, got 'udp/0'; such as serves = 80 for TCP, \"udp/4433\", or"),
        (program('serves = "quic/80"'), "not a port"),
        (program('serves = "udp/+80"'), "not a port"),
        (program('qlog = "../*.qlog"'), "not names of files"),
        (program('serves = 80\nstart = "1s"'), "a program that serves can't have a start"),
        (program('start = "1s"\nstop = "1s"'), "stop is before start"),
        (program('start = "5s"'), "program 'p' starts after the end"),
        (program('stop = "end"\nends = true'), "'ends' needs a program that ends by itself"),
        (program('group = "nobody"'), "no group of flows is called 'nobody', got 'nobody'; there is: none"),
        (program() + program(), "two programs called 'p'"),
        (program(name="none"), "called like a group of flows.*; .*another name, such as name = 'none-program'"),
        (program('env = { "A=B" = "" }'), "is not a variable"),
        (program("expect_status = 256"), r"programs\.0\.expect_status"),
        (program("sees_homes = true"), "unknown key 'sees_homes'"),
        ('[[flows]]\ncc = "cubic"\ncount = 0\n', "neither flows nor programs"),
    ],
)
def test_an_invalid_program_is_an_error(programs: str, message: str) -> None:
    with pytest.raises(ExperimentError, match=message):
        case(programs)


@pytest.mark.parametrize(
    ("programs", "message"),
    [
        (program(on="nowhere"), "no host is called that, got 'nowhere'; there is: sender, receiver, router"),
        (program(on="router") + program('group = "none"', name="q", on="router"), "chooses whose sender or receiver"),
        (program('cc = "bbr"') + program('cc = "reno"', name="q"), "share host 'sender', which has one default"),
    ],
)
def test_a_missing_host_or_group_is_an_error(programs: str, message: str) -> None:
    with pytest.raises(ExperimentError, match=message):
        plan_case(case(programs), 1)


def test_a_typed_command_is_added_to_the_experiment() -> None:
    command = TypedCommand(["curl", "x"], servers=["python3 -m http.server"], files=["big=1MB"], cc="bbr", flows=False)
    typed, name, names = with_typed(case(program(name="command"), CUBIC), command)
    plan = plan_case(typed, 1)
    assert (name, names) == ("command-2", frozenset({"server", "command-2"}))
    planned = json.loads(plan.for_agent())["programs"]["all"]
    assert [(each["name"], each["host"], each["serves"]) for each in planned] == [
        ("command", "sender", None), ("server", "sender", "any"), ("command-2", "receiver", None)
    ]  # fmt: skip
    (file,) = planned[1]["files"]
    assert (file["path"], file["bytes"]) == ("big", 1_000_000)
    assert plan.flows == []


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (TypedCommand(["x"], files=["big"]), "--file: not a file, got 'big'; NAME=SIZE"),
        (TypedCommand(["x"], files=["big=much"]), "--file"),
        (TypedCommand(["x"], servers=["'"]), "--server: not a command"),
        (TypedCommand(["x"], timeout="soon"), "--timeout"),
        (TypedCommand(["x"], start="9s"), "'command' starts after the end"),
        (TypedCommand([""]), "an empty command"),
        (TypedCommand(["x"], cc="BBR"), "not the name of a congestion control"),
    ],
)
def test_an_invalid_typed_command_is_an_error(command: TypedCommand, message: str) -> None:
    with pytest.raises(ExperimentError, match=message):
        with_typed(case(CUBIC), command)
