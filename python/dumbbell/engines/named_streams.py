"""Boot arguments for a kernel that draws the simulator's random numbers.

Such a kernel (`dumbbell.kernels.named_streams`) knows neither the seed nor the flows' names; it finds a connection's
flow by its port and the order in which the flows of a port connect.
"""

from collections import defaultdict

from dumbbell.plan import Plan

__all__ = ["stream_arguments"]

MOST_CHARACTERS = 3_500
"""What the kernel's command line holds, without the other arguments. Flows beyond it share a stream."""


def stream_arguments(plan: Plan, seed: int) -> tuple[str, ...]:
    """The seed, the name of the bottleneck's stream, and for each port its flows in the order of their starts.

    A flow has the simulator's number and name. The simulator numbers flows by name, and probes after them.
    """
    numbers = {flow.name: number for number, flow in enumerate(sorted(plan.flows, key=lambda flow: flow.name))}
    ports: defaultdict[int, list[str]] = defaultdict(list)
    for flow in sorted(plan.flows, key=lambda flow: (flow.start_ns, numbers[flow.name])):
        ports[flow.port].append(f"{numbers[flow.name]}={flow.name}")
    for number, probe in enumerate(plan.probes, start=len(numbers)):
        ports[probe.port].append(f"{number}={probe.kind}")
    flows = ";".join(f"{port}:{','.join(named)}" for port, named in ports.items())
    return f"named_seed={seed}", *_bottleneck(plan), f"named_flows={flows[:MOST_CHARACTERS]}"


def _bottleneck(plan: Plan) -> list[str]:
    """The simulator names a device after its host and its peer."""
    return [
        f"named_bottleneck={queue.host}-{wire.right_host}.{queue.handle}"
        for queue in plan.queues
        if queue.under_test
        for wire in plan.links
        if (wire.left_host, wire.left_device) == (queue.host, queue.device)
    ]
