"""The runs of a sweep. Each is made when it is asked for: a million runs take no more memory than their axes."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, Union

from . import _fairpace
from ._scenario import Scenario, ScenarioLike, _sets, _value, scenario_of
from ._units import unicode
from .errors import UsageError

__all__ = ["Array", "Job", "Over", "Part", "Piece", "Runs", "Seeds", "runs_of"]

Job = tuple[str, str, list[tuple[str, str]]]
"""What errors call a scenario, its text, and the changes to it."""

Values = list[Union[str, None]]
"""The values of a run's columns."""

Axis = Union[Sequence[object], Mapping[str, Mapping[str, object]]]
"""The values of a key, or labels with the changes that each stands for."""

Over = Union[Mapping[str, Any], Sequence[Mapping[str, object]]]
"""What a sweep changes: an axis for each name, or a list of changes. See :func:`fairpace.sweep`."""



class Array(Protocol):
    """An array of NumPy, or a column of pandas."""

    def tolist(self) -> Any:
        """Its values."""
        ...


Seeds = Union[Sequence[int], Array]
"""What a sweep repeats each scenario with."""

MOST_RUNS = 1000
"""Runs of a part: a file of some 100 kB, and few enough files for a million runs."""

MOST_PACKETS = 1e9
"""Expected packets of a part: one to three minutes of a core, which are lost when a sweep is interrupted."""

MOST_CONTEXTS = 64
"""Runs of a grid in which a value that is wrong alone is tried: it may need values of other axes."""

AT_ONCE = 256
"""Scenarios that are read in one call: some ten milliseconds, in which Ctrl-C waits."""

MOST_SEED = 2**63 - 1
"""The largest seed of a scenario: the largest integer of TOML."""

RUN_PACKETS = 3500.0
"""What a run costs beside its packets, in packets: 170 us for its scenario and its rows, against 50 ns for a packet
(docs/scale.md)."""


def _plain(values: Any) -> Any:
    """Arrays of NumPy and columns of pandas as lists."""
    return values.tolist() if hasattr(values, "tolist") else values


def _kind(values: Sequence[object]) -> str:
    """The kind of a column."""
    if values and all(isinstance(value, bool) for value in values):
        return "boolean"
    if values and all(isinstance(value, int) and not isinstance(value, bool) for value in values):
        return "integer"
    if values and all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in values):
        return "number"
    return "text"


class _Points(Protocol):
    """What is run once for each seed."""

    @property
    def columns(self) -> list[tuple[str, str]]:
        """Names and kinds of the columns that say which point it is."""
        ...

    def __len__(self) -> int: ...

    def __getitem__(self, index: int) -> tuple[Job, Values]: ...

    @property
    def sets_seed(self) -> bool:
        """Whether a change sets the seed."""
        ...

    def content(self) -> Iterator[str]:
        """All that decides the outcomes."""
        ...


@dataclass(frozen=True)
class _Axis:
    name: str
    kind: str
    labels: list[str]
    changes: list[list[tuple[str, str]]]

    @classmethod
    def of(cls, name: str, axis: Any) -> _Axis:
        axis = _plain(axis)
        if isinstance(axis, str) or not isinstance(axis, (Sequence, Mapping)):
            raise TypeError(f"over[{name!r}] is a list of values, or of labels with their changes, not {axis!r}")
        if not axis:
            raise UsageError(f"over[{name!r}] has no values", "give it some, or leave it out")
        if isinstance(axis, Mapping):
            labels = [unicode(str(label), f"over[{name!r}]") for label in axis]
            return cls(name, "text", labels, [_sets(value) for value in axis.values()])
        labels = [_value(value, name) for value in axis]
        return cls(name, _kind(axis), labels, [[(name, label)] for label in labels])


