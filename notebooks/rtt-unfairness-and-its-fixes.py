# %% [markdown]
# # The RTT unfairness of BBR, and its fixes
#
# If two BBR flows share a link, the flow with the longer RTT takes most of the rate (Ma et al., 2017). This notebook shows the
# size of the effect, its cause, and what five algorithms change.

# %%
import os

import matplotlib.pyplot as plt
import polars as pl

import fairpace as fp

SHORT = bool(os.environ.get("FAIRPACE_SHORT"))  # continuous integration runs a short version
LENGTH, WARMUP = ("30s", "10s") if SHORT else ("120s", "30s")


def pair(cc, rtt=("10ms", "50ms"), rate="100mbit", buffer="2MB"):
    """Two flows of an algorithm on one link; the second starts five seconds after the first."""
    return fp.compare([cc], rate=rate, buffer=buffer, rtt=rtt, duration=LENGTH, warmup=WARMUP)[cc]


def goodputs(result):
    return [flow["goodput_mbps"] for flow in result.summary["flows"]]


# %% [markdown]
# ## How much
#
# A flow of 10 ms shares a link of 100 Mbit/s with a flow of a longer RTT. The buffer is deep.

# %%
longer = [10, 20, 50] if SHORT else [10, 12, 15, 20, 30, 50, 75, 100]
share = [goodputs(pair("bbr1", ("10ms", f"{ms}ms"))) for ms in longer]

figure, axis = plt.subplots(figsize=(8, 3))
axis.plot(longer, [short / (short + long) for short, long in share], marker="o")
axis.axhline(0.5, color="grey", linestyle=":", label="equal")
axis.set(xlabel="RTT of the other flow, ms", ylabel="share of the 10 ms flow", ylim=(0, 0.6))
axis.legend()
figure.tight_layout()

# %% [markdown]
# ## Why
#
# While a flow probes, it sends for one of *its own* round trips at 1.25 times its rate. The amount that it adds to the queue is
# proportional to its RTT. The other flow measures a lower delivery rate in this time, and lowers its estimate. In the end the
# cwnd of the flow with the long RTT, two BDPs, limits this flow. Its BDP is the larger BDP, again in proportion to the RTT. The
# backlog of the flows shows the effect:

# %%
bbr = pair("bbr1")
backlog = bbr.backlog.to_polars().filter(pl.col("t_s") > 10)
figure, axis = plt.subplots(figsize=(8, 3))
for name, part in backlog.partition_by("flow", as_dict=True, maintain_order=True).items():
    axis.plot(part["t_s"], part["backlog_kb"], label=name[0], linewidth=0.8)
axis.set(xlabel="time, s", ylabel="bytes in the queue, kB")
axis.legend()
figure.tight_layout()
bbr.flows.to_polars().select("flow", "goodput_mbps", "share", "rtt_mean_ms")

# %% [markdown]
# The share of the queue is the share of the link, since a FIFO queue serves both flows alike.

# %%
dict(zip(("10ms", "50ms"), bbr.summary["links"][0]["backlog_share"]))

# %% [markdown]
# ## The fixes
#
# - **BBQ** (Ma et al., 2017) ends a probe after 3 ms when there is a queue, whatever the RTT is.
# - **NYU** (Zhang et al., 2018) ends the phases early and lowers the gain with the queueing delay.
# - **BBRv3** (Google, 2023) has other bounds, and is as unfair as BBRv1.
# - **LEVEL**, an experiment of this project, steers the rate of each flow by the queueing delay, which all flows share.

# %%
fixes = ["bbr1", "bbr3", "nyu", "bbq", "level", "cubic"]
results = {cc: pair(cc) for cc in fixes}
table = pl.DataFrame(
    {
        "algorithm": fixes,
        "10 ms flow, Mbit/s": [goodputs(result)[0] for result in results.values()],
        "50 ms flow, Mbit/s": [goodputs(result)[1] for result in results.values()],
        "Jain": [result.jain for result in results.values()],
        "queue, ms": [result.summary["links"][0]["queue_delay_mean_ms"] for result in results.values()],
    }
)
table

# %%
figure, (left, right) = plt.subplots(1, 2, figsize=(8, 3))
bottom = [0.0] * len(fixes)
for column in ("10 ms flow, Mbit/s", "50 ms flow, Mbit/s"):
    left.bar(fixes, table[column], bottom=bottom, label=column.split(",")[0])
    bottom = [a + b for a, b in zip(bottom, table[column])]
left.axhline(47.8, color="grey", linestyle=":", linewidth=0.8)
left.set(ylabel="goodput, Mbit/s", ylim=(0, 120))
left.legend(fontsize="small", ncols=2)
right.bar(fixes, table["queue, ms"], color="tab:red")
right.set_ylabel("mean queueing delay, ms")
for axis in (left, right):
    axis.tick_params(axis="x", rotation=45)
figure.tight_layout()

# %% [markdown]
# ## Where a fix ends
#
# A fix for one path need not work on another path. The plot shows the Jain index of two flows over the depth of the buffer. At an
# index of 1 the rates are equal; at 0.5 one flow has the whole rate:

# %%
buffers = ["100kB", "1MB"] if SHORT else ["50kB", "100kB", "250kB", "500kB", "1MB", "2MB", "4MB"]
depth = {cc: [pair(cc, buffer=buffer).jain for buffer in buffers] for cc in ("bbr1", "bbr3", "bbq", "level", "cubic")}
figure, axis = plt.subplots(figsize=(8, 3))
for cc, values in depth.items():
    axis.plot(buffers, values, marker="o", label=cc)
axis.set(xlabel="buffer", ylabel="Jain's index", ylim=(0.45, 1.03))
axis.legend(ncols=5, fontsize="small")
figure.tight_layout()

# %% [markdown]
# The evaluation of this repository measures each algorithm by many more criteria: `docs/evaluation.md`, or `fp.evaluate`.
