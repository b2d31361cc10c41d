"""Sweeps on this machine: what is in the data set, and that it is the same however it is made."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
import time
import tracemalloc
import types
from pathlib import Path
from typing import Any

import pytest

import fairpace as fp
from fairpace import _fairpace, _local, _progress, _runs, _store

TWO_FLOWS = """
title = "two flows"
duration = "1s"
[[link]]
rate = "2mbit"
buffer = "1bdp"
[[flow]]
name = "a"
cc = "bbr1"
rtt = "20ms"
[[flow]]
name = "b"
cc = "cubic"
rtt = "20ms"
"""

OVER = {"link.buffer": ["1bdp", "4bdp"], "flow.b.rtt": ["20ms", "50ms"]}


def rows(made: fp.Sweep, table: Any = "flows") -> list[dict[str, Any]]:
    return list(made.to_arrow(table).to_pyarrow().to_pylist())


def files(folder: Path) -> dict[str, bytes]:
    """All files of a data set."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


@pytest.fixture
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts of at most four runs."""
    monkeypatch.setattr(_runs, "MOST_RUNS", 4)


def test_a_grid_is_all_combinations_and_the_seed_changes_first(tmp_path: Path) -> None:
    made = fp.sweep(TWO_FLOWS, OVER, seeds=[7, 3], out=tmp_path, quiet=True)
    runs = {row["run"]: (row["link.buffer"], row["flow.b.rtt"], row["seed"]) for row in rows(made)}
    assert [runs[run] for run in range(len(made))] == [
        ("1bdp", "20ms", 7), ("1bdp", "20ms", 3), ("1bdp", "50ms", 7), ("1bdp", "50ms", 3),
        ("4bdp", "20ms", 7), ("4bdp", "20ms", 3), ("4bdp", "50ms", 7), ("4bdp", "50ms", 3),
    ]  # fmt: skip


def test_the_numbers_are_those_of_single_runs(tmp_path: Path) -> None:
    made = fp.sweep(TWO_FLOWS, OVER, seeds=[5], out=tmp_path, quiet=True)
    flows, links = rows(made), rows(made, "links")
    assert len(flows) == 8 and len(links) == 4
    for row in flows:
        result = fp.run(TWO_FLOWS, set={"link.buffer": row["link.buffer"], "flow.b.rtt": row["flow.b.rtt"]}, seed=5)
        of_flow = next(flow for flow in result.flows.to_pyarrow().to_pylist() if flow["flow"] == row["flow"])
        assert {key: row[key] for key in of_flow} == of_flow
        assert row["jain"] == result.jain
        assert row["scenario_hash"] == result.summary["scenario"]["hash"]
        assert row["data_packets"] == result.summary["cost"]["data_packets"]
        of_link = result.links.to_pyarrow().to_pylist()[0]
        link = next(link for link in links if link["run"] == row["run"])
        assert {key: link[key] for key in of_link} == of_link


def test_labels_name_changes_of_several_keys(tmp_path: Path) -> None:
    pair = {"bbr1/cubic": {"flow.1.cc": "bbr1", "flow.2.cc": "cubic"}, "reno/reno": {"flow.cc": "reno"}}
    made = fp.sweep(TWO_FLOWS, {"pair": pair}, out=tmp_path, quiet=True)
    assert [(row["pair"], row["flow"], row["cc"]) for row in rows(made)] == [
        ("bbr1/cubic", "a", "bbr1"), ("bbr1/cubic", "b", "cubic"), ("reno/reno", "a", "reno"), ("reno/reno", "b", "reno"),
    ]  # fmt: skip


def test_a_list_of_changes_is_a_run_each(tmp_path: Path) -> None:
    over: list[dict[str, object]] = [{"link.rate": "1mbit"}, {"link.rate": "2mbit", "flow.a.start": "500ms", "seed": 4}]
    made = fp.sweep(TWO_FLOWS, over, out=tmp_path, quiet=True)
    runs = [(row["link.rate"], row["flow.a.start"], row["seed"]) for row in rows(made) if row["flow"] == "a"]
    assert runs == [("1mbit", None, 1), ("2mbit", "500ms", 4)]


def test_a_list_of_scenarios_is_a_run_each(tmp_path: Path) -> None:
    path = tmp_path / "scenario.toml"
    path.write_text(TWO_FLOWS.replace("two flows", "in a file"))
    changed = fp.Scenario.from_toml(TWO_FLOWS).set({"title": "changed", "seed": 9})
    made = fp.sweep(scenarios=[TWO_FLOWS, path, changed], out=tmp_path / "out", quiet=True)
    runs = [(row["run"], row["title"], row["seed"]) for row in rows(made) if row["flow"] == "a"]
    assert runs == [(0, "two flows", 1), (1, "in a file", 1), (2, "changed", 9)]
    assert {row["scenario_hash"] for row in rows(made)} == {changed.hash}


def test_columns_have_the_kind_of_their_values(tmp_path: Path) -> None:
    over = {"bbr1.bw_window_rounds": [8, 10]} if _has_parameter("bbr1", "bw_window_rounds") else {"flow.count": [1, 2]}
    made = fp.sweep(TWO_FLOWS, over, out=tmp_path, quiet=True)
    key = next(iter(over))
    assert sorted({row[key] for row in rows(made)}) == over[key]


def _has_parameter(algorithm: str, parameter: str) -> bool:
    found = next(one for one in fp.algorithms() if one["name"] == algorithm)
    return any(one["name"] == parameter for one in found["parameters"])


def test_a_failed_run_is_a_row_with_its_error(tmp_path: Path) -> None:
    over = [{"link.buffer": buffer} for buffer in ("1bdp", "3B")]
    made = fp.sweep(TWO_FLOWS, over, seeds=[1, 2], out=tmp_path, quiet=True)
    assert made.failed == 2 and len(made) == 4
    failed = [row for row in rows(made) if row["error"] is not None]
    assert [(row["run"], row["error_kind"], row["seed"]) for row in failed] == [(2, "usage", 1), (3, "usage", 2)]
    assert failed[0]["error"].startswith("link.buffer: ") and "it must be at least 1514B" in failed[0]["error"]
    assert {row["title"] for row in failed} == {"two flows"} and failed[0]["scenario_hash"] is None
    # without seeds it is that of the scenario, or of the change
    wrong = [{"link.buffer": "3B"}, {"link.buffer": "3B", "seed": 9}]
    own = fp.sweep(TWO_FLOWS, wrong, out=tmp_path / "own", quiet=True)
    assert [row["seed"] for row in rows(own)] == [1, 9]
    numbers = {"jain", "goodput_mbps", "flow", "data_packets", "retransmits", "window_from_s"}
    assert all(row[key] is None for row in failed for key in numbers)
    assert [row["run"] for row in rows(made, "links")] == [0, 1]


def test_a_value_with_which_no_run_is_possible_is_an_error_before_the_first(tmp_path: Path) -> None:
    over: dict[str, Any] = {"link.buffer": ["1bdp", "2bdp"], "flow.2.rtt": ["10ms", "20ms", "nonsense"]}
    with pytest.raises(fp.UsageError, match=r"^over\['flow.2.rtt'\]\[2\]: ") as raised:
        fp.sweep(TWO_FLOWS, over, out=tmp_path, quiet=True)
    assert raised.value.problems[0].key == "flow.rtt" and not list(tmp_path.iterdir())
    with pytest.raises(fp.UsageError, match=r"^over\['pair'\]\[1\]: .*there is no algorithm `bbr9`"):
        fp.sweep(TWO_FLOWS, {"pair": {"a": {"flow.1.cc": "bbr3"}, "b": {"flow.1.cc": "bbr9"}}}, out=tmp_path)
    # a value that needs others is not wrong
    over = {"link.queue": ["fifo", "codel"], "link.target": ["5ms", "9ms"]}
    made = fp.sweep(TWO_FLOWS, over, out=tmp_path / "needs", quiet=True)
    assert [row["run"] for row in rows(made) if row["error"]] == [0, 1] and made.failed == 2


def test_an_error_has_all_that_is_wrong_and_what_to_write(tmp_path: Path) -> None:
    broken = TWO_FLOWS.replace("2mbit", "2mbps").replace("cubic", "cubik")
    [row] = rows(fp.sweep(scenarios=[broken], out=tmp_path, quiet=True))
    first, second = row["error"].split("\n")
    assert first.startswith("scenario 0:5:8: ") and "ambiguous" in first
    assert "cubik" in second and "did you mean `cubic`?" in second


def test_arrays_of_numpy_are_values_and_seeds(tmp_path: Path) -> None:
    numpy = pytest.importorskip("numpy")
    made = fp.sweep(TWO_FLOWS, {"flow.count": numpy.array([1, 2])}, numpy.arange(3, 5), out=tmp_path, quiet=True)
    found = {(row["flow.count"], row["seed"]) for row in rows(made)}
    assert found == {(1, 3), (1, 4), (2, 3), (2, 4)}


def test_without_ray_the_error_says_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(fp.UnsupportedError, match=r"pip install 'fairpace\[ray\]'"):
        fp.sweep(TWO_FLOWS, out=tmp_path / "out", on="ray", quiet=True)
    assert not (tmp_path / "out").exists()


def test_a_notebook_has_one_line_that_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines: list[str] = []

    class Handle:
        def update(self, line: object) -> None:
            lines.append(repr(line))

    module: Any = types.ModuleType("IPython.display")
    module.display = lambda _, display_id: Handle()
    monkeypatch.setitem(sys.modules, "ipykernel", types.ModuleType("ipykernel"))
    monkeypatch.setitem(sys.modules, "IPython", types.ModuleType("IPython"))
    monkeypatch.setitem(sys.modules, "IPython.display", module)
    fp.sweep(TWO_FLOWS, out=tmp_path)
    assert lines[-1].startswith("1 of 1 runs, 100 %")


def test_if_all_runs_fail_there_are_rows_of_errors_alone(tmp_path: Path) -> None:
    made = fp.sweep(TWO_FLOWS, [{"link.buffer": "3B"}], out=tmp_path, quiet=True)
    assert made.failed == 1 and [row["flow"] for row in rows(made)] == [None]
    assert rows(made, "links") == []


@pytest.mark.usefixtures("small_parts")
def test_the_files_are_the_same_whatever_the_number_of_jobs_and_the_size_of_pieces(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fp.sweep(TWO_FLOWS, OVER, range(5), out=tmp_path / "a", jobs=1, quiet=True)
    monkeypatch.setattr(_local.Local, "piece_packets", lambda *_: 1.0)
    fp.sweep(TWO_FLOWS, OVER, range(5), out=tmp_path / "b", jobs=3, quiet=True)
    a, b = files(tmp_path / "a"), files(tmp_path / "b")
    assert a == b
    assert len(a) == 2 * 5 + 1, "20 runs in parts of 4, in two tables, and the manifest"


@pytest.mark.usefixtures("small_parts")
def test_parts_that_are_there_are_not_made_again(tmp_path: Path) -> None:
    first = fp.sweep(TWO_FLOWS, OVER, range(5), out=tmp_path, quiet=True)
    before = files(tmp_path)
    for path in sorted((tmp_path / "flows").iterdir())[1:3]:
        path.unlink()
    for damaged in (sorted((tmp_path / "flows").iterdir())[0], sorted((tmp_path / "links").iterdir())[3]):
        damaged.write_bytes(damaged.read_bytes()[:100])
    with pytest.raises(fp.OutputError, match=f"{damaged.name} cannot be read.*makes a damaged file again"):
        first.to_arrow("links")
    second = fp.sweep(TWO_FLOWS, OVER, range(5), out=tmp_path, quiet=True)
    third = fp.sweep(TWO_FLOWS, OVER, range(5), out=tmp_path, quiet=True)
    assert (first.made, second.made, third.made) == (20, 16, 0)
    assert files(tmp_path) == before


def test_failures_are_counted_again_after_an_interruption(tmp_path: Path) -> None:
    over = [{"link.buffer": "1bdp"}, {"link.buffer": "3B"}]
    fp.sweep(TWO_FLOWS, over, out=tmp_path, quiet=True)
    again = fp.sweep(TWO_FLOWS, over, out=tmp_path, quiet=True)
    assert (again.made, again.failed) == (0, 1)


@pytest.mark.usefixtures("small_parts")
def test_parts_with_an_error_of_a_kind_are_made_again_where_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The errors are those that an earlier version wrote where a cluster of Ray had failed."""

    def lost(piece: Any, cancel: Any) -> Any:
        if piece.first < 12:
            return simulate(piece, cancel)
        why = "its worker was lost in each of 4 attempts"
        return _fairpace.failed_rows(piece.first, piece.jobs, piece.columns, piece.values, why), 0.0

    def sweep(out: str, retry: Any = None) -> tuple[int, int | None]:
        made = fp.sweep(TWO_FLOWS, over, range(5), out=tmp_path / out, retry=retry, quiet=True)
        return made.made, made.failed

    # a part with runs that fail and others, one in which all fail, and parts of others alone
    over = [{"link.buffer": buffer} for buffer in ("1bdp", "3B", "4bdp", "2bdp")]
    simulate = _local.simulate
    with monkeypatch.context() as patch:
        patch.setattr(_local, "simulate", lost)
        assert sweep("a") == (20, 13)
    assert sweep("a") == (0, 13)
    with monkeypatch.context() as patch:
        patch.setattr(_local, "simulate", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            sweep("a", retry="internal")
    # what was there is there, but the manifest no longer says that all is done
    assert fp.Sweep(tmp_path / "a").failed is None and len(fp.Sweep(tmp_path / "a").to_arrow()) == 2 * 20 - 13
    assert sweep("a", retry="internal") == (8, 5)
    assert sweep("b") == (20, 5)
    assert files(tmp_path / "a") == files(tmp_path / "b")
    assert sweep("a", retry="usage") == (8, 5) and sweep("a") == (0, 5)
    assert files(tmp_path / "a") == files(tmp_path / "b")
    with pytest.raises(fp.UsageError, match="retry='all' is no kind of error; write retry=\"internal\""):
        sweep("a", retry="all")


DRIVER = """
    import sys
    import fairpace as fp
    from fairpace import _runs
    _runs.MOST_RUNS = 20
    scenario = open(sys.argv[1]).read()
    fp.sweep(scenario, {"duration": ["20s"]}, range(400), out=sys.argv[2], jobs=2, quiet=True)
"""


def start_driver(tmp_path: Path, out: Path) -> subprocess.Popen[bytes]:
    scenario = tmp_path / "sweep.toml"
    scenario.write_text(TWO_FLOWS)
    return subprocess.Popen([sys.executable, "-c", textwrap.dedent(DRIVER), str(scenario), str(out)])


def wait_for_parts(out: Path, count: int, driver: subprocess.Popen[bytes]) -> None:
    while driver.poll() is None and len(list((out / "flows").glob("*"))) < count:
        pass
    assert driver.poll() is None, "it ended before it could be interrupted: make the sweep longer"


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_an_interrupted_sweep_is_continued_and_ends_with_the_same_files(tmp_path: Path, how: signal.Signals) -> None:
    whole, cut = tmp_path / "whole", tmp_path / "cut"
    assert start_driver(tmp_path, whole).wait() == 0
    driver = start_driver(tmp_path, cut)
    wait_for_parts(cut, 3, driver)
    driver.send_signal(how)
    assert driver.wait(timeout=30) != 0
    assert fp.Sweep(cut).failed is None, "it is not complete"
    there = {path.name: path.stat().st_mtime_ns for path in (cut / "flows").iterdir()}
    assert start_driver(tmp_path, cut).wait() == 0
    after = {path.name: path.stat().st_mtime_ns for path in (cut / "flows").iterdir()}
    assert len(there) < len(after) and there.items() <= after.items()
    visible = {name: content for name, content in files(cut).items() if not name.startswith(".")}
    assert visible == files(whole)


def test_another_sweep_or_build_in_the_same_folder_is_an_error(tmp_path: Path) -> None:
    fp.sweep(TWO_FLOWS, OVER, out=tmp_path, quiet=True)
    with pytest.raises(fp.UsageError, match=r"another sweep: its scenarios or values differ; name another folder"):
        fp.sweep(TWO_FLOWS, {**OVER, "link.buffer": ["1bdp", "2bdp"]}, out=tmp_path, quiet=True)
    with pytest.raises(fp.UsageError, match="another sweep: it has seeds = None, and this one 2"):
        fp.sweep(TWO_FLOWS, OVER, seeds=[1, 2], out=tmp_path, quiet=True)
    manifest = json.loads((tmp_path / "sweep.json").read_text())
    (tmp_path / "sweep.json").write_text(json.dumps({**manifest, "commit": "0123abc"}))
    with pytest.raises(fp.UsageError, match="are of commit 0123abc, and this is"):
        fp.sweep(TWO_FLOWS, OVER, out=tmp_path, quiet=True)
    (tmp_path / "sweep.json").unlink()
    with pytest.raises(fp.UsageError, match="has files that are not of this sweep"):
        fp.sweep(TWO_FLOWS, OVER, out=tmp_path, quiet=True)


def test_other_data_frames_scan_the_data_set(tmp_path: Path) -> None:
    duckdb, polars = pytest.importorskip("duckdb"), pytest.importorskip("polars")
    dataset = pytest.importorskip("pyarrow.dataset")
    made = fp.sweep(TWO_FLOWS, OVER, range(3), out=tmp_path, quiet=True)
    expected = len(rows(made))
    assert made.scan().select(polars.len()).collect().item() == expected
    assert polars.scan_parquet(tmp_path / "flows").select(polars.len()).collect().item() == expected
    assert duckdb.sql(f"select count(*) from '{made.glob()}'").fetchall() == [(expected,)]
    assert dataset.dataset(tmp_path / "flows").count_rows() == expected


def test_a_data_set_may_be_where_fsspec_reaches(tmp_path: Path) -> None:
    fsspec = pytest.importorskip("fsspec")
    made = fp.sweep(TWO_FLOWS, OVER, out="memory://sweeps/one", quiet=True)
    again = fp.sweep(TWO_FLOWS, OVER, out="memory://sweeps/one", quiet=True)
    local = fp.sweep(TWO_FLOWS, OVER, out=f"file://{tmp_path}", quiet=True)
    assert (made.made, again.made) == (4, 0)
    assert rows(made) == rows(local)
    assert made.scan().collect().equals(local.scan().collect()), "polars has no such protocol: it is read as a whole"
    remote = fsspec.filesystem("memory")
    for name, content in files(tmp_path).items():
        assert remote.cat_file(f"/sweeps/one/{name}") == content


def test_a_folder_that_cannot_be_written_is_an_error_with_a_remedy(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(fp.OutputError, match="name another folder"):
        fp.sweep(TWO_FLOWS, out=tmp_path / "file" / "out", quiet=True)
    with pytest.raises(fp.UnsupportedError, match="name a folder"):
        fp.sweep(TWO_FLOWS, out="nowhere://x", quiet=True)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"over": {"flow.rt": ["1ms"]}}, "there is no key `flow.rt`"),
        ({"over": {"pair": {"x": {"flow.9.cc": "reno"}}}}, "there is no flow `9`"),
        ({"over": {"pair": {"x": {"flow.rtt": "1ms"}, "y": {"flow.rt": "1ms"}}}}, "there is no key `flow.rt`"),
        ({"over": {"seed": [1]}}, "seeds="),
        ({"seeds": [3, -1]}, "the seeds are from -1 to 3; they may be 0 to"),
        ({"seeds": [2**63]}, "the seeds are from"),
        ({"over": {"jain": {"a": {"flow.cc": "reno"}}}}, "the name of a column of results"),
        ({"over": {"flow.rtt": []}}, "has no values"),
        ({"seeds": []}, "the sweep has no runs"),
        ({"over": [{"seed": 1}], "seeds": [1]}, "both over and seeds give a seed"),
        ({"over": {"start": {"early": {"seed": 1}}}, "seeds": [1]}, "both over and seeds give a seed"),
        ({"on": "moon"}, "no place for a sweep"),
        ({"jobs": 0}, "no number of jobs"),
    ],
)
def test_a_wrong_sweep_is_an_error_of_the_sweep(tmp_path: Path, arguments: dict[str, Any], words: str) -> None:
    with pytest.raises(fp.UsageError, match=words):
        fp.sweep(TWO_FLOWS, out=tmp_path / "out", quiet=True, **arguments)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    "arguments",
    [
        {"over": {"flow.rtt": "1ms"}},
        {"over": {"pair": {"x": "reno"}}},
        {"over": ({} for _ in range(3))},
        {"seeds": 3},
        {"seeds": ["1"]},
        {"scenarios": [TWO_FLOWS]},
    ],
)
def test_a_wrong_type_is_a_type_error(tmp_path: Path, arguments: dict[str, Any]) -> None:
    with pytest.raises(TypeError):
        fp.sweep(TWO_FLOWS, out=tmp_path / "out", quiet=True, **arguments)
    with pytest.raises(TypeError):
        fp.sweep(out=tmp_path / "out", quiet=True, scenarios=[3])  # type: ignore[list-item]


