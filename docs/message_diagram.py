#!/usr/bin/env python3
"""Draws docs/images/nccl_message.svg: two messages of the NCCL plugin on their way, a long one and
a small one, as calls and arrows between two processes. Time runs down. Needs nothing but Python:

    python3 docs/message_diagram.py > docs/images/nccl_message.svg
"""

import math

RAILS = ["#4477aa", "#228833", "#cc8800", "#aa3377"]
GREY, CREDIT, CALL = "#777777", "#555555", "#f4f4f4"
HEIGHT = 486
parts = []


def text(x, y, words, anchor="middle", **style):
    extra = "".join(f' {name.replace("_", "-")}="{value}"' for name, value in style.items())
    parts.append(f'<text x="{x}" y="{y}" text-anchor="{anchor}"{extra}>{words}</text>')


def line(x1, y1, x2, y2, colour, width=1.5, dash="", arrow=False):
    parts.append(f'<path d="M{x1} {y1}L{x2} {y2}" stroke="{colour}" stroke-width="{width}"'
                 + (f' stroke-dasharray="{dash}"' if dash else "")
                 + (f' marker-end="url(#a{colour[1:]})"' if arrow else "") + ' fill="none"/>')


class Panel:
    """Two processes: lines of time at `left` and `right`, with buffers beside them."""

    def __init__(self, left, right, title):
        self.left, self.right = left, right
        text((left + right) / 2, 24, title, font_weight="bold", font_size=15)
        text(left, 52, "sender", fill=GREY)
        text(right, 52, "receiver", fill=GREY)
        for x in (left, right):
            line(x, 62, x, HEIGHT - 16, "#bbbbbb", 2)

    def call(self, side, y, name, answer, good=None):
        """A call at a line of time, and what it answers, on the outer side of it."""
        x = self.left if side == "left" else self.right
        out = -1 if side == "left" else 1
        fill = {None: CALL, True: "#dff0df", False: "#fbe9e2"}[good]
        corner = x - 132 if out < 0 else x + 10
        parts.append(f'<rect x="{corner}" y="{y - 17}" width="122" height="36" rx="5" '
                     f'fill="{fill}" stroke="#999999"/>')
        parts.append(f'<circle cx="{x}" cy="{y}" r="4" fill="#333333"/>')
        text(corner + 61, y - 2, name, font_family="monospace", font_size=12)
        text(corner + 61, y + 13, answer, font_size=11, fill="#444444")

    def arrow(self, y1, y2, colour, label="", back=False, width=1.5, dash=""):
        x1, x2 = (self.right - 6, self.left + 7) if back else (self.left + 6, self.right - 7)
        line(x1, y1, x2, y2, colour, width, dash, arrow=True)
        if label:  # along the arrow, above it
            left, right = ((x2, y2), (x1, y1)) if back else ((x1, y1), (x2, y2))
            angle = math.degrees(math.atan2(right[1] - left[1], right[0] - left[0]))
            x, y = (x1 + x2) / 2, (y1 + y2) / 2
            text(x, y, label, dy=-6, font_size=11, fill=colour,
                 transform=f"rotate({angle:.1f} {x} {y})")


def long_message(panel):
    panel.call("left", 92, "isend 8 MiB", "null: not now", good=False)
    panel.call("right", 112, "irecv 8 MiB", "a request")
    panel.arrow(122, 158, CREDIT, "credit: address, keys, tag", back=True, dash="5 3")
    panel.call("left", 176, "isend 8 MiB", "a request")
    for rail, (start, end) in enumerate(((190, 258), (204, 286), (218, 316), (232, 352))):
        panel.arrow(start, end, RAILS[rail], "" if rail else "RDMA writes, a rail each", width=3)
    panel.call("right", 226, "test", "not done")
    for rail, y in enumerate((258, 286, 316, 352)):  # what lies in the buffer by then
        for piece in range(4):
            there = piece <= rail
            parts.append(f'<rect x="{panel.right + 14 + 22 * piece}" y="{y - 5}" width="20" '
                         f'height="10" fill="{RAILS[piece] if there else "#ffffff"}" '
                         'stroke="#999999" stroke-width="0.7"/>')
    panel.call("right", 390, "test", "done, 8 MiB", good=True)
    panel.arrow(352, 392, GREY, "all have left", back=True, dash="2 4", width=1)
    panel.call("left", 412, "test", "done", good=True)


def small_message(panel):
    panel.call("left", 92, "isend 100 B", "a request")
    panel.arrow(102, 148, RAILS[2], "ahead: number, tag, bytes", width=3)
    panel.call("left", 140, "test", "done: copied", good=True)
    parts.append(f'<rect x="{panel.right + 14}" y="141" width="92" height="16" rx="3" '
                 f'fill="{RAILS[2]}" opacity="0.85"/>')
    text(panel.right + 60, 153, "bounce buffer", font_size=11, fill="#ffffff")
    panel.call("right", 222, "irecv 4 KiB", "a request")
    line(panel.right + 60, 160, panel.right + 60, 200, RAILS[2], 1.5, "3 3", arrow=True)
    text(panel.right + 68, 184, "its tag fits", anchor="start", font_size=11, fill=RAILS[2])
    panel.call("right", 276, "test", "done, 100 B", good=True)
    panel.arrow(300, 340, CREDIT, "credits, four in company", back=True, dash="5 3")
    panel.call("left", 358, "isend 100 B", "a request")
    panel.arrow(370, 410, RAILS[2], "eager, into credit 1", width=3)
    panel.call("right", 424, "test", "done, 100 B", good=True)


def main():
    colours = sorted({*RAILS, GREY, CREDIT})
    markers = "".join(
        f'<marker id="a{c[1:]}" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="10" '
        f'markerHeight="10" markerUnits="userSpaceOnUse" orient="auto">'
        f'<path d="M0 0L8 4L0 8z" fill="{c}"/></marker>' for c in colours)
    long_message(Panel(146, 356, "a long message"))
    small_message(Panel(654, 864, "a small message"))
    line(505, 20, 505, HEIGHT - 16, "#dddddd", 1)
    print(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1010 {HEIGHT}" '
          f'font-family="sans-serif" font-size="13">\n<rect width="1010" height="{HEIGHT}" '
          f'fill="#ffffff"/>\n<defs>{markers}</defs>')
    print("\n".join(parts))
    print("</svg>")


main()
