"""The sweep file: its meaning, its errors, and that any text is a sweep or an error with a reason."""

# Each row of the table of mistakes is one line.
# ruff: noqa: E501

from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from dumbbell.errors import ExperimentError
from dumbbell.spec.built_in import find_sweep, sweeps
from dumbbell.spec.sweep import Sweep, allowed_half_width, case_at, load_sweep, parse_sweep, read_sweep, settings_at

FILE = Path("mine.toml")
EXPERIMENT = """
[experiment]
duration = "2s"
seeds = "1..2"
[experiment.path]
rtt = "20ms"
[experiment.path.bottleneck]
rate = "10mbit"
qdisc = "pfifo limit 50"
[[experiment.flows]]
name = "flow"
cc = "cubic"
"""
RTT = '[[axes]]\n"path.rtt" = ["5ms", "20ms"]\n'
BUFFER = '[set]\n"path.bottleneck.qdisc" = "bfifo limit {buffer}"\n[[axes]]\nbuffer = ["0.5bdp", "2bdp"]\n'


def read(text: str, *changes: str) -> Sweep:
    return parse_sweep(text, FILE, changes)


def error_of(text: str, *changes: str) -> ExperimentError:
    with pytest.raises(ExperimentError) as caught:
        read(text, *changes)
    return caught.value


def qdiscs(sweep: Sweep) -> list[str]:
    return [case_at(sweep, point.values).experiment.path.bottleneck.qdisc.text for point in sweep.points()]  # type: ignore[union-attr]


def test_a_sweep_is_an_experiment_at_points() -> None:
    sweep = read(EXPERIMENT + BUFFER + RTT)
    assert [dict(point.values) for point in sweep.points()][1] == {"buffer": "0.5bdp", "path.rtt": "20ms"}
    assert sweep.seeds == (1, 2)
    assert settings_at(sweep, sweep.points()[3].values) == {
        "engine": "sim", "kernel": None, "path.bottleneck.qdisc": "bfifo limit 2bdp", "path.rtt": "20ms",
    }  # fmt: skip
    assert case_at(sweep, sweep.points()[3].values).experiment.path.rtt == 20_000_000
    assert (sweep.counted.least, sweep.counted_runs.most) == (4, 8)


def test_keys_need_no_quotes() -> None:
    quoted = read(EXPERIMENT + '[set]\n"path.bottleneck.rate" = "5mbit"\n' + RTT)
    bare = read(EXPERIMENT + '[set]\npath.bottleneck.rate = "5mbit"\n' + "[[axes]]\npath.rtt = ['5ms', '20ms']\n")
    assert (bare.axes, bare.set) == (quoted.axes, quoted.set)
    ranged = read(EXPERIMENT + "[[axes]]\npath.rtt = { from = '1ms', to = '9ms', points = 3 }\n")
    assert ranged.axes[0][0].values == ("1ms", "5ms", "9ms")


def test_a_table_below_a_quoted_key_is_a_value() -> None:
    text = EXPERIMENT + '[set]\n"flows.flow.cc_parameters" = { beta = 800 }\n'
    (flow,) = case_at(read(text), {}).experiment.flows
    assert flow.cc_parameters == {"beta": 800}


def test_the_value_of_a_placeholder_may_have_placeholders() -> None:
    text = '[[axes]]\n"path.bottleneck.qdisc" = ["pfifo limit {n}", "red limit {size} avpkt 1000"]\n'
    text += '[[axes]]\nn = [10, 20]\nsize = ["{k}kb", "64kb"]\n[[axes]]\nk = [30]\n'
    assert qdiscs(read(EXPERIMENT + text)) == [
        "pfifo limit 10", "pfifo limit 20", "red limit 30kb avpkt 1000", "red limit 64kb avpkt 1000",
    ]  # fmt: skip


def test_a_text_that_is_one_placeholder_has_the_type_of_its_value() -> None:
    text = (
        EXPERIMENT
        + '[set]\n"flows.flow.count" = "{n}"\n"flows.flow.cc_parameters" = { beta = "{n}" }\n[[axes]]\nn = [600, 700]\n'
    )
    assert [settings_at(read(text), {"n": n})["flows.flow.count"] for n in (600, 700)] == [600, 700]
    assert case_at(read(text), {"n": 700}).experiment.flows[0].cc_parameters == {"beta": 700}


