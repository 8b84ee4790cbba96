#!/bin/sh
# loopback-name, as far as one machine's choice goes: two network namespaces, each with lo, a
# docker0 (the same address in both), a bridge of unsuspicious name, and the good interface made
# last; each host's name resolves to 127.0.0.1. heddle-info must advertise the good interface alone.
# Usage: netns.sh path/to/heddle-info. Exits with 77 when it cannot run here.
set -eu

info=$1
skip() {
  echo "SKIPPED: $*"
  exit 77
}
[ "$(id -u)" = 0 ] || skip "network namespaces need root"
command -v ip >/dev/null || skip "there is no ip command (package iproute2)"
command -v python3 >/dev/null || skip "there is no python3"

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
  if ip -n "$ns" link add guests type bridge 2>/dev/null; then
    ip -n "$ns" addr add 172.18.0.1/16 dev guests
    ip -n "$ns" link set guests up
    ip -n "$ns" link add port type veth peer name portp
    ip -n "$ns" link set port master guests up
    ip -n "$ns" link set portp up addrgenmode none
  fi
done
ip -n "$a" link add eth0 type veth peer name eth0 netns "$b"
host=1
for ns in "$a" "$b"; do
  ip -n "$ns" addr add "10.77.0.$host/24" dev eth0
  ip -n "$ns" addr add "10.77.1.$host/24" dev eth0 label eth0:1
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
echo "127.0.0.1 localhost $(hostname)" >"$work/hosts"

# inside NAMESPACE [VARIABLE=value]...: heddle-info's JSON, with the host's name on loopback. The
# mount is seen in the namespace alone: ip netns exec gives each command its own.
inside() {
  ns=$1
  shift
  ip netns exec "$ns" env "$@" sh -c 'mount --bind "$1" /etc/hosts && exec "$2" --json' \
    sh "$work/hosts" "$info"
}

inside "$a" >"$work/a.json"
inside "$b" >"$work/b.json"
inside "$a" HEDDLE_IFACE=docker0 >"$work/named.json"
inside "$a" HEDDLE_IFACE=^eth0 >"$work/refused.json" && {
  echo "HEDDLE_IFACE=^eth0 leaves nothing but was accepted"
  exit 1
}
ip -n "$b" link set eth0 down
inside "$b" >"$work/alone.json"

python3 - "$work" <<'PYTHON'
import json, sys

def page(name):
    return json.load(open(f"{sys.argv[1]}/{name}.json"))

def adapters(one):
    return [adapter["interface"] for adapter in one["chosen"]["adapters"]]

def expect(truth, *what):
    if not truth:
        sys.exit("FAILED: " + " ".join(map(str, what)))

a, b, named, refused, alone = map(page, ("a", "b", "named", "refused", "alone"))
for one, host in ((a, 1), (b, 2)):
    texts = one["advertised"]
    expect(texts[:2] == [f"10.77.0.{host}", f"10.77.1.{host}"], "advertised", texts)
    expect(all(text.startswith("fe80::") and text.endswith("%eth0") for text in texts[2:]), texts)
    used = [interface["name"] for interface in one["interfaces"] if interface["used"]]
    expect(used == ["eth0"], "used", used)
    names = [interface["name"] for interface in one["interfaces"]]
    expect(len(names) == len(set(names)), "an interface is listed twice:", names)
    expect(adapters(one) == ["eth0"], "adapters", adapters(one))
    # libfabric lists a provider once for each of eth0's three addresses.
    usable = [provider for provider in one["providers"] if provider["usable"]]
    expect(usable, "no provider is usable")
    names = [provider["name"] for provider in one["providers"]]
    expect(len(names) == len(set(names)), "a provider is listed twice:", names)
    for provider in usable:
        names = [adapter["name"] for adapter in provider["adapters"]]
        expect(len(names) == len(set(names)), "an adapter is listed twice:", provider)
expect(a["host"]["id"] != b["host"]["id"], "two namespaces are one host")
expect(a["host"]["id"] == named["host"]["id"], "one namespace is two hosts")
expect(named["advertised"][0] == "172.17.0.1", "named", named["advertised"])
expect(adapters(named) == ["docker0"], "named", adapters(named))
expect("excludes every usable interface" in refused["problems"][0], refused["problems"])
expect(alone["advertised"] == ["127.0.0.1", "::1"], "alone", alone["advertised"])
print("advertised:", a["advertised"], b["advertised"])
PYTHON
