"""Any text gives a value or the documented error, for the parsers without such a test in their own file."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dumbbell.analysis.expect import parse_expectation
from dumbbell.errors import DumbbellError, ResultError
from dumbbell.plan import make
from dumbbell.results.result import load
from dumbbell.spec import parse
from dumbbell.spec.attachments import Attachments
from dumbbell.spec.units import Wrong, value_of
from spec.scripts import read_script

LINES = st.lists(st.one_of(st.integers(-5, 10**6).map(str), st.text(max_size=20)), max_size=30)
TC = st.lists(
    st.sampled_from("tc qdisc class filter add dev eth0 root parent 1: handle netem loss 1% htb rate".split())
)
SAME_FOLDER = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


@SAME_FOLDER
@given(LINES)
def test_any_text_is_a_trace_or_an_error(lines: list[str]) -> None:
    content = "\n".join(lines).encode(errors="surrogatepass")
    text = 'duration = "1s"\n[path]\nrtt = "1ms"\n[path.bottleneck]\nrate_trace = "a"\n[[flows]]\ncc = "cubic"\n'
    try:
        plan = make(
            parse(text, Path("mine.toml"))[0].experiment, Attachments({"path.bottleneck.rate_trace": content}), 1
        )
    except (DumbbellError, Wrong):
        return
    rates = next(queue.limits for queue in plan.queues if queue.name == plan.bottleneck)
    assert list(rates) == sorted(rates)
    assert rates[0][0] == 0
    assert all(rate > 0 for _, rate in rates)


@given(st.one_of(st.text(max_size=60), st.from_regex(r"[a-z.]{1,9} ?(<|in|==) ?[0-9.n]{0,9}")))
def test_any_text_is_an_expectation_or_an_error(text: str) -> None:
    try:
        expected = parse_expectation(text)
    except ValueError:
        return
    assert expected.metric
    assert expected.operator in ("<", "<=", ">", ">=", "==", "in")


@given(st.lists(st.one_of(st.text(max_size=60), TC.map(" ".join)), max_size=5))
def test_any_text_is_a_script_or_wrong(lines: list[str]) -> None:
    try:
        script = read_script(lines, "eth0")
    except Wrong:
        return
    assert all(command.startswith("tc ") for command in script.commands)


@given(st.sampled_from(["loss", "distribution", "reorder", "duplicate", "corrupt"]), st.text(max_size=40))
def test_any_text_is_a_netem_option_or_wrong(option: str, text: str) -> None:
    try:
        tokens = str(value_of(option, text))
    except Wrong:
        return
    assert tokens.split() == text.split()


@SAME_FOLDER
@given(st.one_of(st.binary(max_size=60), st.sampled_from([b"{}", b"[]", b'{"format": 99}', b'{"format": 1}'])))
def test_any_bytes_as_a_manifest_are_an_error(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "run.json").write_bytes(content)
    with pytest.raises(ResultError):
        load(tmp_path)
