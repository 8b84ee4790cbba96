"""What the pictures and tables of the benchmarks have in common. Reads nothing, needs matplotlib
only where a picture is drawn."""


def size_text(size):
    for unit, name in ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if size >= unit and size % unit == 0:
            return f"{size // unit} {name}"
    return f"{size} B"


def pyplot():
    """matplotlib.pyplot, which draws into files, the same file from the same numbers."""
    import matplotlib
    matplotlib.use("Agg")
    matplotlib.rcParams["svg.hashsalt"] = "heddle"
    import matplotlib.pyplot
    return matplotlib.pyplot


def size_axis(axes):
    """Message sizes on a log axis: 8 B, 512 B, 32 KiB, 2 MiB, ..."""
    axes.set_xscale("log", base=2)
    low, high = axes.get_xlim()
    ticks = [size for size in (1 << bit for bit in range(0, 60)) if low <= size <= high]
    ticks = ticks[::max(1, -(-len(ticks) // 7))]
    axes.set_xticks(ticks, [size_text(size) for size in ticks], fontsize=8)
    axes.minorticks_off()
    axes.set_xlabel("message size")


def busbw_axes(axes, title):
    """Call it when the lines are drawn."""
    axes.set_yscale("log")
    size_axis(axes)
    axes.set_title(title, fontsize=10)
    axes.set_ylabel("bus bandwidth (GB/s)")
    axes.grid(True, which="major", linewidth=0.4, alpha=0.6)
    axes.legend(fontsize=8)


def save(figure, stem):
    """As SVG and as PNG; returns both paths."""
    figure.tight_layout()
    figure.savefig(f"{stem}.svg", metadata={"Date": None})
    figure.savefig(f"{stem}.png", dpi=130)
    return [f"{stem}.svg", f"{stem}.png"]
