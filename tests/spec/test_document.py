"""Experiment files: settings, cases, and errors that name file and key."""

# Each row of the table of mistakes is one line.
# ruff: noqa: E501

import resource
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dumbbell.errors import ExperimentError
from dumbbell.spec import Case, find, load, parse, scenarios
from dumbbell.spec.document import seeds
from dumbbell.spec.units import Wrong

FILE = Path("mine.toml")
HEAD = 'duration = "1s"\n'
PATH = '[path]\nrtt = "10ms"\n'
BOTTLENECK = '[path.bottleneck]\nrate = "10mbit"\n'
FLOW = '[[flows]]\ncc = "cubic"\n'
GOOD = HEAD + PATH + BOTTLENECK + FLOW


def error_of(text: str, *settings: str) -> ExperimentError:
    with pytest.raises(ExperimentError) as caught:
        parse(text, FILE, settings)
    return caught.value


BAD = {
    "unknown key": (GOOD + "colour = 1\n", "flows.0.colour", None, "unknown key 'colour'", "there is: access, after, arrivals"),
    "a misspelt key": (GOOD + "cuont = 2\n", "flows.0.cuont", None, "unknown key 'cuont'", "did you mean 'count'?"),
    "key of another table": ("start_jitter = '1s'\n" + GOOD, "start_jitter", None, "unknown key 'start_jitter'", "did you mean 'flows.start_jitter'?"),
    "key of several other tables": (GOOD + "qdisc = 'red'\n", "flows.0.qdisc", None, "unknown key 'qdisc'", "did you mean 'path.bottleneck.qdisc' or"),
    "unknown key at the top": ("durtion = 1\n" + GOOD, "durtion", None, "unknown key 'durtion'", "did you mean 'duration'?"),
    "unknown discipline": (
        HEAD + PATH + BOTTLENECK + 'qdisc = "codle"\n' + FLOW,
        "path.bottleneck.qdisc",
        "codle",
        "no queueing discipline is called 'codle'",
        "did you mean 'codel'?",
    ),
    "unknown option of a discipline": (
        HEAD + PATH + BOTTLENECK + 'qdisc = "codel targt 5ms"\n' + FLOW,
        "path.bottleneck.qdisc",
        "codel targt 5ms",
        "codel has no option 'targt'",
        "did you mean 'target'?",
    ),
    "a parameter that is no number": (
        GOOD + "cc_parameters = { beta = 0.7 }\n", "flows.0.cc_parameters", None, "parameter 'beta' is neither an integer nor a word: 0.7", "such as { alpha = 3",
    ),
    "parameters that are no table": (
        GOOD + 'cc_parameters = "beta"\n', "flows.0.cc_parameters", "beta", "not a table of parameters", "such as { alpha = 3",
    ),
    "a parameter's name with a path in it": (
        GOOD + 'cc_parameters = { "../beta" = 1 }\n', "flows.0.cc_parameters", None, "'../beta' is not the name of a parameter", "such as",
    ),
    "parameters of a UDP flow": (
        HEAD + PATH + BOTTLENECK + '[[flows]]\nkind = "udp"\nrate = "1mbit"\ncc_parameters = { beta = 1 }\n',
        "flows.0.cc_parameters", None, "'cc_parameters' has no effect on a UDP flow", "no controller",
    ),
    "an unknown link to enter": (
        GOOD + 'enter = "second"\n', "flows.0.enter", None, "'enter' names no link: 'second'", "links in the order of the path: bottleneck",
    ),
    "leaving before entering": (
        HEAD + PATH + BOTTLENECK + '[[path.links]]\nname = "second"\nrate = "1mbit"\n' + FLOW + 'enter = "second"\nleave = "bottleneck"\n',
        "flows.0.leave", None, "the group's exit is before its entry", "bottleneck, second",
    ),
    "negative rate": (
        GOOD.replace("10mbit", "-10mbit"), "path.bottleneck.rate", "-10mbit", "a negative rate", "such as 80mbit",
    ),
    "rate without unit": (
        GOOD.replace('"10mbit"', "10"), "path.bottleneck.rate", 10, "a rate without a unit", "such as 80mbit",
    ),
    "zero duration": (GOOD.replace('"1s"', '"0s"'), "duration", "0s", "a time of zero", "longer than zero"),
    "negative duration": (GOOD.replace('"1s"', '"-1s"'), "duration", "-1s", "a negative time", "such as 13ms"),
    "no duration": (GOOD.replace(HEAD, ""), "duration", None, "this key is missing", 'duration = "60s"'),
    "no rtt": (HEAD + "[path]\n" + BOTTLENECK + FLOW, "path.rtt", None, "this key is missing", 'rtt = "13ms"'),
    "no flows": (HEAD + PATH + BOTTLENECK, "flows", None, "this key is missing", "[[flows]]"),
    "no bottleneck": (HEAD + PATH + FLOW, "path.bottleneck", None, "no bottleneck", "[path.bottleneck]"),
    "no rate": (HEAD + PATH + "[path.bottleneck]\n" + FLOW, "path.bottleneck.rate", None, "no rate", "80mbit"),
    "rate and trace": (HEAD + PATH + BOTTLENECK + 'rate_trace = "t"\n' + FLOW, "path.bottleneck.rate_trace", None, "both a rate and a trace", ""),
    "controller that is no name": (
        GOOD.replace('"cubic"', '"cubic; reboot"'), "flows.0.cc", "cubic; reboot", "not the name of a congestion control", "cubic, bbr",
    ),
    "flow without controller": (HEAD + PATH + BOTTLENECK + "[[flows]]\ncount = 1\n", "flows.0.cc", None, "'cc' goes with TCP flows", ""),
    "name with a newline": (GOOD + 'name = "a\\nb"\n', "flows.0.name", "a\nb", "not a name", "letters, digits"),
    "name that leads up": (GOOD + 'name = "../../etc"\n', "flows.0.name", "../../etc", "not a name", "letters, digits"),
    "name with a command": (GOOD + 'name = "a;reboot"\n', "flows.0.name", "a;reboot", "not a name", "letters, digits"),
    "name with a substitution": (GOOD + 'name = "$(reboot)"\n', "flows.0.name", "$(reboot)", "not a name", "letters, digits"),
    "not a boolean": (GOOD + 'delayed_ack = "often"\n', "flows.0.delayed_ack", "often", "not a boolean", "true or false"),
    "ECN that is no word": (GOOD + 'ecn = "often"\n', "flows.0.ecn", "often", "not one of the choices", "'accecn'"),
    "DCTCP without ECN": (
        GOOD.replace('"cubic"', '"dctcp"\necn = "off"'), "flows.0.ecn", "off", "a controller that needs ECN, without ECN", "reno",
    ),
    "DCTCP where no host has ECN": (
        GOOD.replace('"cubic"', '"dctcp"') + '[tcp]\necn = "off"\n', "flows.0.cc", "dctcp", "'dctcp' needs ECN", "leave tcp.ecn out",
    ),
    "a group's ECN where no host has it": (
        GOOD + 'ecn = "classic"\n[tcp]\necn = "off"\n', "flows.0.ecn", "classic", "tcp.ecn = \"off\" is for all hosts", "",
    ),
    "UDP with Accurate ECN": (
        HEAD + PATH + BOTTLENECK + '[[flows]]\nkind = "udp"\nrate = "1mbit"\necn = "accecn"\n',
        "flows.0.ecn", "accecn", "Accurate ECN is TCP's", "classic",
    ),
    "no arrivals": (GOOD + 'bytes = "1MB"\narrivals = "5"\n', "flows.0.arrivals", "5", "not a rate of arrivals", "'10/s'"),
    "share of 120": (
        HEAD + PATH + 'loss = "120%"\n' + BOTTLENECK + FLOW, "path.loss", "120%", "netem has no option '120%'", "netem takes",
    ),

    "sysctl of another kind": (
        GOOD + "[tcp]\nsysctl = { 'kernel.core_pattern' = '|x' }\n", "tcp.sysctl", None,
        "'kernel.core_pattern' is not a setting that an experiment may change", "net.ipv4.*",
    ),
    "sysctl that leads up": (
        GOOD + "[tcp]\nsysctl = { 'net.ipv4.tcp_x/../../kernel' = '1' }\n", "tcp.sysctl", None,
        "is not a setting that an experiment may change", "net.ipv4.*",
    ),
    "sysctl's value with a newline": (
        GOOD + '[tcp]\nsysctl = { "net.ipv4.tcp_x" = "1\\n2" }\n', "tcp.sysctl", None, "is not a plain value", "net.ipv4.*",
    ),
    "change of no link": (
        GOOD + '[[changes]]\nat = "0.5s"\nlink = "x"\nrate = "1mbit"\n', "changes.0.link", None, "unknown link in a change: 'x'", "bottleneck",
    ),
    "change of nothing": (GOOD + '[[changes]]\nat = "0.5s"\n', "changes.0", None, "the change has no values", "give rate"),
    "flow that starts after the end": (GOOD + 'start = "2s"\n', "flows.0.start", None, "starts after the end", "start it before"),
    "UDP without a rate": (HEAD + PATH + BOTTLENECK + '[[flows]]\nkind = "udp"\n', "flows.0.rate", None, "a UDP flow without a rate", "1mbit"),
    "expectation of no form": ('expect = ["bbr wins"]\n' + GOOD, "expect.0", "bbr wins", "is not an expectation", "groups.bbr.share"),
    "samples without end": ('sample = "999ns"\n' + GOOD, "sample", None, "sample is below 1us", "10ms"),
    "telemetry of tc commands": (
        HEAD + '[path]\nrtt = "1ms"\ntelemetry = true\n[path.tc]\ninterface = "eth0"\ncommands = "tc qdisc add dev eth0 root pfifo"\n'
        + '[[flows]]\ncc = "bbr"\n', "path.telemetry", None, "'telemetry' with tc commands", "[path.bottleneck]",
    ),
    "seed and seeds": ("seed = 1\nseeds = [2]\n" + GOOD, "seed", None, "both 'seed' and 'seeds'", "give one"),
    "seed below zero": ("seed = -1\n" + GOOD, "seed", (-1,), "not a seed", "a whole number"),
    "case without set": (GOOD + '[[cases]]\nname = "a"\n', "cases.0", None, "a case without 'set'", "'name' and 'set'"),
    "case with a key of its own": (GOOD + "[[cases]]\nx = 1\nset = {}\n", "cases.0", None, "unknown key 'x'", "'name' and 'set'"),
    "case that expects no list": (
        GOOD + '[[cases]]\nname = "a"\nset = {}\nexpect = "x > 1"\n', "cases.0.expect", "x > 1", "not a list of expectations", "groups.bbr",
    ),
    "a source's figure without a valid metric": (
        GOOD + '[source]\ntitle = "t"\nseen = [{ what = "w", value = 1, metric = "a from 2s to 1s" }]\n',
        "source.seen.0.metric", "a from 2s to 1s", "is empty", "earlier time first",
    ),
    "unknown defaults of TCP": (
        GOOD + '[tcp]\ndefaults = "debian"\n', "tcp.defaults", "debian", "not one of the choices", "'dumbbell' or 'linux'",
    ),
    "two cases have the same name": (
        GOOD + '[[cases]]\nname = "a"\nset = {}\n' * 2, "cases.1.name", "a", "two cases have the same name", "",
    ),
    "cases that are no list": (GOOD.replace(HEAD, HEAD + "cases = 5\n"), "cases", None, "not a list of cases", "[[cases]]"),
    "not TOML": ("duration 1s", "", None, "not TOML", ""),
}  # fmt: skip