def test_a_scenario_and_one_of_its_cases() -> None:
    sweep = read('experiment = "bufferbloat"\ncase = "maxq 100"\n' + RTT)
    assert case_at(sweep, {"path.rtt": "5ms"}).experiment.path.bottleneck.qdisc.text == "pfifo limit 100"  # type: ignore[union-attr]


def test_an_experiment_in_the_sweep_s_folder(tmp_path: Path) -> None:
    (tmp_path / "theirs.toml").write_text(EXPERIMENT.replace("experiment.", "").replace("[experiment]", ""))
    (tmp_path / "mine.toml").write_text('experiment = "theirs.toml"\nwindow = "from 1s"\n' + RTT)
    sweep = load_sweep(tmp_path / "mine.toml")
    assert sweep.experiment_file == tmp_path / "theirs.toml"
    assert sweep.window == (10**9, None)


def test_engine_and_kernel_can_be_axes() -> None:
    sweep = read(EXPERIMENT + '[[axes]]\nengine = ["sim", "kernel"]\n')
    assert [settings_at(sweep, point.values)["engine"] for point in sweep.points()] == ["sim", "kernel"]


def test_a_setting_of_an_axis_replaces_its_values() -> None:
    def values(change: str) -> tuple[object, ...]:
        return read(EXPERIMENT + RTT, change).axes[0][0].values

    assert values("path.rtt=7ms") == ("7ms",)
    assert values('path.rtt=["7ms", "8ms"]') == ("7ms", "8ms")
    assert values('path.rtt={ from = "1ms", to = "9ms", points = 3 }') == ("1ms", "5ms", "9ms")


def test_a_setting_changes_the_sweep_s_key_or_else_the_experiment_s() -> None:
    changes = (
        "seeds=1..3",
        "engine=kernel",
        "until.metric=utilization",
        "until.half_width=5%",
        "metrics=jain",
        "duration=1s",
    )
    sweep = read(EXPERIMENT + RTT, *changes)
    assert (sweep.seeds, sweep.engine, sweep.metrics, sweep.set) == (
        (1, 2, 3),
        "kernel",
        ("jain", "utilization"),
        {"duration": "1s"},
    )
    assert sweep.until
    assert allowed_half_width(sweep.until, 0.8) == pytest.approx(0.04)


def test_the_document_with_its_settings_gives_the_same_sweep() -> None:
    sweep = read(EXPERIMENT + BUFFER + RTT, "seeds=1..3", "path.rtt=7ms", "duration=1s")
    assert read_sweep(sweep.document, FILE) == sweep


def test_validate_is_restricted_to_the_remaining_values() -> None:
    text = EXPERIMENT + RTT + '[validate]\nengine = "kernel"\nat = { "path.rtt" = ["5ms"] }\n'
    assert [point.values["engine"] for point in read(text).points()] == ["sim", "kernel", "sim"]
    assert [point.values["engine"] for point in read(text, 'path.rtt=["1ms", "5ms"]').points()] == [
        "sim",
        "sim",
        "kernel",
    ]
    assert read(text, "path.rtt=1ms").validate is None


def test_metrics_of_until_and_refine_are_kept() -> None:
    text = 'metrics = ["queue.*"]\n' + EXPERIMENT + RTT
    text += '[until]\nmetric = "queue.drops"\nhalf_width = 1\n[refine]\nmetric = "utilization"\naxes = ["path.rtt"]\nmost = 5\n'
    assert read(text).metrics == ("queue.*", "utilization")
    assert (read(text).counted.most, read(text).counted_runs.least, read(text).counted_runs.most) == (5, 20, 500)


