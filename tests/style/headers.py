#!/usr/bin/env python3
"""Every header compiles alone. Plain: the public ones, those named .h by a C99 compiler as well.
--all: those of src/ and plugins/ too, which ./dev lint does; it takes a minute."""

import argparse
import concurrent.futures
import pathlib
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
KNOWN = [flag for folder in ("include", "src", "plugins") for flag in ("-I", str(ROOT / folder))]
PUBLIC_LINES = 250


def flags_of(*packages):
    result = subprocess.run(["pkg-config", "--cflags", *packages], capture_output=True, text=True)
    return result.stdout.split() if result.returncode == 0 else None


def commands(public_only, cc, cxx):
    """Yields (header, command) or (header, None) for a header whose library is not there."""
    # -Wno-pedantic below: the empty file that a header is included into is no C program.
    strict = ["-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only"]
    libraries = flags_of("libfabric", "hwloc", "libsodium", "libhwy") or []
    mpi = flags_of("ompi-cxx") or flags_of("ompi") or flags_of("mpi")
    for header in sorted((ROOT / "include").rglob("*.h*")):
        needs = mpi if header.name == "mpi.hpp" else []
        public = ["-I", str(ROOT / "include")]
        if needs is None:
            yield header, None
            continue
        # Foreign headers are not held to our warnings.
        needs = [flag.replace("-I", "-isystem", 1) for flag in needs if flag.startswith("-I")]
        yield header, [cxx, "-std=c++20", *strict, *public, *needs, "-include", str(header),
                       "-x", "c++", "/dev/null"]
        if header.suffix == ".h":
            yield header, [cc, "-std=c99", *strict, "-Wno-pedantic", *public,
                           "-include", str(header), "-x", "c", "/dev/null"]
    if public_only:
        return
    for header in sorted([*(ROOT / "src").rglob("*.hpp"), *(ROOT / "plugins").rglob("*.hpp")]):
        if header.name.endswith("-inl.hpp"):  # a part of one file, by its name
            continue
        yield header, [cxx, "-std=c++20", "-fsyntax-only", "-Wall", *KNOWN, *libraries,
                       "-include", str(header), "-x", "c++", "/dev/null"]


def check(item):
    header, command = item
    name = header.relative_to(ROOT)
    if command is None:
        return f"{name}: not compiled, MPI is not there", True
    result = subprocess.run(command, capture_output=True, text=True)
    return (f"{name}: does not compile alone\n{result.stderr}" if result.returncode else ""), \
        result.returncode == 0


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--cc", default=shutil.which("cc"))
    parser.add_argument("--cxx", default=shutil.which("c++"))
    options = parser.parse_args()
    work = list(commands(not options.all, options.cc, options.cxx))
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        results = list(pool.map(check, work))
    good = all(fine for _, fine in results)
    for text, _ in results:
        if text:
            print(text)
    for header in sorted((ROOT / "include").rglob("*.h*")):
        lines = len(header.read_text().splitlines())
        if lines > PUBLIC_LINES:
            print(f"{header.relative_to(ROOT)}: {lines} lines; a public header has at most "
                  f"{PUBLIC_LINES}")
            good = False
    print(f"headers: {len(work)} compiled alone" if good else "headers: at fault")
    return 0 if good and work else 1


sys.exit(main())
