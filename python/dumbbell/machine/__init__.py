"""What this machine is, and what it says of itself when it is asked.

```text
agent        where the agent is
connections  every TCP connection of a network namespace, as the kernel tells of it
```

Numbers and answers; what they mean is `dumbbell.analysis`'s, how they look `dumbbell.cli`'s.
"""
