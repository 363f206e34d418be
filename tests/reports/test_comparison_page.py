"""The page of a comparison."""

from pathlib import Path

from dumbbell.analysis.comparison import Arm, Comparison, Measured, compare_runs
from dumbbell.analysis.summary import measures
from dumbbell.plots import grid_step_ns, series
from dumbbell.reports.comparison_page import comparison_page
from dumbbell.reports.comparison_text import verdict, verdict_of_all
from synthetic import Bench, Flow, alternating


def page_of(*benches: tuple[str, Bench]) -> tuple[Comparison, str]:
    arms = []
    drawn = {}
    for name, bench in benches:
        run = bench.make(Path(name))
        drawn[run.folder] = series(run, grid_step_ns(run.manifest.duration_s, 2))
        arms.append(Arm(name, (Measured(run.folder, run.manifest, measures(run)),) * 2))
    comparison = compare_runs("", arms[0], arms[1])
    return comparison, comparison_page([comparison], drawn)


def test_a_page_has_the_verdict_and_draws_both_arms() -> None:
    comparison, page = page_of(
        ("sim", Bench([Flow("a", "a", rate_bps=10e6)])), ("kernel", Bench([Flow("a", "a", rate_bps=12e6)]))
    )
    text = (
        "changed: groups.a.throughput_mbps is 20.0 % above, 5.0 % allowed; "
        "all seeds gave the same numbers: nothing in the experiment is random"
    )
    assert verdict(comparison) == text
    assert f"<strong>{text[:1].upper()}{text[1:]}.</strong>" in page
    assert 'id="figure-0"' in page
    assert "a: cwnd, packets" in page
    assert "http://" not in page.split("<script>")[0]


def test_a_page_of_long_runs_stays_below_a_megabyte_and_a_half() -> None:
    long_bench = alternating(120, 10, 0.05)
    assert len(page_of(("a", long_bench), ("b", long_bench))[1].encode()) < 1_500_000


def test_untrusted_text_is_not_executed() -> None:
    untrusted = "</script><script>alert(1)</script><img src=x onerror=alert(1)>$title"
    bench = Bench(
        [Flow(untrusted, untrusted)],
        manifest={"title": untrusted, "invalid": [untrusted], "valid": False, "command": untrusted},
    )
    page = page_of((untrusted, bench), (untrusted + "2", bench))[1]
    assert "<script>alert" not in page
    assert "<img src=x" not in page


def test_a_zero_reference_gives_differences_in_the_metric_s_unit() -> None:
    first, second = (
        Arm(
            name,
            (Measured(Path(name), {"engine": "sim", "seed": 1, "valid": True}, {"groups.a.retransmit_rate": value}),)
            * 2,
        )
        for name, value in (("a", 0.0), ("b", 0.02))
    )
    comparison = compare_runs("", first, second)
    assert verdict(comparison).startswith("changed: groups.a.retransmit_rate is 0.02 above, 0.001 allowed")
    assert verdict_of_all([comparison] * 2).startswith("changed in 2 of 2 cases; ")
