"""Every algorithm against every other one on one link, each first and each second: the runs of `make duels`."""

import polars as pl

import fairpace as fp

DUEL = """
title = "duel"
duration = "60s"
window = { from = "20s" }
link = [{ rate = "100mbit", buffer = "1bdp" }]
flow = [{ name = "first", cc = "bbr1", rtt = "20ms" }, { name = "second", cc = "bbr1", rtt = "20ms", start = "1s" }]
"""

names = [algorithm["name"] for algorithm in fp.algorithms()]
# the second flow starts after 1, 1.33 and 1.67 s
starts = {str(number): {"seed": 1 + number, "flow.second.start": f"{(3 + number) * 10**9 // 3}ns"} for number in range(3)}
over = {"link.buffer": ["0.5bdp", "1bdp", "4bdp"], "flow.first.cc": names, "flow.second.cc": names, "repetition": starts}

if __name__ == "__main__":
    flows = fp.sweep(DUEL, over, out="out/duels").scan()
    first = flows.filter(pl.col("flow") == "first").group_by("link.buffer", "flow.first.cc", "flow.second.cc")
    print(first.agg(pl.col("share").mean()).sort("share").collect())
