#!/bin/sh
# The tuner plugin shows its versions and nothing else, and needs nothing that a container with NCCL
# may lack.
# usage: symbols.sh LIBRARY
set -eu
fail() {
  echo "symbols: $*" >&2
  exit 1
}
shown=$(nm -D --defined-only "$1" | awk '{ print $NF }' | sort | tr '\n' ' ')
expected="ncclTunerPlugin_v2 ncclTunerPlugin_v3 ncclTunerPlugin_v4 ncclTunerPlugin_v5 \
ncclTunerPlugin_v6 "
[ "$shown" = "$expected" ] || fail "shows \"$shown\", not \"$expected\""
dynamic=$(readelf -d "$1")
echo "$dynamic" | grep -q 'SONAME.*\[libnccl-tuner.so\]' ||
  fail "the SONAME is not libnccl-tuner.so"
strange=$(echo "$dynamic" | sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p' |
  grep -E 'heddle|fabric|hwloc|sodium|mpi|cuda|nccl' || true)
[ -z "$strange" ] || fail "needs $strange"
echo "symbols: $shown"
