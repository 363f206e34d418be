"""Files that an experiment references: traces and tc scripts."""

import resource
from collections.abc import Iterable
from pathlib import Path

import pytest

from dumbbell.errors import ExperimentError
from dumbbell.plan import make, plan_case
from dumbbell.spec import parse
from dumbbell.spec.attachments import Attachments

OPPORTUNITY_BYTES = 1504
"""What Mahimahi counts for one opportunity: 1500 bytes of IP and 4 of its tunnel."""

FLOW = '[[flows]]\ncc = "cubic"\n'


def attach(folder: Path, *, trace: str | None = None, script: str | None = None) -> None:
    bottleneck = f'[path.bottleneck]\nrate_trace = "{trace}"\n' if trace is not None else ""
    tc = f'[path.tc]\ninterface = "eth0"\nscript = "{script}"\n' if script is not None else ""
    text = f'duration = "1s"\n[path]\nrtt = "10ms"\n{bottleneck}{tc}{FLOW}'
    plan_case(parse(text, folder / "mine.toml")[0], 1)


def error_of(folder: Path, **attachments: str) -> ExperimentError:
    with pytest.raises(ExperimentError) as caught:
        attach(folder, **attachments)
    return caught.value


KINDS = ["trace", "script"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "name", ["../secret", "inner/../../secret", "/etc/passwd", "..", "/dev/zero", "/proc/self/environ"]
)
def test_a_file_outside_the_folder_is_not_read(tmp_path: Path, kind: str, name: str) -> None:
    home = tmp_path / "home"
    (home / "inner").mkdir(parents=True)
    (tmp_path / "secret").write_text("1\n")
    error = error_of(home, **{kind: name})
    assert error.problem == "a file outside the folder of the file that names it"
    assert error.value == name
    assert error.file == str(home / "mine.toml")
    assert error.right == "put the file itself beside the one that names it, and write its plain name"


@pytest.mark.parametrize("kind", KINDS)
def test_a_symbolic_link_is_not_followed(tmp_path: Path, kind: str) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (tmp_path / "secret").write_text("1\n")
    (home / "link").symlink_to(tmp_path / "secret")
    (home / "folder").symlink_to(tmp_path)
    for name in ("link", "folder/secret"):
        assert error_of(home, **{kind: name}).problem.startswith("a link, which could lead outside")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["nothing", "no/thing"])
def test_a_missing_file_is_an_error_with_its_expected_folder(tmp_path: Path, kind: str, name: str) -> None:
    error = error_of(tmp_path, **{kind: name})
    assert (error.problem, error.value, error.right) == ("no such file", name, f"it must be in {tmp_path}")
    assert error.key == ("path.bottleneck.rate_trace" if kind == "trace" else "path.tc.script")


@pytest.mark.parametrize(
    ("content", "line"),
    [
        ("1\nx\n", 2),
        ("5\n4\n", 2),
        ("-1\n", 1),
        ("1.5\n", 1),
        ("1 2\n", 1),
        ("# fine\n\n1\n$(reboot)\n", 4),
        ("0x10\n", 1),
    ],
)
def test_a_malformed_trace_is_an_error_with_its_line(tmp_path: Path, content: str, line: int) -> None:
    (tmp_path / "trace").write_text(content)
    error = error_of(tmp_path, trace="trace")
    text = content.splitlines()[line - 1]
    assert error.problem == f"trace: line {line}: not a Mahimahi trace ('{text}')"
    assert (error.key, error.file) == ("path.bottleneck.rate_trace", str(tmp_path / "mine.toml"))
    assert "a whole number of milliseconds" in error.right


@pytest.mark.parametrize("content", ["", "\n\n", "# nothing\n", "0\n0\n"])
def test_a_trace_without_a_time_is_empty(tmp_path: Path, content: str) -> None:
    (tmp_path / "trace").write_text(content)
    assert error_of(tmp_path, trace="trace").problem == "trace: the trace is empty"


def test_a_trace_that_is_not_text_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "trace").write_bytes(b"\xff\xfe")
    assert "can't be read" in error_of(tmp_path, trace="trace").problem


def test_an_error_in_a_script_names_its_line(tmp_path: Path) -> None:
    (tmp_path / "lab.sh").write_text("# mine\ntc qdisc add dev eth0 root pfifo limit 10 ; reboot\n")
    error = error_of(tmp_path, script="lab.sh")
    assert error.problem.startswith("line 2 ('tc qdisc add dev eth0 root pfifo limit 10 ; reboot'): ")
    assert (error.key, error.file) == ("path.tc", str(tmp_path / "mine.toml"))


def test_commands_in_the_experiment_s_file_are_read_the_same_way(tmp_path: Path) -> None:
    text = 'duration = "1s"\n[path]\nrtt = "1ms"\n[path.tc]\ninterface = "eth0"\ncommands = """\n{}\n"""\n' + FLOW
    good = plan_case(
        parse(text.format("tc qdisc add dev eth0 root handle 1: pfifo limit 10"), tmp_path / "mine.toml")[0], 1
    )
    assert "tc-1" in [queue.name for queue in good.queues]
    with pytest.raises(
        ExperimentError, match=r"line 1 .'reboot'.: 'reboot' is not a command that an experiment may hold"
    ):
        plan_case(parse(text.format("reboot"), tmp_path / "mine.toml")[0], 1)


