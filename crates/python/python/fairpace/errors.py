"""Exceptions of fairpace. Each has the words of the command line: what failed, where, and what to do."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace
from typing import Any

__all__ = ["FairpaceError", "InternalError", "OutputError", "Problem", "UnsupportedError", "UsageError"]


@dataclass(frozen=True)
class Problem:
    """A place in a scenario with an error."""

    kind: str
    """Which kind of error, such as ``unknown-key``."""
    file: str
    """The file, or the place of typed Python, such as ``links[0].rate``."""
    line: int
    """Line, from 1; 0: it has no place in a text."""
    column: int
    """Column, from 1."""
    key: str
    """The scenario's key, such as ``link.rate``."""
    message: str
    """What is wrong."""
    help: str
    """What to write instead."""

    def __str__(self) -> str:
        line = f":{self.line}:{self.column}" if self.line else ""
        place = f"{self.file}{line}: " if self.file else ""
        remedy = f"; {self.help}" if self.help else ""
        return f"{place}{self.message}{remedy}"


class FairpaceError(Exception):
    """The class of all exceptions of fairpace."""

    def __init__(self, message: str, help: str | None = None, problems: tuple[Problem, ...] = ()) -> None:
        super().__init__(message, help, problems)
        self.message = message
        self.help = help
        """What to do about it."""
        self.problems = problems
        """Everything that is wrong with a scenario."""

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.message, self.help, self.problems)

    def __str__(self) -> str:
        if self.problems:
            first, *others = self.problems
            return str(first) if not others else "\n".join([self.message, *(f"  {one}" for one in self.problems)])
        return f"{self.message}; {self.help}" if self.help else self.message


class UsageError(FairpaceError, ValueError):
    """An argument or a scenario is wrong."""


class OutputError(FairpaceError, OSError):
    """A file could not be written."""

    def __str__(self) -> str:
        return FairpaceError.__str__(self)


class UnsupportedError(FairpaceError):
    """This machine or this build cannot do that."""


class InternalError(FairpaceError, RuntimeError):
    """A bug, or the system failed in the middle."""


_CLASSES: dict[str, type[FairpaceError]] = {
    "usage": UsageError,
    "output": OutputError,
    "unsupported": UnsupportedError,
}


_OPTION = re.compile(r"(?<![\w-])--([a-z][a-z-]*)(?: <[A-Z]+>)?")
"""An option of the command line: ``--jobs <N>``."""
_ON = re.compile(r"(?<![\w-])--on ([a-z]+(?::[a-z]+)?)")
"""A place of the command line: ``--on virtual``."""
_SET = re.compile(r"`--set ([^=`]+)=([^`]+)`")
"""A change of a key on the command line."""


def _in_python(error: FairpaceError) -> FairpaceError:
    """An error that names options of the command line, with the arguments of Python in place of these."""

    def words(text: str) -> str:
        text = _SET.sub(r'`{"\1": "\2"}`', text)
        text = _ON.sub(r'on="\1"', text)
        return _OPTION.sub(lambda option: option[1].replace("-", "_"), text)

    def placed(problem: Problem) -> Problem:
        is_argument = problem.file.startswith("--")
        line, column = (0, 0) if is_argument else (problem.line, problem.column)
        message, help = words(problem.message), words(problem.help)
        return replace(problem, file=words(problem.file), line=line, column=column, message=message, help=help)

    help = None if error.help is None else words(error.help)
    return type(error)(words(error.message), help, tuple(map(placed, error.problems)))


def _exception(kind: str, record: str) -> FairpaceError:
    """The exception for an error record as ``fairpace --json`` prints it."""
    error = json.loads(record)["error"]
    problems = tuple(Problem(**problem) for problem in error.get("problems", ()))
    return _CLASSES.get(kind, InternalError)(error["message"], error["help"], problems)
