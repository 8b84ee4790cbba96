#!/usr/bin/env python3
"""Who may know whom in src/ and plugins/ (docs/design.md), read from the #include lines; and which
names may stand where: a provider's in one file, a GPU vendor's in that vendor's folders."""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
SRC = ROOT / "src"
PLUGINS = ROOT / "plugins"

ROOM = re.compile(r"heddle_room\((\w+)\b[^)]*\bKNOWS\b([^)]*)\)")
PIPE = re.compile(r"target_link_libraries\(heddle_(pipe) INTERFACE([^)]*)\)")


def rooms():
    """Folder of src/ -> the folders that its files may include: what its CMakeLists.txt links."""
    folders, links = {}, {}
    for path in sorted(SRC.glob("*/**/CMakeLists.txt")):
        text = path.read_text()
        for name, known in (*ROOM.findall(text), *PIPE.findall(text)):
            folders[name] = path.parent.relative_to(SRC).as_posix()
            links[name] = re.findall(r"\bheddle_(\w+)", known)
    known = {folders[name]: {folders[name], *(folders[link] for link in links[name])}
             for name in links}
    # Who knows a folder below another's knows that one: transport/pipe.hpp is what both offer.
    return {folder: some | {each.rsplit("/", 1)[0] for each in some if "/" in each}
            for folder, some in known.items()}


MAY_KNOW = rooms()

# A plugin shows something of ours to one other program: what it may know, below communicators.
PLUGINS_KNOW = {
    "nccl-net-ofi": {"nccl-net-ofi", "base", "topology", "transport", "transport/fabric",
                     "device/cuda"},
    "nccl-tuner": {"nccl-tuner", "base", "topology", "collectives", "tuner"},
}

# Outside libraries and system interfaces -> the only place below src/ that may include them.
OUTSIDE = {
    r"rdma/": "transport/fabric/",
    r"hwloc": "topology/",
    r"hwy/": "device/",
    r"mpi\.h": None,
    r"cuda|nccl|nrt": "VENDOR",
}
VENDOR_FOLDER = re.compile(r"^(device|executor)/(cuda|neuron)/")
VENDOR_NAME = re.compile(r"cuda|neuron", re.IGNORECASE)
VENDOR_FILE = re.compile(r"^transport/fabric/device_memory\.[ch]pp$")  # libfabric's words for them
PROVIDER_FILE = re.compile(r"^transport/fabric/provider\.[ch]pp$")
PROVIDER_LITERAL = re.compile(r'"(?:efa|tcp|sockets|net)(?:;[a-z_]+)*"')
INCLUDE = re.compile(r'^\s*#\s*include\s+(?:"([^"]+)"|<([^>]+)>|(\w+))')
COMMENT = re.compile(r"//.*|/\*.*?\*/")


def room_of(path):
    """The deepest known folder that a path of src/ lies in."""
    parts = path.split("/")[:-1]
    for end in range(len(parts), 0, -1):
        if "/".join(parts[:end]) in MAY_KNOW:
            return "/".join(parts[:end])
    return path.split("/")[0]


def include_faults(place, line):
    match = INCLUDE.match(line)
    if not match:
        return
    quoted, angled, macro = match.groups()
    if macro:  # Highway's foreach_target.h works through a macro
        if not place.startswith("device/"):
            yield f"includes through the macro {macro}, which hides what it knows"
        return
    name = quoted or angled
    folder = room_of(place)
    known = room_of(name)
    if quoted and known in MAY_KNOW:
        if known not in MAY_KNOW[folder]:
            yield f'includes "{name}": {folder}/ may know only {sorted(MAY_KNOW[folder])}'
        if not (SRC / name).exists():
            yield f'includes "{name}", which is not there'
    elif quoted and known not in ("heddle", "hwy"):  # Highway's own spelling is quoted
        yield f'includes "{name}": write "folder/file.hpp" from src/, or <...> for other libraries'
    for pattern, where in OUTSIDE.items():
        if known != "heddle" and not (quoted and known in MAY_KNOW) and re.match(pattern, name):
            allowed = VENDOR_FOLDER.match(place) if where == "VENDOR" else (
                where is not None and place.startswith(where))
            if not allowed:
                yield f"includes <{name}>, which belongs to {where or 'no file of src/'}"


def name_faults(place, line):
    code = COMMENT.sub("", line)
    if not PROVIDER_FILE.match(place):
        for literal in PROVIDER_LITERAL.findall(code):
            yield f"names the provider {literal}, which belongs to transport/fabric/provider.*"
    if not VENDOR_FOLDER.match(place) and not VENDOR_FILE.match(place) and VENDOR_NAME.search(code):
        yield f"names a vendor, which belongs to device/<vendor>/ and executor/<vendor>/"


