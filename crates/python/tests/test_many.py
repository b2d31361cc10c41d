"""Evaluations and duels."""

from __future__ import annotations

import inspect
import json
import re
from datetime import timedelta
from pathlib import Path
from typing import Any

import fairpace as fp
import pyarrow as pa
import pytest

from conftest import ROOT, needs_clang

FEW = {"criterion": ["G1"], "match": "10mbit 10/200ms", "quick": False, "seeds": 1, "quiet": True}
"""Four cases, each of which takes a fraction of a second."""


@pytest.fixture(scope="module")
def evaluation() -> fp.Evaluation:
    return fp.evaluate("level", beside=["reno"], **FEW)  # type: ignore[arg-type]


def test_an_evaluation_has_a_row_for_each_case_and_algorithm(evaluation: fp.Evaluation) -> None:
    rows = pa.table(evaluation.cases).to_pylist()
    assert len(rows) == 8 and {row["criterion"] for row in rows} == {"G1"}
    holds = {cc: sum(row["holds"] for row in rows if row["cc"] == cc) for cc in ("level", "reno")}
    assert holds == {"level": 4, "reno": 0}
    assert all((row["miss"] == 0) == row["holds"] for row in rows)
    assert all(0 < row["jain"] <= 1 and 0 < row["utilization"] < 1.01 for row in rows)
    conditions = pa.table(evaluation.conditions).to_pylist()
    held = {(row["cc"], row["case"]): True for row in conditions}
    for row in conditions:
        held[row["cc"], row["case"]] &= row["holds"]
    assert held == {(row["cc"], row["case"]): row["holds"] for row in rows}


def test_an_evaluation_is_also_text_and_a_report(evaluation: fp.Evaluation) -> None:
    assert "level passes 1 of 1 criteria" in repr(evaluation)
    assert evaluation.html().startswith("<!DOCTYPE html>") and "G1" in evaluation.html()
    assert evaluation.summary["command"].startswith("fairpace evaluate level --beside reno --criterion G1")
    assert dict(evaluation.cases.metadata)["fairpace.hash"] == evaluation.summary["scenarios_hash"]


def test_finished_runs_are_kept_where_asked(tmp_path: Path) -> None:
    first = fp.evaluate("reno", beside=[], keep=tmp_path, **FEW)  # type: ignore[arg-type]
    again = fp.evaluate("reno", beside=["cubic"], keep=tmp_path, **FEW)  # type: ignore[arg-type]
    assert [run.summary["simulated"] for run in (first, again)] == [4, 4]
    assert pa.table(again.cases).slice(0, 4).drop_columns(["cc"]).equals(pa.table(first.cases).drop_columns(["cc"]))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"cc": "rino"}, 'there is no algorithm "rino"; did you mean "reno"'),
        ({"cc": "reno", "criterion": ["G99"]}, "there is no criterion `G99`"),
        ({"cc": "reno", "match": "nothing"}, "no case has a name with `nothing` in it"),
        ({"cc": "reno", "seeds": 0}, "'seeds': 0 is not in 1..=1000"),
        ({"cc": "reno", "seeds": 1.5}, "for 'seeds'"),
        ({"cc": "reno", "jobs": -1}, "jobs=-1 is no number of jobs"),
        ({"cc": "reno", "jobs": 0}, "jobs=0 is no number of jobs"),
        ({"cc": "reno", "paths": 3}, "required arguments .* draw$"),
        ({"cc": "reno", "paths": 3, "draw": "x"}, "hexadecimal"),
        ({"cc": "reno", "set": {"fixed_cwnd.cwnd_pkts": 9}}, "which does not take part"),
        ({"cc": "level", "set": {"level.patience": 9}}, "it is called `detection_drains` now"),
        ({"cc": "reno", "criteria": "/missing"}, "cannot read it"),
        ({"cc": ["reno", "reno"]}, "names reno twice"),
        ({"cc": []}, "no algorithm is named"),
    ],
)
def test_wrong_arguments_have_the_words_of_the_command_line_with_names_of_python(arguments: dict[str, object], words: str) -> None:
    with pytest.raises(fp.UsageError, match=words) as raised:
        fp.evaluate(**arguments, quiet=True)  # type: ignore[arg-type]
    assert " --" not in str(raised.value) and "'--" not in str(raised.value)


def test_a_comparison_takes_quantities_and_refuses_others_with_the_same_words() -> None:
    path: dict[str, Any] = {"rate": "10mbit", "buffer": "50kB", "duration": "2s"}
    one = fp.compare(["reno"], rtt=["10ms"], stagger="1s", warmup="500ms", **path)
    same = fp.compare(["reno"], rtt=[timedelta(milliseconds=10)], stagger=timedelta(seconds=1), warmup="500ms", **path)
    assert one["reno"].json() == same["reno"].json()
    with pytest.raises(fp.UsageError, match="stagger: "):
        fp.compare(["reno"], rtt=["10ms"], stagger="x", **path)
    with pytest.raises(fp.UsageError, match="^rtt: .*has no unit"):
        fp.compare(["reno"], rtt=["10"], **path)
    with pytest.raises(fp.UsageError, match="^buffer: "):
        fp.compare(["reno"], rate="10mbit", buffer="much")
    with pytest.raises(fp.UsageError, match="^set changes a parameter of `bbq`, which is not compared; cc names reno"):
        fp.compare(["reno"], set={"bbq.alpha": "3ms"}, **path)
    with pytest.raises(fp.UsageError, match="jobs=0 is no number of jobs"):
        fp.compare(["reno"], jobs=0, **path)


