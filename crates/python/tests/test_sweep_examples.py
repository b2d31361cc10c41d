"""The sweeps of `examples`, short: one run for each value of an axis, and some milliseconds each."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import pytest

import fairpace as fp

EXAMPLES = Path(__file__).parents[3] / "examples"


def along_each_axis(over: dict[str, Any]) -> list[dict[str, Any]]:
    """Each value of each axis, with the first one of the others, as a list of changes."""

    def changes(name: str, value: Any) -> dict[str, Any]:
        return dict(over[name][value]) if isinstance(over[name], dict) else {name: value}

    first = {name: next(iter(values)) for name, values in over.items()}
    found = []
    for axis, values in over.items():
        for value in values:
            merged: dict[str, Any] = {}
            for name, usual in first.items():
                merged |= changes(name, value if name == axis else usual)
            found.append(merged)
    return found


@pytest.mark.parametrize(("name", "scenario", "runs"), [("fabric_grid", "PATH", 972), ("duels", "DUEL", None)])
def test_an_example_has_the_runs_that_it_says(name: str, scenario: str, runs: int | None, tmp_path: Path) -> None:
    pytest.importorskip("polars")
    example = runpy.run_path(str(EXAMPLES / f"{name}.py"))
    size = 1
    for values in example["over"].values():
        size *= len(values)
    assert runs in (size, None)
    short = fp.Scenario.from_toml(example[scenario]).set({"duration": "2500ms", "interval": "1s", "window.from": "0s"})
    changes = along_each_axis(example["over"])
    # the fastest links take minutes in a build for tests
    slow = [change | {"link.rate": "10mbit"} for change in changes]
    made = fp.sweep(short, slow, out=tmp_path, quiet=True)
    assert made.failed == 0 and len(made) == len(changes)
