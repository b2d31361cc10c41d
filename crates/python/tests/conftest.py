"""What the tests share: the checkout, the command line's program, and how much is fuzzed."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Generator
from pathlib import Path

import fairpace as fp
import pytest
from hypothesis import settings

ROOT = Path(__file__).resolve().parents[3]

# A shell starts what it runs behind `&` with SIGINT ignored, and so would Python: each test of Ctrl-C would wait for
# its time limit.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

settings.register_profile("fixed", derandomize=True, deadline=None, max_examples=150, database=None)
# HYPOTHESIS_PROFILE=long: other inputs each time, for minutes
settings.register_profile("long", deadline=None, max_examples=5000, database=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "fixed"))

IS_REQUIRED = os.environ.get("FAIRPACE_REQUIRE_KERNEL") == "1"
"""Whether what would be skipped is a failure, as in CI."""

IS_LONG = "FAIRPACE_LONG" in os.environ
"""Whether tests may take many minutes, as ``make nightly`` lets them."""

ONLY_NIGHTLY = "FAIRPACE_LONG=1, as `make nightly` has it, runs it"

NOT_REQUIRED = ("no pyright, which needs node", ONLY_NIGHTLY)
"""Why tests may be skipped in CI, too: pyright fetches itself, without a hash; what is long is `make nightly`'s."""


def _required(report: pytest.TestReport | pytest.CollectReport) -> None:
    """Makes a failure of what was skipped."""
    if not (IS_REQUIRED and report.skipped) or hasattr(report, "wasxfail"):
        return
    why = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    if not any(reason in why for reason in NOT_REQUIRED):
        report.outcome, report.longrepr = "failed", f"FAIRPACE_REQUIRE_KERNEL=1, but this is skipped: {why}"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Of a test."""
    report = yield
    _required(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Of a file, which is skipped as a whole without a package that it needs."""
    report = yield
    _required(report)
    return report


TWO = """
title = "two flows"
duration = "4s"
[window]
from = "1s"
[[link]]
rate = "20mbit"
buffer = "100kB"
[[flow]]
cc = "bbr1"
rtt = "10ms"
[[flow]]
cc = "cubic"
rtt = "30ms"
"""
"""A scenario that takes some milliseconds."""


@pytest.fixture(scope="session")
def program() -> Path:
    """The program ``fairpace`` of the same checkout."""
    named = os.environ.get("FAIRPACE_PROGRAM")
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    path = Path(named) if named else target / "debug" / "fairpace"
    if not path.is_file():
        pytest.skip(f"SKIPPED: no {path}; `make python` builds it")
    return path


@pytest.fixture
def command(program: Path, tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Runs ``fairpace``, in the checkout unless in another folder."""

    def run(*arguments: str | Path, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
        cache = {**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache")}
        return subprocess.run([program, *arguments], cwd=cwd, env=cache, capture_output=True, text=True, check=False)

    return run


@pytest.fixture(scope="session")
def two() -> fp.Result:
    """The run of :data:`TWO`, with its events."""
    return fp.run(TWO, events=True)


@pytest.fixture
def python(tmp_path: Path) -> Callable[[str], subprocess.Popen[str]]:
    """Starts a program of Python: a text."""

    def start(text: str) -> subprocess.Popen[str]:
        file = tmp_path / "program.py"
        file.write_text(text)
        pipe = subprocess.PIPE
        return subprocess.Popen([sys.executable, file], stdout=pipe, stderr=pipe, text=True, cwd=tmp_path)

    return start


def counted_meanwhile(call: Callable[[], object]) -> int:
    """How far another thread of Python counts during a call, at one per millisecond."""
    ended = threading.Event()
    counted = 0

    def count() -> None:
        nonlocal counted
        while not ended.is_set():
            counted += 1
            time.sleep(0.001)

    thread = threading.Thread(target=count)
    thread.start()
    begun = counted
    call()
    meanwhile = counted - begun
    ended.set()
    thread.join()
    return meanwhile


needs_clang = pytest.mark.skipif(shutil.which("clang") is None, reason="SKIPPED: no clang")
"""Of tests that load a header."""

long = pytest.mark.skipif(not IS_LONG, reason=ONLY_NIGHTLY)
"""Of tests that take minutes."""


def long_or(usual: int, *, long: int) -> int:
    """How often a test tries something."""
    return long if IS_LONG else usual
