#!/bin/sh
# The benchmark programs as a user starts them: programs.sh FOLDER [scenario]. Each scenario is a
# test: table, launcher-mismatch, bad-usage, bad-output.
set -u
folder=$1
scenario=$2
output=$(mktemp)
trap 'rm -f "$output"' EXIT

fail() {
  echo "FAILED: $*"
  cat "$output"
  exit 1
}

# expect STATUS COMMAND...: runs it, with its output in $output.
expect() {
  wanted=$1
  shift
  "$@" >"$output" 2>&1
  status=$?
  [ "$status" = "$wanted" ] || fail "status $status, not $wanted: $*"
}
says() { grep -q -- "$1" "$output" || fail "does not say: $1"; }
silent() { ! grep -q -- "$1" "$output" || fail "says: $1"; }

case $scenario in
table)
  for program in all_reduce_perf all_gather_perf reduce_scatter_perf broadcast_perf reduce_perf \
    gather_perf scatter_perf alltoall_perf sendrecv_perf; do
    expect 0 "$folder/$program" -g 3 -b 48 -e 3000 -f 8 -n 2 -d all -o all -r 2
    says '^# Out of bounds values : 0 OK$'
    says '^# Network: shared memory'
    expect 0 "$folder/$program" -g 1 -b 64 -e 64 -n 2 -R 1
    says '^# One rank moves nothing between ranks'
  done
  expect 0 "$folder/all_reduce_perf" -g 2 -b 8 -e 32K -f 64 -n 2 --provider tcp
  says '^# Network: libfabric provider .*rails: '
  says '^# Out of bounds values : 0 OK$'
  expect 0 env HEDDLE_RAILS=999 "$folder/all_reduce_perf" -g 2 -b 8 -e 8 --provider tcp
  says 'HEDDLE_RAILS=999: this process has [0-9]* adapter'
  # What an algorithm cannot do is told once, not for every size.
  expect 0 env HEDDLE_ALGO=pairwise "$folder/all_reduce_perf" -g 2 -b 8 -e 32K -f 8
  [ "$(grep -c 'pairwise was asked for but has no all-reduce' "$output")" = 1 ] ||
    fail "does not tell once that pairwise was not taken"
  ;;
launcher-mismatch)
  # MPI's plugins are unloaded before a leak checker could name them.
  export ASAN_OPTIONS=detect_leaks=0
  expect 6 env OMPI_COMM_WORLD_SIZE=4 "$folder/all_reduce_perf" -b 8 -e 8
  says 'launcher says 4, this process sees 1'
  silent 'Out of bounds'
  expect 6 env SLURM_NTASKS=4 "$folder/all_reduce_perf" -b 8 -e 8
  says 'SLURM_NTASKS=4'
  silent 'Out of bounds'
  expect 0 env SLURM_NTASKS=4 "$folder/all_reduce_perf" -g 2 -b 8 -e 8
  ;;
bad-usage)
  expect 6 "$folder/all_reduce_perf" -d floot
  says 'allowed: int8, uint8'
  expect 3 "$folder/all_reduce_perf" -g 2 -b 8 -e 8 --provider loom
  says 'HEDDLE_PROVIDER=loom'
  silent 'Out of bounds'
  expect 6 "$folder/gather_perf" -g 2 -b 8 -e 8 -r 2
  says '-r 2 of 2 ranks; allowed: -1 (every rank) to 1'
  silent 'Out of bounds'
  expect 0 "$folder/all_reduce_perf" --help
  ;;
bad-output)
  # What cannot be written is told before anything runs; what fails on one rank ends all of them.
  nowhere=$(dirname "$output")/$$.is-not-there
  mpirun="mpirun --oversubscribe -n 2"
  for start in "" "$mpirun"; do
    ranks=$([ -n "$start" ] || echo -g 3)
    for flag in -J --csv; do
      # shellcheck disable=SC2086 # words
      expect 3 $start "$folder/all_reduce_perf" $ranks -b 8 -e 8 "$flag" "$nowhere/x"
      says "rank 0: cannot write $nowhere/x: No such file"
      silent 'Out of bounds'
    done
    # shellcheck disable=SC2086
    expect 3 $start "$folder/all_reduce_perf" $ranks -b 8 -e 8 -J /dev/full
    says 'Out of bounds values : 0 OK'
    says 'rank 0: cannot write /dev/full: No space'
    [ "$(grep -c 'cannot write' "$output")" = 1 ] || fail "tells a failure more than once"
  done
  expect 3 "$folder/all_reduce_perf" -g 2 -b 8 -e 8 -J "$(dirname "$output")"
  says 'Is a directory'
  expect 3 "$folder/heddle-tune" -g 2 -o "$nowhere/x"
  says "rank 0: cannot write $nowhere/x: No such file"
  silent '# heddle-tune:'
  # What all ranks meet is told once.
  expect 3 "$folder/all_reduce_perf" -g 3 -b 8 -e 8 --provider loom
  [ "$(grep -c 'HEDDLE_PROVIDER=loom' "$output")" = 1 ] || fail "tells a failure more than once"
  ;;
*)
  fail "no scenario $scenario"
  ;;
esac
