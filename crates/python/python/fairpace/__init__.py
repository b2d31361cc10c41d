"""Simulate congestion control algorithms, and read the results as data frames.

>>> import fairpace as fp
>>> result = fp.compare(["bbr1"], rate="10mbit", buffer="50kB", rtt=["10ms", "50ms"], duration="9s", warmup="1s")["bbr1"]
>>> len(result.flows)
2

The simulator is that of the command ``fairpace sim``: the same scenario and seed give the same numbers. Nothing here
needs root, and nothing reads the clock or the environment: a result depends on its arguments alone. The same scenarios
run on a Linux kernel in virtual time (``on="virtual"``), which takes the program ``fairpace`` from ``PATH``.
"""

from __future__ import annotations

import json
import operator
from collections.abc import Mapping, Sequence
from os import PathLike, fspath
from typing import Any

from . import _fairpace
from ._evaluation import Duels, Evaluation, _jobs, _names, duels, evaluate
from ._fairpace import COMMIT, VERSION as __version__, Table
from ._keys import Flow, Link, Window
from ._result import Result
from ._scenario import Scenario, ScenarioLike, _placed, _sets, _value, scenario_of
from ._sweep import Sweep, sweep
from ._units import AlgorithmName, Buffer, Rate, Time
from ._virtual import SIMULATOR, run_all as _run_all
from .errors import FairpaceError, InternalError, OutputError, Problem, UnsupportedError, UsageError, _in_python

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
    "__version__",
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
    on: str = "sim",
    kernel: str | None = None,
) -> Result:
    """Runs a scenario: simulates it, or runs it on a Linux kernel in virtual time.

    Other threads of Python run meanwhile, and Ctrl-C ends it.

    :param scenario: a :class:`Scenario`, the text of a scenario file, or the path of one.
    :param set: other values of some keys: see :meth:`Scenario.set`.
    :param seed: another seed.
    :param events: keep rare events, which takes about twice as long.
    :param on: ``sim``; or ``virtual``, ``virtual:uml`` and ``virtual:qemu``, which need the program ``fairpace`` of the
        same commit in ``PATH``: docs/virtual-time.md.
    :param kernel: the series of the kernel in QEMU, such as ``6.12``.
    :raises UsageError: something in the scenario is wrong.
    :raises UnsupportedError: a part of the kernel in virtual time is missing, or it cannot run the scenario.
    """
    given = scenario_of(scenario)
    if set is not None:
        given = given.set(set)
    if seed is not None:
        try:
            whole = None if isinstance(seed, bool) else operator.index(seed)
        except TypeError:
            whole = None
        if whole is None:
            raise TypeError(f"a seed is a whole number, not {seed!r}")
        given = given.set({"seed": whole})
    if on == SIMULATOR and kernel is None:
        try:
            return Result(_fairpace.run(given._checked, events), given)
        except FairpaceError as error:
            raise _placed(error, given._name, given._places) from None
    if events:
        raise UsageError("events are kept of simulations", 'leave out events, or write on="sim"')
    try:
        return Result(_run_all([given._for_kernel()], on, kernel, None)[0], given)
    except FairpaceError as error:
        raise _in_python(error) from None


def compare(
    cc: Sequence[AlgorithmName],
    *,
    rate: Rate = "100mbit",
    buffer: Buffer = "1bdp",
    rtt: Sequence[Time] = ("40ms",),
    duration: Time = "60s",
    stagger: Time | None = None,
    warmup: Time | None = None,
    set: Mapping[str, object] | None = None,
    jobs: int | None = None,
    on: str = "sim",
    kernel: str | None = None,
) -> dict[str, Result]:
    """Several algorithms on one path, one run each, as ``fairpace compare``.

    :param cc: names of the algorithms, or paths of headers of your own.
    :param rate: rate of the link, such as ``100mbit``.
    :param buffer: buffer of the link, such as ``2MB``, or ``1.5bdp`` of the longest RTT.
    :param rtt: one flow for each of these RTTs.
    :param duration: length of a run.
    :param stagger: each flow starts this much after the one before; 5 s, or a twelfth of a run shorter than 60 s.
    :param warmup: measure from here to the end; 20 s, or a third of a run shorter than 60 s.
    :param set: other values of scenario keys and of parameters of the algorithms.
    :param jobs: runs at a time; by default one for each core. It does not change the results.
    :param on: where: see :func:`run`. On a kernel ``cc`` may be one of its own, ``kernel:bbr``.
    :param kernel: the series of the kernel in QEMU: see :func:`run`.
    :returns: the result of each algorithm, in the order of ``cc``, by what ``cc`` names it.
    :raises UsageError: a value is wrong, no algorithm is named, or one is named twice.
    """
    if isinstance(cc, str) or isinstance(rtt, str):
        raise TypeError("cc and rtt are lists: one item for each algorithm, and for each flow")
    names = _names(cc, "cc")
    if not names:
        raise UsageError("no algorithm is named", 'write for example compare(["bbr3", "cubic"])')
    of_kernel = next((name for name in names if name.startswith("kernel:")), None)
    if on == SIMULATOR and of_kernel is not None:
        raise UsageError(f"{of_kernel!r} is an algorithm of a kernel, which the simulator does not have", 'add on="virtual"')
    try:
        scenarios = _fairpace.compare_scenarios(
            names,
            [_value(one, "flow.rtt") for one in rtt],
            _sets(set),
            rate=_value(rate, "link.rate"),
            buffer=_value(buffer, "link.buffer"),
            duration=_value(duration, "duration"),
            stagger=None if stagger is None else _value(stagger, "stagger"),
            warmup=None if warmup is None else _value(warmup, "warmup"),
            is_simulated=on == SIMULATOR,
        )
        runs = _run_all(scenarios, on, kernel, _jobs(jobs))
    except FairpaceError as error:
        raise _in_python(error) from None
    # of each the canonical form, since no other text has been read
    sources = [(scenario.to_toml(), "scenario", (), ()) for scenario in scenarios]
    return {name: Result(run, source) for name, run, source in zip(names, runs, sources, strict=True)}


def algorithms() -> list[dict[str, Any]]:
    """The algorithms with their parameters, as ``fairpace algorithms --json`` prints them."""
    return list(json.loads(_fairpace.algorithms_json()))


def load_algorithm(header: str | PathLike[str], *, quiet: bool = False) -> str:
    """Compiles a header of your own with clang, and loads it into this process.

    The header's C code runs in this process: an error in it, such as a wrong pointer or a loop without end, crashes or
    blocks the interpreter. The command ``fairpace`` runs it in a process of its own. It stays loaded as long as the
    process. A header that is loaded and has not changed since is not loaded again. The name of a changed one means its
    new code from then on; a scenario that was made before has the old one, until it is changed or pickled. Wherever an
    algorithm is named, the path of a header stands for it: it is loaded, or loaded again, when a scenario is made. A
    process that starts others (``multiprocessing``) loads it in each, unless they are forked afterwards.

    :param header: its path, which ends with ``.h``: ``fairpace new mine`` writes one that works.
    :param quiet: do not show what the compiler warns of on stderr.
    :returns: the algorithm's name, for ``cc``: that of the file.
    :raises UsageError: it does not compile, or has the name of another algorithm, that of another file included.
    :raises UnsupportedError: there is no clang.
    """
    return _fairpace.load_algorithm(fspath(header), quiet)
