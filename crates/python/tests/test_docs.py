"""What the documentation prints runs as it is printed."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from conftest import ROOT


def code_of(page: str) -> str:
    """The code of a page: what is between fences of Python, or, on a page without any, what is indented."""
    text = (ROOT / page).read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    return "\n".join(blocks or ["\n".join(line[4:] for line in text.split("\n") if line.startswith("    "))])


@pytest.mark.parametrize("page", ["docs/python.md", "crates/python/README.md"])
def test_the_code_of_a_page_runs(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # scenarios are named from the folder of the repository, and results are written to the working directory
    (tmp_path / "scenarios").symlink_to(ROOT / "scenarios")
    monkeypatch.chdir(tmp_path)
    code = code_of(page)
    assert code.count("fp.") > 2, "the page has code"
    names: dict[str, Any] = {}
    exec(compile(code, page, "exec"), names)
    assert names["sweep"].failed == 0
