#!/usr/bin/env python3
"""Treats the plugin as no NCCL would: processes killed and stopped, comms closed under messages,
handles that are none. Nothing may crash, hang or deliver wrong bytes.

break_test.py PLUGIN FOLDER_OF_EMULATED_EFA WAY FIRST_SEED LAST_SEED [CASE ...]
WAY: tcp, sockets, or efa and a number of adapters (efa1, efa4)."""
import os
import random
import signal
import sys
import time

from cases_connecting import CONNECTING
from cases_threads import THREADS
from flow import Child, Stream, carry, expect, ring, still_works
from net import Net, NetError

_PLUGIN = [""]


def open_net():
    return Net(_PLUGIN[0])


def both_ways(net, talk, seed, who, most, depth=4):
    out, inward = ring(net, talk)
    return [Stream(net, out, True, most, f"{seed} {who}", depth),
            Stream(net, inward, False, most, f"{seed} {1 - who}", depth)]


def run_until(streams, end):
    """The errors by then."""
    errors = {}
    while time.monotonic() < end and len(errors) < len(streams):
        for stream in streams:
            if stream in errors:
                continue
            try:
                stream.step()
            except NetError as error:
                errors[stream] = error
    return errors


def must_fail(streams, why, seconds=20):
    start = time.monotonic()
    errors = run_until(streams, start + seconds)
    expect(len(errors) == len(streams), f"{seconds} s after {why} {len(errors)} of "
           f"{len(streams)} ends have failed")
    return time.monotonic() - start


def timed_let_go(streams, bar=False):
    start = time.monotonic()
    for stream in streams:
        stream.let_go(bar)
    took = time.monotonic() - start
    expect(took < 5, f"letting go took {took:.1f} s")


def killed(seed):
    """The peer is killed at any moment."""
    chance = random.Random(seed)

    def child(talk):
        streams = both_ways(open_net(), talk, seed, 1, 4 << 20)
        while True:
            for stream in streams:
                stream.step()

    peer = Child(child)
    net = open_net()
    streams = both_ways(net, peer.talk, seed, 0, 4 << 20)
    errors = run_until(streams, time.monotonic() + chance.uniform(0, 0.7))
    expect(not errors, f"before anything happened: {errors}")
    peer.kill()
    peer.join()
    took = must_fail(streams, "the peer's death")
    timed_let_go(streams, bar=True)
    still_works(net)
    net.finalize()
    return f"{streams[1].over} messages came, lost after {took:.2f} s"


def stopped(seed):
    """The peer stands still for less than a timeout: nothing is lost."""
    chance = random.Random(seed)
    messages = 60

    def child(talk):
        streams = both_ways(open_net(), talk, seed, 1, 1 << 20)
        carry(streams, messages)
        talk.meet()
        timed_let_go(streams)

    peer = Child(child)
    net = open_net()
    streams = both_ways(net, peer.talk, seed, 0, 1 << 20)
    for _ in range(2):
        run_until([stream for stream in streams if stream.number < messages - 10],
                           time.monotonic() + chance.uniform(0, 0.05))
        peer.kill(signal.SIGSTOP)
        end = time.monotonic() + chance.uniform(0.05, 1.2)
        errors = run_until([stream for stream in streams if stream.number < messages - 10], end)
        time.sleep(max(0, end - time.monotonic()))
        peer.kill(signal.SIGCONT)
        expect(not errors, f"while the peer stands still: {errors}")
    carry(streams, messages)
    peer.talk.meet()
    timed_let_go(streams)
    expect(peer.join() == 0, "the child failed")
    still_works(net)
    net.finalize()
    return f"{streams[1].over} messages came"


def hung(seed):
    """Letting go of many comms whose peer stands still takes as long as of one."""
    def streams_of(net, talk, me):
        return [stream for _ in range(4) for stream in both_ways(net, talk, seed, me, 4 << 20)]

    def child(talk):
        streams = streams_of(open_net(), talk, 1)
        while True:
            for stream in streams:
                stream.step()

    peer = Child(child)
    net = open_net()
    streams = streams_of(net, peer.talk, 0)
    errors = run_until(streams, time.monotonic() + 0.3)
    peer.kill(signal.SIGSTOP)
    errors |= run_until(streams, time.monotonic() + 0.2)
    expect(not errors, f"before anything failed: {errors}")
    timed_let_go(streams, bar=True)
    peer.kill()
    peer.join()
    still_works(net)
    net.finalize()
    return f"{len(streams)} comms let go"


