"""What sweeps cost: the tables of docs/scale.md.

Needs the package in its release build, ray, and a machine with two cores that are not busy: `python crates/python/bench/scale.py`.
It takes some minutes and writes the tables into docs/scale.md; `--print` prints them only.

A core counts as busy while a thread runs on it or waits for it, by the kernel's own count (/proc/thread-self/schedstat): so other
programs on the machine make a sweep slower, but its cores no less busy.
"""

from __future__ import annotations

import argparse
import importlib
import os
import platform
import shutil
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import fairpace as fp
from fairpace import _fairpace, _local, _ray, _runs

PAGE = Path(__file__).parents[3] / "docs" / "scale.md"
BEGIN, END = "<!-- measured: crates/python/bench/scale.py -->", "<!-- /measured -->"

SECOND = """
title = "one second"
duration = "1s"
link = [{ rate = "10mbit", buffer = "1bdp" }]
flow = [{ cc = "bbr1", rtt = "10ms" }, { cc = "cubic", rtt = "10ms", start = "100ms" }]
"""
"""A run of some hundred packets: the cost of the machinery shows most."""

MINUTES = """
title = "ten minutes"
duration = "600s"
link = [{ rate = "100mbit", buffer = "2MB" }]
flow = [{ cc = "bbr1", rtt = "10ms" }, { cc = "bbr1", rtt = "50ms" }]
"""
"""A run of five million packets: the cost of packets shows."""

GRID = """
title = "a cell of the FABRIC grid"
duration = "15s"
interval = "1s"
link = [{ rate = "1gbit", buffer = "1bdp" }]
flow = [
    { name = "sender1", cc = "bbr3", rtt = "35ms", count = 10, stagger = "10ms" },
    { name = "sender2", cc = "cubic", rtt = "35ms", start = "1ms", count = 10, stagger = "10ms" },
]
"""
"""A tenth of such a run."""

KINDS = [
    ("two flows, 10 Mbit/s, 1 s", SECOND, 1.0, 1000),
    ("two flows, 100 Mbit/s, 60 s", MINUTES, 0.1, 1),
    ("20 flows, 1 Gbit/s, 150 s (FABRIC)", GRID, 10.0, 1),
]
"""Runs of the calculation: a scenario, how much of it a run is, and how many are measured."""

CORES = 1000
RUNS = 1_000_000
TASKS_PER_S = 568.6
"""Tasks that a cluster of 2,500 cores started per second in Ray's own release test `many_tasks`, Ray 2.37.0."""


def demand_s() -> float:
    """Seconds in which this thread ran or waited for a core."""
    ran_ns, waited_ns, _ = Path("/proc/thread-self/schedstat").read_text().split()
    return (int(ran_ns) + int(waited_ns)) / 1e9


@dataclass
class Measured:
    """A sweep."""

    cores: int
    wall_s: float
    demand_s: float
    made: fp.Sweep

    @property
    def run_s(self) -> float:
        """CPU time of a run."""
        return self.made.cpu_s / self.made.made

    def row(self, where: str, alone_s: float) -> str:
        """Its line of the table; a run of one thread alone takes ``alone_s``."""
        busy, ran = (seconds / self.wall_s / self.cores for seconds in (self.demand_s, self.made.cpu_s))
        return (
            f"| {where} | {self.cores} | {self.wall_s:.1f} | {self.made.made / self.wall_s:,.0f} | {1e6 * self.run_s:.0f} | "
            f"{100 * busy:.1f} % | {100 * busy * alone_s / self.run_s:.0f} % | {100 * ran:.1f} % |"
        )


def measured(cores: int, scenario: str, runs: int, **arguments: Any) -> Measured:
    """Makes a sweep of this many seeds; `_simulate` adds up the demand of its threads."""
    DEMANDS.clear()
    with tempfile.TemporaryDirectory() as out:
        begun = time.perf_counter()
        made = fp.sweep(scenario, None, range(runs), out=out, quiet=True, **arguments)
        return Measured(cores, time.perf_counter() - begun, sum(DEMANDS), made)


