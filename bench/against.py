#!/usr/bin/env python3
"""Measures a commit and the working tree turn by turn, and prints the ratio of every figure.

bench/against.py 2ee5a1e store growth                    three turns of each
bench/against.py 2ee5a1e store --turns 5 -- --quick      flags behind `--` go to the benchmark
bench/against.py 2ee5a1e growth --same-bench -- --items 10000000
                                                         the benchmark of the working tree measures both

Both are built without LTO, in `target/against`. A ratio is new to old, the median of the turns: above 1 is faster for
rates, below 1 is faster for times. `ratio` as a figure is next to the bare side of the same run: it changes least where
the machine itself becomes slower from one run to the next.
"""

import argparse
import pathlib
import re
import shutil
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PLACE = ROOT / "target" / "against"
BUILD = ["cargo", "build", "--release", "--locked", "-p", "latchkey-bench"]
CONFIG = ["--config", "profile.release.lto=false", "--config", "profile.release.codegen-units=16"]
NUMBER = re.compile(r"^(-?[\d,]+(?:\.\d+)?)(?: (µs|ms|MB))?$")


def say(text):
    print(text, file=sys.stderr, flush=True)


def build(source, name):
    """Builds the benchmark of a source tree, and returns its binary."""
    say(f"building {name}")
    target = PLACE / f"{name}-target"
    subprocess.run([*BUILD, *CONFIG, "--target-dir", str(target)], cwd=source, check=True)
    return target / "release" / "latchkey-bench"


def checked_out(commit, same_bench):
    """A source tree of a commit, with its own benchmark or that of the working tree."""
    tree = PLACE / "old"
    if not tree.exists():
        subprocess.run(["git", "worktree", "add", "--detach", str(tree), commit], cwd=ROOT, check=True)
    subprocess.run(["git", "checkout", "--quiet", "--force", "--detach", commit], cwd=tree, check=True)
    subprocess.run(["git", "clean", "--quiet", "--force", "bench"], cwd=tree, check=True)
    if same_bench:
        shutil.rmtree(tree / "bench" / "src")
        shutil.copytree(ROOT / "bench" / "src", tree / "bench" / "src")
    return tree


def figures(text):
    """Every number of the Markdown tables of a text, by its table's title, its row's words and its column."""
    found, title, heading, words = {}, "", None, 0
    for line in text.splitlines():
        if not line.startswith("|"):
            heading = None
            # A line of its own that is code is the title of the next table.
            if line.strip():
                title = f"{line} " if line.startswith("`") else ""
            continue
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if heading is None:
            heading = cells
            # What says which row it is, and is no measurement: all up to the number of clients or connections.
            words = next((at for at in (2, 1) if cells[at - 1] in ("clients", "connections", "events", "callers")), 1)
            continue
        if set(line) <= set("|-: "):
            continue
        row = " ".join(cells[:words])
        for column, cell in zip(heading[words:], cells[words:]):
            number = NUMBER.match(cell)
            if number and "bare" not in column:
                found[(title + row, column)] = float(number[1].replace(",", ""))
    return found


def run(binary, measure, flags):
    done = subprocess.run([binary, measure, *flags], cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True)
    return figures(done.stdout)


def compare(old, new, measure, turns, flags):
    seen = {}
    for turn in range(turns):
        say(f"{measure}: turn {turn + 1} of {turns}")
        # Who goes first changes with each turn.
        order = [("old", old), ("new", new)]
        both = {name: run(binary, measure, flags) for name, binary in (order if turn % 2 else order[::-1])}
        for key, after in both["new"].items():
            before = both["old"].get(key)
            if before and after:
                seen.setdefault(key, []).append((before, after))
    print(f"\n`{measure}`, {turns} turns\n\n| what | figure | old | new | ratio | turn by turn |")
    print("|---|---|---:|---:|---:|---|")
    for (row, column), pairs in seen.items():
        ratios = [after / before for before, after in pairs]
        before, after = (statistics.median(side) for side in zip(*pairs))
        each = " ".join(f"{ratio:.2f}" for ratio in ratios)
        print(f"| {row} | {column} | {before:,.6g} | {after:,.6g} | {statistics.median(ratios):.2f} | {each} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("commit", help="the commit to compare with, or a `latchkey-bench` binary of it")
    parser.add_argument("measures", nargs="+", choices=["store", "growth", "http", "participation", "windows", "check"])
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--same-bench", action="store_true", help="measure the commit, too, with this tree's benchmark")
    parser.add_argument("--new", help="a `latchkey-bench` binary, instead of the working tree")
    if "--" in sys.argv:
        at = sys.argv.index("--")
        flags, sys.argv[at:] = sys.argv[at + 1 :], []
    else:
        flags = []
    arguments = parser.parse_args()
    is_binary = pathlib.Path(arguments.commit).is_file()
    old = arguments.commit if is_binary else build(checked_out(arguments.commit, arguments.same_bench), "old")
    new = arguments.new or build(ROOT, "new")
    for measure in arguments.measures:
        compare(old, new, measure, arguments.turns, flags)


main()
