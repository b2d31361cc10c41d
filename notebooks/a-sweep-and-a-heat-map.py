# %% [markdown]
# # A sweep and a heat map
#
# How does the share of the flow with the shorter RTT depend on the rate of the link and on its buffer? A sweep runs a grid of
# scenarios with several seeds on all cores (or on a Ray cluster: `on="ray"`). It writes a Parquet data set that polars and DuckDB
# read.

# %%
import os
import tempfile

import matplotlib.pyplot as plt
import polars as pl

import fairpace as fp

SHORT = bool(os.environ.get("FAIRPACE_SHORT"))  # continuous integration runs a short version

# %%
path = fp.Scenario(
    title="10 and 50 ms",
    duration="10s" if SHORT else "40s",
    window=fp.Window(from_="5s" if SHORT else "15s"),
    links=[fp.Link(rate="100mbit", buffer="1bdp")],
    flows=[fp.Flow(name="short", cc="bbr1", rtt="10ms"), fp.Flow(name="long", cc="bbr1", rtt="50ms", start="2s")],
)
over = {
    "algorithm": {cc: {"flow.cc": cc} for cc in ("bbr1", "bbr3", "bbq", "level")},
    "link.rate": ["10mbit", "100mbit"] if SHORT else ["5mbit", "10mbit", "20mbit", "50mbit", "100mbit", "200mbit"],
    "link.buffer": ["0.5bdp", "4bdp"] if SHORT else ["0.25bdp", "0.5bdp", "1bdp", "2bdp", "4bdp", "8bdp"],
}
results = fp.sweep(path, over, seeds=range(1 if SHORT else 3), out=tempfile.mkdtemp())
len(results), results.failed

# %% [markdown]
# The data set has a row per flow of each run; the keys of the grid are columns. A run that fails would be a row with its error.
# The same call continues an interrupted sweep, and does not repeat finished runs.

# %%
rows = results.scan()
rows.select("algorithm", "link.rate", "link.buffer", "seed", "flow", "goodput_mbps", "share", "jain").head(4).collect()

# %%
shares = (
    rows.filter(pl.col("flow") == "short")
    .group_by("algorithm", "link.rate", "link.buffer")
    .agg(pl.col("share").mean(), pl.col("jain").mean())
    .collect()
)


def grid(cc):
    """The shares of an algorithm, a row per rate."""
    mine = shares.filter(pl.col("algorithm") == cc).iter_rows(named=True)
    of = {(row["link.rate"], row["link.buffer"]): row["share"] for row in mine}
    return [[of[rate, buffer] for buffer in over["link.buffer"]] for rate in over["link.rate"]]


figure, axes = plt.subplots(1, len(over["algorithm"]), figsize=(11, 3.2), sharey=True, layout="constrained")
for axis, cc in zip(axes, over["algorithm"]):
    image = axis.imshow(grid(cc), cmap="RdBu", vmin=0, vmax=1, aspect="auto")
    axis.set_title(cc)
    axis.set_xticks(range(len(over["link.buffer"])), over["link.buffer"], rotation=45)
    axis.set_yticks(range(len(over["link.rate"])), over["link.rate"])
axes[0].set_ylabel("rate of the link")
figure.supxlabel("buffer", fontsize="medium")
_ = figure.colorbar(image, ax=axes, label="share of the 10 ms flow")

# %% [markdown]
# White: the shares are equal. Red: the flow of 50 ms has the larger share. A BDP is the BDP of the longest RTT.
#
# The fairness of each algorithm over the whole grid:

# %%
shares.group_by("algorithm").agg(
    pl.col("jain").mean().alias("mean Jain"), pl.col("jain").min().alias("worst"), pl.col("share").median().alias("median share")
).sort("mean Jain")