DEMANDS: list[float] = []
_simulate = _local.simulate


def simulate_and_count(piece: _runs.Piece, cancel: _fairpace.Cancel) -> tuple[_fairpace.Rows, float]:
    """A piece on this machine."""
    before = demand_s()
    done = _simulate(piece, cancel)
    DEMANDS.append(demand_s() - before)
    return done


def bytes_per_run() -> float:
    """Of the data set, both tables, of 1,000 runs of two flows, all of which differ."""
    over = {"flow.2.start": [f"{ms}ms" for ms in range(250)], "link.buffer": ["1bdp", "2bdp", "4bdp", "8bdp"]}
    with tempfile.TemporaryDirectory() as out:
        fp.sweep(SECOND, over, out=out, quiet=True)
        return sum(file.stat().st_size for file in Path(out).glob("*/*.parquet")) / 1000


def timed(work: Callable[[], object]) -> float:
    """Seconds of CPU time of this thread."""
    begun = time.thread_time()
    work()
    return time.thread_time() - begun


def driver_costs() -> tuple[float, float, float]:
    """Of the driver for each run: CPU time to plan it with a point of its own and to write its rows, and bytes that it gets."""
    over = {"flow.1.start": [f"{ms}ms" for ms in range(900)]}
    runs = _runs.runs_of(SECOND, over, None, None)
    plan_s = timed(lambda: [runs.piece(indices) for part in runs.parts() for indices in part.pieces(5e6)]) / 900
    piece = runs.piece(range(900))
    content = _simulate(piece, _fairpace.Cancel())[0].to_bytes()

    def write() -> None:
        rows = _fairpace.Rows.join([_fairpace.Rows.from_bytes(content)])
        rows.parquet("flows", [])
        rows.parquet("links", [])

    return plan_s, timed(write) / 900, sum(map(len, content[0])) / 900


def on_ray(rows: list[str], nodes: int, runs: int, alone_s: float, task_costs: list[float]) -> None:
    """Sweeps on a cluster of this many local nodes with a core each; the driver's node has none."""
    folder = tempfile.mkdtemp(prefix="fp-ray-", dir="/tmp")
    os.environ.update(RAY_TMPDIR=folder, RAY_USAGE_STATS_ENABLED="0")
    ray: Any = importlib.import_module("ray")
    from ray.cluster_utils import Cluster

    def task_and_count(piece: _runs.Piece) -> Any:
        before = demand_s()
        content, cpu_s = _task(piece)
        return (content, cpu_s), demand_s() - before

    _task, _get = _ray._task, ray.get

    def get_and_count(ref: Any) -> Any:
        value, demand = _get(ref)
        DEMANDS.append(demand)
        return value

    cluster: Any = Cluster()
    try:
        for cpus in [0] + [1] * nodes:
            cluster.add_node(num_cpus=cpus, object_store_memory=80 * 2**20, include_dashboard=False)
        ray.init(address=cluster.address, log_to_driver=False)
        cluster.wait_for_nodes()
        _ray._task, ray.get = task_and_count, get_and_count
        # the processes of the workers start with the first tasks
        measured(nodes, SECOND, 1000, on="ray")
        rows.append(measured(nodes, SECOND, runs, on="ray").row("Ray", alone_s))
        nothing, count = ray.remote(num_cpus=1)(lambda: None), 500
        task_costs.append(timed(lambda: _get([nothing.remote() for _ in range(count)])) / count)
    finally:
        _ray._task, ray.get = _task, _get
        ray.shutdown()
        cluster.shutdown()
        shutil.rmtree(folder, ignore_errors=True)


