"""Scenarios: what is simulated."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike, fspath
from typing import Union

from ._fairpace import Checked, check, load

__all__ = ["Scenario", "ScenarioLike"]


class Scenario:
    """Links, flows, and what is measured. It does not change; :meth:`set` makes another one.

    A scenario is checked when it is made: every quantity has a unit and is in its range.

    >>> two = Scenario.from_toml('''
    ...     title = "one flow"
    ...     duration = "2s"
    ...     [[link]]
    ...     rate = "10mbit"
    ...     buffer = "1.5bdp"
    ...     [[flow]]
    ...     cc = "bbr1"
    ...     rtt = "20ms"
    ... ''')
    >>> two.set({"flow.rtt": "40ms"}).hash == two.hash
    False
    """

    __slots__ = ("_checked", "_name", "_sets", "_text")

    _checked: Checked
    _name: str
    _sets: tuple[tuple[str, str], ...]
    _text: str | None
    """``None``: it is in the file that is named."""

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Scenario:
        """Reads a scenario file.

        :raises UsageError: it cannot be read, or something in it is wrong; all of it is in ``problems``.
        """
        return cls._made(None, fspath(path), ())

    @classmethod
    def from_toml(cls, text: str, name: str = "scenario") -> Scenario:
        """Reads a scenario from the text of such a file. ``name`` is what errors call it.

        :raises UsageError: something in it is wrong.
        """
        return cls._made(text, name, ())

    @classmethod
    def _made(cls, text: str | None, name: str, sets: tuple[tuple[str, str], ...]) -> Scenario:
        scenario = object.__new__(cls)
        scenario._text, scenario._name, scenario._sets = text, name, sets
        scenario._checked = load(name, list(sets)) if text is None else check(name, text, list(sets))
        return scenario

    def set(self, changes: Mapping[str, object]) -> Scenario:
        """The same scenario with other values of some keys, as ``--set`` of the command line changes them.

        :param changes: ``duration``, ``link.rate``, ``flow.NAME.rtt``, ``bbr1.probe_up_gain`` ...; values with
            their units.
        :raises UsageError: there is no such key, or a value is wrong.
        """
        more = tuple((key, _value(value)) for key, value in changes.items())
        return Scenario._made(self._text, self._name, self._sets + more)

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

    def to_toml(self) -> str:
        """The canonical form, which is a scenario file."""
        return self._checked.to_toml()

    def _source(self) -> tuple[str, str, list[tuple[str, str]]]:
        """What it was made of: the name of its file, its text, and other values of keys."""
        if self._text is not None:
            return self._name, self._text, list(self._sets)
        with open(self._name, encoding="utf-8") as file:
            return self._name, file.read(), list(self._sets)

    def __repr__(self) -> str:
        return f"<Scenario {self.title!r}, seed {self.seed}, {self.hash[:12]}>"


ScenarioLike = Union[Scenario, str, "PathLike[str]"]
"""A scenario, the text of a scenario file (it has more than one line), or the path of one."""


def scenario_of(given: ScenarioLike) -> Scenario:
    """Reads what names or is a scenario."""
    if isinstance(given, Scenario):
        return given
    if isinstance(given, str) and "\n" in given:
        return Scenario.from_toml(given)
    if isinstance(given, (str, PathLike)):
        return Scenario.load(given)
    raise TypeError(f"a scenario is a Scenario, a text, or a path, not {type(given).__name__}")


def _value(value: object) -> str:
    """A value as ``--set`` has it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (list, tuple)):
        return ",".join(map(str, value))
    return str(value)
