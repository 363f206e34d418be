"""Filters of connections in the syntax of ss(8).

```text
filter   conditions joined by `and`, `&&` or nothing; `or`, `||`; `not`, `!`; parentheses
ends     dport :443   sport >= 1024   port 80   dst 10.0.0.0/8   src [2001:db8::1]:22   addr 10.0.0.1
names    cc bbr   state established   phase startup   limit receiver   uid 1000
numbers  rate > 10mbit   recv, pacing, delivery (rates)   rtt > 50ms   minrtt   cwnd < 10   inflight   retrans > 0
```

`not` binds closer than `and`, `and` closer than `or`. `port` and `addr` match either end. A missing number satisfies no
comparison. A parsed filter prints as text that parses to the same filter.
"""

import ipaddress
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import NoReturn

import polars as pl

from dumbbell.analysis.live_sockets import LIMITS
from dumbbell.errors import FilterError
from dumbbell.linux import STATES
from dumbbell.spec.units import Wrong, duration_ns, rate_bps, suggest

__all__ = ["FILTERED", "Address", "All", "Any_", "Compare", "Filter", "Is", "Not", "Port", "matches", "parse"]

OPERATORS = {"=": "=", "==": "=", "eq": "=", "!=": "!=", "ne": "!=", "neq": "!=", "<": "<", "lt": "<", ">": ">",
             "gt": ">", "<=": "<=", "le": "<=", "leq": "<=", ">=": ">=", "ge": ">=", "geq": ">="}  # fmt: skip
PORTS = {"dport": ("peer_port",), "sport": ("local_port",), "port": ("local_port", "peer_port")}
ADDRESSES = {"dst": "peer", "src": "local", "addr": ""}
NAMES = {"cc": "cc", "state": "state", "phase": "phase", "limit": "limited_by", "uid": "uid"}
NUMBERS = {
    "rate": "send_bps", "recv": "recv_bps", "pacing": "pacing_rate_bps", "delivery": "delivery_rate_bps",
    "rtt": "rtt_ns", "minrtt": "min_rtt_ns", "cwnd": "cwnd_packets", "inflight": "inflight_packets",
    "retrans": "retrans_delta",
}  # fmt: skip
ALIASES = {name.replace("_", "-"): name for name in STATES} | {"estab": "established"}
"""As ss writes them."""
FILTERED = ("local_address", "peer_address", "local_port", "peer_port", *NAMES.values(), *NUMBERS.values())
"""Columns that filters may use."""
KEYS = (*PORTS, *ADDRESSES, *NAMES, *NUMBERS)
TOKEN = re.compile(r"\s*(\(|\)|<=|>=|==|!=|&&|\|\||[=<>!]|[^\s()=<>!&|]+|.)", re.DOTALL)
DEEPEST = 50
"""Nesting limit for parentheses and `not`, because Python's stack is finite."""

Network = ipaddress.IPv4Network | ipaddress.IPv6Network


@dataclass(frozen=True)
class Port:
    """`dport >= 1024`."""

    side: str
    operator: str
    number: int

    def __str__(self) -> str:
        return f"{self.side} {self.operator} :{self.number}"


@dataclass(frozen=True)
class Address:
    """`dst 10.0.0.0/8`, `src [::1]:22`."""

    side: str
    equal: bool
    network: Network
    port: int | None = None

    def __str__(self) -> str:
        text = str(self.network) if self.network.prefixlen < self.network.max_prefixlen else str(self.network[0])
        text = f"[{text}]" if self.network.version == 6 else text
        port = "" if self.port is None else f":{self.port}"
        return f"{self.side} {'=' if self.equal else '!='} {text}{port}"


@dataclass(frozen=True)
class Is:
    """`cc bbr`."""

    key: str
    equal: bool
    name: str

    def __str__(self) -> str:
        return f"{self.key} {'=' if self.equal else '!='} {self.name}"


@dataclass(frozen=True)
class Compare:
    """`rtt > 50ms`; rates in bits per second, times in nanoseconds."""

    key: str
    operator: str
    value: int

    def __str__(self) -> str:
        column = NUMBERS[self.key]
        unit = "bit" if column.endswith("_bps") else "ns" if column.endswith("_ns") else ""
        return f"{self.key} {self.operator} {self.value}{unit}"


@dataclass(frozen=True)
class Not:
    """Negation."""

    part: "Filter"

    def __str__(self) -> str:
        return f"not {_wrapped(self.part)}"


@dataclass(frozen=True)
class All:
    """Matches rows that match all parts; all rows without parts."""

    parts: tuple["Filter", ...] = ()

    def __str__(self) -> str:
        return " and ".join(map(_wrapped, self.parts))


