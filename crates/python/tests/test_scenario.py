"""Scenarios as typed Python."""

from __future__ import annotations

import dataclasses
import importlib.metadata
import json
import pickle
from datetime import timedelta
from pathlib import Path
from typing import Any

import fairpace as fp
import pytest

from conftest import ROOT, TWO


class Quantity:
    """As pint has it: a number, a unit, and what the unit is in others."""

    FACTORS = {"Mbit/s": {"bit/s": 1e6}, "ms": {"ns": 1e6}, "MB": {"byte": 1e6}, "%": {"dimensionless": 0.01}}

    def __init__(self, magnitude: float, unit: str) -> None:
        self.magnitude, self.unit = magnitude, unit

    def to(self, unit: str) -> Quantity:
        factors = self.FACTORS[self.unit]
        if unit not in factors:
            raise ValueError(f"cannot convert from {self.unit} to {unit}")
        return Quantity(self.magnitude * factors[unit], unit)


def flow(**keys: object) -> fp.Flow:
    return fp.Flow(**{"cc": "bbr1", "rtt": "10ms", **keys})  # type: ignore[arg-type]


def scenario(*flows: fp.Flow, **link: object) -> fp.Scenario:
    links = [fp.Link(**{"rate": "100mbit", "buffer": "2MB", **link})]  # type: ignore[arg-type]
    return fp.Scenario(duration="9s", links=links, flows=flows or [flow()])


def test_typed_python_is_the_same_scenario_as_the_text() -> None:
    typed = fp.Scenario(
        title="two flows",
        duration="4s",
        window=fp.Window(from_="1s"),
        links=[fp.Link(rate="20mbit", buffer="100kB")],
        flows=[fp.Flow(cc="bbr1", rtt="10ms"), fp.Flow(cc="cubic", rtt="30ms")],
    )
    assert typed.to_toml() == fp.Scenario.from_toml(TWO).to_toml()
    assert typed == fp.Scenario.from_toml(TWO)


@pytest.mark.parametrize(
    ("keys", "link"),
    [
        ({"rtt": timedelta(milliseconds=10)}, {}),
        ({"rtt": Quantity(10, "ms")}, {}),
        ({"rtt": "0.01s"}, {"rate": Quantity(100, "Mbit/s")}),
        ({}, {"buffer": Quantity(2, "MB")}),
        ({}, {"loss": "0%"}),
    ],
)
def test_quantities_of_other_libraries_are_those_of_texts(keys: dict[str, object], link: dict[str, object]) -> None:
    assert scenario(flow(**keys), **link) == scenario()


def test_steps_lists_tables_and_files_are_those_of_a_scenario_file(tmp_path: Path) -> None:
    steps = [(timedelta(seconds=2), "10mbit"), ("3s", Quantity(5, "Mbit/s"))]
    assert scenario(rate_at=steps) == scenario(rate_at="2s 10mbit, 3s 5mbit") != scenario()
    assert scenario(flow(cc="bbq", set={"alpha": "3ms"})) != scenario(flow(cc="bbq"))
    assert scenario(flow(tso=False)) != scenario(flow(tso=True)) == scenario()
    assert 'route = ["bottleneck"]' in scenario(flow(route=["bottleneck"])).to_toml()
    trace = ROOT / "scenarios/traces/cellular.trace"
    assert "trace" in scenario(rate=None, trace=trace).to_toml()


def test_a_scenario_has_its_parts_as_attributes() -> None:
    scenario = fp.Scenario(
        title="parts",
        why="to see them",
        duration="9s",
        interval="50ms",
        seed=3,
        window=fp.Window(from_="2s"),
        links=[fp.Link(rate="10mbit", buffer="20kB", queue="codel", target="7ms")],
        flows=[fp.Flow(cc="bbq", rtt="10ms", set={"alpha": "5ms"}, count=2), fp.Flow(cc="bbr3:beta=0.5", rtt="20ms")],
    )
    again = fp.Scenario(
        title=scenario.title,
        why=scenario.why,
        duration=scenario.duration,
        interval=scenario.interval,
        seed=scenario.seed,
        window=scenario.window,
        links=scenario.links,
        flows=scenario.flows,
    )
    assert again == scenario and again.to_toml() == scenario.to_toml()
    assert (scenario.duration, scenario.interval, scenario.why) == ("9s", "50ms", "to see them")
    assert [flow.rtt for flow in scenario.flows] == ["10ms", "10ms", "20ms"]
    assert scenario.links[0].rate == "10mbit" and scenario.links[0].loss is None
    # what was changed is what it has
    assert scenario.set({"duration": "7s", "link.rate": "5mbit"}).links[0].rate == "5mbit"