def test_a_comparison_names_each_algorithm_once_and_at_least_one() -> None:
    with pytest.raises(fp.UsageError, match="no algorithm is named"):
        fp.compare([])
    with pytest.raises(fp.UsageError, match="^cc names reno twice"):
        fp.compare(["reno", "bbr1", "reno"], duration="2s")


def test_a_comparison_does_not_depend_on_the_number_of_threads_and_has_the_default_warm_up() -> None:
    path: dict[str, Any] = {"rate": "10mbit", "buffer": "50kB", "duration": "6s"}
    one, four = (fp.compare(["reno", "cubic", "bbr1"], jobs=jobs, **path) for jobs in (1, 4))
    assert list(one) == list(four) == ["reno", "cubic", "bbr1"]
    assert [result.json() for result in one.values()] == [result.json() for result in four.values()]
    # a third of a run shorter than 60 s, as of a scenario
    assert one["reno"].summary["window_s"] == [2.0, 6.0]
    scenario = one["bbr1"].scenario
    assert scenario.hash == one["bbr1"].summary["scenario"]["hash"] and fp.run(scenario).json() == one["bbr1"].json()


def test_wrong_types_are_type_errors() -> None:
    with pytest.raises(TypeError, match="criterion is a list of texts"):
        fp.evaluate("reno", criterion="G1")
    with pytest.raises(TypeError, match="cc is a list of texts"):
        fp.duels("bbr1")
    with pytest.raises(TypeError, match="int is none"):
        fp.duels([1])  # type: ignore[list-item]
    with pytest.raises(ValueError, match="match: the text is not Unicode"):
        fp.evaluate("reno", match="\ud800")


def test_duels_have_a_row_for_each_pair_and_buffer() -> None:
    duels = fp.duels(["bbr1", "reno"], duration="3s", warmup="1s", buffer=["1bdp", "4bdp"], seeds=1, quiet=True)
    rows = pa.table(duels.table).to_pylist()
    pairs = [("bbr1", "bbr1"), ("bbr1", "reno"), ("reno", "reno")]
    assert [(row["row"], row["column"]) for row in rows] == pairs * 2
    assert {row["buffer_bytes"] for row in rows} == {250_000, 1_000_000}
    assert all(0 <= row["share_least"] <= row["share"] <= row["share_most"] <= 1 for row in rows)
    assert [duel["share"] for duel in duels.summary["duels"]] == [row["share"] for row in rows]
    assert duels.html().count("<tr>") == 6 and "4bdp" in duels.html()
    with pytest.raises(fp.UsageError, match="^rate: .* is not a rate"):
        fp.duels(["bbr1"], rate="fast")


@needs_clang
def test_a_header_of_a_user_runs_in_this_process(command, tmp_path: Path, monkeypatch) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    header = tmp_path / "frompython.h"
    assert command("new", "frompython", cwd=tmp_path).returncode == 0
    assert fp.load_algorithm(header) == "frompython"
    flows = fp.compare(["frompython"], rate="10mbit", buffer="50kB", rtt=["10ms"], duration="3s", warmup="1s")
    assert flows["frompython"].summary["flows"][0]["goodput_mbps"] > 5


HEADER = """
#include "contract/params.h"
#include "NAME_part.h"
#define NAME_kind CC_OWNS_CWND
#define NAME_parameters(P) P(unused, 1, 1, 9, CC_UNIT_PKTS, "nothing", "any")
struct NAME_params { NAME_parameters(CC_PARAM_FIELD) };
struct NAME { struct NAME_params p; };
CC_INLINE void NAME_init(struct NAME *s, const struct NAME_params *p, const struct cc_view *v, struct cc_decision *d)
{ s->p = *p; d->cwnd_pkts = NAME_PKTS; }
CC_INLINE void NAME_on_ack(struct NAME *s, const struct cc_view *v, struct cc_decision *d)
{ d->cwnd_pkts = NAME_PKTS; }
CC_INLINE void NAME_on_event(struct NAME *s, u32 event, const struct cc_view *v, struct cc_decision *d)
{ d->cwnd_pkts = NAME_PKTS; }
CC_INLINE void NAME_observe(const struct NAME *s, struct cc_observation *o) { o->phase = CC_PHASE_FIXED; }
"""


def _fixed(folder: Path, name: str, pkts: int) -> Path:
    """A header whose cwnd is this, with a part in a file beside it."""
    (folder / f"{name}_part.h").write_text(f"#define {name}_PKTS {pkts}\n")
    header = folder / f"{name}.h"
    header.write_text(HEADER.replace("NAME", name))
    return header


