"""Assertions about `tcp_info` in `%{ }%`. packetdrill passes them to Python; here only arithmetic is evaluated."""

import ast
import operator
import textwrap
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from dumbbell.testing.drill.statements import Unsupported

__all__ = ["CONSTANTS", "NAMES", "Assertion", "Assignment", "parse"]

MOST_CHARACTERS = 20_000
"""Longer code is hardly meant, and Python's parser needs a stack."""
MOST_DEPTH = 50
MOST_BITS = 256
"""Of a number: counters have 64."""

CONSTANTS = {  # those that packetdrill defines
    "TCP_CA_Open": 0, "TCP_CA_Disorder": 1, "TCP_CA_CWR": 2, "TCP_CA_Recovery": 3, "TCP_CA_Loss": 4,
    "TCP_ESTABLISHED": 1, "TCP_SYN_SENT": 2, "TCP_SYN_RECV": 3, "TCP_FIN_WAIT1": 4, "TCP_FIN_WAIT2": 5,
    "TCP_TIME_WAIT": 6, "TCP_CLOSE": 7, "TCP_CLOSE_WAIT": 8, "TCP_LAST_ACK": 9, "TCP_LISTEN": 10, "TCP_CLOSING": 11,
}  # fmt: skip
NAMES = frozenset({
    "tcpi_state", "tcpi_ca_state", "tcpi_backoff", "tcpi_snd_cwnd", "tcpi_snd_ssthresh", "tcpi_rtt", "tcpi_rttvar",
    "tcpi_min_rtt", "tcpi_rto", "tcpi_unacked", "tcpi_sacked", "tcpi_lost", "tcpi_retrans", "tcpi_fackets",
    "tcpi_total_retrans", "tcpi_snd_mss", "tcpi_pacing_rate", "tcpi_delivery_rate", "tcpi_delivery_rate_app_limited",
    "tcpi_bytes_sent", "tcpi_bytes_acked", "tcpi_bytes_retrans", "tcpi_bytes_received", "tcpi_segs_out",
    "tcpi_data_segs_out", "tcpi_delivered", "tcpi_delivered_ce", "tcpi_reordering", "tcpi_reord_seen", "tcpi_snd_wnd",
    "tcpi_notsent_bytes", "tcpi_busy_time", "tcpi_rwnd_limited", "tcpi_sndbuf_limited", "tcpi_dsack_dups",
    "tcpi_rcv_space",
})  # fmt: skip
"""What the simulator knows of `tcp_info`."""

_COMPARISONS: dict[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}  # fmt: skip
_ARITHMETIC: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod, ast.BitAnd: operator.and_, ast.BitOr: operator.or_,
}  # fmt: skip
_UNARY: dict[type[ast.unaryop], Callable[[Any], Any]] = {ast.USub: operator.neg, ast.Not: operator.not_}
_FUNCTIONS: dict[str, Callable[..., Any]] = {"abs": abs, "min": min, "max": max}

Number = int | float
"""What an expression is made of."""


@dataclass(frozen=True)
class Assertion:
    """One `assert`."""

    line: int
    test: ast.expr

    def failure(self, info: Mapping[str, Number]) -> str | None:
        """None if it holds; else what is so instead."""
        try:
            if _value(self.test, info):
                return None
        except (ArithmeticError, TypeError) as error:
            return f"{ast.unparse(self.test)}: {error}"
        names = sorted({node.id for node in ast.walk(self.test) if isinstance(node, ast.Name) and node.id in info})
        found = ", ".join(f"{name} is {info[name]}" for name in names)
        return f"assert {ast.unparse(self.test)}: {found}" if found else f"assert {ast.unparse(self.test)}"


@dataclass(frozen=True)
class Assignment:
    """A variable's new value."""

    line: int
    name: str
    expression: ast.expr

    def failure(self, known: Mapping[str, Number]) -> str | None:
        """None if it has a value."""
        try:
            self.value(known)
        except (ArithmeticError, TypeError) as error:
            return f"{self.name}: {error}"
        return None

    def value(self, known: Mapping[str, Number]) -> Number:
        """The value."""
        return cast("Number", _value(self.expression, known))


