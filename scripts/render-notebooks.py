"""Executes the notebooks and writes them, with what they print and draw, as pages: docs/notebooks/NAME.md and NAME_files.

    render-notebooks.py NOTEBOOK.py... --out FOLDER [--work FOLDER]
    render-notebooks.py NOTEBOOK.py... --out FOLDER --check

Each runs in the folder of --work, where what it writes stays. --check executes nothing: it says which page does not have the text
and the code of its notebook. scripts/python.sh has an environment with all that is needed.
"""

import argparse
import re
import shutil
import sys
from pathlib import Path

import jupytext
from nbconvert.exporters import MarkdownExporter
from nbconvert.preprocessors import ExecutePreprocessor
from traitlets.config import Config

ROOT = Path(__file__).resolve().parent.parent
STYLE = ROOT / "notebooks/fairpace.mplstyle"
# The palettes of reports, which pictures of notebooks have, too.
PALETTE, DARK = (ROOT / f"crates/report/assets/{name}.css" for name in ("palette", "dark"))
FLOWS = [f"flow-{index}" for index in range(8)]
# Pictures that a diff can show, in the same bytes for the same data; data frames as plain tables.
FIRST_CELL = f"""\
import matplotlib.style, polars
get_ipython().run_line_magic("config", "InlineBackend.figure_formats = ['svg']")
matplotlib.rcParams |= {{"svg.hashsalt": "fairpace", "svg.fonttype": "none", "savefig.transparent": False}}
matplotlib.style.use({str(STYLE)!r})
matplotlib.rcParams["font.sans-serif"] = ["DejaVu Sans"]  # each text names them all
polars.Config(tbl_hide_dataframe_shape=True, tbl_hide_column_data_types=True, tbl_width_chars=125, tbl_rows=40)
polars.Config(fmt_str_lengths=90, float_precision=3)
"""
LONGEST_CELL_S = 3600


def page(notebook: Path, work: Path, out: Path) -> None:
    """Executes a notebook and writes its page."""
    cells = jupytext.read(notebook)
    cells.cells.insert(0, jupytext.reads(f"# %%\n{FIRST_CELL}", "py:percent").cells[0])
    cells.metadata["kernelspec"] = {"name": "python3", "language": "python", "display_name": "Python 3"}
    resources = {"metadata": {"path": str(work)}}
    ExecutePreprocessor(timeout=LONGEST_CELL_S).preprocess(cells, resources)
    del cells.cells[0]
    exporter = MarkdownExporter(config=Config({
        # a report in HTML is for a notebook; a page shows the text of the same object
        "NbConvertBase": {"display_data_priority": ["image/svg+xml", "text/markdown", "text/plain"]},
        "ExtractOutputPreprocessor": {"enabled": True},
    }))
    name = notebook.stem
    text, made = exporter.from_notebook_node(cells, {"unique_key": name, "output_files_dir": f"{name}_files"})
    shutil.rmtree(out / f"{name}_files", ignore_errors=True)
    for path, data in made["outputs"].items():
        (out / path).parent.mkdir(exist_ok=True)
        (out / path).write_bytes(small(data))
    text = re.sub(r"\n{3,}", "\n\n", re.sub(r"[ \t]+\n", "\n", text)).strip()
    text = with_fences(with_alternatives(text))
    origin = f"<!-- made by scripts/python.sh --notebooks from notebooks/{notebook.name} -->"
    (out / f"{name}.md").write_text(f"{origin}\n\n{text}\n", encoding="utf-8")


def small(svg: bytes) -> bytes:
    """A picture without the time and program of its making, with hundredths of a point, without rotations by nothing, and with
    a dark scheme."""
    svg = re.sub(rb"\s*<metadata>.*?</metadata>", b"", svg, flags=re.DOTALL)
    svg = re.sub(rb' transform="rotate\(-0 [^)]*\)"', b"", svg)
    svg = svg.replace(b"</style>", dark_rules(svg.decode()).encode() + b"</style>", 1)
    svg = re.sub(rb"-?\d+\.\d{3,}", lambda number: f"{float(number[0]):.2f}".rstrip("0").rstrip(".").encode(), svg)
    return re.sub(rb"\s*\n\s*", b"\n", svg).rstrip() + b"\n"