def aborted(seed):
    """One end, or both, let go in the middle, and nobody may touch their memory after that."""
    chance = random.Random(seed)
    who_aborts = chance.choice(((0,), (1,), (0, 1)))
    only_half = chance.random() < 0.3  # one of its two comms

    def act(net, talk, me):
        own = random.Random(f"{seed} {me}")
        streams = both_ways(net, talk, seed, me, 32 << 20, depth=3)
        for stream in streams:  # big ones
            stream.chance.random = lambda: 0.9
        run_until(streams, time.monotonic() + own.uniform(0, 0.3))
        if me in who_aborts:
            if only_half and len(who_aborts) == 1:
                leaving = [own.choice(streams)]
                timed_let_go(leaving, bar=True)
                streams = [stream for stream in streams if stream not in leaving]
                errors = run_until(streams, time.monotonic() + 0.2)
                expect(not errors, f"the other comm fails: {errors}")
            timed_let_go(streams, bar=True)
        else:
            must_fail(streams, "the other end let go")
            timed_let_go(streams, bar=True)
        still_works(net)
        talk.meet()

    def child(talk):
        act(open_net(), talk, 1)

    peer = Child(child)
    net = open_net()
    act(net, peer.talk, 0)
    expect(peer.join() == 0, "the child failed")
    net.finalize()
    return f"{who_aborts} let go{' of one comm' if only_half else ''}"


def finalized(seed):
    """finalize with open comms and messages under way; init again; the old comms go on."""
    chance = random.Random(seed)

    def act(net, talk, me):
        streams = both_ways(net, talk, seed, me, 1 << 20)
        run_until(streams, time.monotonic() + 0.1 + chance.uniform(0, 0.1))
        net.finalize()
        errors = run_until(streams, time.monotonic() + 0.3)
        expect(not errors, f"after finalize: {errors}")
        net.context = net.init()
        still_works(net)
        errors = run_until(streams, time.monotonic() + 0.2)
        expect(not errors, f"after init: {errors}")
        talk.meet()
        timed_let_go(streams, bar=True)
        net.finalize()
        net.context = net.init()
        still_works(net)
        talk.meet()

    peer = Child(lambda talk: act(open_net(), talk, 1))
    net = open_net()
    act(net, peer.talk, 0)
    expect(peer.join() == 0, "the child failed")
    return "comms outlive finalize"


CASES = {"killed": killed, "stopped": stopped, "hung": hung, "aborted": aborted,
         "finalized": finalized}


def environment(way, provider):
    chosen = {"HEDDLE_INIT_TIMEOUT": "6", "HEDDLE_TIMEOUT": "10", "HEDDLE_IFACE": "lo",
              "IPATH_NO_BACKTRACE": "1", "HFI_NO_BACKTRACE": "1"}
    if way.startswith("efa"):
        chosen.update(FI_PROVIDER_PATH=provider, HEDDLE_PROVIDER="efa",
                      HEDDLE_EMULATED_EFA=way[3:] or "4", HEDDLE_EMULATED_EFA_IFACE="lo")
    else:
        chosen["HEDDLE_PROVIDER"] = way
    return chosen


def main():
    plugin, provider, way, first, last, *names = sys.argv[1:]
    _PLUGIN[0] = plugin
    os.environ.update(environment(way, provider))
    cases = dict(CASES, **CONNECTING, **THREADS)
    for seed in range(int(first), int(last) + 1):
        os.environ["HEDDLE_EMULATED_EFA_SEED"] = str(seed)
        for name in names or cases:
            start = time.monotonic()
            print(f"{name}, seed {seed} over {way}: ", end="", flush=True)
            # Each in a process of its own, as a crash must not end the others.
            case = cases[name]
            told = Child(lambda talk: talk.send(
                (case(seed) if name in CASES else case(seed, open_net)).encode()))
            try:
                text = told.talk.receive(120).decode()
            except (EOFError, TimeoutError):
                text = "no word"
            status = told.join(5)
            print(f"{text} in {time.monotonic() - start:.1f} s", flush=True)
            expect(status == 0, f"{name}, seed {seed} over {way} ended with {status}")


main()
