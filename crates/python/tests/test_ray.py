"""Sweeps on a cluster of Ray: three nodes, each of its own processes, on this machine."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import fairpace as fp
from fairpace import _fairpace, _local, _ray, _runs

from conftest import long_or
from ray_cluster import NODE, OVER, SEEDS, TWO_FLOWS, cluster_of, files, parts, ray

@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """Three nodes with a core each, and the driver's, which has none."""
    with cluster_of(0, 1, 1, 1) as nodes:
        yield nodes


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts of 15 runs, and tasks of four."""
    monkeypatch.setattr(_runs, "MOST_RUNS", 15)
    monkeypatch.setattr(_ray.OnRay, "piece_packets", lambda *_: 50_000.0)


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """The files of the sweep as this machine makes them without Ray."""
    out = tmp_path_factory.mktemp("local")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_runs, "MOST_RUNS", 15)
        fp.sweep(TWO_FLOWS, OVER, SEEDS, out=out, quiet=True)
    return files(out)


def test_a_node_is_killed_and_one_is_added_and_each_run_is_there_once(
    cluster: Any, local: dict[str, bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    attempts, used, new = tmp_path / "attempts", tmp_path / "used", tmp_path / "new"
    attempts.mkdir()
    used.mkdir()

    def hangs_at_first(piece: Any) -> Any:
        """The task that has run 150 hangs until its node is killed."""
        here = ray.get_runtime_context().get_node_id()
        (used / here).touch()
        if piece.first <= 150 < piece.first + len(piece.jobs):
            first = not list(attempts.iterdir())
            (attempts / here).touch()
            if first:
                time.sleep(600)
        # the others wait for the new node, or the sweep would end before it has started
        deadline = time.monotonic() + 60
        while piece.first > 250 and not worked() and time.monotonic() < deadline:
            time.sleep(0.01)
        return _task(piece)

    def worked() -> bool:
        return new.exists() and (used / new.read_text()).exists()

    def wait_and_change_nodes(refs: list[Any], **arguments: Any) -> Any:
        hanging = list(attempts.iterdir())
        if hanging and not added:
            before = {node["NodeID"] for node in ray.nodes()}
            [socket] = [node["ObjectStoreSocketName"] for node in ray.nodes() if node["NodeID"] == hanging[0].name]
            [node] = [node for node in cluster.worker_nodes if node.plasma_store_socket_name == socket]
            # as if its power failed
            cluster.remove_node(node, allow_graceful=False)
            cluster.add_node(**NODE)
            added.update({node["NodeID"] for node in ray.nodes()} - before)
            [name] = added
            (tmp_path / "name").write_text(name)
            (tmp_path / "name").rename(new)
        return wait(refs, **arguments)

    _task, wait, added = _ray._task, ray.wait, set[str]()
    monkeypatch.setattr(_ray, "_task", hangs_at_first)
    monkeypatch.setattr(ray, "wait", wait_and_change_nodes)
    made = fp.sweep(TWO_FLOWS, OVER, SEEDS, out=tmp_path / "out", on="ray", quiet=True)
    assert len(list(attempts.iterdir())) == 2, "the task was started again, on another node"
    assert worked(), "the new node got tasks"
    assert (made.made, made.failed) == (300, 100)
    flows = made.to_arrow().to_pyarrow()
    assert sorted(set(flows["run"].to_pylist())) == list(range(300))
    assert flows.num_rows == 200 * 2 + 100, "each run is there once"
    assert files(tmp_path / "out") == local


DRIVER = """
    import sys
    import ray
    import fairpace as fp
    from fairpace import _ray, _runs
    _runs.MOST_RUNS = 15
    _ray.OnRay.piece_packets = lambda *_: 50_000.0
    scenario, over, seeds = eval(sys.argv[1])
    ray.init(address=sys.argv[2], log_to_driver=False)
    fp.sweep(scenario, over, seeds, out=sys.argv[3], on="ray", quiet=True)