def calculation(driver_s: float, task_s: float, run_bytes: float) -> list[str]:
    """A million runs on a thousand cores; ``driver_s`` is the driver's time for each."""
    rows = [
        "| run | packets | CPU time per run | cores | tasks | driver | scheduler | bottleneck | at least | data set |",
        "|---|---:|---:|---:|---:|---:|---:|---|---:|---:|",
    ]
    for name, scenario, part, count in KINDS:
        made = measured(1, scenario, count, jobs=1).made
        packets, run_s = part * made.packets / count, part * made.cpu_s / count
        task_packets = _ray._PACKETS * CORES / _ray._CORES_PER_TASK
        per_task = max(1.0, min(task_packets // (packets + _runs.RUN_PACKETS), float(_runs.MOST_RUNS)))
        tasks = RUNS / per_task
        spans = {
            "cores": RUNS * run_s / CORES,
            "driver": RUNS * driver_s + tasks * task_s,
            "scheduler": tasks / TASKS_PER_S,
        }
        slowest = max(spans, key=lambda one: spans[one])
        rows.append(
            f"| {name} | {packets:,.0f} | {1e3 * run_s:,.2f} ms | {span(spans['cores'])} | {tasks:,.0f} | {span(spans['driver'])} | "
            f"{span(spans['scheduler'])} | {slowest} | {span(spans[slowest])} | {RUNS * run_bytes / 1e6:,.0f} MB |"
        )
    return rows


def span(seconds: float) -> str:
    """For people."""
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


def main() -> None:
    """Measures, and writes the tables."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--print", action="store_true", help="print the tables, and leave the page as it is")
    arguments.add_argument("--runs", type=int, default=10_000, help="runs of a second")
    arguments.add_argument("--no-ray", action="store_true")
    given = arguments.parse_args()
    _local.simulate = simulate_and_count
    load = os.getloadavg()[0]

    rows = [
        "| where | cores | s | runs/s | µs of CPU time per run | busy | efficiency | of the time it ran |",
        "|---|---:|---:|---:|---:|---:|---:|---:|",
    ]
    one = measured(1, SECOND, given.runs, jobs=1)
    two = measured(2, SECOND, given.runs, jobs=2)
    rows += [one.row("threads", one.run_s), two.row("threads", one.run_s)]
    task_costs: list[float] = []
    for nodes in () if given.no_ray else (1, 2, 3):
        on_ray(rows, nodes, given.runs, one.run_s, task_costs)
    long = measured(1, MINUTES, 4, jobs=1).made
    packet_s = long.cpu_s / long.packets
    run_s = one.run_s - packet_s * one.made.packets / one.made.made
    plan_s, write_s, sent_bytes = driver_costs()
    task_s = min(task_costs, default=0.0)
    run_bytes = bytes_per_run()
    costs = [
        "| what | cost |",
        "|---|---:|",
        f"| a million packets, two flows of BBRv1 at 100 Mbit/s | {1e6 * packet_s:.3f} s of CPU time |",
        f"| a run without packets: its scenario, its set-up and its rows | {1e6 * run_s:.0f} µs |",
        f"| the driver, to plan a run that has a point of its own | {1e6 * plan_s:.0f} µs |",
        f"| the driver, to join and write the rows of a run | {1e6 * write_s:.0f} µs |",
        f"| the driver, for a task of Ray | {1e6 * task_s:.0f} µs |",
        f"| rows of a run with two flows, from a task to the driver | {sent_bytes:.0f} bytes |",
        f"| the same in the files of both tables | {run_bytes:.0f} bytes |",
    ]
    table = calculation(plan_s + write_s, task_s, run_bytes)
    about = (
        f"Measured at commit `{fp.COMMIT[:12]}`{fp.COMMIT[40:]}: {given.runs:,} runs of one second, on {os.cpu_count()} virtual CPUs\n"
        f"({_model()}), Linux {platform.release().split('-')[0]}. The load by other programs was {load:.1f}."
    )
    text = "\n".join([about, "", *rows, "", "### Costs", "", *costs, "", f"### A million runs on {CORES:,} cores", "", *table])
    if given.print:
        print(text)
        return
    page = PAGE.read_text()
    before, rest = page.split(BEGIN)
    PAGE.write_text(f"{before}{BEGIN}\n\n{text}\n\n{END}{rest.split(END)[1]}")


def _model() -> str:
    found = [line for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("model name")]
    return found[0].split(":")[1].strip() if found else platform.machine()


if __name__ == "__main__":
    main()