BAD = {
    "no experiment": (RTT, "experiment", "this key is missing", 'experiment = "cyclic"'),
    "no such experiment": ('experiment = "cyclick"\n', "experiment", "no scenario is called 'cyclick'", "did you mean 'cyclic'"),
    "an experiment of cases": ('experiment = "bufferbloat"\n', "cases", "several cases", "maxq 10; maxq 100"),
    "no such case": ('experiment = "bufferbloat"\ncase = "x"\n', "experiment", "no case is called 'x'", "maxq 10; maxq 100"),
    "a misspelt key": ("sedes = 1\n" + EXPERIMENT, "sedes", "unknown key 'sedes'", "did you mean"),
    "a misspelt key in until": (EXPERIMENT + RTT + '[until]\nmetric = "jain"\nhalfwidth = 1\n', "until.halfwidth", "unknown key 'halfwidth'", "did you mean 'half_width'"),
    "seeds": ('seeds = "a"\n' + EXPERIMENT, "seeds", "not a seed", '"1..5"'),
    "more seeds than cases": ('seeds = "1..10001"\n' + EXPERIMENT, "seeds", "10,001 seeds, more than 10,000", "DUMBBELL_LIMITS=cases=10001"),
    "a half-width without digits": (EXPERIMENT + RTT + '[until]\nmetric = "jain"\nhalf_width = ".5%"\n', "until.half_width", "not a half-width", '"5%"'),
    "tables of one value": (EXPERIMENT + '[[axes]]\n"flows.flow.cc_parameters" = [{ alpha = 1, beta = 2 }, { beta = 2, alpha = 1 }]\n', "axes.0", "a point is listed twice", "seeds"),
    "a seed twice": ("seeds = [1, 1]\n" + EXPERIMENT, "seeds", "a seed is listed twice", "each once"),
    "window": ('window = "5s"\n' + EXPERIMENT, "window", "not a window", "from 5s to 60s"),
    "window after the end": ('window = "from 5s"\n' + EXPERIMENT, "window", "after the end", "2 s"),
    "keep": ('keep = "all"\n' + EXPERIMENT, "keep", "not one of the choices", "'metrics' or 'runs'"),
    "an empty table": (EXPERIMENT + "[[axes]]\n", "axes.0", "a table without an axis", "path.rtt"),
    "an empty axis": (EXPERIMENT + '[[axes]]\n"path.rtt" = []\n', "axes.0.path.rtt", "not a list of values", "points = 5"),
    "a date": (EXPERIMENT + "[[axes]]\nx = [2020-01-01]\n", "axes.0.x.0", "a type that experiments can't have", "numbers, texts"),
    "uneven": (EXPERIMENT + '[[axes]]\n"path.rtt" = ["1ms"]\nduration = ["1s", "2s"]\n', "axes.0", "different lengths", "an [[axes]] of its own"),
    "a point twice": (EXPERIMENT + '[[axes]]\n"path.rtt" = ["1ms", "1ms"]\n', "axes.0", "a point is listed twice", "seeds"),
    "an axis twice": (EXPERIMENT + RTT + RTT, "axes.path.rtt", "two axes of one key", "one of them"),
    "an axis, and set": (EXPERIMENT + RTT + '[set]\n"path.rtt" = "1ms"\n', "set.path.rtt", "the axis would win", "one of them"),
    "seeds as an axis": (EXPERIMENT + "[[axes]]\nseeds = [1, 2]\n", "axes.seeds", "not an axis", "at the top"),
    "a column as an axis": (EXPERIMENT + "[[axes]]\nstatus = [1, 2]\n", "axes.status", "not an axis", "another name"),
    "engines that are no names": (EXPERIMENT + "[[axes]]\nengine = [1, 2]\n", "axes.engine", "not names", '"sim"'),
    "engine in set": (EXPERIMENT + '[set]\nengine = "sim"\n', "set.engine", "not a setting of the experiment", "top of the file"),
    "an unfilled placeholder": (EXPERIMENT + '[set]\n"path.rtt" = "{rtt}"\n', "set", "{rtt} is filled by no axis", "there is: none"),
    "a circle": (EXPERIMENT + '[[axes]]\na = ["{b}"]\n[[axes]]\nb = ["{a}"]\n', "axes.a", "fills itself through", "without a circle"),
    "a placeholder with a dot": (EXPERIMENT + RTT + '[set]\n"path.bottleneck.qdisc" = "codel target {path.rtt}"\n', "set.path.bottleneck.qdisc", "fills no placeholder", "without dots"),
    "a billion laughs": (
        EXPERIMENT + '[set]\ntitle2 = "{a}"\n' + "".join(f'[[axes]]\n{low} = ["{{{high}}}{{{high}}}{{{high}}}{{{high}}}"]\n' for low, high in zip("abcdefghi", "bcdefghij", strict=True)) + '[[axes]]\nj = ["xxxx"]\n',
        "title2", "too long", "characters",
    ),
    "no such level": (EXPERIMENT + '[[axes]]\n"path.rtt" = ["5parsec"]\n', "path.rtt", "'parsec' is not a unit of time", "13ms"),
    "no such key": (EXPERIMENT + '[[axes]]\n"path.rrt" = ["5ms"]\n', "path.rrt", "unknown key 'rrt'", "rtt"),
    "half-width": (EXPERIMENT + RTT + '[until]\nmetric = "jain"\nhalf_width = "wide"\n', "until.half_width", "not a half-width", '"5%"'),
    "half-width of nothing": (EXPERIMENT + RTT + '[until]\nmetric = "jain"\nhalf_width = 0\n', "until.half_width", "not a half-width", '"5%"'),
    "least and most": (EXPERIMENT + RTT + '[until]\nmetric = "jain"\nhalf_width = 1\nleast = 9\nmost = 8\n', "until", "at least 9 runs of a point, and at most 8", "below"),
    "more seeds than most": ('seeds = "1..9"\n' + EXPERIMENT + RTT + '[until]\nmetric = "jain"\nhalf_width = 1\nleast = 2\nmost = 8\n', "until.most", "9 seeds already", "at least"),
    "a metric with a window": (EXPERIMENT + RTT + '[until]\nmetric = "jain from 1s"\nhalf_width = 1\n', "until.metric", "a metric can't have a window of its own", "window"),
    "refine an unknown axis": (EXPERIMENT + RTT + '[refine]\nmetric = "jain"\naxes = ["path.rttt"]\nmost = 9\n', "refine.axes", "no axis of this key", "path.rtt"),
    "refine an axis of names": (EXPERIMENT + '[[axes]]\n"flows.flow.cc" = ["bbr", "cubic"]\n[refine]\nmetric = "jain"\naxes = ["flows.flow.cc"]\nmost = 9\n', "refine.axes", "has no middle", "numbers"),
    "refine an axis that varies with another": (EXPERIMENT + '[[axes]]\n"path.rtt" = ["5ms", "6ms"]\nduration = ["1s", "2s"]\n[refine]\nmetric = "jain"\naxes = "path.rtt"\nmost = 9\n', "refine.axes", "varies together", "of its own"),
    "refine one number": (EXPERIMENT + '[[axes]]\n"path.rtt" = ["1s", "1000ms"]\n[refine]\nmetric = "jain"\naxes = "path.rtt"\nmost = 9\n', "refine.axes", "one number", "once"),
    "refine to fewer": (EXPERIMENT + RTT + '[refine]\nmetric = "jain"\naxes = ["path.rtt"]\nmost = 1\n', "refine.most", "2 points already", "more"),
    "a difference of nothing": (EXPERIMENT + RTT + '[[maps]]\nx = "path.rtt"\nvalue = "jain"\ndifference = "engin=sim,kernel"\n', "maps.0.difference", "no axis of this key", "path.rtt"),
    "a map of nothing": (EXPERIMENT + RTT + '[[maps]]\nx = "path.rt"\nvalue = "jain"\n', "maps.0.x", "no axis of this key", "did you mean 'path.rtt'"),
    "too many runs": (EXPERIMENT + '[set]\n"path.bottleneck.qdisc" = "pfifo limit {a}{b}{c}"\n' + "".join(f"[[axes]]\n{name} = {{ from = 1, to = 10000, points = 10000 }}\n" for name in "abc"), "axes", "2000000000000 runs, of 10000 × 10000 × 10000 points", "at most 1,000,000 runs"),
    "too deep": (EXPERIMENT + "[set]\n" + ".".join("a" * 3000) + " = 1\n", "", "tables within tables", "fewer"),
}  # fmt: skip


