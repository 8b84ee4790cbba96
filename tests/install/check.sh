#!/bin/sh
# Installs a build tree, moves the result elsewhere and uses it as an outsider would: by CMake and
# by pkg-config, from C++ and from C. Then reads what the library shows and needs.
# usage: check.sh BUILD_FOLDER CMAKE CXX CC
set -eu
build=$1 cmake=$2 cxx=$3 cc=$4
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# A launcher around this test is none of its programs' business.
unset RANK WORLD_SIZE OMPI_COMM_WORLD_RANK OMPI_COMM_WORLD_SIZE 2>/dev/null || true

fail() {
  echo "install: $*" >&2
  exit 1
}
expect() { # WHAT EXPECTED COMMAND...
  what=$1 expected=$2
  shift 2
  got=$("$@") || fail "$what: exit code $?"
  [ "$got" = "$expected" ] || fail "$what printed \"$got\", not \"$expected\""
  echo "install: $what: $got"
}

"$cmake" --install "$build" --prefix "$work/first" >"$work/install.log"
# Nothing may hold the prefix.
mv "$work/first" "$work/moved"
prefix=$work/moved
package=$(dirname "$(find "$prefix" -name heddle-config.cmake)")
library=$(find "$prefix" -name 'libheddle.so.?')
[ -n "$library" ] || fail "no libheddle.so.N was installed"
PKG_CONFIG_PATH=$(dirname "$(find "$prefix" -name heddle.pc)")
export PKG_CONFIG_PATH

for project in outside outside_c; do
  if ! { "$cmake" -S "$here/$project" -B "$work/$project" --no-warn-unused-cli \
    -DCMAKE_BUILD_TYPE=Release -Dheddle_DIR="$package" -DCMAKE_CXX_COMPILER="$cxx" \
    -DCMAKE_C_COMPILER="$cc" \
    && "$cmake" --build "$work/$project"; } >"$work/log" 2>&1; then
    cat "$work/log"
    fail "find_package: $project does not build"
  fi
done
# shellcheck disable=SC2046 # flags, one a word
"$cxx" -std=c++20 -Wall -Wextra -Werror "$here/outside/main.cpp" -o "$work/by_pkg_config" \
  $(pkg-config --cflags --libs heddle)

expect "C++ by CMake" "rank 0 of 1: 1" "$work/outside/outside"
expect "C by CMake" "1 ranks: 0 failures" "$work/outside_c/outside_c"
expect "C++ by pkg-config" "rank 0 of 1: 1" \
  env LD_LIBRARY_PATH="$(dirname "$library")" "$work/by_pkg_config"

for program in heddle-info heddle-schedule nccl_net_check all_reduce_perf all_gather_perf \
  reduce_scatter_perf broadcast_perf reduce_perf gather_perf scatter_perf alltoall_perf \
  sendrecv_perf hypercube_perf; do
  "$prefix/bin/$program" --help >"$work/log" 2>&1 ||
    { cat "$work/log"; fail "the installed $program does not start"; }
done

plugin=$(find "$prefix" -path '*/heddle-nccl/libnccl-net.so')
[ -n "$plugin" ] && readelf -d "$plugin" | grep -q 'SONAME.*\[libnccl-net.so\]' ||
  fail "heddle-nccl/libnccl-net.so is not the NCCL plugin"

readelf -d "$library" >"$work/dynamic"
grep -q "SONAME.*\[$(basename "$library")\]" "$work/dynamic" || fail "the SONAME is not $library"
strange=$(sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p' "$work/dynamic" |
  grep -i -E 'mpi|cuda|nrt|neuron|pmix' || true)
[ -z "$strange" ] || fail "libheddle.so links $strange, which must not be needed to start"
shown=$(nm -D --defined-only "$library" | awk '{ print $NF }')
foreign=$(echo "$shown" | grep -v -E '^heddle[A-Z]' || true)
[ -z "$foreign" ] || fail "libheddle.so shows more than its C API: $(echo "$foreign" | head -n 5)"
# Whatever the header declares is there.
# shellcheck disable=SC2013 # names, one a word
for name in $(sed -n 's/^HEDDLE_API.* \**\(heddle[A-Za-z]*\)(.*/\1/p' \
  "$prefix/include/heddle/heddle.h" "$prefix/include/heddle/operations.h"); do
  echo "$shown" | grep -q -x "$name" || fail "the C API declares $name, which the library lacks"
done
echo "install: $(echo "$shown" | wc -l) symbols shown"
