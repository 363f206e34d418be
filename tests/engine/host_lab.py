"""An experiment that every Linux can run on itself, and whether this machine lets us, found by trying."""

from functools import cache
from pathlib import Path

from dumbbell.engine.host import HostEngine
from dumbbell.engine.host_trial import try_out
from dumbbell.engine.permissions import Permissions
from dumbbell.errors import DumbbellError
from dumbbell.plan import plan_case
from dumbbell.spec import parse


def plain(duration: str = "1s", qdisc: str = "pfifo limit 50", rest: str = '[[flows]]\ncc = "cubic"\n') -> str:
    """A rate, a queue and nothing else: HTB and a fifo."""
    return (
        f'duration = "{duration}"\n[path]\nrtt = "0ms"\n[path.bottleneck]\nrate = "10mbit"\nqdisc = "{qdisc}"\n{rest}'
    )


@cache
def why_not() -> str:
    """Why this machine runs no experiment on itself; empty where it does."""
    try:
        engine = HostEngine(Permissions(host=True))
        tried = try_out(engine.agent, plan_case(parse(plain(), Path("experiment.toml"))[0], 1))
    except DumbbellError as error:
        return str(error)
    lacking = [f"{what}: {reason}" for what, reason in tried.refused.items() if reason]
    return "; ".join(lacking)
