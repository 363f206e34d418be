"""Real hosts: runs each end of an experiment on a host reached by ssh, and restores the hosts afterwards.

```text
remote_engine     a run from the plan to the result folder
ssh               the ssh command and its errors
agent_connection  one host: an ssh process with an agent at the other end
frames            the messages
host_group        all hosts of a run: sends and receives messages, heartbeat every second
clock_offset      offset of each host's clock, and its uncertainty
preflight         checks each host before anything is changed
join              joins the hosts' records into one run's
remote_validity   validity of the run
```

`dumbbell.plan` distributes the experiment. On each host the agent (`crates/agent/src/remote`) restores
everything, even if ssh or this process dies.
"""

from dumbbell.engines.remote.remote_engine import RemoteEngine

__all__ = ["RemoteEngine"]
