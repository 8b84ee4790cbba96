#!/usr/bin/env python3
"""The emulated cluster itself: cluster_test.py. Exits with 77 where namespaces cannot be made."""
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from owned_cluster import OwnedCluster

CLUSTER = OwnedCluster("t")
OTHER = OwnedCluster("o")


def cluster(*words, fails=False, of=CLUSTER):
    done = subprocess.run(of.words(*words), capture_output=True, text=True, timeout=60)
    expect((done.returncode != 0) == fails, words, done.returncode, done.stderr)
    return done.stderr if fails else done.stdout


def expect(truth, *what):
    if not truth:
        raise SystemExit("FAILED: " + " ".join(map(str, what)))


def folder(of=CLUSTER):
    return Path(f"/run/heddle-cluster-{of.name}")


def left_behind(of=CLUSTER):
    listing = subprocess.run(["ip", "netns", "list"], capture_output=True, text=True).stdout
    return [line.split()[0] for line in listing.splitlines() if line.startswith(f"{of.name}-")] + \
        [str(path) for path in (folder(of),) if path.exists()]


def reaches(host, address):
    words = CLUSTER.words(
        "exec", host, "sh", "-c",
        f"exec python3 -c 'import socket; socket.create_connection((\"{address}\", 9), 1)'")
    error = subprocess.run(words, capture_output=True, text=True, timeout=60).stderr
    return "refused" in error  # nobody listens, but the host is there and says so


def adapters(host):
    links = cluster("exec", host, "ip", "-o", "link").splitlines()
    return [line.split(": ")[1].split("@")[0] for line in links]


def check_two_hosts():
    cluster("up", "--hosts", 2, "--rails", 2, "--rate", "500mbit")
    status = json.loads(cluster("status"))
    expect(status == {"hosts": 2, "rails": [2, 2], "rate": "500mbit", "host_rate": "1gbit"}, status)
    expect(cluster("exec", 1, "hostname").strip() == f"{CLUSTER.name}-1", "host name")
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
    pid, _ = json.loads((folder() / "holder0").read_text())
    os.kill(pid, signal.SIGKILL)
    expect("is gone: run up again" in cluster("exec", 0, "true", fails=True), "a dead host")
    cluster("up", "--hosts", 3, "--rails", 1)
    for host, address in ((0, "10.77.0.3"), (1, "10.77.0.1"), (2, "10.77.0.2")):
        expect(reaches(host, address), host, "does not reach", address)


def check_hosts_that_differ():
    """r0 joins all, r1 two of three, and r2 is alone."""
    cluster("up", "--hosts", 3, "--rails", "1,3,2")
    expect([adapters(host) for host in range(3)] ==
           [["lo", "eth0", *rails] for rails in (["r0"], ["r0", "r1", "r2"], ["r0", "r1"])],
           [adapters(host) for host in range(3)])
    expect(reaches(0, "10.77.0.3") and reaches(2, "10.77.1.2"), "rails 1,3,2 do not reach")


def check_mpirun_without_rails():
    cluster("up", "--hosts", 4, "--rails", 0)
    said = cluster("mpirun", 2, "sh", "-c", 'echo "$OMPI_COMM_WORLD_RANK $(hostname)"').split("\n")
    wanted = [f"{rank} {CLUSTER.name}-{rank // 2}" for rank in range(8)]
    expect(sorted(filter(None, said)) == wanted, said)


def check_that_orphans_go():
    """One of a process that was killed, and one whose up was killed; those of living processes and
    of nobody stay."""
    owner = subprocess.Popen(["sleep", "infinity"])
    cluster("up", "--rails", 1, "--owner", owner.pid, of=OTHER)
    cluster("up", "--rails", 0)
    expect(len(left_behind(OTHER)) == 4, "one of a living owner went", left_behind(OTHER))
    owner.kill()
    owner.wait()
    cluster("up", "--rails", 0)
    expect(left_behind(OTHER) == [], "the owner is gone, left are", left_behind(OTHER))

    up = subprocess.Popen(OTHER.words("up", "--rails", 16))
    while not (folder(OTHER) / "holder1").exists():
        expect(up.poll() is None, "up ended early")
        time.sleep(0.01)
    up.kill()
    up.wait()
    expect(len(left_behind(OTHER)) >= 3, "up was killed too early", left_behind(OTHER))
    cluster("down")
    cluster("up", "--rails", 0)
    expect(left_behind(OTHER) == [], "up was killed, left are", left_behind(OTHER))

    cluster("up", "--rails", 0, of=OTHER)
    cluster("up", "--rails", 0)
    expect(len(left_behind(OTHER)) == 4, "one without owner went", left_behind(OTHER))
    cluster("down", of=OTHER)


def check_that_users_clean_up():
    """A program that is terminated takes its cluster down."""
    text = "import owned_cluster, time\n" \
           "with owned_cluster.OwnedCluster('u').up('--rails', 0) as cluster:\n" \
           "  print(cluster.name, flush=True)\n  time.sleep(60)\n"
    user = subprocess.Popen([sys.executable, "-B", "-c", text], cwd=Path(__file__).parent,
                            stdout=subprocess.PIPE, text=True)
    name = user.stdout.readline().strip()
    cluster_of_user = OwnedCluster("u")
    cluster_of_user.name = name
    expect(len(left_behind(cluster_of_user)) == 4, left_behind(cluster_of_user))
    user.terminate()
    expect(user.wait(20) == 130, "status", user.returncode)
    expect(left_behind(cluster_of_user) == [], "left are", left_behind(cluster_of_user))


def check_bad_input():
    for words, text in (
            (["up", "--hosts", 1], "2 to 8"), (["up", "--rails", 99], "rails 99: allowed are 0 to"),
            (["up", "--rails", "1,2,3"], "one number for all hosts or 2"),
            (["up", "--rails", "4,x"], "4,x: allowed are numbers"),
            (["up", "--owner", 1 << 22], f"owner {1 << 22}: allowed"),
            (["up", "--rate", "fast"], "rate fast: allowed"), (["exec", 7, "true"], "no host 7")):
        expect(text in cluster(*words, fails=True), words)


def main():
    if os.geteuid() != 0:
        print("SKIPPED: network namespaces need root")
        return 77
    probe = subprocess.run(["ip", "netns", "add", f"{CLUSTER.name}-0"], capture_output=True,
                           text=True)
    if probe.returncode != 0:
        print("SKIPPED: ip netns add:", probe.stderr.strip())
        return 77
    try:
        check_two_hosts()
        check_again_after_a_crash()
        check_hosts_that_differ()
        check_mpirun_without_rails()
        check_that_orphans_go()
        check_that_users_clean_up()
        check_bad_input()
    finally:
        cluster("down")
        cluster("down", of=OTHER)
    expect(left_behind() == [], "left behind:", left_behind())
    expect("no cluster" in cluster("status", fails=True), "status of nothing")
    cluster("down")
    print("the cluster goes up, comes back after a crash, and leaves nothing")
    return 0


sys.exit(main())
