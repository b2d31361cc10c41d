"""What ends a sweep on Ray, what is made again, and what is a row: most of it without processes."""

from __future__ import annotations

import itertools
import os
import socket
import subprocess
import sys
import textwrap
import threading
import time
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import fairpace as fp
from fairpace import _ray, _runs

from conftest import long
from ray_cluster import TWO_FLOWS, cluster_of, files, parts, ray


class Simulated:
    """Ray without processes. ``fail`` has the error that it gives in place of a task's rows, if there is one."""

    exceptions = ray.exceptions

    def __init__(self, fail: Callable[[Any], BaseException | None]) -> None:
        self.fail = fail
        self._refs = itertools.count()
        self.tasks: dict[int, tuple[Any, Any]] = {}
        self.head = socket.create_server(("127.0.0.1", 0))
        self.port = self.head.getsockname()[1]
        self.is_shut_down = False
        connected = types.SimpleNamespace(is_connected=lambda: False)
        self.util = types.SimpleNamespace(client=types.SimpleNamespace(ray=connected))

    def is_initialized(self) -> bool:
        return True

    def get_runtime_context(self) -> Any:
        return types.SimpleNamespace(gcs_address="127.0.0.1:%d" % self.port)

    def cluster_resources(self) -> dict[str, float]:
        return {"CPU": 2.0}

    def shutdown(self) -> None:
        self.is_shut_down = True

    def remote(self, **_: object) -> Any:
        def submit(task: Any, piece: Any) -> int:
            ref = next(self._refs)
            self.tasks[ref] = task, piece
            return ref

        return lambda task: types.SimpleNamespace(remote=lambda piece: submit(task, piece))

    def wait(self, refs: list[int], **_: object) -> tuple[list[int], list[int]]:
        return refs[:1], refs[1:]

    def get(self, ref: int) -> Any:
        task, piece = self.tasks.pop(ref)
        error = self.fail(piece)
        if error is not None:
            raise error
        return task(piece)

    def cancel(self, ref: int, *, force: bool) -> None:
        del self.tasks[ref]


def lost_object(kind: Any) -> Any:
    return kind("00" * 28, b"", "")


FAILURES = [
    ray.exceptions.LocalRayletDiedError(),
    ray.exceptions.RaySystemError("Broken pipe"),
    ray.exceptions.RpcError("failed to connect to all addresses"),
    ray.exceptions.ObjectStoreFullError("Failed to put object"),
    ray.exceptions.OutOfDiskError("Local disk is full"),
    ray.exceptions.RayTaskError("_task", "", ray.exceptions.OutOfDiskError("Local disk is full")).as_instanceof_cause(),
    ray.exceptions.RayTaskError("_task", "", MemoryError("no room for rows")).as_instanceof_cause(),
    ray.exceptions.RayTaskError("_task", "", ModuleNotFoundError("No module named 'fairpace'")).as_instanceof_cause(),
    ray.exceptions.RuntimeEnvSetupError("no such file"),
    ray.exceptions.TaskUnschedulableError("no node has a core"),
    ray.exceptions.TaskCancelledError(),
    ConnectionError("Ray Client is not connected"),
]
"""Nothing can run after these."""

LOSSES = [
    ray.exceptions.NodeDiedError("the node is dead or unreachable"),
    ray.exceptions.OutOfMemoryError("the node runs low on memory"),
    lost_object(ray.exceptions.ObjectLostError),
    lost_object(ray.exceptions.ObjectFetchTimedOutError),
]
"""These say nothing about a run."""


def name(error: BaseException) -> str:
    return type(error).__name__


def short_sweep(out: Path, on: Any = "ray") -> fp.Sweep:
    """50 runs of a second, of which 25 fail; tasks of three."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_ray.OnRay, "piece_packets", lambda *_: 12_000.0)
        short = TWO_FLOWS.replace('"60s"', '"1s"')
        return fp.sweep(short, [{"link.buffer": "1bdp"}, {"link.buffer": "3B"}], range(25), out=out, on=on, quiet=True)


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts of 15 runs."""
    monkeypatch.setattr(_runs, "MOST_RUNS", 15)


@pytest.fixture(scope="module")
def short(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """Its files without Ray."""
    out = tmp_path_factory.mktemp("short")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_runs, "MOST_RUNS", 15)
        short_sweep(out, "local")
    return files(out)


@pytest.mark.parametrize("error", FAILURES, ids=name)
def test_what_cannot_run_ends_the_sweep_and_is_no_row(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, short: dict[str, bytes], error: Exception
) -> None:
    simulated = Simulated(lambda piece: error if piece.first >= 35 else None)
    monkeypatch.setitem(sys.modules, "ray", simulated)
    with pytest.raises(fp.InternalError, match="Ray cannot go on: .*; the same call makes what is missing") as raised:
        short_sweep(tmp_path)
    assert raised.value.__cause__ is error
    assert simulated.tasks == {}, "what was in flight has ended"
    there = files(tmp_path)
    del there["sweep.json"]
    assert len(there) == 2 * 2 and there.items() <= short.items()
    simulated.fail = lambda _: None
    assert short_sweep(tmp_path).made == 50 - 2 * 15
    assert files(tmp_path) == short


