"""What Python adds to the cost of a simulation, and how fast environments step.

Needs the package in its release build, NumPy and Gymnasium, and the command line of the same commit:
`python crates/python/bench/speed.py target/release/fairpace`. It takes about two minutes.

CPU time counts, so that other programs on the machine matter less. Pairs of runs follow each other directly, and the ratio is the
median of theirs: machines become faster and slower by the minute.
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

import fairpace as fp
from fairpace.gym import OBSERVATIONS, VectorEnv

TWO_FLOWS = """
title = "two flows of BBR, ten minutes"
duration = "600s"
link = [{ rate = "100mbit", buffer = "2MB" }]
flow = [{ cc = "bbr1", rtt = "10ms" }, { cc = "bbr1", rtt = "50ms", start = "5s" }]
"""
PAIRS = 5

AGENT = """
title = "an agent alone"
duration = "30s"
link = [{ rate = "RATE", buffer = "1bdp" }]
flow = [{ cc = "agent", rtt = "30ms" }]
"""
ENVIRONMENTS = 1000
ROUNDS = 5
NAMES = [column.name for column in OBSERVATIONS]


def act(observations: Any) -> Any:
    """The controller of `cargo bench -p fairpace-gym`, which fills the link: faster while the RTT is near its minimum."""
    rtt, least = (observations[:, NAMES.index(name)] for name in ("rtt_ms", "min_rtt_ms"))
    return np.where(rtt > 1.5 * least, np.float32(-0.2), np.float32(0.1))[:, None]


def cpu_s(of: int) -> float:
    """Seconds of CPU time of this process, or of its children that have ended."""
    used = resource.getrusage(of)
    return used.ru_utime + used.ru_stime


def pair(program: str, scenario: str) -> tuple[float, float]:
    """Delivered packets per CPU-second, of the command line and of Python."""
    before = cpu_s(resource.RUSAGE_CHILDREN)
    shown = subprocess.run([program, "sim", scenario, "--json", "--quiet"], check=True, capture_output=True)
    command_s = cpu_s(resource.RUSAGE_CHILDREN) - before
    before = cpu_s(resource.RUSAGE_SELF)
    result = fp.run(scenario)
    python_s = cpu_s(resource.RUSAGE_SELF) - before
    packets = result.summary["cost"]["data_packets"]
    assert packets == json.loads(shown.stdout)["cost"]["data_packets"], "the two have not simulated the same"
    return packets / command_s, packets / python_s


def steps_per_s(rate: str) -> list[float]:
    """Environment steps per second of clock time, on all cores, of a few rounds."""
    env = VectorEnv(AGENT.replace("RATE", rate), ENVIRONMENTS)
    observations, _ = env.reset(seed=1)
    rounds = []
    for _ in range(ROUNDS):
        begun, steps = time.monotonic(), 0
        while time.monotonic() - begun < 2.0:
            observations = env.step(act(observations))[0]
            steps += env.num_envs
        rounds.append(steps / (time.monotonic() - begun))
    env.close()
    return rounds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", help="the command line, a release build of the same commit")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        scenario = Path(folder) / "two.toml"
        scenario.write_text(TWO_FLOWS, encoding="utf-8")
        pairs = [pair(args.program, str(scenario)) for _ in range(PAIRS)]
    command, python = (statistics.median(side) for side in zip(*pairs))
    ratio = statistics.median(python / command for command, python in pairs)
    print(f"two BBR flows, 600 s: {command / 1e6:.1f} M packets per CPU-second by the command line, {python / 1e6:.1f} M by Python")
    print(f"the median of {PAIRS} pairs: Python has {ratio:.3f} of the command line's")
    for rate in ("2mbit", "12mbit"):
        rounds = steps_per_s(rate)
        print(f"{ENVIRONMENTS} environments, {rate}: {min(rounds):,.0f} to {max(rounds):,.0f} steps per second")
    print(f"fairpace {fp.COMMIT[:12]}, Python {sys.version.split()[0]}, NumPy {np.__version__}")


if __name__ == "__main__":
    main()
