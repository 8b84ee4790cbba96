"""Several threads on one comm, for break_test.py."""
import random
import threading
import time

from flow import Stream, content, expect, loopback, still_works
from net import Memory, NetError


def registering(seed, open_net):
    """Memory comes and goes on both ends of a comm while messages pass."""
    net = open_net()
    out, inward = loopback(net)
    streams = [Stream(net, out, True, 1 << 20, seed), Stream(net, inward, False, 1 << 20, seed)]
    wrong, going = [], [True]

    def come_and_go(comm):
        chance = random.Random(f"{seed} {comm}")
        try:
            while going[0]:
                memory = Memory(chance.randint(1, 1 << 20))
                net.deregister(comm, net.register(comm, memory))
                memory.unmap()
        except NetError as error:
            wrong.append(error)

    threads = [threading.Thread(target=come_and_go, args=(comm,)) for comm in (out, inward)]
    for thread in threads:
        thread.start()
    end = time.monotonic() + 1
    try:
        while time.monotonic() < end:
            for stream in streams:
                stream.step()
    finally:
        going[0] = False
        for thread in threads:
            thread.join()
    expect(not wrong, f"{wrong}")
    expect(streams[1].over > 0, "no message came")
    for stream in streams:
        stream.let_go()
    still_works(net)
    net.finalize()
    return f"{streams[1].over} messages"


def shared(seed, open_net):
    """Two threads send on one comm, two receive on it: each message comes whole, and once."""
    net = open_net()
    out, inward = loopback(net)
    each, most = 60, 200000
    came, wrong = [], []

    def run(sends, first):
        chance = random.Random(f"{seed} {first}")
        comm = out if sends else inward
        memory = Memory(most)
        known = net.register(comm, memory)
        try:
            for i in range(each):
                number = first + i
                size = chance.randint(16, most)
                if sends:
                    memory.write(content(number, size))
                request = None
                end = time.monotonic() + 30
                while request is None and time.monotonic() < end:
                    request = (net.send(comm, memory, size, known) if sends
                               else net.receive(comm, memory, most, known))
                got = None
                while got is None and time.monotonic() < end:
                    got = net.test(request)
                if got is None:
                    wrong.append(f"message {number} does not move")
                    return
                if not sends:
                    data = memory.read(got)
                    which = int.from_bytes(data[:8], "little")
                    if data != content(which, got):
                        wrong.append(f"message {which} is wrong")
                    came.append(which)
        except NetError as error:
            wrong.append(str(error))

    threads = [threading.Thread(target=run, args=(sends, first))
               for sends in (True, False) for first in (0, 1000)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    expect(not wrong, f"{wrong[:3]}")
    expect(sorted(came) == [*range(each), *range(1000, 1000 + each)], "lost or doubled")
    net.close_send(out)
    net.close_receive(inward)
    still_works(net)
    net.finalize()
    return f"{len(came)} messages"


def wait_for_error(streams, which):
    """All go on until `which` has failed."""
    failed = set()
    end = time.monotonic() + 25
    while which not in failed:
        for stream in streams:
            try:
                if stream not in failed:
                    stream.step()
            except NetError:
                failed.add(stream)
        expect(time.monotonic() < end, "the comm goes on without its memory")


def closing(seed, open_net):
    """deregMr from another thread of memory that is under way: the comm ends, nothing else."""
    net = open_net()
    out, inward = loopback(net)
    streams = [Stream(net, out, True, 8 << 20, seed), Stream(net, inward, False, 8 << 20, seed)]
    chance = random.Random(seed)
    victim = streams[chance.randrange(2)]

    def take_away():
        time.sleep(chance.uniform(0, 0.2))
        for known in victim.known:
            try:
                net.deregister(victim.comm, known)
            except NetError:
                pass

    thread = threading.Thread(target=take_away)
    thread.start()
    other = streams[1 - streams.index(victim)]
    wait_for_error(streams, victim)
    thread.join()
    victim.let_go(bar=True)
    wait_for_error([other], other)
    other.let_go(bar=True)
    still_works(net)
    net.finalize()
    return f"{streams[1].over} messages"


THREADS = {"registering": registering, "shared": shared, "closing": closing}
