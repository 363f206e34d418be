"""The report page of a result."""

import itertools
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from dumbbell.analysis.findings import findings
from dumbbell.errors import OutputError
from dumbbell.reports.across import across
from dumbbell.reports.experiment_section import dumbbell
from dumbbell.reports.markup import Markup, element, join, number, percent, table
from dumbbell.reports.page import page, write
from dumbbell.reports.sections import in_order, repeat_command
from dumbbell.reports.sentences import sentences
from dumbbell.results.result import Run
from dumbbell.spec import parse
from synthetic import Bench, Flow, alternating, with_manifest

SOURCE = {
    "title": "Oscillation",
    "url": "https://example.org/?a=1&b=2",
    "seen": [
        {"what": "period", "value": 8, "unit": "s", "metric": "cycle.period_s"},
        {"what": "share", "low": 0.4, "high": 0.6, "unit": "", "metric": "groups.bbr.share"},
        {"what": "wrong", "value": 1, "metric": "groups.nope.share"},
        {"what": "words of an earlier version", "value": "near 0 to near 100", "metric": "jain"},
    ],
}


class PageParser(HTMLParser):
    """Collects text and addresses; checks that every element is closed, in order."""

    VOID = frozenset({"meta", "link", "br", "hr", "img", "input"})

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.text: list[str] = []
        self.addresses: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.addresses += [value or "" for name, value in attrs if name in {"src", "href"}]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if not self.open or self.open[-1] not in {"script", "style"}:
            self.text.append(data)


def headings(text: str) -> list[int]:
    """The levels of the page's headings, in order."""
    return [int(level) for level in re.findall(r"<h([1-6])[ >]", text.split("<script>", maxsplit=1)[0])]


def read(text: str) -> PageParser:
    parser = PageParser()
    parser.feed(text)
    parser.close()
    assert parser.open == []
    return parser


def text_of(text: str) -> str:
    return " ".join(" ".join(read(text).text).split())


def test_a_page_has_the_summary() -> None:
    run = alternating(60, 10, 0.1)
    run.manifest = {"source": SOURCE, "name": "cyclic", "kernel": {"release": "6.12.117", "config_sha256": "abc123"}}
    page_text = text_of(page([run.make()]))
    for expected in (
        "Valid:",
        "bbr got 50 % of the goodput (38.0 Mbit/s)",
        "alternated with a period of",
        "The queue held 11",
        "Comparison with the source",
        "period 8 s",
        "share 0.4 to 0.6 0.5 inside groups.bbr.share",
        "unknown metric: 'groups.nope.share'",
        "dumbbell run cyclic --engine sim --seed 1",
        "tc qdisc add dev r1 root pfifo limit 150",
        "6.12.117",
        "abc123",
    ):
        assert expected in page_text


def test_an_invalid_run_has_a_red_banner_with_its_reasons() -> None:
    run = Bench([Flow("a", "a")], manifest={"valid": False, "invalid": ["12 packets were lost <in> softnet"]}).make()
    text = page([run])
    assert '<div class="banner invalid">' in text
    assert "INVALID: don't use these numbers. 12 packets were lost <in> softnet" in text_of(text)


def test_a_page_needs_no_network_and_no_file() -> None:
    assert read(page([Bench([Flow("a", "a")]).make()])).addresses == ["#main"]


def test_untrusted_text_is_not_executed() -> None:
    untrusted = "</script><script>alert(1)</script><img src=x onerror=alert(1)>$title"
    bench = Bench(
        [Flow(untrusted, untrusted)],
        manifest={
            "title": untrusted,
            "name": untrusted,
            "invalid": [untrusted],
            "valid": False,
            "warnings": [untrusted],
            "commands": [untrusted],
            "experiment": {"title": untrusted},
            "source": {
                "title": untrusted,
                "note": untrusted,
                "seen": [{"what": untrusted, "value": untrusted, "metric": untrusted}],
            },
            "host": {untrusted: untrusted},
            "kernel": {"release": untrusted},
        },
    )
    text = page([bench.make(), bench.make()])
    assert "<script>alert" not in text
    assert "<img src=x" not in text
    assert len(re.findall(r"<script>", text)) == 2
    assert untrusted in "".join(read(text).text)


