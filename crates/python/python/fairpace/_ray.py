"""The pieces of a sweep on a cluster of Ray.

Tasks get the text of their scenarios and return rows, so that workers need the package and no file. Ray starts the task
of a lost worker again; its rows are the same. The driver writes all files: rows are some hundred bytes per run, and
one file holds the rows of many tasks.
"""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable, Iterator
from typing import Any

from . import _fairpace
from ._local import Done, simulate
from ._runs import Piece
from .errors import UnsupportedError

__all__ = ["OnRay"]

_PACKETS = 5e6
"""Expected packets of a task: about half a second. Ray takes some milliseconds for each task."""

_LEAST_PACKETS = 500_000.0
"""The same in a sweep that is small for its cluster."""

_PIECES = 8
"""Tasks for each core, at least: the last ones end at nearly the same time."""

_CORES_PER_TASK = 100
"""From this number of cores on tasks are longer: a cluster of any size starts some 200 per second, and Ray reaches 500
(docs/scale.md)."""

_QUEUED = 1
"""Tasks that wait for each core of the cluster, so that none waits for the driver."""

_LEAST_PENDING = 4
"""Tasks in flight while the cluster has no core: enough to make an autoscaler start nodes."""

_RETRIES = 3
"""How often Ray starts the task of a lost worker again. After that its runs are made in smaller tasks."""

_LOOK_EVERY_S = 0.5
"""How often the progress is shown while nothing ends."""

_CORES_EVERY_S = 5.0
"""How often the cluster is asked for its cores: nodes come and go."""

_Bytes = tuple[list[bytes], list[int], str]
"""Rows on their way."""


def _task(piece: Piece) -> tuple[_Bytes, float]:
    rows, cpu_s = simulate(piece, _fairpace.Cancel())
    return rows.to_bytes(), cpu_s


class OnRay:
    """A cluster: the one that this program is connected to, the one of ``RAY_ADDRESS``, or one on this machine."""

    def __init__(self, jobs: int | None) -> None:
        try:
            self._ray: Any = importlib.import_module("ray")
        except ImportError:
            raise UnsupportedError('on="ray" needs Ray', "pip install 'fairpace[ray]'") from None
        self._jobs = jobs
        self._limit, self._limit_until = 0, 0.0

    def run(self, pieces: Iterator[Piece], tick: Callable[[], None]) -> Iterator[Done]:
        """The rows of each piece, as they come. ``tick`` is called now and then."""
        ray = self._ray
        mine = not ray.is_initialized()
        if mine:
            ray.init(log_to_driver=False)
        remote = ray.remote(num_cpus=1, max_retries=_RETRIES)(_task)
        pending: dict[Any, Piece] = {}
        try:
            while True:
                while len(pending) < self._most_pending() and (piece := next(pieces, None)):
                    pending[remote.remote(piece)] = piece
                if not pending:
                    return
                ready, _ = ray.wait(list(pending), num_returns=1, timeout=_LOOK_EVERY_S)
                tick()
                for ref in ready:
                    piece = pending.pop(ref)
                    done = self._get(ref, piece)
                    if done is not None:
                        yield done
                        continue
                    if len(piece.jobs) == 1:
                        why = f"its worker was lost in each of {_RETRIES + 1} attempts"
                        rows = _fairpace.failed_rows(piece.first, piece.jobs, piece.columns, piece.values, why)
                        yield piece, rows, 0.0
                    else:
                        # back-pressure does not matter here: the piece was in flight before
                        pending.update((remote.remote(half), half) for half in piece.halves())
        finally:
            for ref in pending:
                ray.cancel(ref, force=False)
            if mine:
                ray.shutdown()

    def piece_packets(self, total: float) -> float:
        """Expected packets of a task, of a sweep with this many."""
        cores = max(int(self._ray.cluster_resources().get("CPU", 0)), 1)
        most = _PACKETS * max(1.0, cores / _CORES_PER_TASK)
        return min(max(total / cores / _PIECES, _LEAST_PACKETS), most)

    def _most_pending(self) -> int:
        """How many tasks may be in flight."""
        if self._jobs is not None:
            return self._jobs
        if time.monotonic() >= self._limit_until:
            cores = int(self._ray.cluster_resources().get("CPU", 0))
            self._limit = max(cores * (1 + _QUEUED), _LEAST_PENDING)
            self._limit_until = time.monotonic() + _CORES_EVERY_S
        return self._limit

    def _get(self, ref: Any, piece: Piece) -> Done | None:
        """The rows of a task that has ended; ``None``: its worker was lost, again and again."""
        exceptions = self._ray.exceptions
        lost = (
            exceptions.WorkerCrashedError,
            exceptions.NodeDiedError,
            exceptions.LocalRayletDiedError,
            exceptions.OutOfMemoryError,
            exceptions.ObjectLostError,
        )
        try:
            content, cpu_s = self._ray.get(ref)
        except lost:
            return None
        rows = _fairpace.Rows.from_bytes(content)
        if rows.commit != _fairpace.COMMIT:
            raise UnsupportedError(
                f"a worker has fairpace of commit {rows.commit}, and this is {_fairpace.COMMIT}",
                "install the same package on all nodes",
            )
        return piece, rows, cpu_s
