# Two hosts on this machine, for scripts that source this file: network namespaces, each with lo, a
# docker0 of the same address in both, and the good interface, eth0, which is made last and joins
# them. Each host's name resolves to 127.0.0.1 for what in_host runs.
#
# two_hosts makes them: $a is 10.77.0.1 and $b 10.77.0.2, and $work a folder; all of it goes at the
# end of the script. A script that wants more links defines, before it calls two_hosts,
#   links_before NAMESPACE         called before eth0 is made
#   addresses_of_eth0 NAMESPACE N  called for host N, from 1, before eth0 is up
# Exits with 77 where namespaces cannot be made.

skip() {
  echo "SKIPPED: $*"
  exit 77
}
links_before() { :; }
addresses_of_eth0() { :; }

remove_hosts() {
  ip netns del "$a" 2>/dev/null || true
  ip netns del "$b" 2>/dev/null || true
  rm -rf "$work"
}

two_hosts() {
  [ "$(id -u)" = 0 ] || skip "network namespaces need root"
  command -v ip >/dev/null || skip "there is no ip command (package iproute2)"
  a=heddle-$$-a
  b=heddle-$$-b
  work=$(mktemp -d)
  trap remove_hosts EXIT
  trap 'exit 1' INT TERM
  echo "127.0.0.1 localhost $(hostname)" >"$work/hosts"

  ip netns add "$a" 2>"$work/why" || skip "ip netns add: $(cat "$work/why")"
  ip netns add "$b"
  for ns in "$a" "$b"; do
    ip -n "$ns" link set lo up
    ip -n "$ns" link add docker0 type veth peer name docker0p 2>"$work/why" ||
      skip "no veth interfaces: $(cat "$work/why")"
    ip -n "$ns" addr add 172.17.0.1/16 dev docker0
    ip -n "$ns" link set docker0 up
    ip -n "$ns" link set docker0p up
    links_before "$ns"
  done
  ip -n "$a" link add eth0 type veth peer name eth0 netns "$b"
  host=1
  for ns in "$a" "$b"; do
    ip -n "$ns" addr add "10.77.0.$host/24" dev eth0
    addresses_of_eth0 "$ns" "$host"
    ip -n "$ns" link set eth0 up
    host=$((host + 1))
  done
  # The kernel calls a fresh link running up to a second late; until then libfabric passes it over.
  for ns in "$a" "$b"; do
    tries=0
    until ip -n "$ns" -br link show eth0 | grep -q ' UP '; do
      tries=$((tries + 1))
      [ "$tries" -lt 50 ] || { echo "eth0 in $ns does not come up"; exit 1; }
      sleep 0.1
    done
  done
}

# in_host NAMESPACE [VARIABLE=value]... COMMAND...: with the host's name on loopback. The mount is
# seen by the command alone: ip netns exec gives each its own.
in_host() {
  ns=$1
  shift
  # shellcheck disable=SC2016 # the inner shell's arguments
  ip netns exec "$ns" sh -c 'mount --bind "$1" /etc/hosts && shift && exec env "$@"' \
    sh "$work/hosts" "$@"
}
