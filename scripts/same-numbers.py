#!/usr/bin/env python3
"""Compares the numbers of two checkouts, before and after a change that must not change any.

    scripts/same-numbers.py OLD_TREE NEW_TREE --out DIR [--jobs N] [--only KIND,...] [--seeds N] [--built]

Builds the programs of both trees (profile `counted`), makes the records of each kind with both, applies RENAMES to the old ones, cuts
CUT out of both, and compares the rest byte by byte, as JSON with sorted keys. Prints a table, and of each record that differs the first
line where it does; both forms of it are in DIR/different. The exit code is 1 if one differs.

The tables below are those of the refactoring of issue 39, which began at 9b7db1e6. For another one, empty RENAMES and FILES, and give
both columns of the commands what the right one has now; then add what the refactoring renames.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

# Texts of records: old, new. Parameters, keys of JSON.
RENAMES = {'"patience"': '"detection_drains"', '"base":': '"stack":'}
# Files and folders: old, new. The first that fits counts.
FILES = {
    "scenarios/ccwg/base.toml": "scenarios/ccwg/middle.toml",
    "conformance/level": "research/level/validation",
    "conformance": "experiments/validation",
}
# Arguments of fairpace-dev: old, new. {reproduction} is a copy in DIR, as the commands write beside it.
FIGURES = ("reproduce --short --fresh --dir {reproduction}", "run {reproduction} --short --fresh")
DUELS = ("duels --seeds 1", "run experiments/duels.toml --short")
# Keys that may differ: of the build, of the call, hashes (another name of a parameter is another hash), times, prose.
CUT = set("schema commit command hash scenarios_hash scenario wall_s cpu_s title asks why about what text source section".split())
# How the validation changes its scenarios for the simulator (crates/dev/src/run/validation/cases.rs). Its drawn flows need no run:
# they are a pure function of a seed, whose text has a hash in the tests of draw.rs.
SIMULATED = [('"kernel:bbr"', '"bbr1"'), ('"kernel:', '"')]
SIMULATIONS = ["--set", "flow.host_jitter=20us", "--repeat", "5"]


class Tree:
    """A checkout, with the programs that were built of it."""

    def __init__(self, path: Path, is_old: bool, out: Path, jobs: int):
        self.path, self.is_old, self.jobs, self.schemas = path.resolve(), is_old, f"--jobs={jobs}", set()
        self.out = out.resolve() / ("old" if is_old else "new")
        self.out.mkdir(parents=True, exist_ok=True)
        # a folder for each tree: in one of both, Cargo takes a crate of one tree for the same crate of the other
        self.target = self.out / "target"
        packages = ["-p", "fairpace", "-p", "fairpace-dev", "--target-dir", self.target, f"-j{jobs}"]
        if not args.built:
            subprocess.run(["cargo", "build", "--locked", "--profile=counted", *packages], cwd=self.path, check=True)

    def call(self, program: str, *arguments: object):
        """What the program prints, as a record."""
        environment = {**os.environ, "XDG_CACHE_HOME": str(self.out / "cache")}
        command = [self.target / "counted" / program, "--quiet", "--json", *map(str, arguments)]
        done = subprocess.run(command, cwd=self.path, env=environment, capture_output=True, text=True)
        if not done.stdout:  # two equal errors are no equal numbers
            raise RuntimeError(f"{command}: {done.stderr}")
        return self.record(done.stdout)

    def record(self, text: str):
        """A record with RENAMES and without CUT; numbers stay the digits that they are."""
        for old, new in RENAMES.items() if self.is_old else []:
            text = text.replace(old, new)
        try:
            return self.cut(json.loads(text, parse_float=str, parse_int=str))
        except ValueError:  # a time series, or a scenario, with parameters in the order of their names
            text = re.sub(r"(?m)^title = .*\n", "", text)
            return re.sub(r"(?m)(?<=^set = \{ ).*(?= \}$)", lambda of: ", ".join(sorted(of[0].split(", "))), text).splitlines()

    def cut(self, value):
        if isinstance(value, list):
            return [self.cut(one) for one in value]
        if not isinstance(value, dict):
            return value
        self.schemas |= {value["schema"]} if "schema" in value else set()
        return {key: self.cut(one) for key, one in value.items() if key not in CUT}

    def place(self, old: str) -> Path:
        """Where a file of the old tree is in this one."""
        if not self.is_old:
            moved = next((of for of in FILES if old == of or old.startswith(f"{of}/")), "")
            old = FILES.get(moved, moved) + old.removeprefix(moved)
        return self.path / old

    def simulate(self, path: Path, *more: str) -> dict:
        """Summary, time series and canonical form of a run."""
        out = self.out / re.sub(r"\W", "_", str(path))
        files = {"printed": self.call("fairpace", "sim", path, "--out", out, *more)}
        for name in ["summary.json", "repeat.json", "series.csv", "scenario.toml"]:
            files |= {name: self.record((out / name).read_text())} if (out / name).exists() else {}
        shutil.rmtree(out, ignore_errors=True)
        return files

    def swarm(self, seed: int) -> dict:
        """What the check of a random scenario says, and a run of it."""
        checked = self.call("fairpace-dev", "swarm", "--count=1", f"--seed={seed}", "--out", self.out)
        run = self.simulate(self.out / str(seed) / "scenario.toml")
        shutil.rmtree(self.out / str(seed), ignore_errors=True)
        return {str(seed): {"checked": checked, **run}}

    def validation(self, name: str) -> dict:
        text = self.place(name).read_text()
        for kernels, ours in SIMULATED:
            text = text.replace(kernels, ours)
        path = self.out / name.replace("/", "_")
        path.write_text(text)
        run = self.simulate(path, *SIMULATIONS)
        path.unlink()
        return {name: run}

    def criteria(self, _: str) -> dict:
        """Cases in the quick form, the counts of each algorithm, and what else there is of each criterion."""
        records = {}
        options = ["--beside=none", "--quick", "--fresh", self.jobs]
        for criterion in self.call("fairpace", "evaluate", *args.cc.split(","), *options)["criteria"]:
            for of in criterion.pop("algorithms"):
                place = f"{criterion['id']}/{of['cc']}"
                records |= {f"{place}/{case['case']}": case for case in of.pop("results")} | {place: of}
            records[criterion["id"]] = criterion
        return records

    def dev(self, calls: tuple[str, str]):
        """What a command of fairpace-dev prints."""
        reproduction = self.out / "reproduction"
        shutil.copytree(self.path / "reproduction", reproduction, dirs_exist_ok=True)
        arguments = calls[0 if self.is_old else 1].format(reproduction=reproduction).split()
        return self.call("fairpace-dev", *arguments, self.jobs)

    def figures(self, _: str) -> dict:
        return {"/".join([of["paper"], of["figure"], of["stack"]]): of for of in self.dev(FIGURES)}

    def duels(self, _: str) -> dict:
        record = self.dev(DUELS)
        return {"/".join([of["buffer"], of["row"], of["column"]]): of for of in record.pop("duels")} | {"all": record}


def difference(folder: Path, name: str, one: str, other: str) -> str:
    """Writes both forms; returns the first line that differs."""
    folder.mkdir(exist_ok=True)
    for form, text in [("old", one), ("new", other)]:
        (folder / f"{name.replace('/', '_')}.{form}").write_text(text)
    lines = zip([*one.split("\n"), ""], [*other.split("\n"), ""])
    at, (was, now) = next((at, pair) for at, pair in enumerate(lines, 1) if pair[0] != pair[1])
    return f"{name}, line {at}: {was.strip()[:160]} | {now.strip()[:160]}"


parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("trees", nargs=2, type=Path, metavar="TREE")
parser.add_argument("--out", type=Path, required=True, metavar="DIR")
parser.add_argument("--jobs", type=int, default=2, metavar="N", help="runs at a time")
parser.add_argument("--seeds", type=int, default=1000, metavar="N", help="seeds of the swarm")
parser.add_argument("--cc", default="level,bbr3,bbq,cubic", metavar="NAME,...", help="algorithms at the criteria")
kinds = "scenarios,swarm,validation,criteria,figures,duels"
parser.add_argument("--only", default=kinds, metavar="KIND,...", help="by default all")
parser.add_argument("--built", action="store_true", help="build nothing: the programs are in DIR, of a call before")
args = parser.parse_args()
old, new = (Tree(path, at == 0, args.out, args.jobs) for at, path in enumerate(args.trees))
files = lambda folder: sorted(str(of.relative_to(old.path)) for of in (old.path / folder).rglob("*.toml"))
works = {
    "scenarios": (lambda tree, name: {name: tree.simulate(tree.place(name))}, files("scenarios")),
    "swarm": (Tree.swarm, range(1, args.seeds + 1)),
    "validation": (Tree.validation, [name for name in files("conformance") if not name.endswith("draw.toml")]),
} | {kind: (getattr(Tree, kind), [""]) for kind in ["criteria", "figures", "duels"]}
differences = []
print(f"{'kind':10} {'compared':>8} {'equal':>8} {'different':>9}")
for kind in args.only.split(","):
    make, items = works[kind]
    compared, before = 0, len(differences)
    with ThreadPoolExecutor(args.jobs) as pool:
        for was, now in pool.map(lambda item: (make(old, item), make(new, item)), items):
            for name in sorted(was.keys() | now.keys()):
                compared += 1
                one, other = (json.dumps(of.get(name), sort_keys=True, indent=1) for of in (was, now))
                if one != other:
                    differences.append(difference(args.out / "different", f"{kind}/{name}", one, other))
    different = len(differences) - before
    print(f"{kind:10} {compared:8} {compared - different:8} {different:9}", flush=True)
print(*differences, f"schemas: {sorted(old.schemas - new.schemas)} | {sorted(new.schemas - old.schemas)}", sep="\n")
sys.exit(1 if differences else 0)
