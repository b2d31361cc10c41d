"""The pieces of a sweep on a cluster of Ray.

Tasks get the text of their scenarios and return rows, so that workers need the package and no file. The runs of a worker
that is lost are made again; their rows are the same. The driver writes all files: rows are some hundred bytes per run,
and one file holds the rows of many tasks.

What is lost says nothing about a run, unless the run was alone in its task, and its worker, which lived when it got the
task, crashed, and so again. Only then is it a row with that error. Whatever else fails is a failure of the cluster: it
ends the sweep with an exception, and the runs that are missing are in no file.
"""

from __future__ import annotations

import importlib
import socket
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from . import _fairpace
from ._local import Done, simulate
from ._runs import Piece
from .errors import InternalError, UnsupportedError

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

_CRASHES = 3
"""Crashes of a run's worker, alone with it, after which the run is a row with that error: one may be chance."""

_LOSSES = 10
"""Losses of a run that say nothing about it, as with its node, after which the sweep ends."""

_LOOK_EVERY_S = 0.5
"""How often the progress is shown while nothing ends."""

_CORES_EVERY_S = 5.0
"""How often the cluster is asked for its cores: nodes come and go."""

_ANSWER_S = 5.0
"""The cluster's head accepts a connection within this time, or does not answer."""

_SILENT_S = 30.0
"""Without an answer for so long the cluster's head is gone. After 60 s Ray would end this process."""

_REMEDY = "the same call makes what is missing, on a cluster that works"

_Bytes = tuple[list[bytes], list[int], str]
"""Rows on their way."""


def _task(piece: Piece) -> tuple[_Bytes, float]:
    rows, cpu_s = simulate(piece, _fairpace.Cancel())
    return rows.to_bytes(), cpu_s


@dataclass
class _Pending:
    """A piece in flight; of a run that is alone in its piece, how often it was lost."""

    piece: Piece
    crashes: int = 0
    losses: int = 0


class OnRay:
    """A cluster: the one that this program is connected to, the one of ``RAY_ADDRESS``, or one on this machine."""

    def __init__(self, jobs: int | None) -> None:
        try:
            self._ray: Any = importlib.import_module("ray")
        except ImportError:
            raise UnsupportedError('on="ray" needs Ray', "pip install 'fairpace[ray]'") from None
        self._jobs = jobs
        self._limit, self._limit_until = 0, 0.0
        self._head_seen = time.monotonic()
        self._ends_connection = False

    def run(self, pieces: Iterator[Piece], tick: Callable[[], None]) -> Iterator[Done]:
        """The rows of each piece, as they come. ``tick`` is called now and then.

        :raises InternalError: the cluster failed.
        """
        ray = self._ray
        self._ends_connection = not ray.is_initialized()
        if self._ends_connection:
            ray.init(log_to_driver=False)
        # Ray would start some tasks again for ever, as those that memory is short for, and say nothing
        remote = ray.remote(num_cpus=1, max_retries=0)(_task)
        pending: dict[Any, _Pending] = {}
        try:
            while True:
                while len(pending) < self._most_pending() and (piece := next(pieces, None)):
                    pending[remote.remote(piece)] = _Pending(piece)
                if not pending:
                    return
                ready, _ = ray.wait(list(pending), num_returns=1, timeout=_LOOK_EVERY_S)
                tick()
                for ref in ready:
                    task = pending.pop(ref)
                    done, again = self._get(ref, task)
                    if done is not None:
                        yield done
                    # back-pressure does not matter here: the runs were in flight before
                    pending.update((remote.remote(one.piece), one) for one in again)
        except (ray.exceptions.RayError, ConnectionError) as error:
            raise InternalError(f"Ray cannot go on: {_words(error)}", _REMEDY) from error
        finally:
            for ref in pending:
                ray.cancel(ref, force=False)
            if self._ends_connection:
                ray.shutdown()

    def piece_packets(self, total: float) -> float:
        """Expected packets of a task, of a sweep with this many."""
        cores = max(self._cores(), 1)
        most = _PACKETS * max(1.0, cores / _CORES_PER_TASK)
        return min(max(total / cores / _PIECES, _LEAST_PACKETS), most)

    def _most_pending(self) -> int:
        """How many tasks may be in flight."""
        if time.monotonic() >= self._limit_until:
            # without the head the question for cores would not return
            if self._sees_head():
                self._limit = max(self._cores() * (1 + _QUEUED), _LEAST_PENDING)
            self._limit_until = time.monotonic() + _CORES_EVERY_S
        return self._limit if self._jobs is None else self._jobs

    def _cores(self) -> int:
        return int(self._ray.cluster_resources().get("CPU", 0))

    def _sees_head(self) -> bool:
        """Whether the cluster's head answers.

        :raises InternalError: it has not for a long time.
        """
        if self._ray.util.client.ray.is_connected():
            # in a network of its own; the server of Ray Client looks for it
            return True
        host, _, port = self._ray.get_runtime_context().gcs_address.rpartition(":")
        try:
            socket.create_connection((host.strip("[]"), int(port)), timeout=_ANSWER_S).close()
        except OSError as error:
            silent_s = time.monotonic() - self._head_seen
            if silent_s < _SILENT_S:
                return False
            self._ends_connection = True
            why = f"the head of Ray's cluster has not answered for {silent_s:.0f} s: {error}"
            raise InternalError(why, f"this program is disconnected from it; {_REMEDY}") from error
        self._head_seen = time.monotonic()
        return True

    def _get(self, ref: Any, task: _Pending) -> tuple[Done | None, list[_Pending]]:
        """The rows of a task that has ended, or what is to be made again after it was lost."""
        exceptions = self._ray.exceptions
        piece = task.piece
        try:
            content, cpu_s = self._ray.get(ref)
        except exceptions.WorkerCrashedError:
            task.crashes += 1
        except (exceptions.NodeDiedError, exceptions.OutOfMemoryError, exceptions.ObjectLostError) as error:
            task.losses += 1
            if task.losses == _LOSSES:
                raise InternalError(f"run {piece.first} was lost {_LOSSES} times, at last by {_words(error)}", _REMEDY) from error
        else:
            rows = _fairpace.Rows.from_bytes(content)
            if rows.commit != _fairpace.COMMIT:
                raise UnsupportedError(
                    f"a worker has fairpace of commit {rows.commit}, and this is {_fairpace.COMMIT}",
                    "install the same package on all nodes",
                )
            return (piece, rows, cpu_s), []
        if len(piece.jobs) > 1:
            return None, [_Pending(half) for half in piece.halves()]
        if task.crashes < _CRASHES:
            return None, [task]
        why = f"its worker crashed in each of {_CRASHES} attempts, alone with it"
        rows = _fairpace.failed_rows(piece.first, piece.jobs, piece.columns, piece.values, why)
        return (piece, rows, 0.0), []


def _words(error: Any) -> str:
    """An error in one line; of a task, what was raised there."""
    cause = getattr(error, "cause", None) or error
    lines = str(cause).strip().splitlines()
    return f"{type(cause).__name__}: {lines[0]}" if lines else type(cause).__name__
