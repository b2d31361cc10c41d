"""Runs on a kernel in virtual time: the program of the command line is the first process of its guest."""

from __future__ import annotations

import shutil
import subprocess

from . import _fairpace
from .errors import UnsupportedError, UsageError

__all__ = ["SIMULATOR", "run_all"]

SIMULATOR = "sim"
"""The place of a run in the simulator."""

PLACES = (SIMULATOR, "virtual", "virtual:uml", "virtual:qemu")
"""All places of a run."""


def run_all(
    scenarios: list[_fairpace.Checked], on: str, kernel: str | None, jobs: int | None
) -> list[_fairpace.Result]:
    """Runs scenarios in the simulator, or on a kernel in virtual time that boots once for all of them."""
    if on not in PLACES:
        raise UsageError(f"on={on!r} is no place for a run", f"write one of {', '.join(PLACES)}")
    if on != SIMULATOR:
        return _fairpace.run_virtual(scenarios, on, kernel, _program(), jobs)
    if kernel is not None:
        raise UsageError(f"kernel={kernel!r} chooses a kernel, and the simulator has none", 'add on="virtual:qemu"')
    return _fairpace.run_all(scenarios, jobs)


def _program() -> str:
    """The path of the program ``fairpace``, from the same commit as this package."""
    program = shutil.which("fairpace")
    if program is None:
        raise UnsupportedError(
            "a kernel in virtual time runs the program fairpace, which is in no folder of PATH",
            "build it from the same checkout, by: cargo install --path crates/cli",
        )
    commit = _commit(program)
    if commit != _fairpace.COMMIT:
        raise UnsupportedError(
            f"{program} is from commit {commit}, and this package from {_fairpace.COMMIT}",
            "build both from the same checkout",
        )
    return program


def _commit(program: str) -> str:
    """The commit that a program says that it is from."""
    try:
        said = subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError) as error:
        raise UnsupportedError(f"{program} does not start: {error}", "install it again") from None
    commits = [line.removeprefix("commit ") for line in said.splitlines() if line.startswith("commit ")]
    return commits[0] if commits else "unknown"
