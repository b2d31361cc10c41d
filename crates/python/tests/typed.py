"""What type checkers must accept; each line with an ignored error is one that they must refuse."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import fairpace as fp

scenario: fp.Scenario = fp.Scenario(
    duration=timedelta(seconds=5),
    links=[fp.Link(rate="20mbit", buffer="1bdp", queue="codel")],
    flows=[fp.Flow(cc="bbr1", rtt="10ms", set={"probe_up_gain": 1})],
    window=fp.Window(from_="1s"),
)
result: fp.Result = fp.run(scenario, set={"seed": 3}, events=True)
results: dict[str, fp.Result] = fp.compare(["bbr1"], rate="1mbit", buffer="9kB", rtt=["10ms"])
table: fp.Table = result.series
names: list[str] = table.column_names
rows: int = len(table)
jain: float | None = result.jain
summary: dict[str, Any] = result.summary
loaded: fp.Scenario = fp.Scenario.load(Path("two.toml")).set({"flow.rtt": "1ms"})
evaluation: fp.Evaluation = fp.evaluate("bbr1", criterion=["G1"], keep=Path("runs"))
cases: fp.Table = evaluation.cases
duels: fp.Duels = fp.duels(["bbr1", "reno"], seeds=1)
problems: tuple[fp.Problem, ...] = fp.UsageError("no").problems

fp.Link(rate="20mbit")  # type: ignore[call-arg]
fp.Link(rate=20, buffer="1bdp")  # type: ignore[arg-type]
fp.Link(rate="20mbit", buffer="1bdp", queue="coddle")  # type: ignore[arg-type]
fp.Flow(cc="bbr1", rtt="10ms", rttt="1ms")  # type: ignore[call-arg]
fp.run(3)  # type: ignore[arg-type]
scenario.seed = 3  # type: ignore[misc]
