"""A scenario of typed Python as the text of a scenario file, which the same parser reads."""

from __future__ import annotations

import json
import operator
from collections.abc import Mapping, Sequence
from dataclasses import fields
from os import PathLike, fspath
from typing import Any

from ._keys import KINDS, Flow, Link, Window
from ._units import unicode, written

__all__ = ["Places", "text_of"]

Places = tuple[str, ...]
"""For each line of a text the place in Python that it comes from, such as ``links[0].rate``."""

_LARGEST = 2**63 - 1
"""Of a whole number in TOML."""


def text_of(
    top: Mapping[str, object], window: Window | None, links: Sequence[Link], flows: Sequence[Flow]
) -> tuple[str, Places]:
    """The text, and where each of its lines comes from.

    :raises TypeError: a value has a type that no key has.
    :raises ValueError: a value cannot be written, such as a text that is not Unicode.
    """
    lines: list[tuple[str, str]] = []
    for name, value in top.items():
        _line(lines, name, name, name, value)
    if window is not None:
        _part(lines, "[window]", "window", "window", window, Window)
    for header, name, parts, kind in (("link", "links", links, Link), ("flow", "flows", flows, Flow)):
        if isinstance(parts, (str, bytes, Mapping)) or not isinstance(parts, Sequence):
            raise TypeError(f"{name}: a list of {kind.__name__}, not {type(parts).__name__}")
        for index, part in enumerate(parts):
            _part(lines, f"[[{header}]]", header, f"{name}[{index}]", part, kind)
    return "".join(f"{text}\n" for text, _ in lines), tuple(place for _, place in lines)


def _part(lines: list[tuple[str, str]], header: str, section: str, place: str, part: object, kind: type[Any]) -> None:
    if not isinstance(part, kind):
        raise TypeError(f"{place}: a {kind.__name__}, not {type(part).__name__}")
    lines.append((header, place))
    for field in fields(kind):
        key = field.name.rstrip("_")
        _line(lines, key, f"{section}.{key}", f"{place}.{field.name}", getattr(part, field.name))


def _line(lines: list[tuple[str, str]], key: str, path: str, place: str, value: object) -> None:
    if value is None:
        return
    try:
        text = _steps(value, KINDS[path]) if key.endswith("_at") else _toml(written(value, KINDS.get(path, "")))
    except TypeError as error:
        raise TypeError(f"{place}: {error}") from None
    except (ValueError, OverflowError) as error:
        raise ValueError(f"{place}: {error}") from None
    lines.append((f"{key} = {unicode(text, place)}", place))


def _steps(value: object, kind: str) -> str:
    """``[("10s", "50mbit")]`` as ``"10s 50mbit"``."""
    if isinstance(value, str) or not isinstance(value, Sequence):
        return _toml(value)
    for step in value:
        if not isinstance(step, Sequence) or isinstance(step, str) or len(step) != 2:
            raise TypeError(f"steps are pairs of a time and a value, not {step!r}")
    return _toml(", ".join(f"{written(time, 'Time')} {written(held, kind)}" for time, held in value))


def _toml(value: object, nested: bool = False) -> str:
    """A value in TOML's notation. Lists hold names, tables hold parameters; nothing is deeper."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, PathLike):
        value = fspath(value)
    if isinstance(value, str):
        # every JSON string is one of TOML, except that TOML wants U+007F escaped
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007F")
    if isinstance(value, float):
        return repr(value)  # inf and nan, too, are numbers of TOML
    if not nested and isinstance(value, Mapping):
        return "{ " + ", ".join(f"{_name(key)} = {_toml(of, True)}" for key, of in value.items()) + " }"
    if not nested and isinstance(value, Sequence) and not isinstance(value, (bytes, bytearray)):
        return "[" + ", ".join(_toml(of, True) for of in value) + "]"
    try:
        number = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        kind = type(value).__name__
        raise TypeError(f"a value is a text with its unit, a number, a bool or a list of texts, not {kind}") from None
    if not -_LARGEST <= number <= _LARGEST:
        raise ValueError(f"a whole number is at most {_LARGEST}")
    return str(number)


def _name(key: object) -> str:
    if not isinstance(key, str):
        raise TypeError(f"a parameter's name is a text, not {type(key).__name__}")
    return _toml(key, True)
