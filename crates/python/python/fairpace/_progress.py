"""How far a sweep is: a line on standard error, or a display of a notebook."""

from __future__ import annotations

import importlib
import sys
import time
from typing import Any

__all__ = ["Progress"]

_SHOW_EVERY_S = 0.2
"""A line that changes faster cannot be read."""

_LOG_EVERY_S = 20.0
"""Without a terminal each line stays; the command line prints as often."""


class Progress:
    """Counts runs, and shows it now and then. Time left is by expected packets, since runs differ."""

    def __init__(self, runs: int, cost: float, quiet: bool) -> None:
        self.runs, self.cost = runs, cost
        self.done = self.made = self.failed = self.packets = 0
        self._made_cost = self._reused_cost = 0.0
        self._begun = time.monotonic()
        self._display = None if quiet else _notebook()
        self._terminal = self._display is None and _is_terminal()
        shown = self._terminal or self._display is not None
        self._every = None if quiet else _SHOW_EVERY_S if shown else _LOG_EVERY_S
        self._due = self._begun + (self._every or 0.0)

    def reused(self, runs: int, failed: int, cost: float) -> None:
        """These runs were there."""
        self.done += runs
        self.failed += failed
        self._reused_cost += cost

    def add(self, runs: int, failed: int, packets: int, cost: float) -> None:
        """These runs were made."""
        self.done += runs
        self.made += runs
        self.failed += failed
        self.packets += packets
        self._made_cost += cost
        self.tick()

    def tick(self) -> None:
        """Shows it if that is due."""
        if self._every is not None and time.monotonic() >= self._due:
            self._due = time.monotonic() + self._every
            self._show(self.line(time.monotonic() - self._begun))

    def end(self) -> None:
        """Shows it for the last time."""
        if self._every is not None:
            self._show(self.line(time.monotonic() - self._begun))
            if self._terminal:
                sys.stderr.write("\n")
    def line(self, after_s: float) -> str:
        """The progress after this time."""
        per_s = 1.0 / max(after_s, 1e-9)
        parts = [
            f"{self.done} of {self.runs} runs",
            f"{100 * self.done // self.runs} %",
            f"{self.made * per_s:.1f} runs/s",
            f"{self.packets * per_s / 1e6:.2f} M packets/s",
        ]
        if self.failed:
            parts.append(f"{self.failed} failed")
        if 0.0 < self._made_cost and self.done < self.runs:
            left = max(self.cost - self._reused_cost - self._made_cost, 0.0)
            parts.append(f"about {_duration(after_s * left / self._made_cost)} left")
        return ", ".join(parts)

    def _show(self, line: str) -> None:
        if self._display is not None:
            self._display.update(_Line(line))
        elif sys.stderr is not None:
            sys.stderr.write(f"\r{line}\x1b[K" if self._terminal else f"{line}\n")
            sys.stderr.flush()


def _is_terminal() -> bool:
    """Whether stderr is one. Services have none, or put an object of their own in its place."""
    isatty = getattr(sys.stderr, "isatty", None)
    return isatty is not None and bool(isatty())


def _duration(seconds: float) -> str:
    if seconds < 120.0:
        return f"{seconds:.0f} s"
    return f"{seconds / 60.0:.0f} min" if seconds < 7200.0 else f"{seconds / 3600.0:.1f} h"


class _Line:
    """A line as IPython displays it: its text, without quotes."""

    def __init__(self, line: str) -> None:
        self._line = line

    def __repr__(self) -> str:
        return self._line


def _notebook() -> Any:
    """A display of the notebook that runs this, if one does."""
    if "ipykernel" not in sys.modules:
        return None
    # no dependency: a notebook has it
    display = importlib.import_module("IPython.display").display
    return display(_Line("..."), display_id=True)