@pytest.mark.parametrize("mistake", BAD)
def test_a_mistake_is_an_error_with_file_key_value_and_remedy(mistake: str) -> None:
    text, key, value, problem, right = BAD[mistake]
    error = error_of(text)
    assert str(error).startswith("mine.toml: ")
    assert error.key == key
    assert problem in error.problem
    assert right in error.right or right in error.problem
    if value is not None and not isinstance(value, tuple):
        assert f"got {value!r}" in str(error)
    assert all(expected in str(error) for expected in (key, problem))


def test_a_missing_or_unreadable_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ExperimentError, match=r"nothing\.toml: no such experiment file"):
        load(tmp_path / "nothing.toml")
    with pytest.raises(ExperimentError, match=r"can't be read: .*directory"):
        load(tmp_path)
    (tmp_path / "latin.toml").write_bytes(b"title = '\xff'")
    with pytest.raises(ExperimentError, match=r"latin\.toml: can't be read: .*codec"):
        load(tmp_path / "latin.toml")


@given(st.text())
def test_any_text_is_an_experiment_or_an_error(text: str) -> None:
    with suppress(ExperimentError):
        assert parse(text, FILE)


VALUES = st.recursive(
    st.one_of(
        st.booleans(),
        st.integers(-(2**63), 2**63 - 1),
        st.floats(),
        st.text(max_size=5),
        st.sampled_from(["1s", "10mbit", "1%", "pfifo", "bbr", "a;b", "../x", "1bdp", "5ms 1ms"]),
    ),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
KEYS = st.sampled_from(
    "title duration seeds sample expect source path path.rtt path.loss path.delay path.mtu path.bottleneck path.links "
    "path.reverse path.tc path.tc.interface path.bottleneck.qdisc path.bottleneck.rate path.bottleneck.rate_trace flows "
    "flows.0 flows.0.cc flows.0.count flows.0.bytes flows.0.access flows.0.on flows.0.rate probes tcp tcp.sysctl changes".split()
)


def toml(value: object) -> str:
    """The value in TOML, on one line."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict):
        return "{" + ", ".join(f"{toml(str(key))} = {toml(inner)}" for key, inner in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(toml(inner) for inner in value) + "]"
    if isinstance(value, str):
        return '"' + "".join(f"\\U{ord(c):08x}" for c in value) + '"'
    return str(value)


@given(KEYS, VALUES)
def test_any_value_at_any_key_is_an_experiment_or_an_error(key: str, value: object) -> None:
    with suppress(ExperimentError):
        assert parse(GOOD, FILE, [f"{key}={toml(value)}"])


def test_a_setting_needs_no_quotes_and_comes_last() -> None:
    case = parse(
        GOOD, FILE, ["duration=20s", "path.bottleneck.rate=50mbit", "flows.0.count=3", "flows.cubic.ecn=classic"]
    )[0]
    experiment = case.experiment
    assert experiment.duration == 20 * 10**9
    assert experiment.path.bottleneck is not None
    assert experiment.path.bottleneck.rate == 50_000_000
    assert (experiment.flows[0].count, experiment.flows[0].ecn) == (3, "classic")
    assert parse(GOOD, FILE, ["duration=20s", "duration=30s"])[0].experiment.duration == 30 * 10**9


@pytest.mark.parametrize(
    ("setting", "problem"),
    [
        ("duration", "not a setting"),
        ("=5", "not a setting"),
        ("flows.9.cc=bbr", "nothing is called '9' here"),
        ("flows.bbr.cc=bbr", "nothing is called 'bbr' here"),
        ("duration.x=1", "'duration' holds a value, not keys"),
        ("flows.0=5", "not a table"),
        (".=5", "unknown key ''"),
        ("path.rtt=fast", "not a quantity"),
    ],
)
def test_an_invalid_setting_is_an_error(setting: str, problem: str) -> None:
    assert problem in error_of(GOOD, setting).problem


def case_settings(cases: str) -> dict[str, dict[str, Any]]:
    return {case.name: case.settings for case in parse(GOOD + cases, FILE)}


def test_lists_of_a_case_are_crossed_and_name_the_cases() -> None:
    cases = case_settings(
        '[[cases]]\nname = "{flows.0.cc} at {path.loss} loss"\n'
        'set = { "path.loss" = ["0%", "1%"], "flows.0.cc" = ["cubic", "bbr"] }\n'
    )
    assert list(cases) == ["cubic at 0% loss", "bbr at 0% loss", "cubic at 1% loss", "bbr at 1% loss"]
    assert cases["bbr at 1% loss"] == {"path.loss": "1%", "flows.0.cc": "bbr"}


def test_a_case_without_a_name_is_named_by_its_values() -> None:
    assert list(case_settings('[[cases]]\nset = { "path.loss" = ["0%", "1%"], duration = "2s" }\n')) == [
        "0%, 2s",
        "1%, 2s",
    ]


def test_a_name_of_several_cases_gets_their_values_appended() -> None:
    assert list(case_settings('[[cases]]\nname = "loss"\nset = { "path.loss" = ["0%", "1%"] }\n')) == [
        "loss 0%",
        "loss 1%",
    ]


def test_a_case_changes_its_own_experiment_only() -> None:
    cases = parse(
        GOOD + '[[cases]]\nset = { "flows.0.count" = [1, 2] }\n[[cases]]\nname = "as it is"\nset = {}\n', FILE
    )
    assert [case.experiment.flows[0].count for case in cases] == [1, 2, 1]


def test_an_error_in_a_case_names_the_case() -> None:
    error = error_of(GOOD + '[[cases]]\nname = "bad"\nset = { "path.rtt" = "x" }\n')
    assert error.file == "mine.toml (case 'bad')"


def test_more_than_ten_thousand_cases_are_refused() -> None:
    numbers = list(range(1, 102))
    text = f'[[cases]]\nset = {{ "flows.0.count" = {numbers}, "flows.0.initial_window" = {numbers} }}\n'
    assert "10,201 cases, more than 10,000" in error_of(GOOD + text).problem


def test_a_file_without_cases_is_one_experiment_with_the_file_s_name() -> None:
    cases = parse(GOOD, FILE)
    assert [(case.name, case.experiment.title) for case in cases] == [("", "mine")]
    assert isinstance(cases[0], Case)


@pytest.mark.parametrize(
    ("written", "read"),
    [
        (7, (7,)),
        ("7", (7,)),
        ("1..5", (1, 2, 3, 4, 5)),
        ([1, 2, 7], (1, 2, 7)),
        (0, (0,)),
        (2**63 - 1, (2**63 - 1,)),
    ],
)
def test_seeds(written: object, read: tuple[int, ...]) -> None:
    assert seeds(written) == read


@pytest.mark.parametrize("written", [-1, 2**63, 1.5, True, [], "5..1", "1..", "a", [1, "2"], None, "1..20000"])
def test_an_invalid_seed_is_an_error(written: object) -> None:
    with pytest.raises(Wrong, match="not a seed"):
        seeds(written)


def test_a_case_has_the_file_s_expectations_and_then_its_own() -> None:
    cases = parse(
        'expect = ["jain > 0.5"]\n' + GOOD + '[[cases]]\nname = "a"\nset = {}\n'
        '[[cases]]\nname = "{path.loss}"\nset = { "path.loss" = ["1%", "2%"] }\nexpect = ["cycle == null"]\n',
        FILE,
    )
    assert [(case.name, case.experiment.expect) for case in cases] == [
        ("a", ("jain > 0.5",)),
        ("1%", ("jain > 0.5", "cycle == null")),
        ("2%", ("jain > 0.5", "cycle == null")),
    ]


def test_groups_are_numbered_when_a_name_is_taken() -> None:
    text = GOOD + FLOW + '[[flows]]\ncc = "bbr"\n' + FLOW + '[[flows]]\ncc = "bbr"\nname = "mine"\n'
    assert parse(text, FILE)[0].experiment.group_names == ("cubic", "cubic-2", "bbr", "cubic-3", "mine")


def test_every_scenario_is_a_valid_experiment() -> None:
    for name, file in scenarios().items():
        cases = load(file)
        assert cases, name
        assert all(case.experiment.source for case in cases), f"{name} names no source"


def test_an_unknown_scenario_is_an_error_with_a_suggestion() -> None:
    with pytest.raises(ExperimentError, match="no scenario is called 'cylcic'; did you mean 'cyclic'"):
        find("cylcic")


def test_a_huge_range_of_seeds_is_refused_without_allocating_it() -> None:
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (8 << 30, before[1]))
    try:
        with pytest.raises(Wrong):
            seeds("1..9999999999")
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("seed = " + "9" * 5000 + "\n" + GOOD, id="a number of 5000 digits"),
        pytest.param(f'seeds = "1..{"9" * 5000}"\n' + GOOD, id="a range of 5000 digits"),
        pytest.param("x = " + "[" * 20_000 + "\n" + GOOD, id="lists nested 20000 deep"),
        pytest.param(GOOD + '[[cases]]\nname = 5\nset = { duration = "2s" }\n', id="a case whose name is a number"),
    ],
)
def test_a_hostile_document_is_an_error(text: str) -> None:
    error_of(text)


def test_a_superscript_digit_is_not_an_index() -> None:
    error_of(GOOD, "flows.²=5")


def test_an_empty_list_in_a_case_is_refused() -> None:
    error_of(GOOD + '[[cases]]\nname = "a"\nset = { duration = [] }\n')


def test_a_star_sets_a_key_of_every_group() -> None:
    experiment = parse(GOOD + FLOW + 'name = "other"\n', FILE, ["flows.*.cc=bbr"])[0].experiment
    assert [flows.cc for flows in experiment.flows] == ["bbr", "bbr"]
    assert error_of(GOOD, "path.*.rtt=1ms").problem == "'path' is not a list"
