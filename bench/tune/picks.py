#!/usr/bin/python3
"""heddle-tune's --json results as Markdown tables and, with --plot, as a picture.

    bench/tune/picks.py tuned-4-ranks.json [...] [--plot docs/performance/tuning.svg]
"""

import argparse
import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import pictures  # noqa: E402
from pictures import size_text  # noqa: E402


def name(pick):
    chunk = f" in {size_text(pick['chunk_bytes'])}" if pick["chunk_bytes"] else ""
    return f"{pick['algorithm']} x{pick['channels']}{chunk}"


def world(run):
    return f"{run['ranks']} ranks on {run['hosts']} host{'s' if run['hosts'] > 1 else ''}"


def share(ratios):
    return f"{sum(ratio <= 1.05 for ratio in ratios)} of {len(ratios)}"


def summary(runs):
    print("| world | collective | sizes | tuned within 5 % | worst | model's within 5 % | worst |")
    print("|---|---|--:|--:|--:|--:|--:|")
    for run in runs:
        for collective in dict.fromkeys(cell["collective"] for cell in run["cells"]):
            cells = [cell for cell in run["cells"] if cell["collective"] == collective]
            tuned = [cell["tuned_over_best"] for cell in cells]
            model = [cell["model_over_best"] for cell in cells]
            print(f"| {world(run)} | {collective} | {len(cells)} | {share(tuned)} "
                  f"| {max(tuned):.2f} | {share(model)} | {max(model):.2f} |")
        tuned = [cell["tuned_over_best"] for cell in run["cells"]]
        model = [cell["model_over_best"] for cell in run["cells"]]
        print(f"| {world(run)} | **all** | {len(tuned)} | {share(tuned)} | {max(tuned):.2f} "
              f"| {share(model)} | {max(model):.2f} |")


def cells_table(run, collective):
    print(f"\n{collective}, {world(run)}:\n")
    print("| size | best | us | tuned pick | / best | model's pick | / best |")
    print("|---|---|--:|---|--:|---|--:|")
    for cell in run["cells"]:
        if cell["collective"] == collective:
            print(f"| {size_text(cell['bytes'])} | {name(cell['best'])} | {cell['best']['us']:.4g} "
                  f"| {name(cell['tuned'])} | {cell['tuned_over_best']:.2f} "
                  f"| {name(cell['model'])} | {cell['model_over_best']:.2f} |")


def plot(runs, path):
    figure, axes = pictures.pyplot().subplots(1, len(runs), figsize=(4.6 * len(runs), 3.4),
                                              sharey=True, squeeze=False)
    for axis, run in zip(axes[0], runs):
        for pick, colour, marker in (("model", "#d98032", "x"), ("tuned", "#2f6db3", "o")):
            axis.scatter([cell["bytes"] for cell in run["cells"]],
                         [cell[f"{pick}_over_best"] for cell in run["cells"]],
                         color=colour, marker=marker, s=18, alpha=0.75, label=f"{pick} pick")
        axis.axhline(1.05, color="grey", linewidth=0.8, linestyle="--")
        axis.set_yscale("log")
        axis.set_yticks([1, 1.25, 1.5, 2], ["1", "1.25", "1.5", "2"])
        pictures.size_axis(axis)
        axis.set_title(world(run) + ", all collectives", fontsize=9)
    axes[0][0].set_ylabel("time of the pick / time of the best")
    axes[0][0].legend(fontsize=8)
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None} if path.endswith(".svg") else None)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("results", nargs="+")
    parser.add_argument("--plot", help="where to draw the ratios")
    parser.add_argument("--collective", default="all-reduce", help="whose sizes are shown")
    arguments = parser.parse_args()
    runs = []
    for path in arguments.results:
        with open(path) as file:
            runs.append(json.load(file))
    summary(runs)
    for run in runs:
        cells_table(run, arguments.collective)
    if arguments.plot:
        plot(runs, arguments.plot)


main()
