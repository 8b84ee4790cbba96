#!/bin/sh
# Whether the run image works, run inside it as its user: the benchmark alone and under mpirun.
# usage: docker/check_image.sh
set -eu
[ "$(id -u)" != 0 ] || { echo "docker: runs as root, which the image should not" >&2; exit 1; }
export IPATH_NO_BACKTRACE=1 HFI_NO_BACKTRACE=1
for launcher in "" "mpirun --oversubscribe -n 2"; do
  alone="-g 2"
  [ -z "$launcher" ] || alone=""
  # shellcheck disable=SC2086 # words
  table=$($launcher all_reduce_perf -b 8 -e 1M -f 8 $alone)
  echo "$table"
  echo "$table" | grep -q '^# Out of bounds values : 0 OK' ||
    { echo "docker: wrong values: ${launcher:-alone}" >&2; exit 1; }
done
heddle-info
