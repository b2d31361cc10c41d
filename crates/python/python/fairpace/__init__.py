"""Simulate congestion control algorithms, and read the results as data frames.

>>> import fairpace as fp
>>> result = fp.compare(["bbr1"], rate="10mbit", buffer="50kB", rtt=["10ms", "50ms"], duration="9s", warmup="1s")["bbr1"]
>>> len(result.flows)
2

The simulator is that of the command ``fairpace sim``: the same scenario and seed give the same numbers. Nothing here
needs root, and nothing reads the clock or the environment: a result depends on its arguments alone.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from os import PathLike, fspath
from typing import Any

from . import _fairpace
from ._evaluation import Duels, Evaluation, duels, evaluate
from ._fairpace import COMMIT, Table
from ._keys import Flow, Link, Window
from ._result import Result
from ._scenario import Scenario, ScenarioLike, _sets, _value, scenario_of
from ._sweep import Sweep, sweep
from ._units import Buffer, Rate, Time
from .errors import FairpaceError, InternalError, OutputError, Problem, UnsupportedError, UsageError

__all__ = [
    "COMMIT",
    "Duels",
    "Evaluation",
    "FairpaceError",
    "Flow",
    "InternalError",
    "Link",
    "OutputError",
    "Problem",
    "Result",
    "Scenario",
    "ScenarioLike",
    "Sweep",
    "Table",
    "UnsupportedError",
    "UsageError",
    "Window",
    "algorithms",
    "compare",
    "duels",
    "evaluate",
    "load_algorithm",
    "run",
    "sweep",
]


def run(
    scenario: ScenarioLike,
    *,
    set: Mapping[str, object] | None = None,
    seed: int | None = None,
    events: bool = False,
) -> Result:
    """Simulates a scenario.

    Other threads of Python run meanwhile, and Ctrl-C ends it.

    :param scenario: a :class:`Scenario`, the text of a scenario file, or the path of one.
    :param set: other values of some keys: see :meth:`Scenario.set`.
    :param seed: another seed.
    :param events: keep rare events, which takes about twice as long.
    :raises UsageError: something in the scenario is wrong.
    """
    given = scenario_of(scenario)
    if set is not None:
        given = given.set(set)
    if seed is not None:
        given = given.set({"seed": seed})
    return Result(_fairpace.run(given._checked, events))


def compare(
    cc: Sequence[str],
    *,
    rate: Rate = "100mbit",
    buffer: Buffer = "1bdp",
    rtt: Sequence[Time] = ("40ms",),
    duration: Time = "60s",
    stagger: Time | None = None,
    warmup: Time | None = None,
    set: Mapping[str, object] | None = None,
) -> dict[str, Result]:
    """Several algorithms on one path, one run each, as ``fairpace compare``.

    :param cc: names of the algorithms.
    :param rate: rate of the link, such as ``100mbit``.
    :param buffer: buffer of the link, such as ``2MB``, or ``1.5bdp`` of the longest RTT.
    :param rtt: one flow for each of these RTTs.
    :param duration: length of a run.
    :param stagger: each flow starts this much after the one before; 5 s, or a twelfth of a run shorter than 60 s.
    :param warmup: measure from here to the end; 20 s, or a third of a run shorter than 60 s.
    :param set: other values of scenario keys and of parameters of the algorithms.
    :returns: the result of each algorithm, in the order of ``cc``.
    :raises UsageError: a value is wrong.
    """
    if isinstance(cc, str) or isinstance(rtt, str):
        raise TypeError("cc and rtt are lists: one item for each algorithm, and for each flow")
    scenarios = _fairpace.compare_scenarios(
        list(cc),
        [_value(one, "flow.rtt") for one in rtt],
        _sets(set),
        rate=_value(rate, "link.rate"),
        buffer=_value(buffer, "link.buffer"),
        duration=_value(duration, "duration"),
        stagger=None if stagger is None else _value(stagger, "stagger"),
        warmup=None if warmup is None else _value(warmup, "warmup"),
    )
    return {name: Result(_fairpace.run(scenario, False)) for name, scenario in zip(cc, scenarios, strict=True)}


def algorithms() -> list[dict[str, Any]]:
    """The algorithms with their parameters, as ``fairpace algorithms --json`` prints them."""
    return list(json.loads(_fairpace.algorithms_json()))


def load_algorithm(header: str | PathLike[str], *, quiet: bool = False) -> str:
    """Compiles a header of your own with clang, and loads it into this process.

    The header's C code runs in this process: an error in it, such as a wrong pointer or a loop without end, crashes or
    blocks the interpreter. The command ``fairpace`` runs it in a process of its own. It stays loaded as long as the
    process; a changed header needs a new one, or another name. A process that starts others (``multiprocessing``)
    loads it in each, unless they are forked afterwards.

    :param header: its path, which ends with ``.h``: ``fairpace new mine`` writes one that works.
    :param quiet: do not show what the compiler warns of on stderr.
    :returns: the algorithm's name, for ``cc``: that of the file.
    :raises UsageError: it does not compile, or has the name of another algorithm.
    :raises UnsupportedError: there is no clang.
    """
    return _fairpace.load_algorithm(fspath(header), quiet)
