"""Nothing that Python can pass ends the interpreter: there is a result, or an exception with words."""

from __future__ import annotations

import dataclasses
import math
from datetime import timedelta
from typing import Any

import fairpace as fp
from hypothesis import given
from hypothesis import strategies as st

from conftest import TWO

EXPECTED = (fp.FairpaceError, TypeError, ValueError, OverflowError)
"""What may be raised. A panic of Rust is none of these (``pyo3_runtime.PanicException``)."""

TEXTS = st.text(st.characters(), max_size=30) | st.sampled_from(
    [
        "",
        "1",
        "-1mbit",
        "1e400s",
        "0s",
        "٣ms",
        "1mbit\x00",
        "\ud800",
        "\u202e",
        '"',
        "]]\n[[link]]",
        "9" * 400,
        "1.5bdp",
        "10s 5mbit",
    ]
)
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(2**62, 2**70)
    | st.floats()
    | TEXTS
    | st.binary(max_size=5)
    | st.timedeltas()
    | st.just(object()),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(TEXTS | st.integers(), inner, max_size=3)
        | st.tuples(inner, inner)
    ),
    max_leaves=6,
)


def names(kind: type[Any]) -> list[str]:
    return [field.name for field in dataclasses.fields(kind)]


def accepts(call: Any, *arguments: Any, **keys: Any) -> Any:
    """Calls it; whatever it raises has words."""
    try:
        return call(*arguments, **keys)
    except EXPECTED as error:
        assert str(error)
        return None


def part(kind: type[Any], right: dict[str, object]) -> st.SearchStrategy[Any]:
    """A link or flow with up to three wrong values."""
    wrong = st.dictionaries(st.sampled_from(names(kind)), VALUES, max_size=3)
    return wrong.map(lambda keys: kind(**{**right, **keys}))


@given(
    part(fp.Link, {"rate": "10mbit", "buffer": "100kB"}),
    part(fp.Flow, {"cc": "bbr1", "rtt": "10ms"}),
    st.just("1s") | VALUES,
    VALUES,
)
def test_typed_scenarios(link: fp.Link, flow: fp.Flow, duration: Any, other: Any) -> None:
    made = accepts(fp.Scenario, duration=duration, links=[link], flows=[flow])
    if isinstance(made, fp.Scenario):
        assert fp.Scenario.from_toml(made.to_toml()) == made
    accepts(fp.Scenario, duration=duration, links=other, flows=[flow])
    accepts(fp.Scenario, duration=other, links=[link], flows=other, title=other, window=other, seed=other)


@given(st.text(st.characters(), max_size=200), st.integers(0, len(TWO)), TEXTS)
def test_texts(text: str, at: int, insertion: str) -> None:
    accepts(fp.Scenario.from_toml, text)
    accepts(fp.Scenario.from_toml, TWO[:at] + insertion + TWO[at:])
    accepts(fp.Scenario.from_toml, TWO[:at])
    accepts(fp.Scenario.from_toml, TWO, insertion)
    accepts(fp.Scenario.load, text)


@given(
    st.dictionaries(
        TEXTS | st.sampled_from(["duration", "seed", "flow.rtt", "link.rate", "bbr1.x"]), VALUES, max_size=3
    )
)
def test_changes(changes: dict[str, Any]) -> None:
    accepts(fp.Scenario.from_toml(TWO).set, changes)


@given(VALUES, VALUES)
def test_arguments(one: Any, other: Any) -> None:
    accepts(fp.Scenario.load, one)
    accepts(fp.Scenario.from_toml, one, other)
    accepts(fp.Scenario.from_toml(TWO).set, one)
    accepts(
        fp.evaluate, one, beside=[], criterion=["G1"], match="no such case", set=other if other else None, quiet=True
    )
    accepts(fp.evaluate, "reno", beside=other, criterion=one, match="no such case", quiet=True)
    accepts(
        fp.evaluate,
        "reno",
        match="no such case",
        criteria=one,
        seed=other,
        seeds=other,
        jobs=other,
        draw=one,
        quiet=True,
    )
    # a rate that is none ends it before anything is simulated
    accepts(fp.duels, one, rate="none", rtt=other, buffer=other, set=one, quiet=True)
    accepts(fp.duels, ["bbr1"], rate=one, rtt="none", seeds=other, seed=other, stagger=one, jobs=other)
    accepts(fp.compare, one, rate="none", buffer=other, rtt=one, set=other)
    accepts(fp.load_algorithm, one)


def test_deep_nesting_ends_in_an_error() -> None:
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    assert accepts(fp.Scenario.from_toml(TWO).set, {"flow.route": 1}) is None
    assert accepts(fp.Scenario, duration="1s", links=[fp.Link(rate=deep, buffer="9kB")], flows=[]) is None  # type: ignore[arg-type]
    for open_, close in (("[", "]"), ("{a=", "}")):
        text = TWO + "\nset = " + open_ * 50_000 + close * 50_000
        assert accepts(fp.Scenario.from_toml, text) is None


def test_numbers_at_the_edge() -> None:
    for number in (math.nan, math.inf, -math.inf, -0.0, 2**63 - 1, 2**63, -(2**63), 2**64, 10**400, 10**5000):
        for key in ("rate", "buffer", "loss_burst", "fq_buckets"):
            accepts(
                fp.Scenario,
                duration="1s",
                links=[fp.Link(**{"buffer": "9kB", key: number})],
                flows=[fp.Flow(cc="bbr1", rtt="1ms")],
            )
        accepts(fp.run, TWO, seed=number)
    for time in (timedelta.max, timedelta.min, timedelta(microseconds=-1)):
        accepts(fp.Scenario.from_toml(TWO).set, {"duration": time})