@pytest.mark.parametrize(("text", "key", "problem", "right"), BAD.values(), ids=BAD)
def test_a_mistake_is_an_error_with_key_problem_and_remedy(text: str, key: str, problem: str, right: str) -> None:
    error = error_of(text)
    assert str(FILE) in error.file
    assert error.key == key
    assert problem in error.problem
    assert right in error.right


def test_an_error_of_the_experiment_names_the_point() -> None:
    assert "mine.toml, at path.rtt = 5parsec" in error_of(EXPERIMENT + '[[axes]]\n"path.rtt" = ["5parsec"]\n').file


def test_the_example_of_the_docs_is_a_sweep() -> None:
    sweep = load_sweep(Path(__file__).parents[2] / "docs" / "sweeps" / "reading.toml")
    assert [each.difference for each in sweep.maps] == [None, "engine=sim,kernel", None]
    assert sweep.counted.least == 60


@pytest.mark.parametrize("change", ["axes=1", "maps=[]", "set.duration=1s", "source.title=x", "nothing"])
def test_an_invalid_setting_is_an_error(change: str) -> None:
    assert "not a setting" in error_of(EXPERIMENT + RTT, change).problem


@pytest.mark.parametrize("name", sweeps())
def test_every_built_in_sweep_reads(name: str) -> None:
    sweep = load_sweep(name)
    last = list(sweep.each_point())[-1]
    assert case_at(sweep, last.values).experiment.duration > 0
    assert sweep.source
    assert sweep.maps


