#!/bin/sh
# Prints the tables of docs/bbq.md: what decides how fair BBQ is. Needs python3; takes a minute.
#   scripts/bbq-gap.sh [path to fairpace]
set -eu
fairpace=${1:-target/release/fairpace}
path="--rate 100mbit --buffer 2MB --rtt 10ms,50ms --duration 120s --warmup 30s"

python3 - "$fairpace" $path <<'PYTHON'
import csv, itertools, json, statistics, subprocess, sys, tempfile

fairpace, path = sys.argv[1], sys.argv[2:]
SEEDS = range(1, 6)

def row(cc, *settings):
    runs = []
    for seed in SEEDS:
        command = [fairpace, "compare", *path, "--cc", cc, "--seed", str(seed), "--json", "--quiet"]
        for setting in settings:
            command += ["--set", f"{cc}.{setting}"]
        runs += json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    mean = lambda values: sum(values) / len(values)
    goodput = [[run["flows"][i]["goodput_mbps"] for run in runs] for i in (0, 1)]
    delay = mean([run["links"][0]["queue_delay_mean_ms"] for run in runs])
    cell = lambda g: f"{mean(g):.1f} ({min(g):.1f} to {max(g):.1f})"
    print(f"| {cc} {' '.join(settings)} | {cell(goodput[0])} | {cell(goodput[1])} | {delay:.1f} |", flush=True)

print("| | 10 ms flow, Mbit/s | 50 ms flow, Mbit/s | queue delay, ms |")
print("|---|---|---|---|")
row("bbr1")
row("bbq")
row("bbq", "until_inflight=true")
for beta in ("0%", "0.5%", "2%", "5%"):
    row("bbq", f"beta={beta}")
for alpha in ("1ms", "2ms", "5ms", "10ms"):
    row("bbq", f"alpha={alpha}")
row("bbq", "cwnd_gain=2.5")
row("bbq", "cwnd_gain=4")
row("bbq", "extra_acked_gain=0")
row("bbq", "pacing_margin=0%")

STEP_S = 1e-4
CYCLE = ("PROBE_BW_UP", "PROBE_BW_DOWN", "PROBE_BW_CRUISE")

def phases(*settings):
    """How long the phases last: the state every 0.1 ms, from 30 to 60 s."""
    with tempfile.TemporaryDirectory() as scratch:
        command = [fairpace, "compare", *path[:6], "--duration", "60s", "--warmup", "30s", "--cc", "bbq"]
        command += ["--set", f"interval={STEP_S * 1e6:.0f}us", "--out", f"{scratch}/out", "--json", "--quiet"]
        for setting in settings:
            command += ["--set", f"bbq.{setting}"]
        subprocess.run(command, check=True, capture_output=True)
        with open(f"{scratch}/out/bbq/series.csv") as file:
            rows = [r for r in csv.DictReader(file) if not r["link"] and float(r["t_s"]) >= 30]
    for flow in ("10ms", "50ms"):
        points = [r for r in rows if r["flow"] == flow]
        lengths = {phase: [] for phase in CYCLE}
        for phase, run in itertools.groupby(points, lambda r: r["phase"]):
            lengths.setdefault(phase, []).append(sum(1 for _ in run) * STEP_S * 1e3)
        cells = [f"{statistics.median(lengths[phase]):.1f}" for phase in CYCLE]
        mean = lambda column: statistics.mean(float(r[column]) for r in points)
        cells += [f"{mean(column):.1f}" for column in ("bw_mbps", "goodput_mbps", "cwnd_pkts", "inflight_pkts")]
        print(f"| bbq {' '.join(settings)} | {flow} | {' | '.join(cells)} |", flush=True)

print()
print("| | flow | up, ms | down, ms | cruise, ms | bandwidth estimate, Mbit/s | goodput | cwnd | in flight |")
print("|---|---|---|---|---|---|---|---|---|")
phases()
phases("alpha=1ms")
phases("cwnd_gain=2.5")
PYTHON
