"""Groups of two arms that stand for each other although their names differ, because the controller gives the name.

Which keys two experiments differ in, and what that makes of the arms' names and of the metrics' names. Only experiments
that differ in one key, or in controllers alone, have such groups: with more differences nobody knows what stands for
what.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from dumbbell.analysis.parameter import dotted_leaves
from dumbbell.results.result import is_import

__all__ = ["differing", "names_by_difference", "pairs_of", "panel_names", "renamed", "renamed_patterns"]

Manifest = Mapping[str, Any]
UNWEIGHED = ("title", "seeds", "expect")
"""Keys of an experiment that affect no packet."""
BETWEEN = "/"
"""Between the two names of a pair, which no name of a group contains."""


def differing(first: Manifest, second: Manifest) -> dict[str, tuple[Any, Any]]:
    """The keys in which the experiments of two manifests differ, with both values; None for a missing key.

    Ignores name, seeds and expectations. Logs don't record their experiment, so an import has no differences.
    """
    if is_import(first) or is_import(second):
        return {}
    left, right = (dict(dotted_leaves(_weighed(manifest.get("experiment") or {}))) for manifest in (first, second))
    keys = [key for key in dict.fromkeys([*left, *right]) if left.get(key) != right.get(key)]
    return {key: (left.get(key), right.get(key)) for key in keys}


def names_by_difference(first: Manifest, second: Manifest) -> list[str]:
    """`cubic` and `bbr`, or `rtt=13ms` and `rtt=20ms`: the one thing that differs; two empty names for more."""
    found = differing(first, second)
    controllers = {key: values for key, values in found.items() if _is_controller(key)}
    if found and len(controllers) == len(found) and len(set(controllers.values())) == 1:
        return [str(value) for value in next(iter(controllers.values()))]
    if len(found) == 1:
        (key, values), *_ = found.items()
        return [f"{key.rpartition('.')[2]}={'none' if value is None else value}" for value in values]
    return ["", ""]


def pairs_of(first: Manifest, second: Manifest) -> dict[str, tuple[str, str]]:
    """Prefixes of metrics that stand for each other: `groups.cubic/bbr.` from `groups.cubic.` and `groups.bbr.`.

    By the common name; prefixes that both arms have are not listed. Groups that have no namesake are paired in
    their order, and so are their flows, if there are as many. The only group of a log and the only one of the other
    arm are paired whatever their names, which are those of files.
    """
    found = differing(first, second)
    left, right = _members(first), _members(second)
    are_logs = (is_import(first) or is_import(second)) and len(left) == len(right) == 1
    if not are_logs and (not found or (len(found) > 1 and not all(map(_is_controller, found)))):
        return {}
    lonely = [[name for name in these if name not in those] for these, those in ((left, right), (right, left))]
    if len(lonely[0]) != len(lonely[1]):
        return {}
    pairs = {}
    for one, other in zip(*lonely, strict=True):
        pairs[f"groups.{one}{BETWEEN}{other}."] = (f"groups.{one}.", f"groups.{other}.")
        if len(left[one]) == len(right[other]):
            for these, those in zip(left[one], right[other], strict=True):
                pairs[f"flows.{these}{BETWEEN}{those}."] = (f"flows.{these}.", f"flows.{those}.")
    return pairs


def panel_names(first: Manifest, second: Manifest) -> list[dict[str, str]]:
    """For either arm the common name of each group that has another name in the other arm."""
    pairs = [(name, owns) for name, owns in pairs_of(first, second).items() if name.startswith("groups.")]
    return [{_of_prefix(owns[side]): _of_prefix(name) for name, owns in pairs} for side in (0, 1)]


def _of_prefix(prefix: str) -> str:
    return prefix.removeprefix("groups.").removesuffix(".")


def renamed(values: Mapping[str, float], prefixes: Mapping[str, str]) -> dict[str, float]:
    """The metrics under their common names; `prefixes` has the common prefix of each."""
    return {_common_name(name, prefixes): value for name, value in values.items()}


def renamed_patterns(patterns: Mapping[str, Any], pairs: Mapping[str, tuple[str, str]]) -> dict[str, Any]:
    """Tolerances by pattern; a pattern for either arm's group holds for the pair."""
    both = {own: common for common, owns in pairs.items() for own in owns}
    return {name: each for pattern, each in patterns.items() for name in (_common_name(pattern, both), pattern)}


def _common_name(name: str, prefixes: Mapping[str, str]) -> str:
    own = max((prefix for prefix in prefixes if name.startswith(prefix)), key=len, default=None)
    return name if own is None else prefixes[own] + name.removeprefix(own)


def _members(manifest: Manifest) -> dict[str, list[str]]:
    groups: dict[str, list[str]] = {}
    for flow in manifest.get("flows") or []:
        groups.setdefault(flow["group"], []).append(flow["name"])
    return groups


def _is_controller(key: str) -> bool:
    parts: Sequence[str] = key.split(".")
    return parts[0] == "flows" and parts[-1] == "cc"


def _weighed(experiment: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in experiment.items() if key not in UNWEIGHED}