def test_there_is_no_sweep_in_an_empty_folder(tmp_path: Path) -> None:
    with pytest.raises(fp.UsageError, match="there is no sweep in"):
        fp.Sweep(tmp_path)
    for content in ("3", "{}", '{"runs": "x"}', "\0"):
        (tmp_path / "sweep.json").write_text(content)
        with pytest.raises(fp.UsageError, match="is not of a sweep"):
            fp.Sweep(tmp_path)
        with pytest.raises(fp.UsageError, match="is not of a sweep"):
            fp.sweep(TWO_FLOWS, out=tmp_path, quiet=True)


def test_a_data_set_is_read_whatever_its_folder_is_called(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("a[1]", "b*?", "c"):
        made = fp.sweep(TWO_FLOWS, out=name, quiet=True)
        monkeypatch.chdir("/")
        assert made.scan().collect().height == len(made.to_arrow()) == 2
        duckdb = pytest.importorskip("duckdb")
        assert len(duckdb.execute(f"select * from read_parquet('{made.glob()}')").fetchall()) == 2
        monkeypatch.chdir(tmp_path)


def test_without_a_usual_stderr_a_sweep_is_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Log:
        """What some programs put in the place of stderr."""

        text = ""

        def write(self, text: str) -> int:
            self.text += text
            return len(text)

        def flush(self) -> None:
            pass

    monkeypatch.setattr(sys, "stderr", None)
    assert fp.sweep(TWO_FLOWS, out=tmp_path / "a").made == 1
    log = Log()
    monkeypatch.setattr(sys, "stderr", log)
    assert fp.sweep(TWO_FLOWS, out=tmp_path / "b").made == 1
    assert log.text.startswith("1 of 1 runs, 100 %")


def test_parts_are_bounded_in_runs_and_in_packets() -> None:
    cheap = list(_runs.runs_of(TWO_FLOWS, None, range(2500), None).parts())
    assert [(part.first, len(part.costs)) for part in cheap] == [(0, 1000), (1000, 1000), (2000, 500)]
    # 10 Gbit/s for 60 s: 50 million packets each
    long = _runs.runs_of(TWO_FLOWS, {"link.rate": ["10gbit"], "duration": ["60s"]}, range(40), None)
    assert [len(part.costs) for part in long.parts()] == [20, 20]
    piece = next(iter(long.parts())).pieces(120e6)
    assert [len(indices) for indices in piece] == [2] * 10


def test_a_million_runs_take_no_memory() -> None:
    over: dict[str, Any] = {"flow.a.start": [f"{ms}ms" for ms in range(100)], "link.buffer": ["1bdp", "2bdp"]}
    tracemalloc.start()
    runs = _runs.runs_of(TWO_FLOWS, over, range(5000), None)
    assert len(runs) == 1_000_000
    (_, _, sets), values = runs.job(999_999)
    assert sets == [("flow.a.start", "99ms"), ("link.buffer", "2bdp"), ("seed", "4999")] and values == ["99ms", "2bdp"]
    first = next(runs.parts())
    assert len(first.costs) == 1000
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 1_000_000


GROWTH = """
    import resource, sys
    import fairpace as fp
    scenario = open(sys.argv[1]).read()
    # the first parts fill all buffers
    fp.sweep(scenario, None, range(2000), out=sys.argv[2] + "/a", quiet=True)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    fp.sweep(scenario, None, range(20000), out=sys.argv[2] + "/b", quiet=True)
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


def test_memory_does_not_grow_with_the_number_of_runs(tmp_path: Path) -> None:
    scenario = tmp_path / "sweep.toml"
    scenario.write_text(TWO_FLOWS.replace("1s", "100ms").replace("2mbit", "100kbit").replace("1bdp", "20kB"))
    command = [sys.executable, "-c", textwrap.dedent(GROWTH), str(scenario), str(tmp_path)]
    growth_kb = int(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    # 18,000 runs of 300 bytes would be 5 MB, and their rows in memory 20 MB
    assert growth_kb < 5_000


def test_the_line_of_progress_says_rate_and_time_left() -> None:
    progress = _progress.Progress(100, 1000.0, quiet=True)
    assert progress.line(1.0) == "0 of 100 runs, 0 %, 0.0 runs/s, 0.00 M packets/s"
    progress.reused(10, 0, 100.0)
    progress.add(20, 1, 4_000_000, 300.0)
    # 600 of cost are left, and 300 took 30 s
    assert progress.line(30.0) == "30 of 100 runs, 30 %, 0.7 runs/s, 0.13 M packets/s, 1 failed, about 60 s left"
    progress.add(70, 0, 0, 600.0)
    assert progress.line(90.0).endswith("1 failed")


def test_progress_is_shown_on_standard_error_unless_quiet(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    fp.sweep(TWO_FLOWS, out=tmp_path / "a", quiet=True)
    assert capfd.readouterr() == ("", "")
    fp.sweep(TWO_FLOWS, out=tmp_path / "b")
    shown = capfd.readouterr()
    assert shown.out == "" and shown.err.startswith("1 of 1 runs, 100 %")


def test_a_file_is_there_as_a_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = _store.store_of(tmp_path)

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(fp.OutputError, match="No space left"):
        store.write("flows/part", b"content")
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


SCHEDSTAT = Path("/proc/thread-self/schedstat")
"""Of a thread: nanoseconds in which it ran, and in which it waited for a core."""


@pytest.mark.skipif(not SCHEDSTAT.exists(), reason="SKIPPED: this kernel does not count how long threads wait")
def test_two_cores_are_busy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A core counts as busy while a thread runs or waits for one, so that other programs do not matter."""

    def demand_s() -> float:
        ran_ns, waited_ns, _ = SCHEDSTAT.read_text().split()
        return (int(ran_ns) + int(waited_ns)) / 1e9

    def counted(*arguments: Any) -> Any:
        before = demand_s()
        done = simulate(*arguments)
        demands.append(demand_s() - before)
        return done

    demands: list[float] = []
    simulate = _local.simulate
    monkeypatch.setattr(_local, "simulate", counted)
    begun = time.perf_counter()
    made = fp.sweep(TWO_FLOWS, None, range(3000), out=tmp_path, jobs=2, quiet=True)
    wall_s = time.perf_counter() - begun
    assert len(made) == 3000
    # 97 % in 10,000 runs (docs/scale.md); starting and ending takes more of a short sweep
    assert sum(demands) / wall_s / 2 > 0.85
