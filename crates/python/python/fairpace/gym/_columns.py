"""The columns of observations, actions and ground truth."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from .. import _fairpace

__all__ = ["INFO", "OBSERVATIONS", "Column", "Form", "action_columns"]

Form = Literal["factor", "absolute"]
"""``factor``: an exponent a, the pacing rate is multiplied by 2^a. ``absolute``: a pacing rate and a cwnd."""


@dataclass(frozen=True)
class Column:
    """A column of an array."""

    name: str
    """Its name; the unit is the last word."""
    unit: str
    """The unit of its values; empty: a plain number."""
    least: float
    """The least value."""
    most: float
    """The largest value."""
    meaning: str
    """What it is."""


OBSERVATIONS: tuple[Column, ...] = tuple(Column(*row) for row in _fairpace.observation_columns())
"""What an agent sees of its flow, per monitor interval."""

INFO: tuple[Column, ...] = tuple(Column(*row) for row in _fairpace.info_columns())
"""What happened to a flow, whatever its sender knows of it: for rewards."""


def action_columns(form: Form) -> tuple[Column, ...]:
    """What an action of this form is."""
    return tuple(Column(*row) for row in _fairpace.action_columns(form))
