"""The grid of "BBRv3 Startup Behavior" (Mahmud et al., 2025), table I: 972 runs of 150 s with 20 to 500 flows.

Ten flows per sender and Gbit/s start evenly within 100 ms; `make reproduce` draws their starts at random. For a cluster of
Ray, write on="ray".
"""

import polars as pl

import fairpace as fp

PATH = """
title = "two senders, near-simultaneous starts"
duration = "150s"
interval = "1s"
window = { from = "0s" }
link = [{ rate = "1gbit", buffer = "1bdp" }]
flow = [{ name = "sender1", cc = "bbr3", rtt = "35ms" }, { name = "sender2", cc = "cubic", rtt = "35ms", start = "1ms" }]
"""

algorithms = ["bbr1", "bbr2", "bbr3", "bbr3e1", "bbr3e2", "bbr3e3"]
flows = {"1gbit": 10, "10gbit": 100, "25gbit": 250}
over = {
    "rate": {rate: {"link.rate": rate, "flow.count": n, "flow.stagger": f"{100_000 // n}us"} for rate, n in flows.items()},
    "aqm": {"fifo": {}, **{aqm: {"link.queue": aqm, "link.ecn": False} for aqm in ("fq_codel", "red")}},
    "rtt": {"145ms": {"flow.rtt": "145ms"}, "35ms": {}, "35ms/56ms": {"flow.sender2.rtt": "56ms"}},
    "link.buffer": ["1bdp", "2bdp", "4bdp"],
    "pair": {f"{a}/{b}": {"flow.sender1.cc": a, "flow.sender2.cc": b} for a in algorithms for b in (a, "cubic")},
}

if __name__ == "__main__":
    grid = fp.sweep(PATH, over, out="out/fabric-grid").scan()
    runs = grid.unique("run").group_by("aqm", "pair").agg(pl.col("jain").mean())
    print(runs.collect().pivot("aqm", index="pair").sort("pair"))
