"""Ctrl-C: whenever it comes, it ends the call."""

from __future__ import annotations

import ctypes
import itertools
import os
import random
import signal
import subprocess
import sys
import threading
import time
import types
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import fairpace as fp
import numpy as np
import pytest
from fairpace.gym import VectorEnv

from conftest import TWO, long_or

MOST_S = 2.0
"""From Ctrl-C to the end of a call, at best: other work of the machine slows some down."""
LOST_S = 60.0
"""After this time a signal is lost, however busy the machine is."""

PROGRAM = f"""
import os, sys, tempfile, threading, time
import fairpace as fp
LONG = '''{TWO}'''.replace('"4s"', '"20h"').replace('"20mbit"', '"1gbit"')
path = dict(rate="1gbit", buffer="1bdp", rtt=["10ms"], duration="20h", warmup="1s")
folder = tempfile.mkdtemp(dir=".")

def ready(): pass
def again(): pass

PREPARE
ready()
while True:
    try:
        if not sys.stdin.readline():
            break
        os.write(1, b"begins\\n")
        CALL
        os.write(1, b"returns\\n")
    except KeyboardInterrupt:
        os.write(1, b"ends\\n")
        again()
"""
"""Makes a call each time that it is told to, and says how that ended."""

GYM = '''
import numpy as np
from fairpace.gym import Env, VectorEnv
RUSH = """
title = "nothing in the first interval of 10 s, and a gigabyte in the second"
duration = "60s"
link = [{ rate = "1gbit", buffer = "1bdp" }]
flow = [{ cc = "agent", rtt = "30ms", start = "10500ms" }, { cc = "bbr1", rtt = "2ms", start = "10500ms" }]
"""
BUSY = RUSH.replace("10500ms", "0s")
def made(scenario, **given): return VectorEnv(scenario, 200, interval_us=10_000_000, **given)
'''

CALLS = {
    "run": ("", "fp.run(LONG)"),
    "run with events": ("", "fp.run(LONG, events=True)"),
    "compare": ("", "fp.compare(['bbr1', 'cubic'], **path)"),
    "duels": ("", "fp.duels(['bbr1'], rate='1gbit', duration='20h', warmup='1s', jobs=1, quiet=True)"),
    "evaluate": ("", "fp.evaluate('bbr1', beside=[], criterion=['G1'], set={'duration': '1h'}, jobs=1, quiet=True)"),
    "sweep": ("", "fp.sweep(LONG, seeds=range(9), out=folder, jobs=1, quiet=True)"),
    # the lock of Python is held, and the signal waits
    "results": ("done = fp.run(LONG, set={'duration': '9s', 'link.rate': '20mbit'})", "while True: done._native.svg()"),
    "make": (GYM, "VectorEnv(RUSH, 10**6)"),
    "reset": (GYM + "env = made(BUSY)", "env.reset()"),
    "reset of one thread": (GYM + "env = made(BUSY, jobs=1)", "env.reset()"),
    "step": (GYM + "env = made(RUSH)\nready = again = env.reset", "env.step(np.zeros((200, 1)))"),
    "wait for another thread": (
        "def runs():\n    while True: fp.run(LONG, set={'duration': '1100ms', 'link.rate': '1mbit'})\n"
        "threading.Thread(target=runs, daemon=True).start()",
        # a wait without an end would not see a signal that another thread gets
        "while True: time.sleep(0.05)",
    ),
    "step of one": (GYM + "env = Env(RUSH.replace('1gbit', '40gbit'), interval_us=10_000_000)\nready = again = env.reset", "env.step(np.zeros(1))"),
}
"""What it takes, and a call that would last for hours, or for many seconds."""


class Child:
    """A process that makes a call."""

    def __init__(self, call: str, folder: Path) -> None:
        prepare, statement = CALLS[call]
        folder.mkdir()
        text = PROGRAM.replace("PREPARE", prepare).replace("CALL", statement)
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(
            [sys.executable, "-c", text], stdin=pipe, stdout=pipe, stderr=pipe, cwd=folder, text=True, bufsize=1
        )
        self.call = call

    def __enter__(self) -> Child:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.communicate()

    def begin(self) -> None:
        """Makes the call begin."""
        assert self.process.stdin is not None
        self.process.stdin.write("go\n")
        assert self.answer() == "begins\n", self.failure()

    def answer(self, after: str = "it was told to begin") -> str:
        """The next line. A process that waits for longer is lost, and killed."""
        assert self.process.stdout is not None
        timer = threading.Timer(LOST_S, self.process.kill)
        timer.start()
        line = self.process.stdout.readline()
        timer.cancel()
        assert line or self.process.wait() != -signal.SIGKILL, f"{self.call}: lost {after}"
        return line

    def failure(self) -> str:
        self.process.kill()
        return f"{self.call}: {self.process.communicate()[1]}"


def delays_s(call: str, count: int) -> Iterator[float]:
    """Most in the first 60 ms, in which the first looks for signals are, or near the beginning; some later."""
    numbers = random.Random(call)
    for index in range(count):
        if index % 10 == 9:
            yield 10 ** numbers.uniform(-1.2, 0.5)
        else:
            yield numbers.uniform(0.0, 0.06) if index % 2 else 10 ** numbers.uniform(-5.0, -2.0)


def interrupted_s(child: Child, delay_s: float, to_thread: bool) -> float:
    """Seconds from a SIGINT, this much after the beginning, to the end of the call."""
    child.begin()
    time.sleep(delay_s)
    process = child.process.pid
    sent = time.monotonic()
    if to_thread:
        # the last one is none that Python knows, if there are others
        thread = int(os.listdir(f"/proc/{process}/task")[-1])
        ctypes.CDLL(None).tgkill(process, thread, signal.SIGINT)
    else:
        os.kill(process, signal.SIGINT)
    assert child.answer(f"a SIGINT {1e3 * delay_s:.3f} ms after its beginning") == "ends\n", child.failure()
    return time.monotonic() - sent


