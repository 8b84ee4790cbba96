#!/bin/sh
# loopback-name, as far as one machine's choice goes: the hosts of tests/netns/two_hosts.sh, each
# with a bridge of unsuspicious name and a second address. heddle-info must advertise the good
# interface alone.
# Usage: netns.sh path/to/heddle-info. Exits with 77 when it cannot run here.
set -eu

info=$1
. "$(dirname "$0")/../netns/two_hosts.sh"
command -v python3 >/dev/null || skip "there is no python3"

links_before() {
  if ip -n "$1" link add guests type bridge 2>/dev/null; then
    ip -n "$1" addr add 172.18.0.1/16 dev guests
    ip -n "$1" link set guests up
    ip -n "$1" link add port type veth peer name portp
    ip -n "$1" link set port master guests up
    ip -n "$1" link set portp up addrgenmode none
  fi
}
addresses_of_eth0() { ip -n "$1" addr add "10.77.1.$2/24" dev eth0 label eth0:1; }
two_hosts

# inside NAMESPACE [VARIABLE=value]...: heddle-info's JSON.
inside() { in_host "$@" "$info" --json; }

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