@dataclass(frozen=True)
class Any_:  # noqa: N801 — `Any` is from typing
    """Matches rows that match any part."""

    parts: tuple["Filter", ...]

    def __str__(self) -> str:
        return " or ".join(map(_wrapped, self.parts))


Filter = Port | Address | Is | Compare | Not | All | Any_


def parse(text: str) -> Filter:
    """Parse a filter; an empty text matches everything. Raises `FilterError` with the position."""
    return _Reader(text).read()


def matches(filter_: Filter, table: pl.DataFrame) -> pl.Series:
    """For each row of a `live_sockets` table, whether it matches."""
    # An empty filter evaluates to one value, not one per row.
    return table.with_columns(_expression(filter_, table).fill_null(value=False).alias("matches"))["matches"]


@dataclass(frozen=True)
class _Token:
    text: str
    place: int


class _Reader:
    """Recursive descent; one method per grammar rule above."""

    def __init__(self, text: str) -> None:
        self.text = text
        stripped = text.rstrip()
        self.tokens = [_Token(match[1], match.start(1)) for match in TOKEN.finditer(stripped)]
        self.at = 0
        self.depth = 0

    def read(self) -> Filter:
        if not self.tokens:
            return All()
        found = self.any_()
        if self.at < len(self.tokens):
            self.fail("a closing parenthesis without an opening one", self.tokens[self.at])
        return found

    def any_(self) -> Filter:
        parts = [self.all_()]
        while self.takes("or", "||"):
            parts.append(self.all_())
        return parts[0] if len(parts) == 1 else Any_(tuple(parts))

    def all_(self) -> Filter:
        parts = [self.one()]
        while self.takes("and", "&&") or (
            self.at < len(self.tokens) and self.tokens[self.at].text not in ("or", "||", ")")
        ):
            parts.append(self.one())
        return parts[0] if len(parts) == 1 else All(tuple(parts))

    def one(self) -> Filter:
        token = self.next("a condition, such as dport 443 or cc bbr")
        self.depth += 1
        if self.depth > DEEPEST:
            self.fail(f"more than {DEEPEST} nested parentheses", token)
        found = self.within(token)
        self.depth -= 1
        return found

    def within(self, token: _Token) -> Filter:  # noqa: PLR0911 — one return per kind
        if token.text in ("not", "!"):
            return Not(self.one())
        if token.text == "(":
            found = self.any_()
            if not self.takes(")"):
                self.fail("this parenthesis is not closed", token)
            return found
        if token.text in PORTS:
            return Port(token.text, self.operator(), self.port(self.next("a port, such as 443")))
        if token.text in ADDRESSES:
            equal = self.equality(token)
            return self.address(token.text, self.next("an address, such as 10.0.0.0/8"), equal=equal)
        if token.text in NAMES:
            equal = self.equality(token)
            return Is(token.text, equal, self.name(token.text, self.next(f"a value for '{token.text}'")))
        if token.text in NUMBERS:
            operator = self.operator()
            return Compare(token.text, operator, self.value(token.text, self.next("a number")))
        right = suggest(token.text, list(KEYS)) or f"choose from: {', '.join(KEYS)}"
        return self.fail(f"'{token.text}' is not a filter key", token, right)

    def next(self, expected: str) -> _Token:
        if self.at == len(self.tokens):
            self.fail("the filter ends too early", _Token("", len(self.text)), f"expected {expected} here")
        self.at += 1
        return self.tokens[self.at - 1]

    def takes(self, *texts: str) -> bool:
        found = self.at < len(self.tokens) and self.tokens[self.at].text in texts
        self.at += found
        return found

    def operator(self) -> str:
        if self.at < len(self.tokens) and self.tokens[self.at].text in OPERATORS:
            self.at += 1
            return OPERATORS[self.tokens[self.at - 1].text]
        return "="

    def equality(self, key: _Token) -> bool:
        operator = self.operator()
        if operator not in ("=", "!="):
            self.fail(f"'{key.text}' can't be ordered", self.tokens[self.at - 1], "= or !=")
        return operator == "="

    def port(self, token: _Token) -> int:
        digits = token.text.removeprefix(":").removeprefix("*:")
        if not re.fullmatch(r"[0-9]{1,5}", digits) or int(digits) > 65535:
            self.fail(f"'{token.text}' is not a port", token, "a number from 0 to 65535, such as 443")
        return int(digits)

    def address(self, side: str, token: _Token, *, equal: bool) -> Filter:
        match = re.fullmatch(
            r"\[(?P<six>[^\]]*)\](?::(?P<port>\d+))?|(?P<four>[\d./]+)(?::(?P<port4>\d+))?|(?P<bare>.*)", token.text
        )
        assert match
        host = match["six"] or match["four"] or match["bare"] or ""
        port = match["port"] or match["port4"]
        try:
            network = ipaddress.ip_network(host, strict=False)
        except ValueError:
            self.fail(
                f"'{token.text}' is not an address", token, "10.0.0.1, 10.0.0.0/8, 10.0.0.1:443 or [2001:db8::1]:443"
            )
        if isinstance(network, ipaddress.IPv6Network) and network.network_address.scope_id:
            self.fail("an address with an interface", token, "leave out the % and what follows it")
        return Address(side, equal, network, None if port is None else self.port(_Token(port, token.place)))

    def name(self, key: str, token: _Token) -> str:
        name = ALIASES.get(token.text.lower(), token.text.lower()) if key == "state" else token.text
        known = {"state": STATES, "limit": LIMITS}.get(key)
        if known and name not in known:
            right = suggest(name, list(known)) or f"choose from: {', '.join(known)}"
            self.fail(f"'{token.text}' is not a {key}", token, right)
        if key == "uid" and not re.fullmatch(r"[0-9]{1,10}", name):
            self.fail(f"'{token.text}' is not a user ID", token, "such as uid 1000")
        if name in ("(", ")", *OPERATORS, "&&", "||", "!"):
            self.fail(f"'{key}' without a name", token)
        return str(int(name)) if key == "uid" else name

    def value(self, key: str, token: _Token) -> int:
        column = NUMBERS[key]
        try:
            if column.endswith("_ns"):
                return duration_ns(token.text)
            if column.endswith("_bps"):
                return 0 if token.text in ("0", "0bit") else rate_bps(token.text)
        except Wrong as wrong:
            self.fail(wrong.problem, token, wrong.right)
        if not re.fullmatch(r"[0-9]{1,18}", token.text):
            self.fail(f"'{token.text}' is not an integer", token, f"such as {key} > 10")
        return int(token.text)

    def fail(self, problem: str, token: _Token, right: str = "") -> NoReturn:
        raise FilterError(problem, self.text, token.place, right)