def plugin_faults(place, line):
    """Of a path below plugins/."""
    match = INCLUDE.match(line)
    if not match:
        return
    quoted, angled, macro = match.groups()
    if macro or angled:
        if macro or any(re.match(pattern, angled) for pattern in OUTSIDE):
            yield f"includes {macro or angled}, which belongs to src/"
        return
    plugin = place.split("/")[0]
    known = plugin if quoted.startswith(plugin + "/") else room_of(quoted)
    if known not in PLUGINS_KNOW[plugin] and quoted != "heddle/version.h":
        yield f'includes "{quoted}": {plugin}/ may know only {sorted(PLUGINS_KNOW[plugin])}'
    elif not any((folder / quoted).exists() for folder in (SRC, PLUGINS, ROOT / "include")):
        yield f'includes "{quoted}", which is not there'


def faults():
    for path in sorted(PLUGINS.rglob("*.[ch]*")):
        place = path.relative_to(PLUGINS).as_posix()
        if place.split("/")[0] not in PLUGINS_KNOW:
            yield f"plugins/{place}: not a plugin that this test knows"
            continue
        for number, line in enumerate(path.read_text().splitlines(), 1):
            for fault in plugin_faults(place, line):
                yield f"plugins/{place}:{number}: {fault}"
    for path in sorted(SRC.rglob("*.[ch]*")):
        place = path.relative_to(SRC).as_posix()
        folder = place.split("/")[0]
        if "/" not in place or folder not in MAY_KNOW:
            yield f"src/{place}: not in a folder that this test knows; give it a heddle_room"
            continue
        for number, line in enumerate(path.read_text().splitlines(), 1):
            for fault in (*include_faults(place, line), *name_faults(place, line)):
                yield f"src/{place}:{number}: {fault}"


# Lines that must be found at fault, so that this test cannot go blind.
MUST_FAIL = [
    ("collectives/ring.cpp", '#include "transport/pipe.hpp"'),
    ("transport/pipe.hpp", '#include "collectives/schedule.hpp"'),
    ("base/log.cpp", '#include "topology/host.hpp"'),
    ("collectives/select.cpp", '#include "topology/machine.hpp"'),
    ("device/reduce.cpp", '#include "topology/cpu.hpp"'),
    ("transport/fabric/core.cpp", '#include "transport/shared_memory/transport.hpp"'),
    ("transport/pipe.hpp", '#include "transport/fabric/rail.hpp"'),
    ("communicator/communicator.cpp", "#include <rdma/fabric.h>"),
    ("communicator/bootstrap.cpp", "#include <mpi.h>"),
    ("executor/host.cpp", '  if (provider == "tcp;ofi_rxm") return;'),
    ("device/reduce.cpp", "  load_cuda();"),
    ("transport/fabric/rail.cpp", "  attributes.iface = FI_HMEM_CUDA;"),
    ("device/reduce.cpp", '#include "reduce.hpp"'),
]


PLUGINS_MUST_FAIL = [
    ("nccl-net-ofi/comm.cpp", '#include "communicator/communicator.hpp"'),
    ("nccl-net-ofi/comm.cpp", '#include "collectives/schedule.hpp"'),
    ("nccl-net-ofi/comm.cpp", '#include "nccl-tuner/abi.hpp"'),
    ("nccl-net-ofi/comm.cpp", '#include "transport/shared_memory/transport.hpp"'),
    ("nccl-net-ofi/comm.cpp", "#include <rdma/fabric.h>"),
    ("nccl-net-ofi/comm.cpp", "#include <nccl.h>"),
    ("nccl-net-ofi/comm.cpp", "#include <cuda.h>"),
    ("nccl-tuner/prices.cpp", '#include "transport/pipe.hpp"'),
    ("nccl-tuner/prices.cpp", '#include "executor/execution.hpp"'),
]


def main():
    blind = [f"{place}: {line}" for place, line in MUST_FAIL
             if not [*include_faults(place, line), *name_faults(place, line)]]
    blind += [f"{place}: {line}" for place, line in PLUGINS_MUST_FAIL
              if not list(plugin_faults(place, line))]
    for line in blind:
        print(f"this test no longer sees the fault in {line}")
    found = list(faults())
    for fault in found:
        print(fault)
    return 1 if found or blind else 0


sys.exit(main())
