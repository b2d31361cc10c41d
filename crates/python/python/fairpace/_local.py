"""The pieces of a sweep on the cores of this machine."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait

from . import _fairpace
from ._runs import Piece

__all__ = ["Done", "Local", "simulate"]

Done = tuple[Piece, _fairpace.Rows, float]
"""A piece, its rows, and the seconds of CPU time that these took."""

_PIECES = 32
"""Pieces for each thread, at least: the last ones end at nearly the same time."""

_PACKETS = (50_000.0, 500_000.0)
"""Least and most expected packets of a piece: some milliseconds, so that Python's part of it is small; and some tens."""

_QUEUED = 4
"""Pieces that wait for each thread, while the main thread plans others or writes a file."""

_LOOK_EVERY_S = 0.2
"""How often the progress is shown while nothing ends."""


def simulate(piece: Piece, cancel: _fairpace.Cancel) -> tuple[_fairpace.Rows, float]:
    """Makes the runs of a piece; with the seconds of CPU time that they took."""
    begun = time.thread_time()
    rows = _fairpace.simulate_rows(piece.first, piece.jobs, piece.columns, piece.values, cancel)
    return rows, time.thread_time() - begun


class Local:
    """Threads: Python's lock is released while they simulate."""

    def __init__(self, jobs: int | None) -> None:
        self.jobs = jobs or len(os.sched_getaffinity(0))

    def piece_packets(self, total: float) -> float:
        """Expected packets of a piece, of a sweep with this many."""
        least, most = _PACKETS
        return min(max(total / self.jobs / _PIECES, least), most)

    def run(self, pieces: Iterator[Piece], tick: Callable[[], None]) -> Iterator[Done]:
        """The rows of each piece, as they come. ``tick`` is called now and then."""
        cancel = _fairpace.Cancel()
        pool = ThreadPoolExecutor(self.jobs, "fairpace")
        pending: dict[Future[tuple[_fairpace.Rows, float]], Piece] = {}
        try:
            while True:
                while len(pending) < self.jobs * (1 + _QUEUED) and (piece := next(pieces, None)):
                    pending[pool.submit(simulate, piece, cancel)] = piece
                if not pending:
                    return
                done, _ = wait(pending, _LOOK_EVERY_S, FIRST_COMPLETED)
                tick()
                for future in done:
                    yield (pending.pop(future), *future.result())
        finally:
            # after Ctrl-C or an error the threads end within a moment
            cancel.set()
            pool.shutdown(wait=True, cancel_futures=True)
