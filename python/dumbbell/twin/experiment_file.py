"""A fitted path as the text of an experiment file: evidence as comments, what is unknown as cases."""

from collections.abc import Iterator

from dumbbell.control_characters import visible_line
from dumbbell.identification.facts import Estimate
from dumbbell.spec.document import as_toml
from dumbbell.twin.fit import NAMES, UNITS, Case, Fit
from dumbbell.twin.hypotheses import Document
from dumbbell.twin.replay import document_for

__all__ = ["experiment_text", "fact_lines", "number"]

SAMPLE_S = 0.1


def experiment_text(fit: Fit) -> str:
    """The file of an accepted fit. Raises `ExperimentError` if the model is no valid experiment."""
    header = "".join(f"# {visible_line(line)}\n" for line in _comments(fit))
    return f"{header}\n{as_toml(experiment_document(fit))}"


def experiment_document(fit: Fit) -> Document:
    """The experiment: the nearest model, and a case for each path that the recordings allow."""
    first = fit.recordings[0]
    cases = fit.cases
    own = _document(fit, cases[0])
    document: Document = {"title": f"The path of {first.file.name}", **own}
    if len(cases) > 1:
        document["cases"] = [{"name": case.name, "set": _settings(own, _document(fit, case))} for case in cases]
    return document


def _document(fit: Fit, case: Case) -> Document:
    first = fit.recordings[0]
    document = document_for(case.parts, {"cc": first.cc}, first.duration_s, SAMPLE_S)
    return document | ({"tcp": {"ecn": "classic"}} if first.ecn else {})


def _settings(own: Document, other: Document) -> Document:
    """What a case sets: the keys of the path that differ, and lists as a whole.

    A list within a list, since a list makes a case of each value.
    """
    here, there = _flat(own["path"]), _flat(other["path"])
    if here.keys() == there.keys():
        found: Document = {key: value for key, value in there.items() if value != here[key]}
    else:
        found = {"path": other["path"]}
    for key in ("flows", "changes"):
        if own.get(key) != other.get(key):
            found[key] = [other.get(key, [])]
    # A case must set something: the nearest model's own sets what it has anyway.
    return found or {"path.rtt": own["path"]["rtt"]}


def _flat(table: Document, before: str = "path.") -> Document:
    """Values by dotted key."""
    found: Document = {}
    for key, value in table.items():
        found |= _flat(value, f"{before}{key}.") if isinstance(value, dict) else {f"{before}{key}": value}
    return found


def _comments(fit: Fit) -> Iterator[str]:
    yield "Fitted by `dumbbell fit`. What no recording shows is a case of its own."
    for each in fit.recordings:
        yield f"Recording: {each.file.name}, {each.label}, {each.duration_s:.3g} s, {each.cc} ({each.cc_known})"
    yield ""
    yield from (f"{name:<10} {value}" for name, value in fact_lines(fit))
    yield ""
    for tried in fit.accepted:
        yield f"Replayed as {tried.model.says}:"
        for recording, readings in zip(fit.recordings, tried.readings, strict=True):
            for reading in readings:
                yield (
                    f"  {recording.file.name}: {NAMES[reading.name]} {reading.recorded:.4g} recorded, "
                    f"{reading.replayed:.4g} {UNITS[reading.name]} replayed"
                )


def fact_lines(fit: Fit) -> Iterator[tuple[str, str]]:
    """Names of the path's numbers, and each as text with its interval and its evidence."""
    facts = fit.facts
    yield "base RTT", number(facts.rtt_s, 1e3, "ms")
    yield "rate", number(facts.rate_bps, 1e-6, "Mbit/s")
    yield "queue", number(facts.queue_s, 1e3, "ms")
    yield "buffer", number(facts.buffer_bytes, 1e-3, "kB")
    yield "loss", number(facts.loss, 100, "%")
    yield "ACKs", number(facts.acks, 1, "segments each")
    yield "forward", number(facts.forward_queue_s, 1e3, "ms")
    yield "return", number(facts.reverse_queue_s, 1e3, "ms")
    if facts.window_bytes.value is not None:
        yield "window", number(facts.window_bytes, 1e-3, "kB")


def number(estimate: Estimate, scale: float, unit: str) -> str:
    """Such as `11.8 Mbit/s (11.8 to 11.9; highest mode …)`, or what is known of an unknown one."""
    low, high = estimate.low, estimate.high
    if estimate.value is None:
        bound = f", at least {low * scale:.4g} {unit}" if low else ""
        return f"unknown{bound} ({estimate.evidence})"
    limits = {
        (True, True): f"{(low or 0) * scale:.4g} to {(high or 0) * scale:.4g}; ",
        (True, False): "a lower bound; " if low == estimate.value else f"at least {(low or 0) * scale:.4g}; ",
        (False, True): "an upper bound; ",
        (False, False): "",
    }[low is not None, high is not None]
    return f"{estimate.value * scale:.4g} {unit} ({limits}{estimate.evidence})"
