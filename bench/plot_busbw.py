#!/usr/bin/python3
"""Draws bus bandwidth over size, a line for each library, from the CSV of compare_peers.py.

    bench/plot_busbw.py docs/performance/peers.csv docs/performance/busbw

writes docs/performance/busbw.svg and .png.
"""

import collections
import csv
import statistics
import sys

import pictures


def read(path):
    """(group, ranks, op) -> library -> size -> [busbw]."""
    table = collections.OrderedDict()
    with open(path, newline="") as file:
        for row in csv.DictReader(file):
            place = table.setdefault((row["group"], int(row["ranks"]), row["op"]), {})
            by_size = place.setdefault(row["library"], collections.defaultdict(list))
            by_size[int(row["bytes"])].append(float(row["busbw"]))
    return table


def draw(axes, key, by_library):
    for library, by_size in by_library.items():
        sizes = sorted(by_size)
        ours = library == "heddle"
        axes.plot(sizes, [statistics.median(by_size[size]) for size in sizes], label=library,
                  marker="o", markersize=3, linewidth=2.5 if ours else 1.2,
                  color="black" if ours else None, zorder=3 if ours else 2)
    pictures.busbw_axes(axes, "{}, {} ranks, {}".format(*key))


def main():
    if len(sys.argv) != 3:
        sys.exit("usage: plot_busbw.py ROWS.csv PICTURE (without .svg or .png)")
    table = read(sys.argv[1])
    if not table:
        sys.exit(f"{sys.argv[1]} holds no rows")
    columns = min(2, len(table))
    lines = (len(table) + columns - 1) // columns
    figure, axes = pictures.pyplot().subplots(lines, columns, squeeze=False,
                                              figsize=(6 * columns, 4.2 * lines))
    places = axes.flat
    for place, (key, by_library) in zip(places, table.items()):
        draw(place, key, by_library)
    for place in list(axes.flat)[len(table):]:
        place.axis("off")
    pictures.save(figure, sys.argv[2])


main()
