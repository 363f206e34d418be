"""An experiment that the host engine can run on every Linux, and whether this host allows it."""

from functools import cache
from pathlib import Path

from dumbbell.engines.host.capability_probe import probe_capabilities
from dumbbell.engines.host.host_engine import HostEngine
from dumbbell.engines.permissions import Permissions
from dumbbell.errors import DumbbellError
from dumbbell.plan import plan_case
from dumbbell.spec import parse


def plain(duration: str = "1s", qdisc: str = "pfifo limit 50", rest: str = '[[flows]]\ncc = "cubic"\n') -> str:
    """A rate and a queue only: HTB and a fifo."""
    return (
        f'duration = "{duration}"\n[path]\nrtt = "0ms"\n[path.bottleneck]\nrate = "10mbit"\nqdisc = "{qdisc}"\n{rest}'
    )


@cache
def why_not() -> str:
    """Why this host can't run experiments; empty if it can."""
    try:
        engine = HostEngine(Permissions(host=True))
        tried = probe_capabilities(engine.agent, plan_case(parse(plain(), Path("experiment.toml"))[0], 1))
    except DumbbellError as error:
        return str(error)
    lacking = [f"{what}: {reason}" for what, reason in tried.refused.items() if reason]
    return "; ".join(lacking)