def rates_of(times_ms: Iterable[int], step_ms: int, duration_ns: int) -> list[tuple[int, int]]:
    """The rates of a trace with these times."""
    content = "# a trace\n" + "".join(f"{time}\n" for time in times_ms)
    return _rates(content.encode(), step_ms * 10**6, duration_ns)


def _rates(content: bytes, step_ns: int, duration_ns: int) -> list[tuple[int, int]]:
    bottleneck = f'[path.bottleneck]\nrate_trace = "a"\nrate_trace_step = "{step_ns}ns"\n'
    text = f'duration = "{duration_ns}ns"\n[path]\nrtt = "10ms"\n{bottleneck}{FLOW}'
    attached = Attachments({"path.bottleneck.rate_trace": content})
    plan = make(parse(text, Path("mine.toml"))[0].experiment, attached, 1)
    return next(queue.limits for queue in plan.queues if queue.name == plan.bottleneck)


def test_one_packet_a_millisecond_is_12_mbit() -> None:
    assert rates_of(range(1, 101), 100, 10**9) == [(0, OPPORTUNITY_BYTES * 8 * 1000)]


def test_a_trace_repeats_and_only_changes_are_kept() -> None:
    """Two packets in the first 10 ms, four in the second, repeated."""
    times = [5, 10, 12, 14, 16, 20]
    packet_bits = OPPORTUNITY_BYTES * 8
    slow, fast = 2 * packet_bits * 100, 4 * packet_bits * 100
    assert rates_of(times, 10, 40_000_000) == [(0, slow), (10_000_000, fast), (20_000_000, slow), (30_000_000, fast)]


def mean_bps(rates: list[tuple[int, int]], duration_ns: int) -> float:
    ends = [at for at, _ in rates[1:]] + [duration_ns]
    return sum(rate * (end - at) for (at, rate), end in zip(rates, ends, strict=True)) / duration_ns


@pytest.mark.parametrize("step_ms", [1, 7, 100, 1_000, 10_000])
@pytest.mark.parametrize(
    ("times", "bps"),
    [
        ([1], 12_032_000),
        (range(1, 1051), 12_032_000),
        ([1000], 12_032),
        ([250, 500, 750, 1000], 48_128),
        (sorted([1, 1, 1, 7, 30, 31, 64, 65, 99, 100]), 1_203_200),
        ([0, 3, 3, 3, 7], 5 * 12_032_000 / 7),
    ],
    ids=["12 Mbit/s", "1050 lines", "12 kbit/s", "48 kbit/s", "uneven", "7 ms"],
)
def test_the_mean_of_a_trace_holds_at_every_step_and_length(times: Iterable[int], bps: float, step_ms: int) -> None:
    duration_ns = 210 * 10**9 if step_ms > 1 else 21 * 10**9
    assert mean_bps(rates_of(times, step_ms, duration_ns), duration_ns) == pytest.approx(bps, rel=1e-3)


def test_a_step_is_not_rounded_to_milliseconds() -> None:
    """One packet in the first millisecond, two in the second."""
    rates = [round(packets * OPPORTUNITY_BYTES * 8 / 1.5e-3) for packets in (2, 2.5)]
    assert _rates(b"1\n2\n2\n", 1_500_000, 6_000_000) == [(0, rates[0]), (3_000_000, rates[1])]


def test_a_pause_is_one_packet_long() -> None:
    """Three packets in the last tenth of a second: the first is under way for the nine tenths before."""
    pause, rest = round(OPPORTUNITY_BYTES * 8 / 0.9), 2 * OPPORTUNITY_BYTES * 8 * 10
    assert rates_of([950, 960, 1000], 100, 2 * 10**9) == [
        (0, pause), (900_000_000, rest), (10**9, pause), (1_900_000_000, rest),
    ]  # fmt: skip


def test_the_only_packet_of_a_step_is_under_way_since_the_last() -> None:
    first, second = rates_of([1, 1000], 100, 10**9)
    assert first == (0, OPPORTUNITY_BYTES * 80)
    assert second == (10**8, round(OPPORTUNITY_BYTES * 8 / 0.9))


@pytest.mark.parametrize("fault", ["bytes that are no text", "a zero byte", "a name of 300 letters", "a loop of links"])
def test_an_unreadable_script_is_an_error(tmp_path: Path, fault: str) -> None:
    (tmp_path / "bytes").write_bytes(b"\xff\xfe tc")
    (tmp_path / "loop").symlink_to("loop")
    names = {
        "bytes that are no text": "bytes",
        "a zero byte": "a\\u0000b",
        "a name of 300 letters": "a" * 300,
        "a loop of links": "loop",
    }
    error_of(tmp_path, script=names[fault])


def test_a_number_of_5000_digits_is_no_trace(tmp_path: Path) -> None:
    (tmp_path / "trace").write_text("9" * 5000 + "\n")
    error_of(tmp_path, trace="trace")


def test_a_very_long_trace_needs_little_memory() -> None:
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (8 << 30, before[1]))
    try:
        assert len(rates_of([999_999_999], 100, 10**9)) == 1
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)
