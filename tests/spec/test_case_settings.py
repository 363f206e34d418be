"""Settings of a command for keys that an experiment's cases set."""

from pathlib import Path

import pytest

from dumbbell.errors import ExperimentError
from dumbbell.spec import Case, parse

TEXT = """
duration = "1s"
[path]
rtt = "10ms"
[path.bottleneck]
rate = "10mbit"
[[flows]]
cc = "cubic"
[[flows]]
name = "second"
cc = "reno"
[[cases]]
name = "short queue"
set = { "path.bottleneck.qdisc" = "pfifo limit 10" }
[[cases]]
name = "{flows.0.cc} at {path.loss} loss"
set = { "flows.0.cc" = ["bbr", "cubic"], "path.loss" = "0.5%" }
"""


def cases(*settings: str, only: tuple[str, ...] = ()) -> list[Case]:
    return parse(TEXT, Path("mine.toml"), settings, cases=only)


def error_of(*settings: str) -> ExperimentError:
    with pytest.raises(ExperimentError) as caught:
        cases(*settings)
    return caught.value


@pytest.mark.parametrize(
    ("setting", "key", "named"),
    [
        ("path.bottleneck.qdisc=pfifo limit 50", "path.bottleneck.qdisc", "'short queue'"),
        ("path.bottleneck={ rate = '1mbit' }", "path.bottleneck", "'short queue'"),
        ("flows.0.cc=banana", "flows.0.cc", "'bbr at 0.5% loss', 'cubic at 0.5% loss'"),
        ("flows.*.cc=reno", "flows.*.cc", "'bbr at 0.5% loss', 'cubic at 0.5% loss'"),
        ("path.loss=1%", "path.loss", "'bbr at 0.5% loss', 'cubic at 0.5% loss'"),
    ],
)
def test_a_setting_that_cases_undo_is_an_error_that_names_them(setting: str, key: str, named: str) -> None:
    error = error_of(setting)
    assert error.key == key
    assert f"set by the cases {named}" in error.problem
    assert f"--set 'cases.{named.split(', ', maxsplit=1)[0][1:-1]}.{key}=…'" in error.right
    assert "--case" in error.right


def test_other_settings_reach_every_case() -> None:
    made = cases("duration=3s", "flows.second.count=4", "flows.1.cc=vegas", 'expect=["utilization <= 1"]')
    assert {case.experiment.duration for case in made} == {3 * 10**9}
    assert {(case.experiment.flows[1].count, case.experiment.flows[1].cc) for case in made} == {(4, "vegas")}


def test_a_setting_of_one_case_changes_only_that() -> None:
    made = cases("cases.short queue.path.bottleneck.qdisc=pfifo limit 50", "cases.bbr at 0.5% loss.flows.0.count=7")
    assert [case.name for case in made] == ["short queue", "bbr at 0.5% loss", "cubic at 0.5% loss"]
    queues = [case.experiment.path.bottleneck for case in made]
    assert [queue.qdisc.text for queue in queues if queue] == ["pfifo limit 50", *["pfifo limit 1000"] * 2]
    assert [case.experiment.flows[0].count for case in made] == [1, 7, 1]
    assert made[0].settings == {"path.bottleneck.qdisc": "pfifo limit 50"}


def test_a_wrong_setting_of_a_case_is_an_error() -> None:
    assert error_of("cases.short queue.flows.0.count=-1").key == "flows.0.count"
    assert "nothing is called 'long queue'" in error_of("cases.long queue.duration=2s").problem


def test_a_setting_comes_last_in_a_chosen_case() -> None:
    (case,) = cases("flows.0.cc=vegas", "path.loss=0%", only=("bbr at 0.5% loss",))
    assert (case.experiment.flows[0].cc, case.experiment.path.loss) == ("vegas", "0%")
    assert case.settings["flows.0.cc"] == "vegas"