@pytest.mark.parametrize("error", LOSSES, ids=name)
def test_what_is_lost_is_made_again_and_is_no_row(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, short: dict[str, bytes], error: Exception
) -> None:
    lost: list[int] = []

    def fail(piece: Any) -> Exception | None:
        if not piece.first <= 22 < piece.first + len(piece.jobs) or len(lost) == most:
            return None
        lost.append(len(piece.jobs))
        return error

    monkeypatch.setitem(sys.modules, "ray", Simulated(fail))
    most = 100
    with pytest.raises(fp.InternalError, match=f"run 22 was lost 10 times, at last by {name(error)}: "):
        short_sweep(tmp_path)
    assert lost == [3, 2] + [1] * 10
    lost, most = [], 11
    assert short_sweep(tmp_path).failed == 25
    assert files(tmp_path) == short


def test_a_head_that_is_silent_ends_the_sweep(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, short: dict[str, bytes]
) -> None:
    def fail(piece: Any) -> None:
        if piece.first >= 35:
            simulated.head.close()
            time.sleep(0.1)

    simulated = Simulated(fail)
    monkeypatch.setitem(sys.modules, "ray", simulated)
    monkeypatch.setattr(_ray, "_SILENT_S", 0.05)
    monkeypatch.setattr(_ray, "_CORES_EVERY_S", 0.0)
    with pytest.raises(fp.InternalError, match=r"the head of Ray's cluster has not answered for .* Connection refused"):
        short_sweep(tmp_path)
    assert simulated.is_shut_down and simulated.tasks == {}
    there = files(tmp_path)
    del there["sweep.json"]
    assert len(there) == 2 * 2 and there.items() <= short.items()


CASE = TWO_FLOWS, {"link.rate": ["2mbit"]}, range(800)
"""Of 800 runs."""


@long
@pytest.mark.parametrize("again", ["local", "ray"])
def test_800_runs_of_which_the_drivers_raylet_is_killed_after_4_s(tmp_path: Path, again: Any) -> None:
    out = tmp_path / "out"
    with cluster_of(1, 1) as cluster:
        timer = threading.Timer(4.0, cluster.head_node.kill_raylet)
        timer.start()
        with pytest.raises(fp.InternalError, match="Ray cannot go on: "):
            fp.sweep(*CASE, out=out, on="ray", quiet=True)
        timer.join()
    there = parts(out)
    assert 0 < there < 800 // 15 and fp.Sweep(out).failed is None
    if again == "ray":
        with cluster_of(1, 1):
            made = fp.sweep(*CASE, out=out, on="ray", quiet=True)
    else:
        made = fp.sweep(*CASE, out=out, quiet=True)
    assert (made.made, made.failed) == (800 - 15 * there, 0)
    fp.sweep(*CASE, out=tmp_path / "local", quiet=True)
    assert files(out) == files(tmp_path / "local")


HEAD = """
    import ctypes, os, signal, sys, threading, time
    import fairpace as fp
    import pytest
    from fairpace import _ray, _runs
    from ray_cluster import TWO_FLOWS, cluster_of

    # what the cluster leaves behind without its head becomes a child of this process (prctl(2), PR_SET_CHILD_SUBREAPER)
    ctypes.CDLL(None).prctl(36, 1)
    _runs.MOST_RUNS = 15
    with cluster_of(0, 1) as cluster:
        timer = threading.Timer(4.0, cluster.head_node.kill_gcs_server)
        timer.start()
        with pytest.raises(fp.InternalError, match="the head of Ray's cluster has not answered for "):
            fp.sweep(TWO_FLOWS, None, range(100_000), out=sys.argv[1], on="ray", quiet=True)
    # in less than this time Ray would end a process that is still connected
    time.sleep(70)
    for child in open(f"/proc/self/task/{os.getpid()}/children").read().split():
        os.kill(int(child), signal.SIGKILL)
    print("goes on")
"""


@long
def test_the_head_of_the_cluster_is_killed_and_the_program_goes_on(tmp_path: Path) -> None:
    command = [sys.executable, "-c", textwrap.dedent(HEAD), str(tmp_path)]
    path = os.pathsep.join([str(Path(__file__).parent), *filter(None, [os.environ.get("PYTHONPATH")])])
    ended = subprocess.run(command, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, timeout=300)
    assert (ended.returncode, ended.stdout.splitlines()[-1]) == (0, "goes on"), ended.stderr
    assert parts(tmp_path) > 0 and set(fp.Sweep(tmp_path).to_arrow().to_pyarrow()["error"].to_pylist()) == {None}


@long
def test_a_cluster_without_memory_ends_the_sweep(tmp_path: Path) -> None:
    """Ray kills each worker as soon as a hundredth of the memory is in use."""
    endless = TWO_FLOWS.replace('"60s"', '"20h"')
    with cluster_of(1, memory_usage_threshold=0.01, memory_monitor_refresh_ms=100):
        with pytest.raises(fp.InternalError, match="run 0 was lost 10 times, at last by OutOfMemoryError: "):
            fp.sweep(endless, None, range(2), out=tmp_path, on="ray", quiet=True)
    assert set(files(tmp_path)) == {"sweep.json"}
