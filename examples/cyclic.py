# %% [markdown]
# # BBR leads CUBIC, their shares rise and fall
#
# Two BBR and two CUBIC flows share 80 Mbit/s and a buffer of 225 kB. This notebook runs the experiment on the packet
# simulator, looks at what happened, and then changes one thing.

# %%
import dumbbell as db

cyclic = db.scenario("cyclic")
run = db.run(cyclic)
run

# %% [markdown]
# Pictures go by the names that `dumbbell plot --list` prints.

# %%
run.plot("groups")

# %%
run.plot("queue", width=700)

# %% [markdown]
# Tables are polars tables: everything that the kernel or the simulator says of every flow, at the same instants.

# %%
import polars as pl

run.flows.group_by("group", maintain_order=True).agg(
    pl.col("cwnd_packets").mean().round(1),
    (pl.col("rtt_ns").mean() / 1e6).round(2).alias("rtt_ms"),
)

# %% [markdown]
# And with four times the buffer?

# %%
deep = db.run(cyclic, path__bottleneck__qdisc="bfifo limit 900000")
{name: round(group["share"], 2) for name, group in deep.summary["groups"].items()}

# %%
db.compare(run, deep, names=["225 kB", "900 kB"])
