"""A cluster of Ray on this machine, and the sweep that the tests make there."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

ray: Any = pytest.importorskip("ray", reason="SKIPPED: Ray is not installed: pip install 'fairpace[ray]'")

TWO_FLOWS = """
title = "two flows"
duration = "60s"
link = [{ rate = "2mbit", buffer = "1bdp" }]
flow = [{ name = "a", cc = "bbr1", rtt = "20ms" }, { name = "b", cc = "cubic", rtt = "20ms" }]
"""

OVER = [{"link.buffer": buffer} for buffer in ("1bdp", "4bdp", "3B")]
"""A third of the runs fails. The wrong value is in a list, whose values are not checked before the first run."""

SEEDS = range(100)

NODE: dict[str, Any] = {"num_cpus": 1, "object_store_memory": 80 * 2**20, "include_dashboard": False}
"""80 MB is about the least that Ray takes."""

SYSTEM = {
    # where a store is full, no object goes to a disk
    "automatic_object_spilling_enabled": False,
    "local_fs_capacity_threshold": 0.0,
    # a node is dead that refuses connections for two seconds, not for fifteen
    "health_check_period_ms": 500,
    "health_check_failure_threshold": 4,
}
"""Settings of all nodes."""


@contextmanager
def cluster_of(*cores: int, **system: object) -> Iterator[Any]:
    """A cluster with a node for each of these numbers of cores, and this program connected to the first one."""
    # the paths of sockets are short, so that pytest's folders will not do
    folder = tempfile.mkdtemp(prefix="fp-ray-", dir="/tmp")
    environment = pytest.MonkeyPatch()
    environment.setenv("RAY_TMPDIR", folder)
    environment.setenv("RAY_USAGE_STATS_ENABLED", "0")
    environment.delenv("RAY_ADDRESS", raising=False)
    from ray.cluster_utils import Cluster

    nodes: Any = Cluster()
    try:
        for index, count in enumerate(cores):
            of_all = {} if index else {"_system_config": {**SYSTEM, **system}}
            nodes.add_node(**{**NODE, "num_cpus": count}, **of_all)
        ray.init(address=nodes.address, log_to_driver=False)
        nodes.wait_for_nodes()
        yield nodes
    finally:
        # these end the processes that were started here, and no others
        ray.shutdown()
        nodes.shutdown()
        environment.undo()
        shutil.rmtree(folder, ignore_errors=True)


def files(folder: Path) -> dict[str, bytes]:
    """All files of a data set."""
    found = (path for path in sorted(folder.rglob("*")) if path.is_file() and not path.name.startswith("."))
    return {str(path.relative_to(folder)): path.read_bytes() for path in found}


def parts(out: Path) -> int:
    """Parts that are complete."""
    return len(list((out / "flows").glob("*.parquet")))
