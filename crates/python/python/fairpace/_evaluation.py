"""Evaluations and duels: many runs, judged or put beside each other."""

from __future__ import annotations

import html
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from os import PathLike, fspath
from typing import Any, TypeVar

from . import _fairpace
from ._fairpace import Table
from ._scenario import _sets, _value
from ._units import AlgorithmName, unicode
from .errors import FairpaceError, UsageError, _in_python

__all__ = ["Duels", "Evaluation", "duels", "evaluate"]

_HEIGHT_PX = 900
"""Height of a report in a notebook; longer ones scroll."""
BESIDE = ("cubic", "reno", "bbr1", "bbr3", "bbq")
"""What ``fairpace evaluate`` measures beside an algorithm."""


class Evaluation:
    """How many cases of criteria algorithms pass."""

    def __init__(self, native: _fairpace.Evaluation) -> None:
        self._native = native

    @cached_property
    def cases(self) -> Table:
        """One row per criterion, algorithm and case, by the worst of its seeds: whether all conditions hold, by how
        much one is missed (``miss``: the factor beyond the bound, less 1), and its metrics.

        ``utilization``, ``loss`` and ``jain`` are from 0 to 1.
        """
        return self._native.table("cases")

    @cached_property
    def conditions(self) -> Table:
        """One row per case and condition: the metric, its value, whether it holds."""
        return self._native.table("conditions")

    @cached_property
    def summary(self) -> dict[str, Any]:
        """The record, as ``fairpace evaluate --json`` prints it."""
        return dict(json.loads(self._native.json()))

    def json(self) -> str:
        """``evaluation.json``, as ``fairpace evaluate --out`` writes it."""
        return self._native.json()

    def text(self, failing: bool = False) -> str:
        """The scorecard: a row for each criterion, a column for each algorithm.

        :param failing: then each case that fails, with its numbers.
        """
        return self._native.text(failing)

    def html(self) -> str:
        """The report, as one HTML document that needs no network."""
        return self._native.html()

    def _repr_html_(self) -> str:
        document = html.escape(self.html(), quote=True)
        return f'<iframe srcdoc="{document}" style="width:100%;height:{_HEIGHT_PX}px;border:0"></iframe>'

    def __repr__(self) -> str:
        return self.text()


def evaluate(
    cc: AlgorithmName | Sequence[AlgorithmName],
    *,
    beside: Sequence[AlgorithmName] = BESIDE,
    criteria: str | PathLike[str] | None = None,
    criterion: Sequence[str] = (),
    quick: bool = True,
    paths: int | None = None,
    draw: str | None = None,
    match: str = "",
    seeds: int | None = None,
    seed: int = 1,
    set: Mapping[str, object] | None = None,
    jobs: int | None = None,
    keep: str | PathLike[str] | None = None,
    quiet: bool = False,
) -> Evaluation:
    """Measures algorithms against criteria of RFC 9743, as ``fairpace evaluate`` does.

    One algorithm at the contained criteria takes seconds (``quick``) to many minutes of CPU time. Progress is shown on
    stderr, with rate and time left. Ctrl-C ends it within a second.

    :param cc: the algorithms, by name, or paths of headers of your own.
    :param beside: measure these as well, to compare with.
    :param criteria: a folder of criteria, in place of the contained ones.
    :param criterion: only these, by id, file or section: ``["G1", "5.1"]``.
    :param quick: only the cases that the criteria name for a quick look, with one seed each.
    :param paths: in place of the criteria's cases this many random paths, 1 to 10000.
    :param draw: the seed of these paths: hexadecimal digits, such as the hash of a commit that is made later than the
        algorithm.
    :param match: only cases with this text in their name.
    :param seeds: seeds of each case, 1 to 1000; by default as its criterion says, with ``quick`` 1.
    :param seed: the first of these seeds.
    :param set: other values of scenario keys and of parameters of the algorithms.
    :param jobs: simulations at a time; by default one for each core. It does not change the result.
    :param keep: a folder for finished runs, from which the same call continues after an interruption.
    :param quiet: show no progress.
    :raises UsageError: an argument or a criterion is wrong.
    """
    names = _names([cc] if isinstance(cc, (str, PathLike)) else cc, "cc")
    if not names:
        raise UsageError("no algorithm is named", "write for example evaluate(\"bbr3\")")
    jobs = _jobs(jobs)
    besides = _names(beside, "beside")
    _fairpace.load_named_algorithms([*names, *besides])
    options: list[str] = [f"--criterion={one}" for one in _names(criterion, "criterion")]
    if paths is not None:
        options.append(f"--paths={paths}")
    elif quick:
        options.append("--quick")
    given = {"draw": draw, "seeds": seeds, "seed": seed, "jobs": jobs, "match": match or None}
    options += _options(given, set)
    asked = {
        "names": names,
        "beside": besides,
        "criteria": None if criteria is None else fspath(criteria),
        "options": options,
        "keep": None if keep is None else fspath(keep),
        "module": _fairpace.__file__ or "",
        "quiet": quiet,
    }
    return Evaluation(_asked(lambda: _fairpace.evaluate(asked)))