COMPARE: dict[str, Callable[[pl.Expr, int], pl.Expr]] = {
    "=": lambda column, value: column == value,
    "!=": lambda column, value: column != value,
    "<": lambda column, value: column < value,
    ">": lambda column, value: column > value,
    "<=": lambda column, value: column <= value,
    ">=": lambda column, value: column >= value,
}


def _expression(filter_: Filter, table: pl.DataFrame) -> pl.Expr:  # noqa: PLR0911 — one return per kind
    match filter_:
        case Port(side, operator, number):
            either = pl.any_horizontal if operator != "!=" else pl.all_horizontal
            return either([COMPARE[operator](pl.col(name), number) for name in PORTS[side]])
        case Address(side, equal, network, port):
            sides = [ADDRESSES[side]] if ADDRESSES[side] else ["local", "peer"]
            found = pl.any_horizontal([_at(table, one, network, port) for one in sides])
            return found if equal else ~found
        case Is(key, equal, name):
            column = pl.col(NAMES[key])
            # `phase probe_bw` also matches its sub-states, such as probe_bw_up.
            found = column.str.starts_with(name) if key == "phase" else column.cast(pl.String) == name
            found = found.fill_null(value=False)
            return found if equal else ~found
        case Compare(key, operator, value):
            return COMPARE[operator](pl.col(NUMBERS[key]), value)
        case Not(part):
            return ~_expression(part, table).fill_null(value=False)
        case All(parts):
            return pl.all_horizontal(
                [_expression(part, table).fill_null(value=False) for part in parts] or [pl.lit(value=True)]
            )
        case Any_(parts):
            return pl.any_horizontal([_expression(part, table).fill_null(value=False) for part in parts])


def _at(table: pl.DataFrame, side: str, network: Network, port: int | None) -> pl.Expr:
    # Match each distinct address once; there are few.
    inside = [address for address in table[f"{side}_address"].unique() if _inside(address, network)]
    found = pl.col(f"{side}_address").is_in(inside)
    return found if port is None else found & (pl.col(f"{side}_port") == port)


@lru_cache(maxsize=1 << 17)
def _inside(address: str, network: Network) -> bool:
    """Is the address in the network? IPv4-mapped IPv6 (RFC 4291 section 2.5.5.2) counts as IPv4."""
    ip = ipaddress.ip_address(address)
    if isinstance(ip, ipaddress.IPv6Address) and ip.ipv4_mapped is not None and network.version == 4:
        ip = ip.ipv4_mapped
    return ip in network


def _wrapped(part: Filter) -> str:
    return f"({part})" if isinstance(part, All | Any_) else str(part)
