"""Threads, signals, forks, and the end of the interpreter."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path

import fairpace as fp
import pytest

from conftest import TWO, counted_meanwhile

Start = Callable[[str], "subprocess.Popen[str]"]

LONG = TWO.replace('"4s"', '"20h"').replace('"20mbit"', '"1gbit"')
"""It would take hours."""

PROGRAM = f"""
import fairpace as fp
LONG = '''{LONG}'''
print("begins", flush=True)
"""


def test_an_executor_of_processes_returns_results() -> None:
    scenarios = [fp.Scenario.from_toml(TWO).set({"seed": seed}) for seed in range(3)]
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as pool:
        results = list(pool.map(fp.run, scenarios))
    assert [result.json() for result in results] == [fp.run(scenario).json() for scenario in scenarios]
    assert [result.scenario for result in results] == scenarios


def test_a_handler_of_the_program_can_stop_a_run(python: Start) -> None:
    program = PROGRAM + (
        "import signal, time\n"
        "def stop(*_): raise TimeoutError('enough')\n"
        "signal.signal(signal.SIGALRM, stop)\n"
        "signal.alarm(1)\n"
        "try: fp.run(LONG)\n"
        "except TimeoutError as error: print(error)\n"
        "print(len(fp.run(LONG, set={'duration': '1s', 'window.from': '0s', 'link.rate': '10mbit'}).flows))\n"
    )
    output, errors = python(program).communicate(timeout=60)
    assert output == "begins\nenough\n2\n", errors


@pytest.mark.parametrize(
    "call",
    [
        "fp.run(LONG)",
        "fp.duels(['bbr1'], rate='1gbit', duration='20h', quiet=True)",
        "fp.sweep(LONG, seeds=range(20), out=FOLDER, jobs=2, quiet=True)",
    ],
)
def test_the_interpreter_ends_while_a_thread_runs(python: Start, tmp_path: Path, call: str) -> None:
    program = PROGRAM + f"FOLDER = {str(tmp_path)!r}\nimport threading, time\nthreading.Thread(target=lambda: {call}, daemon=True).start()\n"
    process = python(program + "time.sleep(0.5)\nprint('ends')\n")
    output, errors = process.communicate(timeout=20)
    assert (process.returncode, output, errors) == (0, "begins\nends\n", "")


def test_threads_run_at_the_same_time_with_the_same_results() -> None:
    alone = [fp.run(TWO, seed=seed).json() for seed in range(8)]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda seed: fp.run(TWO, seed=seed).json(), range(8)))
    assert together == alone


def test_other_threads_of_python_go_on_during_a_run() -> None:
    longer = {"duration": "30s", "link.rate": "1gbit", "link.buffer": "1bdp"}
    assert counted_meanwhile(lambda: fp.run(TWO, set=longer)) >= 5


def _run_in_child(queue: multiprocessing.Queue[str]) -> None:
    queue.put(fp.run(TWO).json())


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_a_child_process_simulates_also_after_runs_of_its_parent(method: str) -> None:
    before = fp.run(TWO).json()
    fp.duels(["bbr1"], duration="2s", warmup="1s", buffer=["1bdp"], seeds=1, quiet=True)
    context = multiprocessing.get_context(method)
    queue = context.Queue()
    child = context.Process(target=_run_in_child, args=(queue,))
    child.start()
    assert queue.get(timeout=60) == before
    child.join(60)
    assert child.exitcode == 0


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_child_that_is_forked_during_runs_of_other_threads_simulates() -> None:
    expected = fp.run(TWO).json()
    with ThreadPoolExecutor(2) as pool:
        runs = [pool.submit(fp.run, TWO, set={"duration": "60s"}) for _ in range(4)]
        for _ in range(5):
            reader, writer = os.pipe()
            child = os.fork()
            if child == 0:
                signal.alarm(60)  # a child that waits for ever is ended
                same = fp.run(TWO).json() == expected
                os.write(writer, b"same" if same else b"other")
                os._exit(0)
            os.close(writer)
            with open(reader, "rb") as answer:
                assert answer.read() == b"same"
            assert os.waitpid(child, 0)[1] == 0
        assert all(run.result().jain for run in runs)


def test_results_can_be_dropped_in_any_thread_while_their_tables_are_read() -> None:
    import pyarrow as pa

    def read(seed: int) -> int:
        result = fp.run(TWO, seed=seed)
        table = result.series
        del result
        return int(pa.table(table).num_rows)

    with ThreadPoolExecutor(4) as pool:
        assert len(set(pool.map(read, range(12)))) == 1