@pytest.mark.slow
def test_several_runs_share_one_page_and_one_library() -> None:
    runs = [alternating(12, 4, 0.1).make(), Bench([Flow("a", "a")], manifest={"title": "Other"}).make()]
    text = page(runs)
    assert 'id="figure-1"' in text
    assert text.count("window.vegaEmbed=") == 1
    assert "2 runs" in text_of(text)
    with pytest.raises(ValueError, match="at least one"):
        page([])


@pytest.mark.slow(keep="1")
@pytest.mark.parametrize("count", [1, 2])
def test_no_heading_level_is_skipped(count: int) -> None:
    levels = headings(page([alternating(12, 4, 0.1).make()] * count))
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in itertools.pairwise(levels))


@pytest.mark.slow
def test_several_runs_have_distinct_names() -> None:
    runs = [alternating(12, 4, 0.1).make(), alternating(12, 4, 0.1).make()]
    runs[1] = with_manifest(runs[1], seed=2)
    text = page(runs)
    page_text = text_of(text)
    assert "All metrics of groups and path" in page_text
    assert "All runs on one time axis" in page_text
    assert re.search(r"<th>seed 1</th>\s*<th>seed 2</th>", text)
    assert "groups.bbr.throughput_mbps" in page_text


def test_a_long_run_stays_below_three_megabytes(tmp_path: Path) -> None:
    write([alternating(120, 10, 0.01).make()], tmp_path / "report.html")
    assert (tmp_path / "report.html").stat().st_size < 3_000_000


def test_an_unwritable_path_is_reported(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="nowhere"):
        write([Bench([]).make()], tmp_path / "nowhere" / "report.html")


@pytest.mark.slow
def test_sized_flows_have_completion_times() -> None:
    run = Bench([Flow("page", "web", bytes_asked=10**7, fct_s=9.25)]).make()
    assert "completion time, s" in text_of(page([run]))
    assert "9.25" in text_of(page([run]))


def test_sentences_omit_unknown_values() -> None:
    assert sentences(findings(Bench([], manifest={"bottleneck": None}).make()))[:1] != ["."]
    run = Bench([Flow("a", "a")], manifest={"bottleneck": None}).make()
    assert not any("queue" in sentence for sentence in sentences(findings(run)))


def test_the_command_is_quoted_for_a_shell() -> None:
    run = Bench([], manifest={"name": "my file; rm -rf.toml"}).make()
    assert repeat_command(run) == "dumbbell run 'my file; rm -rf.toml' --engine sim --seed 1"


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, "–"), (0, "0"), (0.0, "0.00"), (0.0123, "0.012"), (5.3e-05, "<0.0001"), (-5.3e-05, "−<0.0001"),
     (1.5, "1.50"), (0.9999, "1.00"), (20.13, "20.1"),
     (1234567, "1\u202f234\u202f567"), (2500.4, "2\u202f500"), ("abc", "abc"), (True, "True")],
)  # fmt: skip
def test_numbers(value: object, text: str) -> None:
    assert number(value) == text


@pytest.mark.parametrize(
    ("share", "text"), [(None, "–"), (0.734, "73 %"), (0.0123, "1.2 %"), (0.00042, "0.042 %"), (5e-9, "<0.0001 %")]
)
def test_shares(share: float | None, text: str) -> None:
    assert percent(share) == text


def test_only_markup_is_not_escaped() -> None:
    assert element("p", "<b>", Markup("<i></i>"), css='a"b') == '<p class="a&quot;b">&lt;b&gt;<i></i></p>'
    assert join(["a & b"]) == "a &amp; b"
    assert "<th>x&lt;</th>" in table(("",), [("x<",)])