def _cwnd(scenario: fp.Scenario) -> set[float]:
    series = pa.table(fp.run(scenario).series).to_pylist()
    return {row["cwnd_pkts"] for row in series if row["t_s"] > 1}


HEADER_PATH: dict[str, Any] = {"duration": "2s", "links": [fp.Link(rate="100mbit", buffer="1MB")]}


@needs_clang
def test_a_changed_header_is_loaded_again_and_an_unchanged_one_is_not(tmp_path, monkeypatch) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    header = _fixed(tmp_path, "edited", 20)
    assert fp.load_algorithm(header) == "edited"
    before = fp.Scenario(**HEADER_PATH, flows=[fp.Flow(cc="edited", rtt="10ms")])
    assert fp.load_algorithm(header) == "edited"
    assert before == fp.Scenario(**HEADER_PATH, flows=[fp.Flow(cc="edited", rtt="10ms")]) and _cwnd(before) == {20}
    # a part of it changes, and nothing but its path is given
    _fixed(tmp_path, "edited", 30)
    after = fp.Scenario(**HEADER_PATH, flows=[fp.Flow(cc=header, rtt="10ms")])
    assert after != before and (_cwnd(after), _cwnd(before)) == ({30}, {20})
    monkeypatch.chdir(tmp_path)
    assert fp.load_algorithm("./edited.h") == "edited"
    assert _cwnd(before.set({"flow.cc": "edited"})) == {30}
    # another file may not take the name
    (tmp_path / "other").mkdir()
    with pytest.raises(fp.UsageError, match='there is an algorithm "edited" already'):
        fp.load_algorithm(_fixed(tmp_path / "other", "edited", 40))


@needs_clang
def test_the_path_of_a_header_stands_for_its_name(tmp_path, monkeypatch) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    header = _fixed(tmp_path, "bypath", 25)
    file = tmp_path / "beside.toml"
    flow = '[[flow]]\ncc = "bypath.h"\nrtt = "10ms"\n'
    file.write_text('duration = "2s"\n[[link]]\nrate = "100mbit"\nbuffer = "1MB"\n' + flow)
    monkeypatch.chdir("/")
    assert _cwnd(fp.Scenario.load(file)) == {25}
    monkeypatch.chdir(tmp_path)
    assert _cwnd(fp.Scenario(**HEADER_PATH, flows=[fp.Flow(cc="bypath.h", rtt="10ms")])) == {25}
    compared = fp.compare([header, "reno"], duration="2s")
    assert list(compared) == [str(header), "reno"]
    assert compared[str(header)].summary["flows"][0]["cc"] == "bypath"
    assert fp.evaluate(header, beside=[], **FEW).summary["criteria"]  # type: ignore[arg-type]
    swept = fp.sweep(file, {"flow.cc": [header, "reno"]}, out=tmp_path / "out", quiet=True)
    assert swept.failed == 0 and {row["cc"] for row in pa.table(swept.to_arrow()).to_pylist()} == {"bypath", "reno"}
    listed = fp.sweep(scenarios=[str(file), file.read_text()], out=tmp_path / "listed", quiet=True)
    assert listed.failed == 0
    with pytest.raises(fp.UsageError, match="missing.h"):
        fp.Scenario(**HEADER_PATH, flows=[fp.Flow(cc="missing.h", rtt="10ms")])


@needs_clang
def test_a_header_that_does_not_compile_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    header = tmp_path / "broken.h"
    header.write_text("int x = ;\n")
    with pytest.raises(fp.UsageError, match="broken.h"):
        fp.load_algorithm(header)
    with pytest.raises(fp.UsageError, match="No such file"):
        fp.load_algorithm(tmp_path / "missing.h")


@pytest.mark.parametrize(
    ("function", "page", "command"),
    [
        (fp.evaluate, "cli.md", "fairpace evaluate"),
        (fp.compare, "cli.md", "fairpace compare"),
    ],
)
def test_defaults_are_those_of_the_command_line(function: object, page: str, command: str) -> None:
    text = (ROOT / "docs/reference" / page).read_text().split(f"## {command}\n")[1].split("\n## ")[0]
    compared = 0
    for name, parameter in inspect.signature(function).parameters.items():  # type: ignore[arg-type]
        found = re.search(rf"--{name}\s.*?(?=\n\s+(?:-\w, )?--|\Z)", text, re.DOTALL)
        default = found and re.search(r"\[default:\s+(.*?)\]", found[0], re.DOTALL)
        if default:
            ours = parameter.default
            assert (" ".join(ours) if isinstance(ours, tuple) else str(ours)) == default[1], name
            compared += 1
    assert compared >= 2


def test_defaults_of_duels_are_those_of_the_page_of_the_repository() -> None:
    text = (ROOT / "experiments/duels.toml").read_text().split("[duels]\n")[1]
    options = [line.split(" = ") for line in text.splitlines()]
    assert len(options) >= 6
    for name, written in options:
        value = json.loads(written)
        default = inspect.signature(fp.duels).parameters[name].default
        assert (list(default) if isinstance(default, tuple) else default) == value, name
