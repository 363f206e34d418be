"""A reader of tc commands: what `tc` would tell the kernel, as the numbers that the simulator takes.

```text
numbers      tc's units, roundings and ticks
disciplines  pfifo, bfifo, pfifo_head_drop, pfifo_fast, tbf, codel, fq_codel
pie          pie and fq_pie
netem        delays and losses
dualpi2      its words, and the gains that tc computes from round-trip times
red          the numbers that tc derives from red's words
early        choke and sfq, with red's numbers
htb          htb and its classes
bands        prio and drr
filters      filters to classes, and policers
fq, cake     fair queueing with pacing, and with everything
reader       whole commands: which discipline stands where, and what a change makes of it
```

Defaults and roundings are those of iproute2 6.1 and Linux 6.12 as `tc -s qdisc show` gave them in a guest
(tests/plan/test_tc.py holds its answers). What the simulator lacks is a `Wrong` that names it. Only
`dumbbell.plan.world` needs this; tc itself needs no help.
"""

from dumbbell.plan.tc.reader import Reader

__all__ = ["Reader"]