def interrupt_twice(child: Child) -> None:
    """The second signal may come wherever the first one is handled, also in this program's own handlers."""
    child.begin()
    for _ in range(2):
        time.sleep(0.02)
        os.kill(child.process.pid, signal.SIGINT)
    output, errors = child.process.communicate(timeout=LOST_S)
    assert "returns" not in output and ("ends" in output or "KeyboardInterrupt" in errors), (child.call, output, errors)


def test_a_signal_at_any_time_ends_the_call(tmp_path: Path) -> None:
    """Calls are made at the same time, and most of it is waiting."""
    lost: list[str] = []

    def took_s(call: str) -> list[float]:
        took = []
        with Child(call, tmp_path / call) as child:
            for index, at in enumerate(delays_s(call, long_or(12, long=1000))):
                try:
                    took.append(interrupted_s(child, at, index % 7 == 6))
                except AssertionError as error:
                    lost.append(str(error))
                    return took
            interrupt_twice(child)
        return took

    with ThreadPoolExecutor(len(CALLS)) as pool:
        took = dict(zip(CALLS, pool.map(took_s, CALLS)))
    assert lost == []
    assert all(min(seconds) < MOST_S for seconds in took.values()), took


FIRST_ARRAY = f"""
import sys
from fairpace.gym import VectorEnv

def look(frame, event, _):
    if event == "call" and "numpy" in frame.f_code.co_filename and frame.f_code.co_name == "__init__":
        raise KeyboardInterrupt

AGENT = '''{TWO}'''.replace('"bbr1"', '"agent"')
try:
    sys.setprofile(look)
    env = VectorEnv(AGENT, jobs=1)
    env.reset()
except KeyboardInterrupt:
    sys.setprofile(None)
    print("ends")
env = VectorEnv(AGENT, jobs=1)
print(env.step(env.reset()[0][:, :1] * 0)[0].shape)
"""


def test_a_signal_while_numpy_is_asked_for_its_version_ends_the_call(python: Callable[[str], Any]) -> None:
    """That is code of Python, once in a process, where arrays are first used."""
    output, errors = python(FIRST_ARRAY).communicate(timeout=60)
    lines = output.splitlines()
    assert lines[0] == "ends" and len(lines) == 2, errors


SHORT = TWO.replace('"4s"', '"200ms"').replace('"1s"', '"0s"')
AGENT = SHORT.replace('"bbr1"', '"agent"').replace('"200ms"', '"2s"')


def raising_at(moment: int, call: Callable[[], object]) -> str:
    """Makes a call, and has a handler raise where Python enters its function of this number: there it looks for signals.

    Returns what became of that: the call "ends", or it is "over" before that moment.
    """
    entered = 0
    place = "over"

    def look(frame: Any, event: str, _: object) -> None:
        nonlocal entered, place
        if event == "call" and place == "over":
            entered += 1
            if entered == moment:
                place = f"{frame.f_code.co_filename}:{frame.f_lineno}"
                raise KeyboardInterrupt

    sys.setprofile(look)
    try:
        call()
        sys.setprofile(None)
    except KeyboardInterrupt:
        return "ends"
    except fp.UsageError:
        assert place == "over", place
    finally:
        sys.setprofile(None)
    return place


def short_calls(folder: Path) -> dict[str, Callable[[], object]]:
    env = VectorEnv(AGENT, 2, jobs=1)
    env.reset()
    checked = fp.Scenario.from_toml(SHORT)
    done = fp.run(checked)
    path: Any = {"rate": "2mbit", "buffer": "50kB", "rtt": ["10ms"], "duration": "200ms", "warmup": "0s"}
    pair: Any = {"rate": "2mbit", "buffer": ["1bdp"], "duration": "200ms", "warmup": "0s", "stagger": "10ms", "seeds": 1}
    few: Any = {"beside": [], "criterion": ["G1"], "match": "10mbit 10/200ms", "set": {"duration": "61s"}}
    names = itertools.count()
    return {
        "run": lambda: fp.run(checked),
        "run that fails": lambda: fp.run(SHORT.replace("bbr1", "bbr9")),
        "compare": lambda: fp.compare(["bbr1"], **path),
        "duels": lambda: fp.duels(["bbr1"], quiet=True, **pair),
        "evaluate": lambda: fp.evaluate("reno", quiet=True, **few),
        "sweep": lambda: fp.sweep(checked, None, range(3), out=folder / str(next(names)), quiet=True),
        "make": lambda: VectorEnv(AGENT, 2, jobs=1),
        "reset": lambda: env.reset(),
        "step": lambda: env.step(np.zeros((2, 1), np.float32)),
        "tables": lambda: (done.flows.to_polars(), done.series.to_pandas(), done._repr_html_(), repr(done)),
        "to a file": lambda: done.flows.to_parquet(folder / "flows.parquet"),
    }


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("name", short_calls(Path()))
def test_a_handler_that_raises_wherever_python_looks_for_signals_ends_the_call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    call = short_calls(tmp_path)[name]
    # what is imported later is imported now
    raising_at(0, call)
    dropped: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda of: dropped.append(of.object))
    moments = itertools.count(1) if name != "sweep" else itertools.count(1, long_or(7, long=1))
    for moment in moments:
        place = raising_at(moment, call)
        # Generators that are closed are entered where Python looks for no signals.
        if place == "ends" or all(isinstance(of, types.GeneratorType) for of in dropped) and dropped:
            dropped.clear()
            continue
        assert place == "over", f"{name}: lost at {place}"
        break
    assert moment > 5
