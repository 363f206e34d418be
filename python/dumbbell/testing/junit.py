"""Results as JUnit XML, which CI systems show."""

import xml.etree.ElementTree as ET
from collections.abc import Sequence
from itertools import groupby

from dumbbell.control_characters import visible
from dumbbell.testing.results import Result, Status, totals

__all__ = ["document"]

_ELEMENTS = {Status.SKIPPED: "skipped", Status.FAILED: "failure", Status.TIMEOUT: "failure", Status.ERROR: "error"}


def document(results: Sequence[Result], name: str) -> bytes:
    """The document; `name` is that of the suite of tests without a group. `time` is in virtual seconds.

    Results of a group stand together.
    """
    root = ET.Element("testsuites", _counts(results))
    for group, members in groupby(results, key=lambda result: result.group):
        of_group = list(members)
        suite = ET.SubElement(root, "testsuite", {"name": visible(group or name)} | _counts(of_group))
        for result in of_group:
            _add(suite, result, group or name)
    ET.indent(root)
    text: bytes = ET.tostring(root, encoding="utf-8", xml_declaration=True)
    return text + b"\n"


def _add(suite: ET.Element, result: Result, group: str) -> None:
    about = {"classname": visible(group), "name": visible(result.name)}
    if result.virtual_s is not None:
        about["time"] = f"{result.virtual_s:.9f}"
    case = ET.SubElement(suite, "testcase", about)
    if element := _ELEMENTS.get(result.status):
        ET.SubElement(case, element, {"message": visible(result.reason), "type": str(result.status)})
    if result.output:
        ET.SubElement(case, "system-out").text = visible(result.output)


def _counts(results: Sequence[Result]) -> dict[str, str]:
    counts = totals(results)
    seconds = sum(result.virtual_s or 0 for result in results)
    return {
        "tests": str(len(results)),
        "failures": str(counts[Status.FAILED] + counts[Status.TIMEOUT]),
        "errors": str(counts[Status.ERROR]),
        "skipped": str(counts[Status.SKIPPED]),
        "time": f"{seconds:.9f}",
    }
