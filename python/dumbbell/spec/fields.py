"""What a key may hold: each field's parser, as a type.

Values are parsed once, from what a person wrote to the units of the code: rates in bits per second,
times in nanoseconds, sizes in bytes. Which key has which field is `model`'s.
"""

import re
from collections.abc import Callable
from typing import Annotated, Any

from pydantic import BeforeValidator, PlainSerializer

from dumbbell.spec import units
from dumbbell.spec.expectation import parse_expectation, parse_metric
from dumbbell.spec.netem import netem_words
from dumbbell.spec.qdisc import Qdisc, parse_qdisc
from dumbbell.spec.units import Wrong

__all__ = [
    "Arrivals",
    "Controller",
    "Discipline",
    "Duration",
    "Expected",
    "Measured",
    "Name",
    "Netem",
    "Parameters",
    "Rate",
    "Size",
    "Sysctls",
    "Time",
]

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9 ._+-]{0,39}\Z")
CC = re.compile(r"[a-z][a-z0-9_+-]{0,14}\Z")
PARAMETER = re.compile(r"[a-z][a-z0-9_]{0,39}\Z")
SETTING = re.compile(r"[A-Za-z0-9.+_-]{1,32}\Z")
MOST_SETTING = 2**63 - 1
SYSCTL = re.compile(r"net\.(?:ipv4|core)(?:\.[a-z0-9_]+)+\Z")


def _from_text(parse: Callable[[object], Any]) -> BeforeValidator:
    return BeforeValidator(parse)


def _positive_time(value: object) -> int:
    time = units.duration_ns(value)
    if time == 0:
        raise Wrong("a time of zero", "it must be longer than zero")
    return time


def _name(value: object) -> str:
    if not isinstance(value, str) or not NAME.match(value):
        raise Wrong("not a name", "letters, digits, spaces and . _ + -, at most 40, beginning with a letter or digit")
    return value


def _cc(value: object) -> str:
    if not isinstance(value, str) or not CC.match(value):
        raise Wrong("not the name of a congestion control", "a name as Linux gives it, such as cubic, bbr or reno")
    return value


def _parameters(value: object) -> dict[str, int | str]:
    right = 'a table of numbers and words, such as { alpha = 3, slow_start = "hystart++" }'
    if not isinstance(value, dict):
        raise Wrong("not a table of parameters", right)
    for key, setting in value.items():
        if not PARAMETER.match(str(key)):
            raise Wrong(f"'{key}' is not the name of a parameter", right)
        number = isinstance(setting, int) and not isinstance(setting, bool) and 0 <= setting <= MOST_SETTING
        if not number and not (isinstance(setting, str) and SETTING.match(setting)):
            raise Wrong(f"parameter '{key}' is neither an integer nor a word: {setting!r}", right)
    return dict(value)


def _qdisc(value: object) -> Qdisc:
    return value if isinstance(value, Qdisc) else parse_qdisc(value)


def _arrivals(value: object) -> float:
    right = "flows per second, such as '10/s'"
    if not isinstance(value, str) or not (match := re.fullmatch(r"(\d+\.?\d*)/s", value.strip())):
        raise Wrong("not a rate of arrivals", right)
    if (rate := float(match[1])) <= 0:
        raise Wrong("no arrivals", right)
    return rate


def _sysctl(value: object) -> dict[str, str]:
    right = "a table of net.ipv4.* and net.core.* settings, such as { 'net.ipv4.tcp_early_retrans' = 3 }"
    if not isinstance(value, dict):
        raise Wrong("not a table of settings", right)
    for key, setting in value.items():
        if not SYSCTL.match(str(key)):
            raise Wrong(f"'{key}' is not a setting that an experiment may change", right)
        if not re.fullmatch(r"[A-Za-z0-9_-]+(?: [A-Za-z0-9_-]+)*", str(setting)):
            raise Wrong(f"'{setting}' is not a plain value for {key}", right)
    return {str(key): str(setting) for key, setting in value.items()}


def _expectation(value: object) -> str:
    parse_expectation(str(value))
    return str(value)


def _metric(value: object) -> str:
    parse_metric(str(value))
    return str(value)


def _netem(option: str) -> BeforeValidator:
    return BeforeValidator(lambda value: netem_words(option, value))


Rate = Annotated[int, _from_text(units.rate_bps), PlainSerializer(units.rate_text)]
Time = Annotated[int, _from_text(units.duration_ns), PlainSerializer(units.time_text)]
Duration = Annotated[int, _from_text(_positive_time), PlainSerializer(units.time_text)]
Size = Annotated[int, _from_text(units.size_bytes)]
Name = Annotated[str, _from_text(_name)]
Controller = Annotated[str, _from_text(_cc)]
Parameters = Annotated[dict[str, int | str], _from_text(_parameters)]
Discipline = Annotated[Qdisc, _from_text(_qdisc), PlainSerializer(lambda qdisc: qdisc.text)]
Expected = Annotated[str, _from_text(_expectation)]
Measured = Annotated[str, _from_text(_metric)]
Arrivals = Annotated[float, _from_text(_arrivals)]
Sysctls = Annotated[dict[str, str], _from_text(_sysctl)]


class Netem:
    """Fields that hold what netem takes after an option's name."""

    Loss = Annotated[str, _netem("loss")]
    Distribution = Annotated[str, _netem("distribution")]
    Reorder = Annotated[str, _netem("reorder")]
    Duplicate = Annotated[str, _netem("duplicate")]
    Corrupt = Annotated[str, _netem("corrupt")]
    Slot = Annotated[str, _netem("slot")]
