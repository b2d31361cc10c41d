"""Simulate congestion control algorithms, and read the results as data frames.

>>> import fairpace as fp
>>> result = fp.compare(["bbr1"], rate="10mbit", buffer="50kB", rtt=["10ms", "50ms"], duration="5s", warmup="1s")["bbr1"]
>>> len(result.flows)
2

The simulator is that of the command ``fairpace sim``: the same scenario and seed give the same numbers. Nothing here
needs root, and nothing reads the clock or the environment: a result depends on its arguments alone.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from . import _fairpace
from ._fairpace import COMMIT, Table
from ._result import Result
from ._scenario import Scenario, ScenarioLike, _value, scenario_of
from ._sweep import Sweep, sweep
from .errors import FairpaceError, InternalError, OutputError, Problem, UnsupportedError, UsageError

__all__ = [
    "COMMIT",
    "FairpaceError",
    "InternalError",
    "OutputError",
    "Problem",
    "Result",
    "Scenario",
    "ScenarioLike",
    "Sweep",
    "Table",
    "UnsupportedError",
    "UsageError",
    "algorithms",
    "compare",
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
    changes = dict(set or {})
    if seed is not None:
        changes["seed"] = seed
    given = scenario_of(scenario)
    return Result(_fairpace.run((given.set(changes) if changes else given)._checked, events))


def compare(
    cc: Sequence[str],
    *,
    rate: str,
    buffer: str,
    rtt: Sequence[str],
    duration: str = "60s",
    stagger: str = "5s",
    warmup: str = "20s",
    set: Mapping[str, object] | None = None,
) -> dict[str, Result]:
    """Several algorithms on one path, one run each, as ``fairpace compare``.

    :param cc: names of the algorithms.
    :param rate: rate of the link, such as ``100mbit``.
    :param buffer: buffer of the link, such as ``2MB``, or ``1.5bdp`` of the longest RTT.
    :param rtt: one flow for each of these RTTs.
    :param duration: length of a run.
    :param stagger: each flow starts this much after the one before.
    :param warmup: measure from here to the end.
    :param set: other values of scenario keys and of parameters of the algorithms.
    :returns: the result of each algorithm, in the order of ``cc``.
    :raises UsageError: a value is wrong.
    """
    if isinstance(cc, str) or isinstance(rtt, str):
        raise TypeError("cc and rtt are lists: one item for each algorithm, and for each flow")
    sets = [(key, _value(value)) for key, value in (set or {}).items()]
    scenarios = _fairpace.compare_scenarios(list(cc), rate, buffer, list(rtt), duration, stagger, warmup, sets)
    return {name: Result(_fairpace.run(scenario, False)) for name, scenario in zip(cc, scenarios, strict=True)}


def algorithms() -> list[dict[str, Any]]:
    """The algorithms with their parameters, as ``fairpace algorithms --json`` prints them."""
    return list(json.loads(_fairpace.algorithms_json()))
