#!/usr/bin/env python3
"""The emulated cluster itself: cluster_test.py. Exits with 77 where namespaces cannot be made."""
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

CLUSTER = Path(__file__).with_name("cluster")
NAME = f"t{os.getpid() % 1000000}"


def cluster(*words, fails=False):
    done = subprocess.run([sys.executable, "-B", CLUSTER, "--name", NAME, *map(str, words)],
                          capture_output=True, text=True, timeout=60)
    expect((done.returncode != 0) == fails, words, done.returncode, done.stderr)
    return done.stderr if fails else done.stdout


def expect(truth, *what):
    if not truth:
        raise SystemExit("FAILED: " + " ".join(map(str, what)))


def namespaces():
    listing = subprocess.run(["ip", "netns", "list"], capture_output=True, text=True).stdout
    return [line.split()[0] for line in listing.splitlines() if line.startswith(f"{NAME}-")]


def reaches(host, address):
    words = [sys.executable, "-B", CLUSTER, "--name", NAME, "exec", str(host), "sh", "-c",
             f"exec python3 -c 'import socket; socket.create_connection((\"{address}\", 9), 1)'"]
    error = subprocess.run(words, capture_output=True, text=True, timeout=60).stderr
    return "refused" in error  # nobody listens, but the host is there and says so


def check_two_hosts():
    cluster("up", "--hosts", 2, "--rails", 2, "--rate", "500mbit")
    expect(json.loads(cluster("status")) ==
           {"hosts": 2, "rails": 2, "rate": "500mbit", "host_rate": "1gbit"}, cluster("status"))
    expect(cluster("exec", 1, "hostname").strip() == f"{NAME}-1", "host name")
    for address in ("10.77.0.2", "10.77.1.2", "10.77.255.2"):
        expect(reaches(0, address), "host 0 does not reach", address)
    expect("rate 500Mbit" in cluster("exec", 0, "tc", "qdisc", "show", "dev", "r1"), "shape")
    cluster("link", 0, "r1", "down")
    expect(not reaches(0, "10.77.1.2"), "a rail that is down reaches")
    cluster("link", 0, "r1", "up")
    cluster("rate", 0, "r0", "100mbit")
    expect("rate 100Mbit" in cluster("exec", 0, "tc", "qdisc", "show", "dev", "r0"), "reshape")


def check_again_after_a_crash():
    """A cluster whose holder was killed is replaced, with more hosts."""
    pid, _ = json.loads(Path(f"/run/heddle-cluster-{NAME}/holder0").read_text())
    os.kill(pid, signal.SIGKILL)
    expect("is gone: run up again" in cluster("exec", 0, "true", fails=True), "a dead host")
    cluster("up", "--hosts", 3, "--rails", 1)
    for host, address in ((0, "10.77.0.3"), (1, "10.77.0.1"), (2, "10.77.0.2")):
        expect(reaches(host, address), host, "does not reach", address)


def check_bad_input():
    for words, text in (
            (["up", "--hosts", 1], "2 to 8 hosts"), (["up", "--rails", 99], "0 to 16 rails"),
            (["up", "--rate", "fast"], "rate fast: allowed"), (["exec", 7, "true"], "no host 7")):
        expect(text in cluster(*words, fails=True), words)


def main():
    if os.geteuid() != 0:
        print("SKIPPED: network namespaces need root")
        return 77
    probe = subprocess.run(["ip", "netns", "add", f"{NAME}-0"], capture_output=True, text=True)
    if probe.returncode != 0:
        print("SKIPPED: ip netns add:", probe.stderr.strip())
        return 77
    try:
        check_two_hosts()
        check_again_after_a_crash()
        check_bad_input()
    finally:
        cluster("down")
    expect(namespaces() == [], "left behind:", namespaces())
    expect(not Path(f"/run/heddle-cluster-{NAME}").exists(), "state left behind")
    expect("no cluster" in cluster("status", fails=True), "status of nothing")
    cluster("down")
    print("the cluster goes up, comes back after a crash, and leaves nothing")
    return 0


sys.exit(main())
