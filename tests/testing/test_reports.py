"""Results as KTAP and JUnit XML: other programs read them, whatever a test is called or prints."""

import re
import xml.etree.ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dumbbell.testing import junit, ktap
from dumbbell.testing.results import Result, Status

PASSED = Result("a.pkt ipv4", Status.PASSED, virtual_s=0.25, group="linux")
FAILED = Result("b.pkt ipv6", Status.FAILED, "exit status 1: b.pkt:5: wrong", "one\ntwo\n", 0.5, "linux")
SKIPPED = Result("c.sh", Status.SKIPPED, "needs bpftrace", group="linux")
LATE = Result("d.sh", Status.TIMEOUT, "not done after 20 s of virtual time", virtual_s=20.0, group="other")
BROKEN = Result("e.sh", Status.ERROR, "the guest kernel died", group="other")
ALL = [PASSED, FAILED, SKIPPED, LATE, BROKEN]


def printed(results: list[Result]) -> list[str]:
    lines = [line for number, result in enumerate(results, start=1) for line in ktap.lines_of(number, result)]
    return [*ktap.header(len(results)), *lines, ktap.totals_line(results)]


def test_ktap_has_a_version_a_plan_and_a_line_for_each_test() -> None:
    assert printed(ALL) == [
        "KTAP version 1",
        "1..5",
        "ok 1 a.pkt ipv4",
        "# one",
        "# two",
        "not ok 2 b.pkt ipv6 # exit status 1: b.pkt:5: wrong",
        "ok 3 c.sh # SKIP needs bpftrace",
        "not ok 4 d.sh # TIMEOUT not done after 20 s of virtual time",
        "not ok 5 e.sh # ERROR the guest kernel died",
        "# Totals: pass:1 fail:2 xfail:0 xpass:0 skip:1 error:1",
    ]


def test_only_the_end_of_a_long_output_is_shown() -> None:
    output = "\n".join(map(str, range(ktap.SHOWN_LINES + 7)))
    lines = list(ktap.lines_of(1, Result("a", Status.FAILED, "", output)))
    assert lines[:2] == ["# 7 lines left out", "# 7"]
    assert lines[-2:] == [f"# {ktap.SHOWN_LINES + 6}", "not ok 1 a"]


def test_a_passed_test_s_output_is_not_shown() -> None:
    assert list(ktap.lines_of(1, Result("a", Status.PASSED, output="noise"))) == ["ok 1 a"]


results = st.builds(
    Result, name=st.text(min_size=1), status=st.sampled_from(Status), reason=st.text(), output=st.text(),
    virtual_s=st.none() | st.floats(0, 1e6), group=st.text(),
)  # fmt: skip


@given(st.lists(results, max_size=5))
def test_no_name_or_output_can_imitate_a_result_or_a_directive(drawn: list[Result]) -> None:
    lines = printed(drawn)
    verdicts = [line for line in lines if re.match(r"(not )?ok\b", line)]
    assert len(verdicts) == len(drawn)
    for number, (line, result) in enumerate(zip(verdicts, drawn, strict=True), start=1):
        assert line.startswith(f"{'ok' if result.status.is_ok else 'not ok'} {number} ")
        named, hash_sign, directive = line.partition(" # ")
        assert "\n" not in named
        assert ("SKIP" in directive.split(" ")[:1]) is (result.status is Status.SKIPPED) or "SKIP" in result.reason
        assert hash_sign or result.status not in {Status.SKIPPED, Status.TIMEOUT, Status.ERROR}
    assert all(re.match(r"KTAP version 1$|1\.\.\d+$|(not )?ok \d+ |#", line) for line in lines)


def test_junit_has_a_suite_for_each_group() -> None:
    root = ET.fromstring(junit.document(ALL, "selftest"))
    assert root.attrib == {"tests": "5", "failures": "2", "errors": "1", "skipped": "1", "time": "20.750000000"}
    assert [(suite.get("name"), suite.get("tests"), suite.get("time")) for suite in root] == [
        ("linux", "3", "0.750000000"),
        ("other", "2", "20.000000000"),
    ]
    cases = {case.get("name"): case for case in root.iter("testcase")}
    failure = cases["b.pkt ipv6"].find("failure")
    assert failure is not None
    assert failure.attrib == {"message": "exit status 1: b.pkt:5: wrong", "type": "fail"}
    assert cases["b.pkt ipv6"].findtext("system-out") == "one\ntwo\n"
    assert cases["c.sh"].find("skipped") is not None
    assert cases["e.sh"].find("error") is not None
    assert cases["a.pkt ipv4"].attrib == {"classname": "linux", "name": "a.pkt ipv4", "time": "0.250000000"}
    assert len(cases["a.pkt ipv4"]) == 0


@given(st.lists(results, max_size=5))
def test_junit_is_xml_whatever_a_test_prints(drawn: list[Result]) -> None:
    root = ET.fromstring(junit.document(drawn, "suite"))
    assert len(list(root.iter("testcase"))) == len(drawn)


@pytest.mark.parametrize("status", Status)
def test_only_passed_and_skipped_are_ok(status: Status) -> None:
    assert status.is_ok is (status in {Status.PASSED, Status.SKIPPED})
