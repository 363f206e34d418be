"""netem: delays and losses as the kernel gets them (iproute2 `tc/q_netem.c`, net/sched/sch_netem.c)."""

from typing import Any

from dumbbell.plan.tc.disciplines import Device
from dumbbell.plan.tc.lacks import Lacks
from dumbbell.plan.tc.numbers import ALWAYS, Options, bytes_per_second, chance, count, delay_ns
from dumbbell.spec import units
from dumbbell.spec.units import Wrong

__all__ = ["merged", "netem"]

LIMIT = 1000
MOST_OVERHEAD = 2**31 - 1
MOST_IN_A_SLOT = 2**31 - 1
CORRELATED = {"delay": 3, "latency": 3, "loss": 2, "drop": 2, "duplicate": 2}
"""Options whose last argument is one of the three correlations that tc sends together."""


def netem(options: Options, _device: Device) -> dict[str, Any]:
    """Every setting of a netem; what was not written is off."""
    if "ecn" in options:
        raise Lacks("the simulator's netem has no 'ecn'")
    delay = options.get("delay") or options.get("latency") or ()
    config: dict[str, Any] = {
        "kind": "netem",
        "limit": count(options, "limit", default=LIMIT),
        "delay": delay_ns(delay[0]) if delay else 0,
        "jitter": delay_ns(delay[1]) if len(delay) > 1 else 0,
        "delay_correlation": chance(delay[2]) if len(delay) > 2 else 0,
        "distribution": options.get("distribution", ("uniform",))[0],
        "loss": _every(options) or _loss(options.get("loss") or options.get("drop")),
        "reorder": _correlated(options.get("reorder")),
        "gap": _gap(options, bool(delay)),
        "duplicate": _correlated(options.get("duplicate")),
        "corrupt": _correlated(options.get("corrupt")),
        "rate": _rate(options.get("rate")),
    }
    if (slot := _slot(options)) is not None:
        config["slot"] = slot
    if "seed" in options:
        config["seed"] = units.count(options["seed"][0])
    if "distribution" in options and not (config["delay"] and config["jitter"]):
        raise Wrong("netem's distribution needs a delay and a jitter", "such as delay 10ms 2ms distribution normal")
    return config


def merged(before: dict[str, Any], options: Options, now: dict[str, Any]) -> dict[str, Any]:
    """`tc qdisc change`: the kernel keeps what tc has an attribute for and did not send.

    Delay, jitter, limit, gap, loss and duplication are always sent; reordering, corruption, rate,
    distribution and slots only when written; the three correlations together, when one of them was.
    """
    kept = dict(now)
    for option in ("reorder", "corrupt", "rate", "distribution", "slot"):
        if option not in options and option in before:
            kept[option] = before[option]
    if not any(_has_correlation(option, words) for option, words in options.items()):
        kept["delay_correlation"] = before["delay_correlation"]
        kept["duplicate"] = now["duplicate"] | {"correlation": before["duplicate"]["correlation"]}
        if isinstance(now["loss"], dict) and "random" in now["loss"]:
            kept["loss"] = {"random": now["loss"]["random"] | {"correlation": _loss_correlation(before["loss"])}}
    return kept


def _has_correlation(option: str, words: tuple[str, ...]) -> bool:
    words = words[1:] if words[:1] == ("random",) else words
    models = words[:1] in (("state",), ("gemodel",))
    return option in CORRELATED and not models and len(words) >= CORRELATED[option]


def _loss_correlation(loss: Any) -> int:
    return int(loss["random"]["correlation"]) if isinstance(loss, dict) and "random" in loss else 0


def _every(options: Options) -> Any:
    every = count(options, "every")
    return {"every": {"every": every}} if every else None


def _loss(words: tuple[str, ...] | None) -> Any:
    if not words:
        return "none"
    model, shares = (words[0], words[1:]) if words[0] in ("random", "state", "gemodel") else ("random", words)
    if not shares:
        raise Wrong("netem's loss without a share", "such as loss 1%")
    if len(shares) > {"random": 2, "state": 5, "gemodel": 4}[model]:
        raise Wrong(f"too many shares for netem's loss {model}", "see tc-netem(8)")
    chances = [chance(share) for share in shares]
    if model == "random":
        return {"random": _correlated(shares)}
    # What is left out: the rest of the first share, then never and always (q_netem.c).
    rest = round((1 - float(shares[0].removesuffix("%")) / 100) * ALWAYS)
    if model == "state":
        values = chances + [0, rest, 0, ALWAYS, 0][len(chances) :]
        return {"state": dict(zip(("p13", "p31", "p32", "p23", "p14"), values, strict=True))}
    if len(chances) > 2:
        chances[2] = ALWAYS - chances[2]  # tc is told 1-h, and tells the kernel h.
    values = chances + [0, rest, 0, 0][len(chances) :]
    return {"gemodel": dict(zip(("p", "r", "h", "k1"), values, strict=True))}


def _correlated(words: tuple[str, ...] | None) -> dict[str, int]:
    words = words or ()
    return {
        "chance": chance(words[0]) if words else 0,
        "correlation": chance(words[1]) if len(words) > 1 else 0,
    }


def _gap(options: Options, delays: bool) -> int:
    """Without a gap of its own a reorder has one of 1; a gap needs a reorder, and that a delay."""
    gap = count(options, "gap")
    reorders = "reorder" in options and chance(options["reorder"][0]) > 0
    if gap and not reorders:
        raise Wrong("netem's gap needs a reorder", "such as reorder 25% gap 5")
    if reorders and not delays:
        raise Wrong("netem's reorder needs a delay", "such as delay 5ms reorder 25%")
    return gap or int(reorders)


def _slot(options: Options) -> dict[str, int] | None:
    """Slots; without a limit of packets or bytes as many as there are. One of no length is off (`get_slot`)."""
    words = options.get("slot")
    if words is None:
        if "packets" in options or "bytes" in options:
            raise Wrong("netem's packets and bytes are those of a slot", "such as slot 5ms packets 16")
        return None
    least = units.duration_ns(words[0])
    most = units.duration_ns(words[1]) if len(words) > 1 else least
    if most < least:
        raise Wrong("netem's slots whose most is below their least", "such as slot 2ms 6ms")
    limits = {name: min(count(options, name) or MOST_IN_A_SLOT, MOST_IN_A_SLOT) for name in ("packets", "bytes")}
    return {"least": least, "most": most} | limits if most else None


def _rate(words: tuple[str, ...] | None) -> dict[str, int] | None:
    if not words:
        return None
    names = ("packet_overhead", "cell_size", "cell_overhead")
    numbers = {name: min(units.count(word), MOST_OVERHEAD) for name, word in zip(names, words[1:], strict=False)}
    return {"rate": bytes_per_second(words[0])} | numbers
