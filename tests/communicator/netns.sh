#!/bin/sh
# loopback-name, whole: ranks of two hosts (network namespaces) join and compute without settings.
# Each host is as tests/netns/two_hosts.sh makes it. Two ranks share the first host, so that shared
# memory and fabric work together.
# Usage: netns.sh path/to/rank_program [PROVIDER MOST]: over that provider, up to so many elements.
# Exits with 77 when it cannot run here.
set -eu

program=$1
provider=${2:-}
most=${3:-1048576}
. "$(dirname "$0")/../netns/two_hosts.sh"
two_hosts

# rank NAMESPACE RANK: in the background.
rank() {
  in_host "$1" HEDDLE_LOG=info HEDDLE_TIMEOUT=20 HEDDLE_INIT_TIMEOUT=20 \
    HEDDLE_PROVIDER="${provider:-auto}" \
    "$program" "$2" 3 "$work/id" "$most" >"$work/$2.out" 2>"$work/$2.log" &
}
rank "$a" 0
first=$!
rank "$a" 1
second=$!
rank "$b" 2
third=$!
bad=0
# logs RANK PATTERN
logs() { grep -q "$2" "$work/$1.log" || { echo "rank $1 does not log: $2"; bad=1; }; }
for pid in $first $second $third; do wait "$pid" || bad=1; done
for number in 0 1 2; do
  cat "$work/$number.out"
  grep -q "right" "$work/$number.out" || bad=1
  logs "$number" "Heddle [0-9]"
  logs "$number" "NET/OFI Selected Provider is ${provider:-.*} (found"
  logs "$number" "rails: eth0"
done
logs 0 "all-reduce of 4 bytes among 3 ranks: [a-z]"  # with the algorithm
logs 0 "ranks meet at 10.77.0.1:"
if grep -E "172\.17\.|127\.0\.0\." "$work/id" "$work"/?.log; then
  echo "a loopback or docker address was advertised"
  bad=1
fi
[ $bad = 0 ] || cat "$work"/?.log
exit $bad
