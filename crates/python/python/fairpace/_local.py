"""The pieces of a sweep on the cores of this machine."""

from __future__ import annotations

import os
import time
from _thread import start_new_thread
from collections.abc import Callable, Iterator
from queue import Empty, SimpleQueue

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
        queued: SimpleQueue[Piece | None] = SimpleQueue()
        done: SimpleQueue[Done | BaseException | None] = SimpleQueue()

        def work() -> None:
            while (piece := queued.get()) is not None:
                try:
                    done.put((piece, *simulate(piece, cancel)))
                except BaseException as error:
                    done.put(error)
            # for the next thread
            queued.put(None)
            done.put(None)

        # Those of an executor are joined when the interpreter ends, after all that is queued. A program whose own sweep
        # runs in a daemon thread would not end before it. Those of threading lose a Ctrl-C: starting one waits for a
        # Condition, whose `with` turns it into a RuntimeError, and ending one drops what its callbacks raise.
        running = 0
        pending = 0
        try:
            for _ in range(self.jobs):
                start_new_thread(work, ())
                running += 1
            while True:
                while pending < self.jobs * (1 + _QUEUED) and (piece := next(pieces, None)):
                    queued.put(piece)
                    pending += 1
                if not pending:
                    return
                try:
                    result = done.get(timeout=_LOOK_EVERY_S)
                except Empty:
                    tick()
                    continue
                pending -= 1
                tick()
                if isinstance(result, BaseException):
                    raise result
                if result is not None:
                    yield result
        finally:
            # after Ctrl-C or an error the threads end within a moment: a piece that is queued ends at once
            cancel.set()
            queued.put(None)
            while running:
                running -= done.get() is None
