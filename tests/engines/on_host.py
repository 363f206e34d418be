"""An experiment that the host engine can run on every Linux, and whether this host allows it."""

from functools import cache
from pathlib import Path

from dumbbell.engines.base import Permissions
from dumbbell.engines.capability_probe import probe_capabilities
from dumbbell.engines.host import HostEngine
from dumbbell.errors import DumbbellError
from dumbbell.plan import plan_case
from dumbbell.spec import parse


def plain(duration: str = "1s", qdisc: str = "pfifo limit 50", rest: str = '[[flows]]\ncc = "cubic"\n') -> str:
    """A rate and a queue only: HTB and a fifo."""
    return (
        f'duration = "{duration}"\n[path]\nrtt = "0ms"\n[path.bottleneck]\nrate = "10mbit"\nqdisc = "{qdisc}"\n{rest}'
    )


@cache
def host_engine_error() -> str:
    """The reason that this host can't run experiments; empty if it can."""
    try:
        engine = HostEngine(Permissions(host=True))
        probed = probe_capabilities(engine.agent, plan_case(parse(plain(), Path("experiment.toml"))[0], 1))
    except DumbbellError as error:
        return str(error)
    missing = [f"{command}: {reason}" for command, reason in probed.refused.items() if reason]
    return "; ".join(missing)
