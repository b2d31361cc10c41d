"""Scenarios: what is simulated."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from os import PathLike, fspath
from typing import Any, NoReturn, TypeVar, Union

from ._fairpace import Checked, check, check_for_kernel, read_scenario
from ._keys import KINDS, Flow, Link, ScenarioKeys, Window
from ._toml import Places, text_of
from ._units import unicode, written
from .errors import FairpaceError, Problem, UsageError, _in_python

__all__ = ["Scenario", "ScenarioLike"]

_Part = TypeVar("_Part", Link, Flow, Window)


class Scenario(ScenarioKeys):
    """Links, flows, and what is measured. It does not change; :meth:`set` makes another one.

    A scenario is checked when it is made: every quantity has a unit and is in its range. What only a kernel has, such
    as ``kernel:bbr``, is an error when it is simulated. Scenarios are equal if their outcomes are, by their :attr:`hash`
    and :attr:`seed`.

    >>> from fairpace import Flow, Link, Scenario
    >>> two = Scenario(
    ...     duration="60s",
    ...     links=[Link(rate="100mbit", buffer="2MB")],
    ...     flows=[Flow(cc="bbr1", rtt="10ms"), Flow(cc="bbr1", rtt="50ms", start="5s")],
    ... )
    >>> two.set({"flow.2.rtt": "40ms"}) == two
    False
    """

    __slots__ = ("_checked", "_name", "_places", "_sets", "_text")

    _checked: Checked
    _name: str
    _places: Places
    """Where each line of the text comes from; empty: it is that of a file."""
    _sets: tuple[tuple[str, str], ...]
    _text: str
    """What its file had when it was read: a later change of the file does not change it."""

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Scenario:
        """Reads a scenario file.

        :raises UsageError: it cannot be read, or something in it is wrong; all of it is in ``problems``.
        """
        name = fspath(path)
        return object.__new__(cls)._read(read_scenario(name), name, (), ())

    @classmethod
    def from_toml(cls, text: str, name: str = "scenario") -> Scenario:
        """Reads a scenario from the text of such a file. ``name`` is what errors call it.

        Files that it names (``trace``, ``sizes``) are searched from the folder of ``name``.

        :raises UsageError: something in it is wrong.
        """
        return object.__new__(cls)._read(text, name, (), ())

    def _make(
        self, top: Mapping[str, object], window: Window | None, links: Sequence[Link], flows: Sequence[Flow]
    ) -> None:
        text, places = text_of(top, window, links, flows)
        self._read(text, "scenario", (), places)

    def _read(self, text: str, name: str, sets: tuple[tuple[str, str], ...], places: Places) -> Scenario:
        try:
            checked = check(name, text, list(sets))
        except FairpaceError as error:
            raise _placed(error, name, places) from None
        slots = {"_checked": checked, "_name": name, "_places": places, "_sets": sets, "_text": text}
        for slot, value in slots.items():
            object.__setattr__(self, slot, value)
        return self

    def set(self, changes: Mapping[str, object]) -> Scenario:
        """The same scenario with other values of some keys, as ``--set`` of the command line changes them.

        :param changes: ``duration``, ``link.rate``, ``flow.NAME.rtt``, ``bbr1.probe_up_gain`` ...; values with
            their units.
        :raises UsageError: there is no such key, or a value is wrong.
        """
        more = tuple(_sets(changes))
        return object.__new__(type(self))._read(self._text, self._name, self._sets + more, self._places)

    @property
    def title(self) -> str:
        """What is compared, in a few words."""
        return self._checked.title

    @property
    def hash(self) -> str:
        """SHA-256 of what decides the outcome, except the seed, in hex. Results name their scenario by it."""
        return self._checked.hash

    @property
    def seed(self) -> int:
        """Source of all randomness: the same seed gives the same run."""
        return self._checked.seed

    @property
    def duration_s(self) -> float:
        """Length of the run, in seconds."""
        return self._checked.duration_s

    @property
    def why(self) -> str:
        """Why it is worth running."""
        return str(self._keys().get("why", ""))

    @property
    def duration(self) -> str:
        """Length of the run, with its unit. This and the other keys are those of the canonical form: a key that has its
        default is ``None``, and a buffer is a number of bytes or packets."""
        return str(self._keys()["duration"])

    @property
    def interval(self) -> str | None:
        """Distance of two points in the time series, with its unit."""
        interval = self._keys().get("interval")
        return None if interval is None else str(interval)

    @property
    def window(self) -> Window | None:
        """What metrics cover."""
        window = self._keys().get("window")
        return None if window is None else _part(Window, window)

    @property
    def links(self) -> tuple[Link, ...]:
        """The links, with the keys of the canonical form."""
        return tuple(_part(Link, link) for link in self._keys()["link"])

    @property
    def flows(self) -> tuple[Flow, ...]:
        """The flows, with the keys of the canonical form."""
        return tuple(_part(Flow, flow) for flow in self._keys()["flow"])

    def _keys(self) -> dict[str, Any]:
        return dict(json.loads(self._checked.keys_json()))

    def to_toml(self) -> str:
        """The canonical form, which is a scenario file."""
        return self._checked.to_toml()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Scenario):
            return NotImplemented
        return (self.hash, self.seed) == (other.hash, other.seed)

    def __hash__(self) -> int:
        return hash((self.hash, self.seed))

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"a scenario does not change: scenario.set({{{name!r}: ...}}) makes another one")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError("a scenario does not change")

    def __reduce__(self) -> tuple[Any, ...]:
        return _again, (self._text, self._name, self._sets, self._places)

    def _source(self) -> tuple[str, str, list[tuple[str, str]]]:
        """What it was made of: the name of its file, its text, and other values of keys."""
        return self._name, self._text, list(self._sets)

    def _for_kernel(self) -> Checked:
        """It, checked for a kernel, which lacks a few keys of the simulator.

        :raises UsageError: a kernel does not have one of its keys.
        """
        try:
            return check_for_kernel(*self._source())
        except FairpaceError as error:
            raise _placed(error, self._name, self._places) from None

    def __repr__(self) -> str:
        return f"<Scenario {self.title!r}, seed {self.seed}, {self.hash[:12]}>"


def _part(kind: type[_Part], keys: Mapping[str, Any]) -> _Part:
    """A link, a flow or the window of its keys; ``from``, a word of Python, is ``from_``."""
    values: dict[str, Any] = {field.name: keys.get(field.name.rstrip("_")) for field in fields(kind)}
    return kind(**values)


def _again(text: str, name: str, sets: tuple[tuple[str, str], ...], places: Places) -> Scenario:
    """A scenario from its pickle."""
    return object.__new__(Scenario)._read(text, name, sets, places)


def _placed(error: FairpaceError, name: str, places: Places) -> FairpaceError:
    """The error with places of Python, such as ``links[0].rate``, in place of lines of a text."""

    error = _in_python(error)

    def placed(problem: Problem) -> Problem:
        if problem.file != name or not 0 < problem.line <= len(places):
            return problem
        # a whole part is missing, which the text has no place for
        place = name if problem.key in ("link", "flow") else places[problem.line - 1]
        return replace(problem, file=place, line=0, column=0)

    if not places or not error.problems:
        return error
    return type(error)(error.message, error.help, tuple(map(placed, error.problems)))


ScenarioLike = Union[Scenario, str, "PathLike[str]"]
"""A scenario, the text of a scenario file (it has more than one line), or the path of one."""


def scenario_of(given: ScenarioLike) -> Scenario:
    """Reads what names or is a scenario."""
    if isinstance(given, Scenario):
        return given
    if isinstance(given, str) and "\n" in given:
        return Scenario.from_toml(given)
    if isinstance(given, str) and not given:
        raise UsageError("the scenario is an empty text", "write the path of a scenario file, or its text")
    if isinstance(given, (str, PathLike)):
        return Scenario.load(given)
    raise TypeError(f"a scenario is a Scenario, a text, or a path, not {type(given).__name__}")


def _sets(changes: Mapping[str, object] | None) -> list[tuple[str, str]]:
    """Changes of keys as ``--set`` has them."""
    if changes is None:
        return []
    if not isinstance(changes, Mapping):
        raise TypeError(f"changes are a dictionary of keys and values, not {type(changes).__name__}")
    for key in changes:
        if not isinstance(key, str):
            raise TypeError(f"a scenario's key is a text, not {type(key).__name__}")
    return [(unicode(key, "a scenario's key"), _value(value, key)) for key, value in changes.items()]


def _value(value: object, key: str = "") -> str:
    """A value as ``--set`` has it."""
    section, _, rest = key.partition(".")
    path = f"{section}.{rest.rpartition('.')[2]}" if rest else key
    try:
        value = written(value, KINDS.get(path, ""))
    except ValueError as error:
        raise ValueError(f"{key}: {error}") from None
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (list, tuple)):
        value = ",".join(map(str, value))
    return unicode(str(value), key)
