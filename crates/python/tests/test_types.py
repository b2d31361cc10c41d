"""The package's types, by two checkers; the wrong lines of ``typed.py`` must be errors."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
from pathlib import Path

import fairpace as fp
import pytest

HERE = Path(__file__).parent
PACKAGE = Path(fp.__file__).parent


def mypy(*files: str | Path) -> str:
    words = ["--strict", "--warn-unused-ignores", "--no-error-summary", "--cache-dir", "/dev/null"]
    done = subprocess.run([sys.executable, "-m", "mypy", *words, *files], capture_output=True, text=True)
    return done.stdout + done.stderr


def test_mypy_accepts_the_package_and_its_use() -> None:
    assert mypy("--package", "fairpace") == ""
    assert mypy(HERE / "typed.py") == ""


def test_the_stubs_are_those_of_the_extension() -> None:
    words = ["--ignore-missing-stub", "--allowlist", "/dev/null"]
    done = subprocess.run(
        [sys.executable, "-m", "mypy.stubtest", "fairpace._fairpace", *words], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_pyright_accepts_the_package() -> None:
    # it fetches itself with node, and so is not among the packages with hashes
    if importlib.util.find_spec("pyright") is None or shutil.which("node") is None:
        pytest.skip("SKIPPED: no pyright, which needs node")
    done = subprocess.run(
        [sys.executable, "-m", "pyright", "--pythonpath", sys.executable, PACKAGE, HERE / "typed.py"],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout
