# %% [markdown]
# # BBR in ten minutes
#
# BBR (Cardwell et al., 2016) does not wait for loss. It measures two properties of a path and sends at the rate that they allow:
#
# - the **bandwidth** of the bottleneck: the maximum of the delivery rates of the last ten round trips;
# - the **propagation delay**: the minimum of the RTTs of the last ten seconds.
#
# The product of bandwidth and delay, the bandwidth-delay product (BDP), is the number of bytes that fit into the path without a
# queue. This notebook runs the algorithm itself in a packet simulator: the C source that also runs in a Linux kernel.

# %%
import os

import matplotlib.pyplot as plt

import fairpace as fp

SHORT = bool(os.environ.get("FAIRPACE_SHORT"))  # continuous integration runs a short version
fp.COMMIT  # every result says which build made it

# %% [markdown]
# ## One flow on an empty path
#
# The path of figure 5 of the paper has 10 Mbit/s and 40 ms. The BDP is 50 kB, 33 packets.

# %%
path = fp.Scenario.from_toml("""
title = "One flow alone"
duration = "12s"
interval = "10ms"
[window]
from = "4s"
[[link]]
rate = "10mbit"
buffer = "500kB"
[[flow]]
name = "bbr"
cc = "bbr1"
rtt = "40ms"
""")
alone = fp.run(path)
alone

# %% [markdown]
# `series` is an Arrow table. polars, pandas, pyarrow and DuckDB read the table without a copy; here it becomes a data frame of
# polars.

# %%
import polars as pl

bbr = alone.series.to_polars()
bbr.filter(pl.col("t_s") > 0.1).select("t_s", "phase", "goodput_mbps", "rtt_ms", "cwnd_pkts", "inflight_pkts", "bw_mbps").head(5)

# %%
start = bbr.filter(pl.col("t_s") < 1.0)
figure, (upper, lower) = plt.subplots(2, 1, figsize=(8, 5), sharex=True)
upper.plot(start["t_s"], start["inflight_pkts"], label="in flight")
upper.axhline(33, color="grey", linestyle=":", label="BDP")
upper.set_ylabel("packets")
upper.legend()
lower.plot(start["t_s"], start["rtt_ms"], color="tab:red")
lower.axhline(40, color="grey", linestyle=":")
lower.set_ylabel("RTT, ms")
lower.set_xlabel("time, s")
upper.set_title("STARTUP doubles the rate each round trip; DRAIN takes the queue away")
figure.tight_layout()

# %% [markdown]
# The phases of BBR describe the curves in words. STARTUP ends when the bandwidth has not grown for three rounds. At this time a
# BDP is in flight, and a queue of up to two more BDPs. DRAIN then lets the queue empty.

# %%
phases = bbr.with_columns(pl.col("phase").rle_id().alias("part"))
phases.group_by("part", maintain_order=True).agg(
    pl.col("phase").first(), pl.col("t_s").first().alias("from_s"), pl.col("rtt_ms").max().alias("most_rtt_ms")
).head(6)

# %% [markdown]
# ## The cycle
#
# In PROBE_BW the pacing gain varies around 1. A round trip at 1.25 looks for more bandwidth. A round trip at 0.75 then drains the
# queue that the first round trip has added. After ten seconds without a new minimum of the RTT, PROBE_RTT sends four packets for
# 200 ms to measure the propagation delay again.

# %%
some = bbr.filter((pl.col("t_s") > 5) & (pl.col("t_s") < 7))
figure, (upper, lower) = plt.subplots(2, 1, figsize=(8, 4), sharex=True)
upper.plot(some["t_s"], some["pacing_gain"], drawstyle="steps-post")
upper.set_ylabel("pacing gain")
lower.plot(some["t_s"], some["rtt_ms"], color="tab:red")
lower.set_ylabel("RTT, ms")
lower.set_xlabel("time, s")
figure.tight_layout()

# %%
rest = bbr.filter(pl.col("t_s") > 9)
figure, axis = plt.subplots(figsize=(8, 3))
axis.plot(rest["t_s"], rest["inflight_pkts"])
axis.set_ylabel("in flight, packets")
axis.set_xlabel("time, s")
axis.set_title("PROBE_RTT, about ten seconds after the last minimum of the RTT")
figure.tight_layout()

# %% [markdown]
# ## Beside CUBIC
#
# CUBIC, the default of Linux, increases its window until a packet is lost, so it fills a buffer of any size.

# %%
both = {"bbr1": alone, "cubic": fp.run(path, set={"flow.cc": "cubic"})}
figure, axis = plt.subplots(figsize=(8, 3))
for name, result in both.items():
    series = result.series.to_polars()
    axis.plot(series["t_s"], series["rtt_ms"], label=name)
axis.set_ylabel("RTT, ms")
axis.set_xlabel("time, s")
axis.legend()
figure.tight_layout()
{name: result.summary["links"][0]["queue_delay_mean_ms"] for name, result in both.items()}

# %% [markdown]
# ## With loss
#
# Figure 8 of the paper shows loss that is not caused by congestion. Such loss stops CUBIC. It does not stop BBR, up to the gain
# of 1.25.

# %%
rates = [0.01, 1, 5] if SHORT else [0.001, 0.01, 0.1, 1, 2, 5, 10, 15, 20, 25, 30]
goodput = {
    cc: [
        fp.run(path, set={"flow.cc": cc, "link.loss": f"{loss}%", "link.rate": "100mbit", "link.buffer": "10MB"})
        .summary["flows"][0]["goodput_mbps"]
        for loss in rates
    ]
    for cc in ("bbr1", "cubic")
}
figure, axis = plt.subplots(figsize=(8, 3))
for cc, values in goodput.items():
    axis.semilogx(rates, values, marker="o", label=cc)
axis.set_xlabel("loss, %")
axis.set_ylabel("goodput, Mbit/s")
axis.legend()
figure.tight_layout()

# %% [markdown]
# ## The problem
#
# Two BBR flows share a link. One flow has an RTT of 10 ms, the other an RTT of 50 ms. Each flow keeps an amount in flight that is
# proportional to its own RTT. The flow with the longer RTT therefore has most of the queue, and of the link.

# %%
two = fp.compare(["bbr1"], rate="100mbit", buffer="2MB", rtt=["10ms", "50ms"], duration="30s" if SHORT else "60s")["bbr1"]
two.flows.to_polars().select("flow", "goodput_mbps", "share", "rtt_mean_ms")

# %% [markdown]
# The next notebook explains this, and shows which algorithms share better. `two` alone in a cell shows the whole report.
