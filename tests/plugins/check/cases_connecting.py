"""Connecting that goes wrong, for break_test.py."""
import ctypes
import os
import random
import time

from flow import Child, Stream, carry, expect, join, still_works, until
from net import HANDLE_BYTES, NetError


def resident():
    """MiB of this process."""
    with open("/proc/self/statm") as pages:
        return int(pages.read().split()[1]) * 4096 / 2**20


def storm(seed, open_net):
    """500 connections between two processes at once, and a message over each."""
    comms = 500

    def act(net, talk, connects):
        if connects:
            handles = [ctypes.create_string_buffer(talk.receive(), HANDLE_BYTES)
                       for _ in range(comms)]
            found = join(lambda i: net.connect(handles[i]))
        else:
            listeners = [net.listen() for _ in range(comms)]
            for _, handle in listeners:
                talk.send(handle)
            found = join(lambda i: net.accept(listeners[i][0]))
            for listener, _ in listeners:
                net.close_listen(listener)
        streams = [Stream(net, comm, connects, 3000, f"{seed} {i}", depth=1)
                   for i, comm in enumerate(found)]
        carry(streams, 2, 60)
        talk.meet()
        for stream in streams:
            stream.let_go()

    def join(attempt):
        found = [None] * comms

        def all_of_them():
            for i in range(comms):
                found[i] = found[i] or attempt(i)
            return found if all(found) else None

        return until("connecting", all_of_them, 90)

    peer = Child(lambda talk: act(open_net(), talk, True))
    net = open_net()
    start = time.monotonic()
    act(net, peer.talk, False)
    expect(peer.join() == 0, "the child failed")
    still_works(net)
    net.finalize()
    return f"{comms} comms in {time.monotonic() - start:.1f} s"


def unlistened(seed, open_net):
    """Listeners that close while callers are under way: a comm or an error for each, in time."""
    chance = random.Random(seed)
    callers = 24

    def child(talk):
        net = open_net()
        handles = [ctypes.create_string_buffer(talk.receive(), HANDLE_BYTES)
                   for _ in range(callers)]
        ends = {}
        talk.send(b"")
        limit = time.monotonic() + 30
        while len(ends) < callers:
            for i, handle in enumerate(handles):
                if i in ends:
                    continue
                try:
                    comm = net.connect(handle)
                    if comm:
                        ends[i] = comm
                except NetError as error:
                    ends[i] = error
            expect(time.monotonic() < limit, f"{callers - len(ends)} connects have no end")
        errors = sum(isinstance(end, NetError) for end in ends.values())
        for end in ends.values():
            if not isinstance(end, NetError):
                net.close_send(end)
        still_works(net)
        talk.send(str(errors).encode())

    peer = Child(child)
    net = open_net()
    listeners = [net.listen() for _ in range(callers)]
    for _, handle in listeners:
        peer.talk.send(handle)
    peer.talk.receive()
    end = time.monotonic() + 1
    accepted = []
    while listeners and time.monotonic() < end:
        at = chance.randrange(len(listeners))
        comm = net.accept(listeners[at][0])
        if comm:
            accepted.append(comm)
        if comm or chance.random() < 0.002:
            net.close_listen(listeners.pop(at)[0])
    for listener, _ in listeners:
        net.close_listen(listener)
    errors = int(peer.talk.receive())
    for comm in accepted:
        net.close_receive(comm)
    expect(peer.join() == 0, "the child failed")
    still_works(net)
    net.finalize()
    return f"{len(accepted)} accepted, {errors} errors"


def fuzzed(seed, open_net):
    """Handles with wrong bytes: an error or a comm, and no memory to speak of."""
    chance = random.Random(seed)
    net = open_net()
    listener, handle = net.listen()
    still_works(net)
    before = resident()
    tries, ends = [], {"errors": 0, "comms": 0, "waiting": 0}
    for at in range(HANDLE_BYTES):  # each byte, and some with many
        for mask in (chance.randint(1, 255), 0xff):
            wrong = bytearray(handle)
            wrong[at] ^= mask
            tries.append(wrong)
    for _ in range(100):
        wrong = bytearray(handle)
        for _ in range(chance.randint(2, 40)):
            wrong[chance.randrange(HANDLE_BYTES)] = chance.randrange(256)
        tries.append(wrong)
    for _ in range(30):
        tries.append(bytearray(chance.randbytes(HANDLE_BYTES)))
    under_way = [ctypes.create_string_buffer(bytes(wrong), HANDLE_BYTES) for wrong in tries]
    end = time.monotonic() + 40
    while under_way and time.monotonic() < end:
        left = []
        for kept in under_way:
            try:
                comm = net.connect(kept)
            except NetError:
                ends["errors"] += 1
                continue
            if comm:
                ends["comms"] += 1
                net.close_send(comm)
            else:
                left.append(kept)
        under_way = left
        comm = net.accept(listener)
        if comm:
            net.close_receive(comm)
    expect(not under_way, f"{len(under_way)} connects have no end, {ends}")
    grown = resident() - before
    expect(grown < 100, f"{grown:.0f} MiB more after {len(tries)} wrong handles")
    out, inward = join(net, listener, handle)
    net.close_send(out)
    net.close_receive(inward)
    net.close_listen(listener)
    still_works(net)
    net.finalize()
    return f"{ends}, {grown:.0f} MiB"


def devices(seed, open_net):
    """Each adapter a device: comms of all at once, and between different ones."""
    os.environ["HEDDLE_NCCL_DEVICES"] = "each"
    net = open_net()
    count = net.devices()
    pairs = [(a, b) for a in range(count) for b in range(count)]
    streams = []
    for to, from_ in pairs:
        listener, handle = net.listen(to)
        found = join(net, listener, handle, from_)
        net.close_listen(listener)
        for comm, sends in zip(found, (True, False)):
            streams.append(Stream(net, comm, sends, 300000, f"{seed} {to} {from_}"))
    carry(streams, 30)
    for stream in streams:
        stream.let_go()
    net.finalize()
    return f"{count} devices, {len(pairs)} connections"


CONNECTING = {"storm": storm, "unlistened": unlistened, "fuzzed": fuzzed, "devices": devices}
