"""Runs on a kernel in virtual time."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import fairpace as fp
import pytest
from conftest import TWO


@pytest.fixture
def in_path(program: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The program is in PATH, and there is User-mode Linux."""
    monkeypatch.setenv("PATH", str(program.parent), prepend=os.pathsep)
    try:
        fp.run(TWO, set={"duration": "100ms", "window.from": "0s"}, on="virtual:uml")
    except fp.UnsupportedError as error:
        pytest.skip(f"SKIPPED: {error}")


@pytest.mark.usefixtures("in_path")
def test_a_run_on_a_kernel_is_that_of_the_command_line(
    program: Path, tmp_path: Path
) -> None:
    file = tmp_path / "two.toml"
    file.write_text(TWO)
    result = fp.run(file, on="virtual:uml")
    assert result.summary["on"].startswith("virtual: uml, Linux ")
    said = subprocess.run(
        [program, "sim", file, "--on", "virtual:uml", "--out", tmp_path / "out", "--quiet"], check=False
    )
    assert said.returncode == 0
    assert (tmp_path / "out" / "summary.json").read_text() == result.json()
    assert result.series.to_pandas()["goodput_mbps"].max() > 5
    assert "virtual: uml" in result.html()


@pytest.mark.usefixtures("in_path")
def test_algorithms_of_the_kernel_are_compared_and_only_simulations_refuse_them() -> None:
    results = fp.compare(["kernel:cubic", "bbr1"], rate="10mbit", duration="3s", warmup="1s", on="virtual:uml")
    assert {result.summary["flows"][0]["cc"] for result in results.values()} == {"kernel:cubic", "bbr1"}
    flows = [fp.Flow(cc="kernel:cubic", rtt="20ms")]
    kernels = fp.Scenario(duration="1s", links=[fp.Link(rate="10mbit", buffer="50kB")], flows=flows)
    assert fp.run(kernels, on="virtual:uml").summary["flows"][0]["goodput_mbps"] > 3
    with pytest.raises(fp.UsageError, match=r"flows\[0\].cc: `kernel:cubic` is one of the running kernel's"):
        fp.run(kernels)
    with pytest.raises(fp.UsageError, match='an algorithm of a kernel, .* add on="virtual"'):
        fp.compare(["kernel:cubic"])


def test_what_makes_no_sense_or_is_missing_is_an_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with pytest.raises(fp.UsageError, match="the simulator has none"):
        fp.run(TWO, kernel="6.12")
    with pytest.raises(fp.UsageError, match="on='kernel' is no place for a run"):
        fp.run(TWO, on="kernel")
    with pytest.raises(fp.UsageError, match="events are kept of simulations"):
        fp.run(TWO, on="virtual", events=True)
    jitter = [fp.Flow(cc="bbr1", rtt="20ms", host_jitter="1ms")]
    simulated = fp.Scenario(duration="1s", links=[fp.Link(rate="10mbit", buffer="50kB")], flows=jitter)
    with pytest.raises(fp.UsageError, match=r"flows\[0\].host_jitter: the testbed does not have `host_jitter`"):
        fp.run(simulated, on="virtual")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(fp.UnsupportedError, match="in no folder of PATH"):
        fp.run(TWO, on="virtual")
    other = tmp_path / "fairpace"
    other.write_text("#!/bin/sh\necho fairpace 0.1.0\necho commit 0123\n")
    other.chmod(0o755)
    with pytest.raises(fp.UnsupportedError, match="is from commit 0123, and this package from"):
        fp.run(TWO, on="virtual")