class _Grid:
    """Each value of each axis with each of all others; the last axis changes first.

    :raises UsageError: a key is unknown, or no run with a value of an axis is possible.
    """

    def __init__(self, scenario: Scenario, over: Mapping[str, Axis]) -> None:
        self._base = scenario
        self._scenario, self._hash = scenario._source(), scenario.hash
        self._axes = [_Axis.of(name, axis) for name, axis in over.items()]
        self.columns = [(axis.name, axis.kind) for axis in self._axes]
        every = (change for axis in self._axes for changes in axis.changes for change in changes)
        self.sets_seed = any(key == "seed" for key, _ in every)
        for name, axis in zip(over, self._axes):
            # the values of a key differ in nothing else; labels may have a key each
            for changes in axis.changes if isinstance(over[name], Mapping) else axis.changes[:1]:
                _known_keys(scenario, changes)
        self._hashes = [self._checked(axis) for axis in self._axes]

    def __len__(self) -> int:
        size = 1
        for axis in self._axes:
            size *= len(axis.labels)
        return size

    def __getitem__(self, index: int) -> tuple[Job, Values]:
        name, text, sets = self._scenario
        places = self._places(index, self._axes)
        values: Values = [axis.labels[places[axis.name]] for axis in self._axes]
        return (name, text, sets + self._changes(places)), values

    def content(self) -> Iterator[str]:
        yield json.dumps([self._scenario, self._hash])
        for axis, hashes in zip(self._axes, self._hashes):
            yield json.dumps([axis.name, axis.kind, axis.labels, axis.changes, hashes])

    @staticmethod
    def _places(index: int, axes: Sequence[_Axis]) -> dict[str, int]:
        """Of each axis the place of its value."""
        places = {}
        for axis in reversed(axes):
            index, places[axis.name] = divmod(index, len(axis.labels))
        return places

    def _changes(self, places: Mapping[str, int]) -> list[tuple[str, str]]:
        return [change for axis in self._axes for change in axis.changes[places[axis.name]]]

    def _checked(self, axis: _Axis) -> list[str | None]:
        """The hash of the scenario with each value alone, which depends on the content of a file that a value names;
        ``None``: the value needs others."""
        name, text, sets = self._scenario
        hashes: list[str | None] = []
        for start in range(0, len(axis.labels), AT_ONCE):
            jobs = [(name, text, sets + changes) for changes in axis.changes[start : start + AT_ONCE]]
            hashes += _fairpace.scenario_hashes(jobs)
        for place, known in enumerate(hashes):
            if known is None:
                self._check_with_others(axis, place)
        return hashes

    def _check_with_others(self, axis: _Axis, place: int) -> None:
        """A value that is wrong with whatever else is an error of the whole sweep, and not of each run."""
        others = [other for other in self._axes if other is not axis]
        count = len(self) // len(axis.labels)
        first: UsageError | None = None
        # spread over all
        for index in range(0, count, max(1, (count // MOST_CONTEXTS) | 1)):
            changes = self._changes({**self._places(index, others), axis.name: place})
            try:
                self._base.set(dict(changes))
                return
            except UsageError as error:
                first = first or error
        if first is not None:
            where = f"over[{axis.name!r}][{place}]"
            keys = {key for key, _ in axis.changes[place]}
            problems = tuple(replace(one, file=where) if one.file in keys else one for one in first.problems)
            raise UsageError(first.message, first.help, problems)


class _Listed:
    """A list of changes to one scenario."""

    def __init__(self, scenario: Scenario, over: Sequence[Mapping[str, object]]) -> None:
        self._scenario, self._hash, self._over = scenario._source(), scenario.hash, over
        kinds: dict[str, set[str]] = {}
        for changes in over:
            for key, _ in _sets(changes):
                kinds.setdefault(key, set()).add(_kind([changes[key]]))
        # the results have a column of the seed
        self.sets_seed = kinds.pop("seed", None) is not None
        number = {"integer", "number"}
        for key in kinds:
            _known_keys(scenario, [next((key, _value(changes[key], key)) for changes in over if key in changes)])
        self.columns = [
            (key, next(iter(found)) if len(found) == 1 else "number" if found <= number else "text")
            for key, found in kinds.items()
        ]

    def __len__(self) -> int:
        return len(self._over)

    def __getitem__(self, index: int) -> tuple[Job, Values]:
        name, text, sets = self._scenario
        changes = _sets(self._over[index])
        known = dict(changes)
        return (name, text, sets + changes), [known.get(key) for key, _ in self.columns]

    def content(self) -> Iterator[str]:
        yield json.dumps([self._scenario, self._hash])
        name, text, sets = self._scenario
        for changes in self._over:
            more = _sets(changes)
            header = any(key.endswith(".cc") and ".h" in value for key, value in more)
            yield json.dumps([more, *([_loaded((name, text, sets + more))] if header else [])])


class _Scenarios:
    """A list of scenarios."""

    def __init__(self, scenarios: Sequence[ScenarioLike]) -> None:
        self._scenarios = scenarios
        self.columns: list[tuple[str, str]] = []
        self.sets_seed = False
        for scenario in scenarios:
            if not isinstance(scenario, (Scenario, str, os.PathLike)):
                raise TypeError(f"a scenario is a Scenario, a text, or a path, not {type(scenario).__name__}")

    def __len__(self) -> int:
        return len(self._scenarios)

    def __getitem__(self, index: int) -> tuple[Job, Values]:
        scenario = self._scenarios[index]
        if isinstance(scenario, Scenario):
            return scenario._source(), []
        if isinstance(scenario, str) and "\n" in scenario:
            return (f"scenario {index}", scenario, []), []
        path = os.fspath(scenario)
        try:
            with open(path, encoding="utf-8") as file:
                return (path, file.read(), []), []
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(f"cannot read the scenario {path}: {error}", "check the path") from None

    def content(self) -> Iterator[str]:
        for index, scenario in enumerate(self._scenarios):
            job = self[index][0]
            if isinstance(scenario, Scenario):
                known: str | None = scenario.hash
            else:
                known = _loaded(job) if ".h" in job[1] else None
            yield json.dumps([job, known])


def _loaded(job: Job) -> str | None:
    """The hash of a scenario, whose headers are loaded; ``None``: it is wrong."""
    return _fairpace.scenario_hashes([job])[0]


def _known_keys(scenario: Scenario, changes: list[tuple[str, str]]) -> None:
    """A misspelt key is an error of the whole sweep, and not of each run."""
    try:
        scenario.set(dict(changes))
    except UsageError as error:
        if any(problem.kind == "unknown-key" for problem in error.problems):
            raise


@dataclass(frozen=True)
class Part:
    """Runs whose rows are in one file. Which runs these are depends on the sweep alone."""

    first: int
    costs: list[float]
    """Of each run, in packets."""
    name: str
    """Of its files."""

    def pieces(self, most: float) -> Iterator[range]:
        """Its runs in order, divided into pieces that are expected to cost about ``most``."""
        start, cost = 0, 0.0
        for index, one in enumerate(self.costs):
            if index > start and cost + one > most:
                yield range(self.first + start, self.first + index)
                start, cost = index, 0.0
            cost += one
        yield range(self.first + start, self.first + len(self.costs))


@dataclass(frozen=True)
class Piece:
    """Runs that one call makes."""

    first: int
    jobs: list[Job]
    columns: list[tuple[str, str]]
    values: list[Values]

    def halves(self) -> list[Piece]:
        """It in two pieces, or in one if it has one run."""
        middle = len(self.jobs) // 2
        cuts = [(0, middle), (middle, len(self.jobs))] if middle else [(0, 1)]
        return [Piece(self.first + a, self.jobs[a:b], self.columns, self.values[a:b]) for a, b in cuts]


class Runs:
    """All runs: each point with each seed; the seed changes first."""

    def __init__(self, points: _Points, seeds: Sequence[int] | None) -> None:
        self._points, self._seeds = points, seeds
        self.columns = points.columns
        digest = hashlib.sha256()
        for text in points.content():
            digest.update(text.encode() + b"\n")
        # a range of a million seeds is not written out
        digest.update(repr(seeds if seeds is None or isinstance(seeds, range) else list(seeds)).encode())
        self.digest = digest.hexdigest()

    def __len__(self) -> int:
        return len(self._points) * (1 if self._seeds is None else len(self._seeds))

    def definition(self) -> dict[str, Any]:
        """What a data set says about the sweep that it is of."""
        seeds = None if self._seeds is None else len(self._seeds)
        columns = [name for name, _ in self.columns]
        counts = {"points": len(self._points), "seeds": seeds, "runs": len(self)}
        return {"columns": columns, **counts, "sha256": self.digest}

    def job(self, index: int) -> tuple[Job, Values]:
        """A run."""
        if self._seeds is None:
            return self._points[index]
        point, seed = divmod(index, len(self._seeds))
        (name, text, sets), values = self._points[point]
        return (name, text, [*sets, ("seed", str(self._seeds[seed]))]), values

    def piece(self, indices: range) -> Piece:
        """Some runs."""
        both = [self.job(index) for index in indices]
        return Piece(indices.start, [job for job, _ in both], self.columns, [values for _, values in both])

    def costs(self, points: Sequence[int]) -> list[float]:
        """What a run of each of these points is expected to cost."""
        jobs = [self._points[point][0] for point in points]
        return [packets + RUN_PACKETS for packets in _fairpace.expected_cost(jobs)]

    def mean_cost(self) -> float:
        """The same of all runs, about: from up to 200 points that are spread over all."""
        count = len(self._points)
        # a stride that has no factor in common with the lengths of usual axes
        sample = range(0, count, max(1, (count // 200) | 1))
        return sum(self.costs(sample)) / len(sample)

    def parts(self) -> Iterator[Part]:
        """All runs in order, divided into parts."""
        costs: list[float] = []
        first, total = 0, 0.0
        for index, cost in enumerate(self._all_costs()):
            if costs and (len(costs) >= MOST_RUNS or total + cost > MOST_PACKETS):
                yield self._part(first, costs)
                first, costs, total = index, [], 0.0
            costs.append(cost)
            total += cost
        if costs:
            yield self._part(first, costs)

    def _part(self, first: int, costs: list[float]) -> Part:
        content = f"{_fairpace.COMMIT} {self.digest} {first} {len(costs)}"
        return Part(first, costs, f"part-{first:09}-{hashlib.sha256(content.encode()).hexdigest()[:16]}.parquet")

    def _all_costs(self) -> Iterator[float]:
        seeds = 1 if self._seeds is None else len(self._seeds)
        block = 64
        for start in range(0, len(self._points), block):
            for cost in self.costs(range(start, min(start + block, len(self._points)))):
                for _ in range(seeds):
                    yield cost


def runs_of(
    scenario: ScenarioLike | None,
    over: Over | None,
    seeds: Seeds | None,
    scenarios: Sequence[ScenarioLike] | None,
) -> Runs:
    """The runs of a sweep, from its arguments."""
    points: _Points
    if scenarios is not None:
        if scenario is not None or over is not None:
            raise TypeError("a sweep has a scenario and what is changed in it, or a list of scenarios, but not both")
        _needs_sequence("scenarios", scenarios)
        points = _Scenarios(scenarios)
    elif scenario is None:
        raise TypeError("a sweep needs a scenario, or a list of scenarios")
    elif over is None or isinstance(over, Mapping):
        points = _Grid(scenario_of(scenario), over or {})
    else:
        _needs_sequence("over", over)
        points = _Listed(scenario_of(scenario), over)
    numbers: Sequence[int] | None = _plain(seeds)
    if numbers is not None:
        _needs_sequence("seeds", numbers)
        if not isinstance(numbers, range) and not all(type(seed) is int for seed in numbers):
            raise TypeError("seeds are whole numbers")
        if len(numbers) and not (0 <= min(numbers) and max(numbers) <= MOST_SEED):
            raise UsageError(f"the seeds are from {min(numbers)} to {max(numbers)}", f"they may be 0 to {MOST_SEED}")
        if points.sets_seed:
            raise UsageError("both over and seeds give a seed", "leave one out")
    runs = Runs(points, numbers)
    if len(runs) == 0:
        raise UsageError("the sweep has no runs", "give it a seed and a scenario at least")
    _check_columns(runs)
    return runs


def _needs_sequence(name: str, given: object) -> None:
    """A generator cannot be read again after an interruption."""
    if isinstance(given, (str, bytes)) or not isinstance(given, Sequence):
        raise TypeError(f"{name} is a list, a range or another sequence, not {type(given).__name__}")


def _check_columns(runs: Runs) -> None:
    names = [name for name, _ in runs.columns]
    if "seed" in names:
        raise UsageError("the seed is no key of over", "write seeds=[...]")
    nothing = _fairpace.simulate_rows(0, [], [], [], _fairpace.Cancel())
    taken = {*nothing.table("flows").column_names, *nothing.table("links").column_names}
    for name in names:
        if name in taken:
            raise UsageError(f"over[{name!r}] has the name of a column of results", "give it another name")
