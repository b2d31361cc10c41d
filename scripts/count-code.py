#!/usr/bin/env python3
"""Counts the lines of Rust and C that git tracks in crates and cc, per crate: neither blank nor a comment, and no tests.

    scripts/count-code.py [FOLDER ...]    of these folders, and the sum
"""

import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

TESTS = re.compile(r"(^|/)(tests|benches)/|(^|/)tests\.rs$")
CODE = {".rs", ".c", ".h", ".def"}


def count(path: Path) -> int:
    """Lines of the file, without those of a test module that ends it."""
    lines = 0
    text = path.read_text(errors="replace").split("\n")
    for at, line in enumerate(text):
        line = line.strip()
        if line == "#[cfg(test)]" and text[at + 1].startswith("mod ") and text[at + 1].endswith("{"):
            break
        if line and not line.startswith("//"):
            lines += 1
    return lines


folders = sys.argv[1:] or ["crates", "cc"]
tracked = subprocess.run(["git", "ls-files", *folders], capture_output=True, text=True, check=True).stdout.split()
per = Counter()
for name in tracked:
    path = Path(name)
    if TESTS.search(name) or path.suffix not in CODE or not path.is_file():
        continue
    per["/".join(path.parts[:2])] += count(path)
for folder, lines in sorted(per.items(), key=lambda entry: -entry[1]):
    print(f"{lines:8} {folder}")
print(f"{sum(per.values()):8} all")
