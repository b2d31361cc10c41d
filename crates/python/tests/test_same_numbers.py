"""Results are those of the command line, byte for byte."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import fairpace as fp
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from conftest import ROOT

Command = Callable[..., subprocess.CompletedProcess[str]]

SHORT = {"duration": "6s", "interval": "100ms", "window.from": "2s", "window.to": "6s"}
"""Enough for losses, marks and the phases of all algorithms."""
SHORTER = {"duration": "400ms", "interval": "10ms", "window.from": "100ms", "window.to": "400ms"}
"""For paths of 10 Gbit/s."""

FILES = sorted((ROOT / "scenarios").rglob("*.toml"))
# files that are no scenarios: figures, papers, and the experiment that writes the tables of the grid
NO_SCENARIOS = ("figure.toml", "paper.toml", "grid.toml")
FIGURES = sorted(path for path in (ROOT / "reproduction").rglob("*.toml") if path.name not in NO_SCENARIOS)


def without_commit(text: str) -> str:
    """The two builds are of the same sources, but each may have changed files in its checkout."""
    commit = json.loads(text)["commit"]
    return text.replace(commit, "COMMIT")


def compare(command: Command, file: Path, folder: Path, changes: dict[str, str]) -> str | None:
    """Asserts that both have the same result; returns the error that both have instead."""
    arguments = [word for key, value in changes.items() for word in ("--set", f"{key}={value}")]
    done = command("sim", file, *arguments, "--out", folder, "--json")
    try:
        result = fp.run(file, set=changes)
    except fp.UsageError as error:
        assert done.returncode == 2, f"only Python refuses {file}: {error}"
        refused = json.loads(done.stderr)["error"]
        assert error.message == refused["message"]
        assert [vars(problem) for problem in error.problems] == refused.get("problems", [])
        return error.message
    assert done.returncode == 0, done.stderr
    assert without_commit(result.json()) == without_commit((folder / "summary.json").read_text())
    return None


@pytest.mark.parametrize("file", FILES, ids=lambda path: str(path.relative_to(ROOT / "scenarios")))
def test_every_scenario_has_the_summary_of_fairpace_sim(file: Path, command: Command, tmp_path: Path) -> None:
    refused = compare(command, file, tmp_path / "short", SHORTER if "10gbit" in file.name else SHORT)
    if refused is not None:
        assert "a flow would start" in refused
        assert compare(command, file, tmp_path / "whole", {}) is None


def test_so_have_the_scenarios_of_the_figures(command: Command, tmp_path: Path) -> None:
    refused = [compare(command, file, tmp_path / str(index), SHORT) for index, file in enumerate(FIGURES)]
    assert refused.count(None) >= 40, refused


def test_tables_are_those_of_the_parquet_files(command: Command, tmp_path: Path) -> None:
    file = ROOT / "scenarios" / "ecn-step.toml"
    arguments = [word for key, value in SHORT.items() for word in ("--set", f"{key}={value}")]
    done = command("sim", file, *arguments, "--out", tmp_path / "out", "--trace", "series,events")
    assert done.returncode == 0, done.stderr
    result = fp.run(file, set=SHORT, events=True)
    written = {path.name: path for path in (tmp_path / "out").rglob("*.parquet")}
    for name, table in {
        "flows.parquet": result.series,
        "links.parquet": result.link_series,
        "backlog.parquet": result.backlog,
        "events.parquet": result.events,
    }.items():
        ours, theirs = pa.table(table), pq.read_table(written.pop(name))
        assert ours.num_rows > 0
        # a Parquet file keeps the order and the types, but not how rows are divided
        assert ours.combine_chunks().equals(theirs.combine_chunks()), name
    assert not written


def test_a_comparison_is_that_of_fairpace_compare(command: Command) -> None:
    path = ["--rate", "20mbit", "--buffer", "1.5bdp", "--rtt", "10ms,50ms", "--duration", "6s", "--warmup", "2s"]
    printed = json.loads(command("compare", "--cc", "bbr1,cubic", *path, "--json").stdout)
    runs = fp.compare(
        ["bbr1", "cubic"], rate="20mbit", buffer="1.5bdp", rtt=["10ms", "50ms"], duration="6s", warmup="2s"
    )
    of_command = {run["flows"][0]["cc"]: run for run in printed}
    for name, result in runs.items():
        ours = json.loads(result.json())
        for part in ("flows", "links", "jain", "scenario"):
            assert ours[part] == of_command[name][part], part


def test_duels_are_those_of_fairpace_dev(program: Path, tmp_path: Path) -> None:
    dev = program.with_name("fairpace-dev")
    if not dev.is_file():
        pytest.skip(f"SKIPPED: no {dev}")
    result = fp.duels(["bbr1", "reno"], duration="3s", warmup="1s", buffer=["1bdp"], seeds=2, quiet=True)
    file = tmp_path / "duels.toml"
    options = 'cc = "bbr1,reno"\nduration = "3s"\nwarmup = "1s"\nbuffer = "1bdp"\nseeds = 2\n'
    file.write_text(f'title = "T"\npage = "p.md"\n[duels]\n{options}')
    done = subprocess.run([dev, "run", file, "--json", "--quiet"], capture_output=True, text=True, check=True)
    theirs, ours = (json.loads(without_commit(text)) for text in (done.stdout, result.json()))
    assert ours.pop("command").startswith('fairpace.duels(["bbr1", "reno"], rate="100mbit"') and theirs.pop("command")
    assert ours == theirs


def test_an_evaluation_is_that_of_fairpace_evaluate(command: Command) -> None:
    few = "10mbit 10/200ms"
    result = fp.evaluate("reno", beside=["cubic"], criterion=["G1"], match=few, quick=False, seeds=1, quiet=True)
    words = ["evaluate", "reno", "--beside", "cubic", "--criterion", "G1", "--match", few, "--seeds", "1"]
    done = command(*words, "--quiet", "--fresh", "--json")
    assert done.returncode == 0, done.stderr
    assert len(result.cases) == 8
    theirs, ours = json.loads(done.stdout), result.summary
    for record in (theirs, ours):
        del record["commit"], record["wall_s"]
        for one in record["criteria"]:
            for algorithm in one["algorithms"]:
                del algorithm["cpu_s"]
    assert ours == theirs