"""


def start_driver(address: str, out: Path) -> subprocess.Popen[bytes]:
    arguments = [repr((TWO_FLOWS, OVER, SEEDS)), address, str(out)]
    return subprocess.Popen([sys.executable, "-c", textwrap.dedent(DRIVER), *arguments], stderr=subprocess.DEVNULL)


def test_a_driver_that_is_killed_and_started_again_continues(
    cluster: Any, local: dict[str, bytes], tmp_path: Path
) -> None:
    driver = start_driver(cluster.address, tmp_path)
    try:
        while driver.poll() is None and parts(tmp_path) < 3:
            time.sleep(0.01)
        assert driver.poll() is None, "it ended before it could be killed: make the sweep longer"
    finally:
        driver.send_signal(signal.SIGKILL)
        driver.wait()
    there = {path.name: path.stat().st_mtime_ns for path in (tmp_path / "flows").iterdir()}
    assert 3 <= len(there) < 20
    again = start_driver(cluster.address, tmp_path)
    assert again.wait(timeout=120) == 0
    after = {path.name: path.stat().st_mtime_ns for path in (tmp_path / "flows").iterdir()}
    assert there.items() <= after.items(), "what was there was not made again"
    assert files(tmp_path) == local


@pytest.mark.usefixtures("cluster")
def test_a_run_that_crashes_its_worker_each_time_is_a_row_with_that_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    attempts, out = tmp_path / "attempts", tmp_path / "out"
    attempts.mkdir()

    def crashes(piece: Any) -> Any:
        if piece.first <= 5 < piece.first + len(piece.jobs):
            (attempts / f"{time.monotonic_ns()}-{len(piece.jobs)}").touch()
            os._exit(1)
        return _task(piece)

    _task = _ray._task
    with monkeypatch.context() as patch:
        patch.setattr(_ray, "_task", crashes)
        made = fp.sweep(TWO_FLOWS, None, range(12), out=out, on="ray", quiet=True)
    flows = made.to_arrow().to_pyarrow().to_pylist()
    assert made.failed == 1 and len(flows) == 11 * 2 + 1
    [failed] = [row for row in flows if row["error"] is not None]
    assert (failed["run"], failed["seed"], failed["error_kind"]) == (5, 5, "internal")
    assert failed["error"] == "its worker crashed in each of 3 attempts, alone with it"
    # the piece, its half, and the run alone
    assert [path.name.split("-")[1] for path in sorted(attempts.iterdir())] == ["3", "2", "1", "1", "1"]
    again = fp.sweep(TWO_FLOWS, None, range(12), out=out, on="ray", quiet=True)
    assert (again.made, again.failed) == (0, 1)
    again = fp.sweep(TWO_FLOWS, None, range(12), out=out, on="ray", retry="internal", quiet=True)
    assert (again.made, again.failed) == (12, 0)
    fp.sweep(TWO_FLOWS, None, range(12), out=tmp_path / "local", quiet=True)
    assert files(out) == files(tmp_path / "local")


@pytest.mark.usefixtures("cluster")
def test_a_worker_with_another_build_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def of_another_build(piece: Any) -> Any:
        rows, cpu_s = _local.simulate(piece, _fairpace.Cancel())
        tables, counts, _ = rows.to_bytes()
        return (tables, counts, "0123abc"), cpu_s

    monkeypatch.setattr(_ray, "_task", of_another_build)
    with pytest.raises(fp.UnsupportedError, match="commit 0123abc.*install the same package on all nodes"):
        fp.sweep(TWO_FLOWS, None, range(3), out=tmp_path, on="ray", quiet=True)


@pytest.mark.usefixtures("cluster")
def test_tasks_in_flight_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    most = 0
    wait = ray.wait

    def counted(refs: list[Any], **arguments: Any) -> Any:
        nonlocal most
        most = max(most, len(refs))
        return wait(refs, **arguments)

    monkeypatch.setattr(ray, "wait", counted)
    made = fp.sweep(TWO_FLOWS, {"duration": ["1s"]}, range(200), out=tmp_path / "a", on="ray", quiet=True)
    assert len(made) == 200 and 0 < most <= 2 * ray.cluster_resources()["CPU"]
    most = 0
    fp.sweep(TWO_FLOWS, {"duration": ["1s"]}, range(200), out=tmp_path / "b", on="ray", jobs=1, quiet=True)
    assert most == 1


@pytest.mark.usefixtures("cluster")
def test_tasks_are_long_enough_for_a_large_cluster_and_short_enough_for_a_small_sweep(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.undo()
    on_ray = _ray.OnRay(None)
    for cores, total, packets in [(3, 1e12, 5e6), (3, 24e6, 1e6), (3, 1.0, 0.5e6), (1000, 1e12, 50e6)]:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(ray, "cluster_resources", lambda cores=cores: {"CPU": float(cores)})
            assert on_ray.piece_packets(total) == packets


@pytest.mark.usefixtures("cluster")
def test_ctrl_c_ends_a_sweep_and_its_tasks(tmp_path: Path) -> None:
    endless = TWO_FLOWS.replace('"60s"', '"20h"').replace("2mbit", "1gbit")
    for moment in range(long_or(4, long=100)):
        delay_s = random.Random(moment).uniform(0.0, 1.0)
        timer = threading.Timer(delay_s, os.kill, (os.getpid(), signal.SIGINT))
        with pytest.raises(KeyboardInterrupt):
            timer.start()
            fp.sweep(endless, None, range(6), out=tmp_path / str(moment), on="ray", quiet=True)
    # the cores are free again
    assert fp.sweep(TWO_FLOWS, None, range(6), out=tmp_path / "short", on="ray", quiet=True).failed == 0


def test_a_full_object_store_ends_the_sweep(cluster: Any, tmp_path: Path) -> None:
    """The driver's. The cluster does not spill objects to disk, and memory is all that it has for them."""
    numpy = pytest.importorskip("numpy")
    pins = []
    for length in (2**20, 2**13):
        with pytest.raises((ray.exceptions.ObjectStoreFullError, ray.exceptions.OutOfDiskError)):
            while True:
                pins.append(ray.put(numpy.zeros(length, numpy.uint8)))
    # an argument of this size is an object in the store
    large = TWO_FLOWS + "# " + "x" * 200_000
    with pytest.raises(fp.InternalError, match="Ray cannot go on: (ObjectStoreFull|OutOfDisk)Error: "):
        fp.sweep(large, None, range(3), out=tmp_path, on="ray", quiet=True)
    assert set(files(tmp_path)) == {"sweep.json"}
    pins.clear()
    made = fp.sweep(large, None, range(3), out=tmp_path, on="ray", quiet=True)
    assert (made.made, made.failed) == (3, 0)


def test_the_drivers_raylet_is_killed_and_the_same_call_makes_what_is_missing(
    cluster: Any, local: dict[str, bytes], tmp_path: Path
) -> None:
    """As the kernel does where memory is short. The last test of this file: the cluster is of no use then."""

    def kill() -> None:
        while parts(tmp_path) < 3 and not ended.is_set():
            time.sleep(0.01)
        cluster.head_node.kill_raylet()

    ended = threading.Event()
    killer = threading.Thread(target=kill)
    killer.start()
    try:
        with pytest.raises(fp.InternalError, match="Ray cannot go on: .*; the same call makes what is missing"):
            fp.sweep(TWO_FLOWS, OVER, SEEDS, out=tmp_path, on="ray", quiet=True)
    finally:
        ended.set()
        killer.join()
    there = files(tmp_path)
    del there["sweep.json"]
    assert 2 * 3 <= len(there) < len(local) - 1
    assert there.items() <= local.items(), "no run is a row that has not ended"
    again = fp.sweep(TWO_FLOWS, OVER, SEEDS, out=tmp_path, quiet=True)
    assert again.made == 300 - 15 * (len(there) // 2) and again.failed == 100
    assert files(tmp_path) == local