def colours(sheet: Path) -> dict[str, str]:
    """The colours of a palette by their names, in the long form."""
    found = dict(re.findall(r"--([a-z0-9-]+): (#[0-9a-f]+);", sheet.read_text(encoding="utf-8")))
    return {name: f"#{2 * colour[1]}{2 * colour[2]}{2 * colour[3]}" if len(colour) == 4 else colour for name, colour in found.items()}


def dark_rules(svg: str) -> str:
    """The rules that give a picture of matplotlib the dark colours, where the reader prefers them. matplotlib writes a colour into
    the style of its element, except black into that of a text."""
    light, dark = colours(PALETTE), colours(DARK)
    other = {light[name]: dark[name] for name in ("paper", *FLOWS)} | {"#000000": dark["muted"], "#cccccc": dark["edge"]}
    pairs = [(name, colour) for colour in other for name in ("fill", "stroke") if f"{name}: {colour}" in svg]
    rules = [f'[style*="{name}: {colour}"]{{{name}:{other[colour]}!important}}' for name, colour in pairs]
    return "\n".join(["@media (prefers-color-scheme: dark){", f"text{{fill:{dark['ink']}}}", *rules, "}"])


def with_alternatives(text: str) -> str:
    """The page with the heading above each picture as its alternative text."""
    heading, is_code, lines = "", False, text.split("\n")
    for index, line in enumerate(lines):
        is_code ^= line.startswith("```")
        if line.startswith("#") and not is_code:
            heading = line.lstrip("# ")
        lines[index] = line.replace("![svg]", f"![{heading}]", 1)
    return "\n".join(lines)


def with_fences(text: str) -> str:
    """The page with what cells print between fences, and not indented."""
    lines, is_code, is_output = [], False, False
    for line in text.split("\n"):
        is_code ^= line.startswith("```")
        starts = not is_code and line.startswith("    ")
        if starts and not is_output:
            lines.append("```text")
        # an empty line may be followed by more of the same output
        elif is_output and line and not starts:
            while not lines[-1]:
                del lines[-1]
            lines += ["```", ""]
        is_output = starts or (is_output and not line)
        lines.append(line[4:] if starts else line)
    return "\n".join([*lines, "```"] if is_output else lines)


def is_current(notebook: Path, out: Path) -> bool:
    """Whether the page has the text and the code of the notebook, in their order."""
    try:
        text, at = (out / f"{notebook.stem}.md").read_text(encoding="utf-8"), 0
    except FileNotFoundError:
        return False
    for cell in jupytext.read(notebook).cells:
        source = re.sub(r"\n{3,}", "\n\n", cell.source)
        source = f"```python\n{source}\n```" if cell.cell_type == "code" else source
        at = text.find(source, at)
        if at < 0:
            return False
        at += len(source)
    return True


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("notebooks", nargs="+", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--work", type=Path, default=Path())
    parser.add_argument("--check", action="store_true")
    args = parser.parse_args()
    if args.check:
        flows = [colours(PALETTE)[name].lstrip("#") for name in FLOWS]
        if re.findall(r'"([0-9a-f]{6})"', STYLE.read_text(encoding="utf-8")) != flows:
            print(f"{STYLE} has other colours than {PALETTE}", file=sys.stderr)
            return 1
        old = [notebook for notebook in args.notebooks if not is_current(notebook, args.out)]
        for notebook in old:
            print(f"{args.out / notebook.stem}.md is not of {notebook}: run `make notebooks`", file=sys.stderr)
        return bool(old)
    args.out.mkdir(exist_ok=True)
    for notebook in args.notebooks:
        print(f"{notebook} is executed", flush=True)
        page(notebook, args.work, args.out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
