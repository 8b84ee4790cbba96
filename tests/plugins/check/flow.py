"""Messages over a plugin (net.py) between two processes, and what is asked of all of them: right
bytes, or an error in time."""
import ctypes
import os
import random
import signal
import socket
import struct
import sys
import time
import traceback

from net import HANDLE_BYTES, Memory, NetError

PATIENCE = 25  # seconds: above every timeout of the plugin here
_PATTERN = random.Random(0).randbytes((1 << 20) + 4096)


def expect(truth, what):
    if not truth:
        raise SystemExit(f"FAILED: {what}")


def content(number, size):
    """Message `number`: says its number and its length, and then looks random."""
    head = struct.pack("<QQ", number, size)[:size]
    rest = size - len(head)
    start = number % 4096
    block = _PATTERN[start:start + (1 << 20)]
    return head + (block * (rest // len(block) + 1))[:rest]


def until(what, attempt, seconds=PATIENCE):
    """What `attempt` returns, once it is not None."""
    end = time.monotonic() + seconds
    while True:
        result = attempt()
        if result is not None:
            return result
        expect(time.monotonic() < end, f"{what}: nothing in {seconds} s")
        time.sleep(0)


class Talk:
    """The bootstrap: handles and go-ons between two processes."""

    def __init__(self, end):
        self.end = end

    def send(self, data):
        self.end.sendall(struct.pack("<I", len(data)) + data)

    def receive(self, seconds=3 * PATIENCE):
        self.end.settimeout(seconds)
        data = self._exactly(struct.unpack("<I", self._exactly(4))[0])
        return data

    def _exactly(self, size):
        data = b""
        while len(data) < size:
            more = self.end.recv(size - len(data))
            if not more:
                raise EOFError("the other process is gone")
            data += more
        return data

    def meet(self):
        self.send(b"")
        self.receive()


class Child:
    """A process that runs main(talk); it ends well, or is killed."""

    def __init__(self, main):
        ours, theirs = socket.socketpair()
        sys.stdout.flush()
        self.pid = os.fork()
        if self.pid == 0:
            ours.close()
            status = 1
            try:
                main(Talk(theirs))
                status = 0
            except SystemExit as error:
                print(f"child: {error}", flush=True)
            except BaseException:  # whatever it is, fork's copy of the parent must not go on
                traceback.print_exc()
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(status)
        theirs.close()
        self.talk = Talk(ours)

    def kill(self, number=signal.SIGKILL):
        os.kill(self.pid, number)

    def join(self, seconds=3 * PATIENCE):
        """Its status; killed when it stays longer."""
        end = time.monotonic() + seconds
        while True:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                return os.waitstatus_to_exitcode(status)
            if time.monotonic() > end:
                self.kill()
                os.waitpid(self.pid, 0)
                raise SystemExit(f"FAILED: the child is still there after {seconds} s")
            time.sleep(0.01)


def join(net, listener, handle, device=0):
    """The comm that the handle leads to and the one that the listener gives, by turns."""
    kept = ctypes.create_string_buffer(handle, HANDLE_BYTES)
    out = inward = None

    def both():
        nonlocal out, inward
        out = out or net.connect(kept, device)
        inward = inward or net.accept(listener)
        return (out, inward) if out and inward else None

    return until("a connect and an accept", both)


def ring(net, talk):
    """A comm to the other process and one from it."""
    listener, handle = net.listen()
    talk.send(handle)
    comms = join(net, listener, talk.receive())
    net.close_listen(listener)
    return comms


def loopback(net):
    listener, handle = net.listen()
    comms = join(net, listener, handle)
    net.close_listen(listener)
    return comms


class Stream:
    """One direction of a comm, `depth` messages under way, sizes by the seed at both ends."""

    def __init__(self, net, comm, sends, most, seed, depth=4):
        self.net, self.comm, self.sends, self.most = net, comm, sends, most
        self.chance = random.Random(seed)
        self.slots = [Memory(most) for _ in range(depth)]
        self.known = [net.register(comm, slot) for slot in self.slots]
        self.under_way = []  # (number, slot, size, request)
        self.number = 0
        self.over = 0
        self._next = None

    def _size(self):
        if self._next is None:
            kind = self.chance.random()
            top = 64 if kind < 0.3 else 16384 if kind < 0.6 else self.most
            self._next = self.chance.randint(0, min(top, self.most))
        return self._next

    def post(self):
        """Whether there was a request for the next message. Raises NetError."""
        if len(self.under_way) == len(self.slots):
            return False
        at, fresh = self.number % len(self.slots), self._next is None
        size = self._size()
        if self.sends:
            if fresh:  # once a message, however often it is tried
                self.slots[at].write(content(self.number, size))
            request = self.net.send(self.comm, self.slots[at], size, self.known[at])
        else:
            request = self.net.receive(self.comm, self.slots[at], self.most, self.known[at])
        if not request:
            return False
        self.under_way.append((self.number, at, size, request))
        self.number += 1
        self._next = None
        return True

    def test(self):
        """Whether the oldest message is over. Raises NetError."""
        if not self.under_way:
            return False
        number, at, size, request = self.under_way[0]
        came = self.net.test(request)
        if came is None:
            return False
        self.under_way.pop(0)
        self.over += 1
        expect(came == size, f"message {number} has {came} bytes, sent were {size}")
        if not self.sends:
            expect(self.slots[at].read(size) == content(number, size),
                   f"message {number} of {size} bytes is wrong")
        return True

    def step(self, last=None):
        """Posts, below number `last`, and tests. Whether anything moved."""
        posted = (last is None or self.number < last) and self.post()
        return self.test() or posted

    def let_go(self, bar=False):
        """As an abort does: registrations, then the comm; then the memory is gone."""
        for known in self.known:
            try:
                self.net.deregister(self.comm, known)
            except NetError:
                pass
        try:
            (self.net.close_send if self.sends else self.net.close_receive)(self.comm)
        except NetError:
            pass
        for slot in self.slots:
            if bar:
                slot.bar()
            else:
                slot.unmap()


def carry(streams, messages, seconds=PATIENCE):
    """So many messages of each; the time is that in which nothing moves."""
    end = time.monotonic() + seconds
    while any(stream.over < messages for stream in streams):
        if any([stream.step(messages) for stream in streams]):
            end = time.monotonic() + seconds
        expect(time.monotonic() < end, f"nothing moves for {seconds} s: "
               f"{[(stream.number, stream.over) for stream in streams]} of {messages}")


def still_works(net):
    """A fresh connection to itself carries messages."""
    out, inward = loopback(net)
    streams = [Stream(net, out, True, 100000, 5), Stream(net, inward, False, 100000, 5)]
    carry(streams, 20)
    for stream in streams:
        stream.let_go()
