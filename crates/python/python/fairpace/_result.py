"""What is known after a run."""

from __future__ import annotations

import html
import json
from functools import cached_property
from os import PathLike
from typing import Any

from . import _fairpace
from ._fairpace import Table
from ._scenario import Scenario, _again
from .errors import OutputError

__all__ = ["Result"]

_HEIGHT_PX = 900
"""Height of a report in a notebook; longer ones scroll."""


class Result:
    """The results of one run.

    Its tables speak Arrow's C data interface: ``polars.DataFrame(result.series)``, ``pyarrow.table(result.series)``
    and DuckDB read them without a copy, and ``result.series.to_pandas()`` is a short form. Names of columns end with their unit; the metadata of a
    table's schema name commit, seed and hash of the scenario.

    A result can be pickled and copied; its scenario then reads the files that it names again.
    """

    def __init__(self, native: _fairpace.Result, scenario: Scenario | tuple[Any, ...]) -> None:
        self._native = native
        self._scenario = scenario
        """The scenario, or what its pickle has."""

    @property
    def scenario(self) -> Scenario:
        """What was simulated."""
        if not isinstance(self._scenario, Scenario):
            self._scenario = _again(*self._scenario)
        return self._scenario

    @property
    def seed(self) -> int:
        """The seed of the run."""
        return self._native.seed

    @property
    def commit(self) -> str:
        """The commit that the package was built from which simulated it."""
        return self._native.commit

    @cached_property
    def summary(self) -> dict[str, Any]:
        """The record of the run, as ``fairpace sim --json`` prints it: docs/reference/json.md explains each field."""
        return dict(json.loads(self._native.json()))

    @cached_property
    def flows(self) -> Table:
        """One row per flow: its results over the measurement window."""
        return self._native.table("flows")

    @cached_property
    def links(self) -> Table:
        """One row per link: its results over the measurement window."""
        return self._native.table("links")

    @cached_property
    def series(self) -> Table:
        """One row per flow and point in time: goodput, RTT, cwnd, ..., and the algorithm's phase."""
        return self._native.table("series")

    @cached_property
    def link_series(self) -> Table:
        """One row per link and point in time: queueing delay, backlog, drops."""
        return self._native.table("link_series")

    @cached_property
    def backlog(self) -> Table:
        """One row per link, flow and point in time: the flow's bytes in the queue."""
        return self._native.table("backlog")

    @property
    def events(self) -> Table:
        """One row per rare event, such as a change of phase, a drop or a timeout.

        :raises ValueError: the run has kept none: ``run(..., events=True)``.
        """
        return self._native.table("events")

    @property
    def jain(self) -> float | None:
        """Jain's fairness index of the goodputs: 1 is equal, 1/n is one flow alone."""
        jain = self.summary["jain"]
        return None if jain is None else float(jain)

    def json(self) -> str:
        """``summary.json``: the same bytes for the same scenario, seed and build."""
        return self._native.stable_json()

    def html(self) -> str:
        """The report, as one HTML document that needs no network."""
        return self._native.html()

    def write_report(self, path: str | PathLike[str]) -> None:
        """Writes the report to a file.

        :raises OutputError: it cannot be written.
        """
        try:
            with open(path, "w", encoding="utf-8") as file:
                file.write(self.html())
        except OSError as error:
            raise OutputError(f"the report cannot be written: {error}", "name another path") from None

    def _repr_html_(self) -> str:
        document = html.escape(self.html(), quote=True)
        return f'<iframe srcdoc="{document}" style="width:100%;height:{_HEIGHT_PX}px;border:0"></iframe>'

    def __reduce__(self) -> tuple[Any, ...]:
        scenario = self._scenario.__reduce__()[1] if isinstance(self._scenario, Scenario) else self._scenario
        return Result, (self._native, scenario)

    def __repr__(self) -> str:
        flows = ", ".join(f"{flow['name']} {flow['goodput_mbps']:.1f}" for flow in self.summary["flows"][:8])
        return f"<Result {self._native.title!r}, seed {self.seed}: {flows} Mbit/s>"