def test_a_built_in_sweep_is_found_by_name() -> None:
    assert find_sweep("loss-rtt").name == "loss-rtt.toml"
    with pytest.raises(ExperimentError, match="no sweep is called 'los-rtt'; did you mean 'loss-rtt'"):
        find_sweep("los-rtt")


VALUES = st.recursive(
    st.one_of(st.booleans(), st.integers(), st.floats(), st.text(max_size=8), st.dates(),
              st.sampled_from(["5ms", "1bdp", "1..3", "{a}", "{b} {a}", "jain", "10%", "bufferbloat", "runs", "from 1s", "\0"])),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["from", "to", "points", "a", "metric", "x"]), inner, max_size=3),
    max_leaves=6,
)  # fmt: skip
KEYS = [
    "experiment",
    "case",
    "engine",
    "seeds",
    "keep",
    "metrics",
    "window",
    "set",
    "axes",
    "until",
    "refine",
    "search",
    "maps",
    "source",
    "x",
]
TABLES = {
    "set": st.dictionaries(st.sampled_from(["path.rtt", "duration", "a", "path", "seeds", ""]), VALUES, max_size=3),
    "axes": st.lists(st.dictionaries(st.sampled_from(["path.rtt", "duration", "a", "b", "engine", "path", ""]), VALUES | st.lists(VALUES, max_size=3), max_size=2), max_size=3),
    "until": st.fixed_dictionaries({"metric": VALUES, "half_width": VALUES}, optional={"least": VALUES, "most": VALUES}),
    "refine": st.fixed_dictionaries({"metric": VALUES, "axes": VALUES, "most": VALUES | st.integers(1, 99)}),
    "search": st.fixed_dictionaries({}, optional={"minimize": VALUES, "maximize": VALUES, "trials": VALUES | st.integers(1, 99), "best": VALUES}),
}  # fmt: skip
DOCUMENTS = st.dictionaries(st.sampled_from(KEYS), VALUES, max_size=3).flatmap(
    lambda base: st.fixed_dictionaries({}, optional=TABLES).map(lambda tables: {"experiment": "cyclic"} | base | tables)
)


@settings(suppress_health_check=[HealthCheck.too_slow], max_examples=settings().max_examples * 3)
@given(DOCUMENTS)
@example({"experiment": "\0"})
@example({"experiment": "x" * 5000})
@example({"experiment": "cyclic", "axes": [{"duration": [10**400]}]})
def test_any_document_is_a_sweep_or_an_error_that_names_the_file(document: dict[str, object]) -> None:
    raised, sweep = None, None
    try:
        sweep = read_sweep(document, FILE)
    except ExperimentError as error:
        raised = error
    if sweep is None:
        assert raised
        assert "mine.toml" in raised.file
        return
    for _, point in zip(range(3), sweep.each_point(), strict=False):
        assert set(point.values) == {each.key for each in sweep.every_axis}


@given(st.text(max_size=60), st.lists(st.text(max_size=30), max_size=2))
def test_any_text_is_a_sweep_or_an_error(text: str, changes: list[str]) -> None:
    with suppress(ExperimentError):
        assert parse_sweep(EXPERIMENT + text, FILE, changes).seeds