@pytest.mark.parametrize("file", sorted((ROOT / "scenarios").glob("*.toml")), ids=lambda file: file.stem)
def test_the_parts_of_a_scenario_make_it_again(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(file.parent)
    scenario = fp.Scenario.load(file.name)
    parts = {name: getattr(scenario, name) for name in ("duration", "interval", "seed", "window", "links", "flows")}
    assert fp.Scenario(**parts).hash == scenario.hash


def test_errors_have_no_words_of_the_command_line() -> None:
    scenario = fp.Scenario.from_toml(TWO)
    wrong: dict[str, Any] = {"seed": 1.5, "link.rate": "fast", "flow.2.rtt": "10", "duratoin": "1s", "flow.x.rtt": "1ms"}
    for key, value in wrong.items():
        with pytest.raises(fp.UsageError, match=f"^{key}: ") as raised:
            scenario.set({key: value})
        assert "--" not in str(raised.value)
    with pytest.raises(fp.UsageError, match="`seed` is a number, but a whole number is wanted"):
        scenario.set({"seed": 1.5})
    with pytest.raises(fp.UsageError, match="`seed` is true or false"):
        scenario.set({"seed": True})
    with pytest.raises(fp.UsageError, match=r'as in `{"bbq.alpha": "3ms"}`'):
        scenario.set({"flow.set": "alpha"})
    for seed in (1.5, True, "1"):
        with pytest.raises(TypeError, match="a seed is a whole number"):
            fp.run(scenario, seed=seed)  # type: ignore[arg-type]
    with pytest.raises(fp.UsageError, match="the scenario is an empty text"):
        fp.run("")


def test_the_package_has_a_version() -> None:
    assert fp.__version__ == importlib.metadata.version("fairpace")


def test_every_key_of_the_reference_is_a_field() -> None:
    reference = (ROOT / "docs/reference/scenario.md").read_text()
    for kind, section in ((fp.Window, "`[window]`"), (fp.Link, "`[[link]]`"), (fp.Flow, "`[[flow]]`")):
        rows = reference.split(f"## {section}\n")[1].split("\n## ")[0].splitlines()
        keys = [row.split("`")[1] for row in rows if row.startswith("| `")]
        assert [field.name.rstrip("_") for field in dataclasses.fields(kind)] == keys


def test_errors_name_the_place_and_have_the_words_of_the_command_line() -> None:
    with pytest.raises(fp.UsageError) as caught:
        scenario(flow(), flow(cc="bbr4"), rate="100mbps")
    first, second = caught.value.problems
    assert (first.file, first.key, first.kind) == ("links[0].rate", "link.rate", "wrong-unit")
    assert str(first).startswith('links[0].rate: `rate`: "mbps" is ambiguous')
    assert (second.file, second.kind) == ("flows[1].cc", "unknown-algorithm")
    assert isinstance(caught.value, ValueError)


@pytest.mark.parametrize(
    ("make", "kind", "words"),
    [
        (lambda: scenario(rate=100), fp.UsageError, r"links\[0\].rate: .*without a unit"),
        (lambda: scenario(rate=float("nan")), fp.UsageError, "links\\[0\\].rate"),
        (lambda: scenario(rate="-1mbit"), fp.UsageError, "links\\[0\\].rate"),
        (lambda: scenario(rate="9" * 10_000 + "mbit"), fp.UsageError, "links\\[0\\].rate"),
        (lambda: scenario(rate=2**63), ValueError, "links\\[0\\].rate: a whole number is at most"),
        (lambda: scenario(rate=object()), TypeError, "links\\[0\\].rate: a value is .*, not object"),
        (lambda: scenario(rate=b"1mbit"), TypeError, "links\\[0\\].rate: .*not bytes"),
        (lambda: scenario(rate=Quantity(1, "ms")), ValueError, "links\\[0\\].rate: .* is no rate: cannot convert"),
        (lambda: scenario(rate=Quantity(float("inf"), "Mbit/s")), ValueError, "not a finite rate"),
        (lambda: scenario(flow(name="\ud800")), ValueError, "flows\\[0\\].name: the text is not Unicode"),
        (lambda: scenario(flow(name="é" * 100)), fp.UsageError, "flows\\[0\\].name"),
        (lambda: scenario(flow(route=[["a"]])), TypeError, "flows\\[0\\].route"),
        (lambda: scenario(flow(set={1: 2})), TypeError, "flows\\[0\\].set: a parameter's name"),
        (lambda: scenario(flow(set={"alpha": {"a": 1}})), TypeError, "flows\\[0\\].set"),
        (lambda: scenario(rate_at=[("1s",)]), TypeError, "links\\[0\\].rate_at: steps are pairs"),
        (lambda: scenario(flow(count=True)), fp.UsageError, "flows\\[0\\].count"),
        (lambda: fp.Scenario(duration="9s", links=[flow()], flows=[]), TypeError, "links\\[0\\]: a Link, not Flow"),
        (lambda: fp.Scenario(duration="9s", links="no", flows=[]), TypeError, "links: a list of Link, not str"),
        (lambda: fp.Scenario(duration="9s", links=[], flows=[]), fp.UsageError, "  scenario: the scenario has no flow"),
        (lambda: fp.Link(), TypeError, "buffer"),
        (lambda: fp.Flow(cc="bbr1", rtt="1ms", rttt="1ms"), TypeError, "rttt"),
    ],
)
def test_wrong_values_are_errors_with_their_place(make: object, kind: type[Exception], words: str) -> None:
    with pytest.raises(kind, match=words):
        make()  # type: ignore[operator]


def test_scenarios_do_not_change_and_can_be_pickled() -> None:
    two = scenario().set({"flow.rtt": timedelta(milliseconds=20), "link.rate": Quantity(50, "Mbit/s"), "seed": 3})
    assert pickle.loads(pickle.dumps(two)) == two
    assert (two.seed, two == scenario()) == (3, False)
    assert 'rtt = "20ms"' in two.to_toml() and 'rate = "50mbit"' in two.to_toml()
    with pytest.raises(AttributeError, match="does not change"):
        two.seed = 4  # type: ignore[misc]
    with pytest.raises(dataclasses.FrozenInstanceError):
        flow().rtt = "3ms"  # type: ignore[misc]
    with pytest.raises(fp.UsageError, match="there is no key `link.rat`"):
        two.set({"link.rat": 1})
    again = pickle.loads(pickle.dumps(fp.Link(rate="1mbit", buffer="9kB")))
    assert again == fp.Link(rate="1mbit", buffer="9kB")


def test_a_scenario_is_what_its_file_had_when_it_was_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    path = Path("two.toml")
    path.write_text(TWO)
    loaded = fp.Scenario.load(path)
    path.write_text(TWO.replace("100mbit", "10mbit"))
    monkeypatch.chdir("/")
    assert loaded.set({}) == loaded == pickle.loads(pickle.dumps(loaded)) == fp.Scenario.from_toml(TWO)
    assert loaded.set({"seed": 3}).hash == loaded.hash
    assert fp.sweep(loaded, seeds=[1], out=tmp_path / "out", quiet=True).failed == 0


def test_errors_can_be_pickled() -> None:
    with pytest.raises(fp.UsageError) as caught:
        scenario(rate=100)
    again = pickle.loads(pickle.dumps(caught.value))
    assert (str(again), again.problems) == (str(caught.value), caught.value.problems)


def test_a_scenario_is_also_a_path_or_a_text(tmp_path: Path) -> None:
    path = tmp_path / "two.toml"
    path.write_text(TWO)
    assert fp.Scenario.load(path) == fp.Scenario.from_toml(TWO)
    assert fp.run(str(path)).json() == fp.run(path).json() == fp.run(TWO).json()
    with pytest.raises(fp.UsageError, match="No such file"):
        fp.run("missing.toml")
    with pytest.raises(TypeError, match="a scenario is"):
        fp.run(3)  # type: ignore[arg-type]


def test_a_variant_is_an_algorithm_with_parameters_in_its_name() -> None:
    path = {"rate": "10mbit", "buffer": "20kB", "rtt": ["10ms", "50ms"], "duration": "5s", "warmup": "1s", "stagger": "1s"}
    usual, variant = fp.compare(["bbr3", "bbr3:beta=0.5"], **path).values()
    assert json.loads(variant.json())["flows"][0]["cc"] == "bbr3:beta=0.5"
    assert json.loads(variant.json())["flows"][0]["set"] == {"beta": "0.5"}
    set_ = fp.compare(["bbr3"], set={"bbr3.beta": "0.5"}, **path)["bbr3"]
    of_usual, of_variant, of_set = (json.loads(of.json())["scenario"]["hash"] for of in (usual, variant, set_))
    assert of_usual != of_variant == of_set
    flow = fp.Flow(cc="bbr3:beta=0.5", rtt="10ms")
    link = fp.Link(rate="10mbit", buffer="20kB")
    assert 'cc = "bbr3:beta=0.5"' in fp.Scenario(duration="5s", links=[link], flows=[flow]).to_toml()