def parse(text: str, line: int, variables: set[str]) -> tuple[Assertion | Assignment, ...]:
    """The assertions and assignments of a block that begins in this line; adds to the variables that are known.

    Raises `Unsupported` for anything else in it.
    """
    if len(text) > MOST_CHARACTERS:
        raise Unsupported(line, f"a block of {len(text):,} characters in %{{ }}%")
    code = textwrap.dedent(text.strip("\n")).strip()
    begins = line + text[: text.find(code.partition("\n")[0])].count("\n")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            module = ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise Unsupported(line, f"in %{{ }}%, not Python: {error.args[0] if error.args else error}") from None
    found: list[Assertion | Assignment] = []
    for node in module.body:
        at = begins + node.lineno - 1
        match node:
            case ast.Assert(test=test):
                _check(test, at, variables)
                found.append(Assertion(at, test))
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if name not in NAMES:
                _check(value, at, variables)
                variables.add(name)
                found.append(Assignment(at, name, value))
            case ast.Expr(value=ast.Call(func=ast.Name(id="print"))) | ast.Pass():
                pass
            case _:
                raise Unsupported(at, f"{ast.unparse(node).splitlines()[0][:60]} in %{{ }}%")
    return tuple(found)


def _check(node: ast.expr, line: int, variables: set[str], depth: int = 0) -> None:
    """Raises `Unsupported` unless `_value` can evaluate it."""
    parts: Sequence[ast.expr]
    match node:
        case _ if depth > MOST_DEPTH:
            raise Unsupported(line, "an expression that is nested too deeply in %{ }%")
        case ast.Constant(value=int() | float() as value) if abs(value) < 1 << MOST_BITS:
            parts = ()
        case ast.Name(id=name) if name in NAMES or name in CONSTANTS or name in variables:
            parts = ()
        case ast.Name(id=name) if name.startswith("tcpi_"):
            raise Unsupported(line, f"{name}, which the simulator does not have")
        case ast.BoolOp(values=values):
            parts = values
        case ast.UnaryOp(op=op, operand=operand) if type(op) in _UNARY:
            parts = (operand,)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _ARITHMETIC:
            parts = (left, right)
        case ast.Compare(left=left, ops=ops, comparators=others) if all(type(op) in _COMPARISONS for op in ops):
            parts = (left, *others)
        case ast.Call(func=ast.Name(id=name), args=args, keywords=[]) if name in _FUNCTIONS and args:
            if (name == "abs") != (len(args) == 1):
                raise Unsupported(line, f"{ast.unparse(node)[:60]} in %{{ }}%")
            parts = args
        case _:
            raise Unsupported(line, f"{ast.unparse(node)[:60]} in %{{ }}%")
    for part in parts:
        _check(part, line, variables, depth + 1)


def _value(node: ast.expr, info: Mapping[str, Number]) -> Any:  # noqa: PLR0911 — a number or a truth; one case each
    match node:
        case ast.Constant(value=value):
            return value
        case ast.Name(id=name):
            return info[name] if name in info else CONSTANTS[name]
        case ast.BoolOp(op=op, values=values):
            together = all if isinstance(op, ast.And) else any
            return together(_value(each, info) for each in values)
        case ast.UnaryOp(op=op, operand=operand):
            return _UNARY[type(op)](_value(operand, info))
        case ast.BinOp(left=left, op=op, right=right):
            return _bounded(_ARITHMETIC[type(op)](_value(left, info), _value(right, info)))
        case ast.Compare(left=left, ops=ops, comparators=others):
            values = [_value(each, info) for each in (left, *others)]
            pairs = zip(ops, values, values[1:], strict=False)
            return all(_COMPARISONS[type(op)](one, other) for op, one, other in pairs)
        case ast.Call(func=ast.Name(id=name), args=args):
            return _FUNCTIONS[name](*(_value(each, info) for each in args))
        case _:
            raise AssertionError(ast.dump(node))


def _bounded(value: Number) -> Number:
    if abs(value) >= 1 << MOST_BITS:
        raise OverflowError("the number is too large")
    return value
