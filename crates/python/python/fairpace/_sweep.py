"""Sweeps: many runs, and their results as one data set."""

from __future__ import annotations

import glob
import importlib
import json
import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal, Protocol

from . import _fairpace
from ._fairpace import Table
from ._local import Done, Local
from ._progress import Progress
from ._ray import OnRay
from ._runs import Over, Part, Piece, Runs, Seeds, runs_of
from ._scenario import ScenarioLike
from ._store import Store, absolute, store_of
from .errors import OutputError, UsageError

__all__ = ["Sweep", "TableName", "sweep"]

TableName = Literal["flows", "links"]
"""A table of the data set."""

ErrorKind = Literal["internal", "usage"]
"""Why a run has no numbers: a bug, or it crashed its worker; or its scenario is wrong, or names a file that was not there."""

_TABLES: tuple[TableName, ...] = ("links", "flows")
"""In the order in which the files of a part are written: it is complete when the last one is there."""

_POLARS = {"s3", "s3a", "gs", "gcs", "az", "azure", "adl", "abfs", "abfss", "http", "https", "hf"}
"""Protocols that polars reads itself."""

_MANIFEST = "sweep.json"

_FORMAT = "fairpace.sweep/1"
"""Of the manifest and the files. It grows when one changes its meaning."""


class Sweep:
    """The data set of a sweep: a folder, or an address of fsspec.

    It has two tables, each a folder of Parquet files: ``flows`` has one row per flow of each run, ``links`` one per
    link. Both begin with ``run`` (the number of the run in the sweep, from 0), the columns of ``over``, ``title``,
    ``scenario_hash`` and ``seed``. Then come the columns of :attr:`Result.flows` and :attr:`Result.links`. ``flows`` has
    the metrics of the whole run, too (``jain``, ``convergence_s``, ``max_min_distance``, ``window_from_s``,
    ``window_to_s``, ``data_packets``), and ``error_kind`` and ``error``: a run that failed has one row without numbers.

    :param path: the folder or address.
    :raises UsageError: there is no data set.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = os.fspath(path)
        self._root = absolute(path)
        self._store = store_of(path)
        manifest = _read_manifest(self._store, self.path)
        if manifest is None:
            raise UsageError(f"there is no sweep in {self.path}", "name the folder that sweep(..., out=...) had")
        self.manifest = manifest
        """What the data set says about its sweep: the content of ``sweep.json``."""
        self.made = 0
        """Runs that the call of :func:`sweep` made; the others were there."""
        self.cpu_s = 0.0
        """Seconds of CPU time that these took."""
        self.packets = 0
        """Data packets that these delivered."""

    @property
    def failed(self) -> int | None:
        """Runs that failed; ``None``: the sweep is not complete."""
        failed = self.manifest.get("failed")
        return None if failed is None else int(failed)

    def __len__(self) -> int:
        """Number of runs."""
        return int(self.manifest["runs"])

    def glob(self, table: TableName = "flows") -> str:
        """The files of a table, as DuckDB's ``read_parquet`` and polars' ``scan_parquet`` take it."""
        root = self._root if "://" in self._root else glob.escape(self._root)
        return f"{root}/{_checked(table)}/*.parquet"

    def scan(self, table: TableName = "flows") -> Any:
        """A table as a lazy data frame of polars, which must be installed. It reads what a query needs, if polars knows
        the protocol of the address; otherwise all of it."""
        polars = importlib.import_module("polars")
        protocol, separator, _ = self._root.partition("://")
        if separator and protocol not in _POLARS:
            return self.to_arrow(table).to_polars().lazy()
        return polars.scan_parquet(self.glob(table))

    def to_arrow(self, table: TableName = "flows") -> Table:
        """A whole table in memory.

        :raises OutputError: a file is damaged.
        """
        names = sorted(name for name in self._store.names(_checked(table)) if name.endswith(".parquet"))
        if not names:
            raise UsageError(f"the sweep in {self.path} has no rows yet", "start it again")
        files = [self._store.read(f"{table}/{name}") or b"" for name in names]
        try:
            return _fairpace.table_of_parquet(files)
        except ValueError as error:
            damaged = next((name for name, file in zip(names, files) if not _is_whole(file)), "")
            remedy = "the same call of sweep makes a damaged file again"
            raise OutputError(f"{self.path}/{table}/{damaged} cannot be read: {error}", remedy) from None

    def __repr__(self) -> str:
        failed = "not complete" if self.failed is None else f"{self.failed} failed"
        return f"<Sweep {self.path!r}: {len(self)} runs, {failed}>"


class _Executor(Protocol):
    def piece_packets(self, total: float) -> float: ...

    def run(self, pieces: Iterator[Piece], tick: Callable[[], None]) -> Iterator[Done]: ...


def sweep(
    scenario: ScenarioLike | None = None,
    over: Over | None = None,
    seeds: Seeds | None = None,
    *,
    out: str | os.PathLike[str],
    scenarios: Sequence[ScenarioLike] | None = None,
    on: Literal["local", "ray"] = "local",
    jobs: int | None = None,
    retry: ErrorKind | None = None,
    quiet: bool = False,
) -> Sweep:
    """Makes many runs, and writes their results to a Parquet data set.

    >>> import fairpace as fp, tempfile
    >>> scenario = '''
    ...     title = "two flows"
    ...     duration = "1s"
    ...     link = [{ rate = "10mbit", buffer = "1bdp" }]
    ...     flow = [{ cc = "bbr1", rtt = "10ms" }, { cc = "cubic", rtt = "10ms" }]
    ... '''
    >>> over = {"link.buffer": ["1bdp", "4bdp"], "flow.2.rtt": ["10ms", "50ms"]}
    >>> done = fp.sweep(scenario, over, seeds=range(3), out=tempfile.mkdtemp(), quiet=True)
    >>> len(done), done.failed
    (12, 0)

    The files are the same, byte by byte, however many cores or nodes make them, in whatever order. A sweep that was
    interrupted is continued by the same call: parts that are there are not made again. A value of the grid with
    which no run is possible is an error before the first run. A run that fails is a row with its error, and its
    seed. What keeps runs from being made, such as a node that is lost, is no such error: they are made elsewhere,
    or the sweep ends with an exception, and the same call makes what is missing.

    :param scenario: what all runs begin with. It must be complete; ``over`` changes it.
    :param over: a grid: for each key a list of its values, as :meth:`Scenario.set` has them. All combinations are run;
        the last key changes first, and the seed before it. A name of your own in place of a key has labels, each with
        the changes that it stands for: ``{"pair": {"bbr3/cubic": {"flow.1.cc": "bbr3", "flow.2.cc": "cubic"}}}``. Each
        key or name is a column of the results. Or, in place of the grid, a list of changes, those of one run each.
    :param seeds: seeds, each for all of these. Without them each scenario has its own. These and the values of a key may
        be arrays of NumPy.
    :param out: a folder, or an address such as ``s3://bucket/results``, which needs fsspec. The folder is made.
    :param scenarios: a list of whole scenarios, in place of ``scenario`` and ``over``.
    :param on: ``local``: the cores of this machine. ``ray``: the cluster that this program is connected to, that of the
        environment variable ``RAY_ADDRESS``, or one that is started here. Its nodes need this package and no shared
        files; link traces and other files that a scenario names must be on each. Algorithms of
        :func:`load_algorithm` are known to this process only, so that their runs fail there.
    :param jobs: threads, or tasks in flight on Ray. By default one for each core, or two for each core of the cluster.
    :param retry: makes the parts again that have a run with this ``error_kind``: ``internal``, a bug or a run that crashed
        its worker; or ``usage``, after a file that a scenario names was missing.
    :param quiet: show no progress.
    :raises UsageError: an argument is wrong; or another sweep, or another build, has made what is in ``out``.
    :raises OutputError: a file cannot be written.
    :raises InternalError: Ray's cluster failed.
    """
    if on not in ("local", "ray"):
        raise UsageError(f"on={on!r} is no place for a sweep", 'write on="local" or on="ray"')
    if jobs is not None and (type(jobs) is not int or jobs < 1):
        raise UsageError(f"jobs={jobs!r} is no number of jobs", "write a whole number from 1 on, or leave it out")
    if retry not in (None, "internal", "usage"):
        raise UsageError(f"retry={retry!r} is no kind of error", 'write retry="internal" or retry="usage"')
    runs = runs_of(scenario, over, seeds, scenarios)
    executor: _Executor = OnRay(jobs) if on == "ray" else Local(jobs)
    store = store_of(out)
    definition = {"format": _FORMAT, "commit": _fairpace.COMMIT, **runs.definition()}
    is_complete = _begin(store, os.fspath(out), definition)
    making = _Making(store, runs, executor, retry, quiet)
    if is_complete:
        # before the first part is made again, the manifest says so no longer
        making.on_first = lambda: _write_manifest(store, definition)
    parts, cpu_s = making.make()
    # the parts, in their order, say that all rows are there
    _write_manifest(store, {**definition, "parts": parts, "failed": making.progress.failed})
    result = Sweep(out)
    result.made, result.cpu_s, result.packets = making.progress.made, cpu_s, making.progress.packets
    return result


class _Open:
    """A part of which some pieces are missing."""

    def __init__(self, part: Part) -> None:
        self.part = part
        self.rows: dict[int, _fairpace.Rows] = {}
        self.runs = 0


class _Making:
    """A sweep in progress."""

    def __init__(
        self, store: Store, runs: Runs, executor: _Executor, retry: ErrorKind | None, quiet: bool
    ) -> None:
        self._store, self._runs, self._executor, self._retry = store, runs, executor, retry
        self._there = {table: store.names(table) for table in _TABLES}
        self._open: list[_Open] = []
        self._parts = 0
        self.on_first: Callable[[], None] | None = None
        """Called before the first run is made, if one is."""
        self.progress = Progress(len(runs), runs.mean_cost() * len(runs), quiet)

    def make(self) -> tuple[int, float]:
        """Makes what is missing. Returns the number of parts, and the seconds of CPU time."""
        cpu_s = 0.0
        done = self._executor.run(self._pieces(), self.progress.tick)
        try:
            for piece, rows, seconds in done:
                cpu_s += seconds
                self._add(piece, rows)
        finally:
            # ends what is in flight, also after an error here
            getattr(done, "close")()
            self.progress.end()
        return self._parts, cpu_s

    def _pieces(self) -> Iterator[Piece]:
        most = self._executor.piece_packets(self.progress.cost)
        for part in self._runs.parts():
            self._parts += 1
            failed = self._failed_of(part)
            if failed is not None:
                self.progress.reused(len(part.costs), failed, sum(part.costs))
                continue
            if self.on_first is not None:
                self.on_first()
                self.on_first = None
            self._open.append(_Open(part))
            for indices in part.pieces(most):
                yield self._runs.piece(indices)

    def _failed_of(self, part: Part) -> int | None:
        """How many runs of a part that is there failed; ``None``: it is not, or is to be made again, as one of its files is
        damaged or has an error of the kind that is made again."""
        failed = None
        for table in _TABLES:
            content = self._store.read(f"{table}/{part.name}") if part.name in self._there[table] else None
            try:
                if content is None:
                    return None
                failed = int(dict(_fairpace.parquet_metadata(content))["fairpace.failed"])
                if failed and table == "flows" and self._retry in _fairpace.error_kinds(content):
                    return None
            except (KeyError, ValueError):
                return None
        return failed

    def _add(self, piece: Piece, rows: _fairpace.Rows) -> None:
        is_in = (one for one in self._open if 0 <= piece.first - one.part.first < len(one.part.costs))
        found = next(is_in)
        found.rows[piece.first] = rows
        found.runs += rows.runs
        at = piece.first - found.part.first
        self.progress.add(rows.runs, rows.failed, rows.packets, sum(found.part.costs[at : at + rows.runs]))
        if found.runs == len(found.part.costs):
            self._open.remove(found)
            self._write(found)

    def _write(self, complete: _Open) -> None:
        rows = _fairpace.Rows.join([complete.rows[first] for first in sorted(complete.rows)])
        counts = [("commit", _fairpace.COMMIT), ("runs", rows.runs), ("failed", rows.failed)]
        metadata = [(f"fairpace.{key}", str(value)) for key, value in counts]
        for table in _TABLES:
            self._store.write(f"{table}/{complete.part.name}", rows.parquet(table, metadata))


def _is_whole(file: bytes) -> bool:
    try:
        _fairpace.table_of_parquet([file])
    except ValueError:
        return False
    return True


def _checked(table: TableName) -> TableName:
    if table not in _TABLES:
        raise UsageError(f"there is no table {table!r}", 'they are "flows" and "links"')
    return table


def _read_manifest(store: Store, path: str) -> dict[str, Any] | None:
    content = store.read(_MANIFEST)
    if content is None:
        return None
    try:
        manifest = json.loads(content)
    except ValueError:
        manifest = None
    if not isinstance(manifest, dict) or not isinstance(manifest.get("runs"), int):
        raise UsageError(f"{path}/{_MANIFEST} is not of a sweep", "name another folder")
    return manifest


def _write_manifest(store: Store, manifest: dict[str, Any]) -> None:
    store.write(_MANIFEST, (json.dumps(manifest, indent=2) + "\n").encode())


def _begin(store: Store, path: str, definition: dict[str, Any]) -> bool:
    """Writes the manifest, or checks that what is there is of the same sweep and build; returns whether it is complete."""
    found = _read_manifest(store, path)
    if found is None:
        if any(store.names(table) for table in _TABLES):
            raise UsageError(f"{path} has files that are not of this sweep", "name another folder")
        _write_manifest(store, definition)
        return False
    remedy = "name another folder, or remove this one"
    if found.get("format") != definition["format"] or found.get("commit") != definition["commit"]:
        raise UsageError(
            f"the results in {path} are of commit {found.get('commit')}, and this is {definition['commit']}", remedy
        )
    for key, value in definition.items():
        if found.get(key) != value:
            what = f"it has {key} = {found.get(key)}, and this one {value}"
            what = "its scenarios or values differ" if key == "sha256" else what
            raise UsageError(f"the results in {path} are of another sweep: {what}", remedy)
    return "failed" in found