class Duels:
    """Every algorithm against every other one."""

    def __init__(self, native: _fairpace.Duels) -> None:
        self._native = native

    @cached_property
    def table(self) -> Table:
        """One row per buffer and pair: means over all runs.

        ``share`` is that of ``row`` in the sum of both goodputs, from 0 to 1; if both are the same algorithm, that of
        the flow that started first. ``share_least`` and ``share_most`` are those of single runs. ``loss_rate`` and
        ``utilization`` are from 0 to 1.
        """
        return self._native.table()

    @cached_property
    def summary(self) -> dict[str, Any]:
        """The record, as ``fairpace-dev run --json`` prints it."""
        return dict(json.loads(self._native.json()))

    def json(self) -> str:
        """The record, as ``fairpace-dev run --json`` prints it."""
        return self._native.json()

    def html(self) -> str:
        """A matrix for each buffer: the share of the row against the column, in %."""
        names = [algorithm["name"] for algorithm in self.summary["algorithms"]]
        shares: dict[tuple[str, str, str], float | None] = {}
        for duel in self.summary["duels"]:
            buffer, row, column, share = (duel[key] for key in ("buffer", "row", "column", "share"))
            shares[buffer, column, row] = None if share is None else 1 - share
            shares[buffer, row, column] = share
        parts = []
        for buffer in self.summary["buffers"]:
            title = f"Buffer {buffer['name']}: share of the row against the column, %"
            head = "".join(f"<th>{html.escape(name)}</th>" for name in names)
            rows = (
                f"<tr><th>{html.escape(row)}</th>"
                + "".join(_cell(shares.get((buffer["name"], row, column))) for column in names)
                for row in names
            )
            parts.append(
                f"<table><caption>{html.escape(title)}</caption><tr><th></th>{head}</tr>{''.join(rows)}</table>"
            )
        return "\n".join(parts)

    _repr_html_ = html

    def __repr__(self) -> str:
        names = ", ".join(algorithm["name"] for algorithm in self.summary["algorithms"])
        return f"<Duels of {names}: {len(self.table)} pairs>"


def duels(
    cc: Sequence[AlgorithmName] = (),
    *,
    rate: str = "100mbit",
    rtt: str = "20ms",
    buffer: Sequence[str] = ("0.5bdp", "1bdp", "4bdp"),
    duration: str = "60s",
    warmup: str = "20s",
    stagger: str = "1s",
    seeds: int = 3,
    seed: int = 1,
    set: Mapping[str, object] | None = None,
    jobs: int | None = None,
    quiet: bool = False,
) -> Duels:
    """Simulates every algorithm against every other one on one link, in both orders.

    Progress is shown on stderr, with rate and time left. Ctrl-C ends it within a second.

    :param cc: names of the algorithms, or paths of headers of your own; by default all algorithms.
    :param rate: rate of the link.
    :param rtt: RTT of both flows.
    :param buffer: buffers of the link; all duels are repeated at each of them.
    :param duration: length of each simulation.
    :param warmup: measure from here to the end.
    :param stagger: start of the second flow in the first repetition; later repetitions delay it more.
    :param seeds: repetitions of each duel in each order, 1 to 1000.
    :param seed: the first of these seeds.
    :param set: other values of scenario keys and of parameters of the algorithms.
    :param jobs: simulations at a time; by default one for each core. It does not change the result.
    :param quiet: show no progress.
    :raises UsageError: an argument is wrong.
    """
    names, jobs = _names(cc, "cc"), _jobs(jobs)
    _fairpace.load_named_algorithms(names)
    options = [f"--cc={name}" for name in names]
    options += [f"--buffer={one}" for one in _names(buffer, "buffer")]
    given = {"rate": rate, "rtt": rtt, "duration": duration, "warmup": warmup, "stagger": stagger}
    options += _options({**given, "seeds": seeds, "seed": seed}, set)
    return Duels(_asked(lambda: _fairpace.duels(options, _options({"jobs": jobs}, None), quiet)))


_T = TypeVar("_T")


def _asked(measure: Callable[[], _T]) -> _T:
    """What a call returns that reads its arguments as the command line does."""
    try:
        return measure()
    except FairpaceError as error:
        raise _in_python(error) from None


def _jobs(jobs: int | None) -> int | None:
    """A number of threads, or none."""
    if jobs is not None and (type(jobs) is not int or jobs < 1):
        raise UsageError(f"jobs={jobs!r} is no number of jobs", "write a whole number from 1 on, or leave it out")
    return jobs


def _names(given: Iterable[AlgorithmName], argument: str) -> list[str]:
    """A list of texts; a text alone would be one of letters."""
    if isinstance(given, (str, PathLike)):
        raise TypeError(f"{argument} is a list of texts, not the text {fspath(given)!r}")
    names = [fspath(name) if isinstance(name, PathLike) else name for name in given]
    for name in names:
        if not isinstance(name, str):
            raise TypeError(f"{argument} is a list of texts; {type(name).__name__} is none")
    return [unicode(name, argument) for name in names]


def _options(given: Mapping[str, object], changes: Mapping[str, object] | None) -> list[str]:
    """Arguments as the command line has them."""
    options = [f"--{name}={_value(value, name)}" for name, value in given.items() if value is not None]
    return options + [f"--set={key}={value}" for key, value in _sets(changes)]


def _cell(share: float | None) -> str:
    if share is None:
        return "<td>-</td>"
    # red: it gets less than half; blue: more
    hue, strength = (210, share - 0.5) if share > 0.5 else (10, 0.5 - share)
    return f'<td style="text-align:right;background:hsl({hue} 80% 60% / {strength:.2f})">{share * 100:.0f}</td>'
