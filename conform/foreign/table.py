"""Writes the table of docs/conform.md: table.py FAIRPACE FOREIGN. See the script `run` beside this file."""

import json
import pathlib
import subprocess
import sys

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "conform.md"
BEGIN, END = "<!-- table: conform/foreign/run -->\n", "<!-- /table -->\n"
RUNS = 5  # of a subject whose random numbers cannot be seeded
WORDS = {"passed": "pass", "failed": "**fail**", "not_applicable": "n/a", "broken": "**broken**"}


def record(fairpace, arguments):
    done = subprocess.run([fairpace, "conform", "--json", *arguments], capture_output=True, text=True, check=False)
    if done.returncode not in (0, 7):
        sys.exit(f"{' '.join(arguments)}: {done.stderr}")
    return json.loads(done.stdout)


def repeated(fairpace, arguments):
    """The same of several runs; what is not the same in all of them is left out."""
    records = [record(fairpace, arguments) for _ in range(RUNS)]
    cases = [merged(runs) for runs in zip(*(record["cases"] for record in records))]
    passed = sum(case["result"] == "passed" for case in cases)
    return {"subject": records[0]["subject"], "cases": cases, "passed": passed}


def merged(runs):
    worst = next((case for case in runs if case["result"] != "passed"), runs[0])
    if len({case["result"] for case in runs}) > 1:
        worst = dict(worst, sometimes=True)
    if len({case.get("found") for case in runs}) > 1:
        worst = dict(worst, found="different values in each run")
    return worst


def word(case):
    if case.get("sometimes"):
        return "**fails in some runs**"
    return "pass in part" if case.get("unseen") else WORDS[case["result"]]


def table(records):
    name = [f"{record['subject']['name']} {record['subject']['version']}" for record in records]
    lines = ["| case | " + " | ".join(name) + " |", "|---" * (len(name) + 1) + "|"]
    for cases in zip(*(record["cases"] for record in records)):
        title = f"{cases[0]['case']} {cases[0]['title']}"
        lines.append("| " + " | ".join([title, *map(word, cases)]) + " |")
    lines.append("| passed | " + " | ".join(str(record["passed"]) for record in records) + " |")
    lines.append("\nThe first expectation that fails, with its line in the file of the case:\n")
    for subject, record in zip(name, records):
        lines += [f"- {subject}, {case['case']}: {explanation(case)}" for case in record["cases"] if case["result"] != "passed"]
    return "\n".join(lines) + "\n"


def explanation(case):
    if case["result"] != "failed":
        return case.get("reason", case.get("problem"))
    where = f"line {case['line']}, section {case['section']}"
    return f"{where}:\n  expected {case['expected']};\n  found {case['found']}"


def main():
    fairpace, foreign = sys.argv[1:]
    records = [
        record(fairpace, ["--cc", "bbr3_draft"]),
        record(fairpace, ["--cc", "bbr3"]),
        repeated(fairpace, ["--", foreign, "noq-proto"]),
        record(fairpace, ["--", foreign, "s2n-quic-core"]),
        record(fairpace, ["--", foreign, "bbr"]),
    ]
    text = PAGE.read_text(encoding="utf-8")
    before, rest = text.split(BEGIN)
    after = rest.split(END)[1]
    PAGE.write_text(before + BEGIN + table(records) + END + after, encoding="utf-8")


if __name__ == "__main__":
    main()
