"""Quantities: a text with its unit, as a scenario file has it, or an object that knows its unit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from os import PathLike
from typing import Any, Protocol, Union, runtime_checkable

__all__ = [
    "AlgorithmName",
    "Buffer",
    "FilePath",
    "Frequency",
    "Limit",
    "Parameters",
    "Quantity",
    "Rate",
    "Share",
    "Size",
    "Steps",
    "Time",
    "unicode",
    "written",
]


@runtime_checkable
class Quantity(Protocol):
    """A number with a unit, such as one of pint: ``ureg("100 Mbit/s")``."""

    @property
    def magnitude(self) -> Any:
        """The number."""

    def to(self, unit: str, /) -> Any:
        """The same in another unit."""


Time = Union[str, timedelta, Quantity]
"""``"50ms"``, ``timedelta(milliseconds=50)``, or a quantity: ns, us, ms, s, min, h."""
Rate = Union[str, Quantity]
"""``"100mbit"``, or a quantity: bit, kbit, mbit, gbit (per second)."""
Size = Union[str, Quantity]
"""``"2MB"``, or a quantity: B, kB, MB, GB, KiB, MiB, GiB."""
Share = Union[str, Quantity]
"""``"1%"``, or a quantity without dimension: ppb, ppm, %."""
Frequency = Union[str, Quantity]
"""``"50/s"``, or a quantity."""
Buffer = Union[str, Quantity]
"""A size, packets (``"100pkts"``), a multiple of the bandwidth-delay product (``"1.5bdp"``), or what the link carries in
a time (``"300ms"``)."""
Limit = Union[str, Quantity]
"""A size, or packets."""
Steps = Union[str, Sequence[tuple[Time, Union[Time, Rate]]]]
"""``"10s 50mbit, 20s 0bit"``, or ``[("10s", "50mbit"), ("20s", "0bit")]``: from then on this value."""
FilePath = Union[str, "PathLike[str]"]
"""A file, by its path from the working directory."""
AlgorithmName = Union[str, "PathLike[str]"]
"""An algorithm, or a header of your own by its path; a variant of either is a text: ``bbr3:beta=0.5``."""
Parameters = Mapping[str, object]
"""Parameters of an algorithm and their values: ``{"alpha": "3ms"}``."""

_BASES = {
    "Time": ("ns", "ns", 1),
    "Rate": ("bit/s", "bit", 1),
    "Size": ("byte", "B", 1),
    "Share": ("dimensionless", "ppb", 10**9),
    "Frequency": ("1/s", "/s", 1),
}
"""Of each kind of quantity the unit for :meth:`Quantity.to`, that of a scenario, and how many are in the former."""


def written(value: object, kind: str) -> object:
    """A quantity as a scenario file has it; any other value as it is.

    :raises ValueError: the quantity is not of this kind, or no number.
    """
    if isinstance(value, timedelta):
        microseconds = (value.days * 86_400 + value.seconds) * 1_000_000 + value.microseconds
        # of pandas.Timedelta, which is a timedelta with more digits
        nanoseconds = int(getattr(value, "nanoseconds", 0))
        return f"{microseconds * 1000 + nanoseconds}ns" if nanoseconds else f"{microseconds}us"
    # numbers of NumPy and data frames have neither
    if isinstance(value, (str, bytes)) or not isinstance(value, Quantity):
        return value
    unit, name, factor = _BASES[kind or "Time"]
    try:
        number = float(value.to(unit).magnitude) * factor
    except Exception as error:
        raise ValueError(f"{value!r} is no {kind.lower() or 'time'}: {error}") from error
    if kind == "Frequency":
        return f"{number:.3f}{name}"
    if number != number or number in (float("inf"), float("-inf")):
        raise ValueError(f"{value!r} is not a finite {kind.lower()}")
    return f"{round(number)}{name}"


def unicode(text: str, place: str) -> str:
    """A text without lone surrogates, which no file can hold.

    :raises ValueError: it has some; ``place`` is where.
    """
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ValueError(f"{place}: the text is not Unicode: {error.reason}") from None
    return text
