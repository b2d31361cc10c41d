"""Tables are read by other libraries without a copy."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path

import duckdb
import fairpace as fp
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from conftest import TWO

NAMES = ("flows", "links", "series", "link_series", "backlog", "events")


@pytest.mark.parametrize("name", NAMES)
def test_all_libraries_read_the_same_rows(two: fp.Result, name: str) -> None:
    table: fp.Table = getattr(two, name)
    arrow = pa.table(table)
    assert arrow.num_rows == len(table) > 0
    assert arrow.column_names == table.column_names == [column for column, _ in table.columns()]
    assert pl.DataFrame(table).equals(table.to_polars())
    assert pl.DataFrame(table).to_arrow().to_pylist() == arrow.to_pylist()
    assert isinstance(table.to_pandas(), pd.DataFrame) and len(table.to_pandas()) == len(table)
    assert table.to_pyarrow().equals(arrow)
    assert duckdb.sql("select count(*) from arrow").fetchall() == [(len(table),)]


def test_columns_are_not_copied(two: fp.Result) -> None:
    # the same memory, both times
    first, again = (pa.table(two.series)["goodput_mbps"].chunk(0).buffers()[1].address for _ in range(2))
    assert first == again


def test_metadata_name_the_run(two: fp.Result, tmp_path: Path) -> None:
    metadata = dict(two.series.metadata)
    assert metadata["fairpace.commit"] == fp.COMMIT
    assert metadata["fairpace.seed"] == "1"
    assert metadata["fairpace.scenario.hash"] == fp.Scenario.from_toml(TWO).hash
    two.series.to_parquet(tmp_path / "series.parquet")
    assert pq.read_table(tmp_path / "series.parquet").equals(pa.table(two.series))
    read = pq.read_metadata(tmp_path / "series.parquet").metadata
    assert metadata.items() <= {key.decode(): value.decode() for key, value in read.items()}.items()


def test_numbers_of_a_table_are_those_of_the_summary(two: fp.Result) -> None:
    rows = pa.table(two.flows).to_pylist()
    for row, flow in zip(rows, two.summary["flows"], strict=True):
        assert (row["flow"], row["cc"], row["goodput_mbps"]) == (flow["name"], flow["cc"], flow["goodput_mbps"])
    assert two.jain == two.summary["jain"]


def test_a_table_outlives_its_result() -> None:
    table = pa.table(fp.run(TWO).series)
    assert table["t_s"].to_pylist()[0] >= 0


def test_a_file_that_cannot_be_written_is_an_error(two: fp.Result, tmp_path: Path) -> None:
    with pytest.raises(fp.OutputError, match="cannot be written"):
        two.series.to_parquet(tmp_path / "missing" / "series.parquet")
    with pytest.raises(fp.OutputError, match="the report cannot be written"):
        two.write_report(tmp_path / "missing" / "report.html")
    with pytest.raises(ValueError, match="events=True"):
        _ = fp.run(TWO).events


def test_a_file_has_the_permissions_of_any_other(two: fp.Result, tmp_path: Path) -> None:
    (tmp_path / "other").touch()
    two.flows.to_parquet(tmp_path / "flows.parquet")
    assert (tmp_path / "flows.parquet").stat().st_mode == (tmp_path / "other").stat().st_mode


def test_a_table_shows_its_size_and_its_columns(two: fp.Result) -> None:
    assert repr(two.flows).startswith("<Table of 2 rows: flow, cc, ")


def test_results_and_tables_can_be_pickled_and_copied(two: fp.Result) -> None:
    for again in (pickle.loads(pickle.dumps(two)), copy.deepcopy(two), copy.copy(two)):
        assert (again.json(), again.html(), repr(again)) == (two.json(), two.html(), repr(two))
        assert again.summary == two.summary and (again.seed, again.commit) == (two.seed, two.commit)
        assert again.scenario == two.scenario
        for name in ("flows", "links", "series", "link_series", "backlog", "events"):
            first, second = (pa.table(getattr(one, name)) for one in (two, again))
            # of metadata, too
            assert first.equals(second, check_metadata=True), name
    for table in (two.series, two.flows, two.events):
        for again in (pickle.loads(pickle.dumps(table)), copy.deepcopy(table)):
            assert pa.table(again).equals(pa.table(table), check_metadata=True)
    # one that another process has made is as the own one
    assert pickle.loads(pickle.dumps(pickle.loads(pickle.dumps(two)))).json() == two.json()


def test_a_result_names_its_scenario_seed_and_commit(two: fp.Result) -> None:
    assert two.scenario == fp.Scenario.from_toml(TWO) and two.scenario.hash == two.summary["scenario"]["hash"]
    assert (two.seed, two.commit) == (1, fp.COMMIT) and fp.run(TWO, seed=7).seed == 7
    assert fp.run(two.scenario).json() == two.json()


def test_one_thing_has_one_name(two: fp.Result) -> None:
    """Of the columns that a join of two tables would have twice, each has the same values in both."""
    flows, series, links, of_links = (set(one.column_names) for one in (two.flows, two.series, two.links, two.link_series))
    assert flows & series == {"flow", "cc", "goodput_mbps"}
    assert links & of_links == {"link", "dropped_pkts"}
    assert {"base_rtt_ms", "dropped_pkts", "marked_pkts"} <= flows and {"dropped_pkts", "marked_pkts"} <= links
    old = {"rtt_ms", "algorithm", "drops", "marks", "early_drops"}
    assert not old & (flows | links | of_links) and "algorithm" not in series
    assert [row["base_rtt_ms"] for row in pa.table(two.flows).to_pylist()] == [10.0, 30.0]


def test_a_notebook_shows_the_report(two: fp.Result, tmp_path: Path) -> None:
    assert two._repr_html_().startswith("<iframe srcdoc=")
    two.write_report(tmp_path / "report.html")
    assert (tmp_path / "report.html").read_text() == two.html()
    assert "two flows" in two.html() and "10ms" in repr(two)
