#!/bin/sh
# loopback-name, whole: ranks of two hosts (network namespaces) join and compute without settings.
# Each host has lo, a docker0 with the same address, its own name on 127.0.0.1, and the good
# interface made last. Two ranks share the first host, so shared memory and fabric work together.
# Usage: netns.sh path/to/rank_program [PROVIDER MOST]: over that provider, up to so many elements.
# Exits with 77 when it cannot run here.
set -eu

program=$1
provider=${2:-}
most=${3:-1048576}
skip() {
  echo "SKIPPED: $*"
  exit 77
}
[ "$(id -u)" = 0 ] || skip "network namespaces need root"
command -v ip >/dev/null || skip "there is no ip command (package iproute2)"

a=heddle-$$-a
b=heddle-$$-b
work=$(mktemp -d)
clean_up() {
  ip netns del "$a" 2>/dev/null || true
  ip netns del "$b" 2>/dev/null || true
  rm -rf "$work"
}
trap clean_up EXIT
trap 'exit 1' INT TERM

ip netns add "$a" 2>"$work/why" || skip "ip netns add: $(cat "$work/why")"
ip netns add "$b"
for ns in "$a" "$b"; do
  ip -n "$ns" link set lo up
  ip -n "$ns" link add docker0 type veth peer name docker0p 2>"$work/why" ||
    skip "no veth interfaces: $(cat "$work/why")"
  ip -n "$ns" addr add 172.17.0.1/16 dev docker0
  ip -n "$ns" link set docker0 up
  ip -n "$ns" link set docker0p up
done
ip -n "$a" link add eth0 type veth peer name eth0 netns "$b"
ip -n "$a" addr add 10.77.0.1/24 dev eth0
ip -n "$b" addr add 10.77.0.2/24 dev eth0
ip -n "$a" link set eth0 up
ip -n "$b" link set eth0 up
# The kernel calls a fresh link running up to a second late; until then libfabric passes it over.
for ns in "$a" "$b"; do
  tries=0
  until ip -n "$ns" -br link show eth0 | grep -q ' UP '; do
    tries=$((tries + 1))
    [ "$tries" -lt 50 ] || { echo "eth0 in $ns does not come up"; exit 1; }
    sleep 0.1
  done
done
echo "127.0.0.1 localhost $(hostname)" >"$work/hosts"

# rank NAMESPACE RANK: in the background, with the host's name on loopback; the mount is seen by
# this command alone.
rank() {
  ip netns exec "$1" env HEDDLE_LOG=info HEDDLE_TIMEOUT=20 HEDDLE_INIT_TIMEOUT=20 \
    HEDDLE_PROVIDER="${provider:-auto}" \
    sh -c 'mount --bind "$1" /etc/hosts && exec "$2" "$3" 3 "$4" "$5"' \
    sh "$work/hosts" "$program" "$2" "$work/id" "$most" >"$work/$2.out" 2>"$work/$2.log" &
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