@pytest.mark.slow
def test_a_page_of_several_runs_starts_with_completion_times_and_folds_each_run() -> None:
    flow = Flow("page", "page", bytes_asked=10**6, fct_s=1.5, cc="cubic")
    cases = ("cubic at 10% loss", "cubic at 5% loss")
    runs = [Bench([flow], sample_s=0.1, manifest={"case": case, "title": "Pages"}).make(Path(case)) for case in cases]
    text = page(runs)
    page_text = text_of(text)
    assert "Pages: 2 runs" in page_text
    assert (
        page_text.index("Completion times")
        < page_text.index("queueing delay, ms")
        < page_text.index("All runs on one time axis")
    )
    assert page_text.index("cubic at 5% loss") < page_text.index("cubic at 10% loss")
    assert text.count("<section>") == 1
    assert text.count("<details><summary>cubic at") == 2


@pytest.mark.slow
def test_a_page_without_sized_flows_has_no_completion_times() -> None:
    runs = [Bench([Flow("a", "a")], sample_s=0.1, manifest={"case": case}).make(Path(case)) for case in "ab"]
    assert "Completion times" not in text_of(page(runs))


def bloat(limit: int, queue: float, **manifest: Any) -> Run:
    bench = Bench(
        [Flow("reno", "reno", rate_bps=9.5e6)], queue_packets=queue,
        manifest={"name": "bloat", "case": f"maxq {limit}", "source": SOURCE_OF_CASES, **manifest,
                  "experiment": {"path": {"bottleneck": {"qdisc": f"pfifo limit {limit}"}}, "flows": [{"cc": "reno"}]}},
    )  # fmt: skip
    return bench.make(Path(f"bloat/{limit}"))


SOURCE_OF_CASES = {
    "title": "A laboratory",
    "seen": [{"case": "maxq 10", "what": "queue", "value": 8, "unit": "packets", "metric": "queue.packets.mean"}],
}


def test_several_runs_are_answered_first_with_the_delay_over_what_differs() -> None:
    runs = [bloat(10, 8), bloat(200, 160)]
    parser = read(page(runs))
    text = " ".join(parser.text)
    answer = across(runs, ["maxq 10", "maxq 200"])
    assert re.fullmatch(
        r"The mean queueing delay rose from [\d.]+ ms at limit 10 to [\d.]+ ms at limit 200 \(20 times as much\)\.",
        answer[0],
    )
    assert answer[1] == "The throughput stayed at 9.50 Mbit/s."
    order = [text.index(part) for part in (answer[0], "By limit", "Comparison with the source", "Runs", "Each run")]
    assert order == sorted(order)
    assert "5.0e-05" not in text
    assert across(runs[:1], ["one"]) == []


def test_cases_are_in_the_order_of_their_file() -> None:
    runs = [bloat(limit, 8, case_number=number) for number, limit in ((1, 10), (0, 200))]
    assert [run.manifest.case for run in in_order(runs)] == ["maxq 200", "maxq 10"]
    older = [bloat(limit, 8) for limit in (200, 10)]
    assert [run.manifest.case for run in in_order(older)] == ["maxq 10", "maxq 200"]


def test_the_diagram_has_the_slowest_link_or_the_queue_that_tc_set() -> None:
    text = (
        'duration = "1s"\n[path]\nrtt = "1ms"\nlinks = [{ name = "wan", rate = "5mbit", qdisc = "fq_codel" }]\n'
        '[path.bottleneck]\nrate = "10mbit"\nqdisc = "pfifo limit 9"\n[[flows]]\ncc = "bbr"\n'
    )
    drawn = dumbbell(parse(text, Path("x.toml"))[0].experiment)
    assert "wan: 5mbit" in drawn
    assert "fq_codel" in drawn
    assert "path.bottleneck, 10mbit, is not the slowest link" in drawn
    assert "pfifo limit 9" in dumbbell(parse(text.replace("5mbit", "50mbit"), Path("x.toml"))[0].experiment)
