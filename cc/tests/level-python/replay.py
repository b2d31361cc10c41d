#!/usr/bin/env python3
"""Replays recorded calls of LEVEL through level.py and compares every decision.

    replay.py [--most N] FILE.jsonl ...

Each line of a file is one call:

    {"flow": 0, "event": "init", "view": {...}, "params": {...}, "decision_in": {...}, "decision": {...}}

event        "init", "ack", or the number of another event
view         the input; bools are 0 or 1. docs/level-spec.md, Section 3.2, names those that LEVEL reads
params       with "init": the eleven parameters as integers (Section 4.1)
decision_in  the values in force before the call. Without it: what the view has, and for min_burst_pkts the
             flow's last decision
decision     what the call must give
flow         flows may be mixed in a file; 0 if absent

level.py, in this folder, has the class Level with

    init(params, view) -> decision
    on_ack(view, decision_in) -> decision
    on_event(event, view, decision_in) -> decision

over plain dicts. It may return decision_in itself, changed, or a dict with only the outputs that the call
assigns. The exit code is 0 if all decisions agree, 1 if not, 2 if a file cannot be used.
"""

import argparse
import json
import sys
from collections import Counter
from pathlib import Path

INPUT_OUTPUTS = ("pacing_rate_Bps", "cwnd_pkts", "ssthresh_pkts")
OUTPUTS = INPUT_OUTPUTS + ("min_burst_pkts",)
MIN_BURST_PKTS = 2  # of a new connection


class Unusable(Exception):
    """A file that is no recording."""


def replay(path, make, most):
    """Prints up to `most` differences of a file; returns the numbers of calls and of differences."""
    flows, broken, calls, wrong = {}, set(), Counter(), 0
    with open(path, encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            try:
                call = json.loads(line)
                event, view, want = call["event"], call["view"], call["decision"]
            except (ValueError, KeyError, TypeError) as error:
                raise Unusable(f"{path}:{number}: {error!r}") from error
            flow = call.get("flow", 0)
            if event == "init":
                broken.discard(flow)
                flows[flow] = [make(), MIN_BURST_PKTS]
            elif flow not in flows:
                raise Unusable(f"{path}:{number}: flow {flow} has no init")
            if flow in broken:
                continue  # its state is wrong from the first difference on
            calls[str(event)] += 1
            got = perform(flows[flow], call, event, view)
            differing = [name for name in OUTPUTS if got.get(name) != want[name]]
            if differing:
                wrong += 1
                broken.add(flow)
                if wrong <= most:
                    values = ", ".join(f"{name}: {got.get(name)}, not {want[name]}" for name in differing)
                    print(f"{path}:{number}: flow {flow}, {event}, now_us {view['now_us']}: {values}")
            flows[flow][1] = want["min_burst_pkts"]
    return calls, wrong, len(flows)


def perform(flow, call, event, view):
    """One call; the values in force with what the algorithm assigned."""
    level, min_burst_pkts = flow
    in_force = {name: view[name] for name in INPUT_OUTPUTS}
    in_force.update({"app_limited_until_pkts": 0, "min_burst_pkts": min_burst_pkts})
    in_force.update(call.get("decision_in", {}))
    if event == "init":
        decision = level.init(call["params"], dict(view))
    elif event == "ack":
        decision = level.on_ack(dict(view), dict(in_force))
    else:
        decision = level.on_event(event, dict(view), dict(in_force))
    return {**in_force, **(decision or {})}


def main():
    arguments = argparse.ArgumentParser(description="Replays recorded calls of LEVEL through level.py.")
    arguments.add_argument("files", nargs="+", type=Path, metavar="FILE")
    arguments.add_argument("--most", type=int, default=10, help="differences to print per file")
    options = arguments.parse_args()
    sys.path.insert(0, str(Path(__file__).resolve().parent))
    try:
        from level import Level  # written from docs/level-spec.md alone
    except ImportError as error:
        print(f"there is no second implementation: {error}", file=sys.stderr)
        return 2
    failed = False
    for path in options.files:
        try:
            calls, wrong, flows = replay(path, Level, options.most)
        except (Unusable, OSError, UnicodeDecodeError) as error:
            print(error, file=sys.stderr)
            return 2
        kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(calls.items()))
        verdict = f"{wrong} of {flows} flows DIFFER" if wrong else f"{flows} flows agree"
        print(f"{path}: {verdict} ({kinds})")
        failed |= wrong > 0 or not calls
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
