"""Scripts of faults for four emulated adapters (docs/emulated_efa.md), after which all goes on."""
import re

from inexact_job import RANKS

ADAPTERS = 4
NAMES = ("rdmap16s27", "rdmap32s27", "rdmap144s27", "rdmap160s27")


class Fault:
    """A script, and the adapters that it makes fail for a while."""

    def __init__(self, script, fails=()):
        self.script = "patience 1s\n" + script
        self.fails = fails

    def of_all(self):
        """The script for processes that no launcher gave a rank: what one has, all have."""
        return re.sub(r" rank \d+$", "", self.script, flags=re.MULTILINE)

    def told(self):
        """What the log must say."""
        return [rf"rail {NAMES[adapter]} to .* is {what}"
                for adapter in self.fails for what in ("given up", "back")]


def storm(chance):
    return Fault(f"again all every {chance.randint(1, 40)} for {chance.randint(1, 200)}\n"
                 f"again {chance.randrange(ADAPTERS)} at {chance.randint(100, 400)}ms "
                 f"for {chance.randint(50, 400)}ms\n")


def error(chance):
    adapter = chance.randrange(ADAPTERS)
    landed = chance.choice(("", " landed"))
    return Fault(f"error {adapter} after {chance.randint(20, 200)} for {chance.randint(1, 5)} "
                 f"code {chance.choice((7, 8, 9, 10, 13, 14, 15))}{landed} "
                 f"rank {chance.randrange(RANKS)}\n", (adapter,))


def dead(chance):
    """An adapter for a time, and sometimes another whenever its turn comes. Late enough for ranks
    to have met, and long enough for one of them to use it, on a busy machine."""
    adapters = chance.sample(range(ADAPTERS), chance.randint(1, 2))
    lines = [f"dead {adapters[0]} at {chance.randint(2500, 3100)}ms "
             f"for {chance.randint(600, 1200)}ms rank {chance.randrange(RANKS)}\n"]
    # By operations: while all wait for the first, nobody could notice that the second is away.
    lines += [f"dead {adapter} after {chance.randint(100, 300)} for {chance.randint(50, 600)}ms "
              f"rank {chance.randrange(RANKS)}\n" for adapter in adapters[1:]]
    return Fault("".join(lines), adapters)


def dead_after(chance):
    adapter = chance.randrange(ADAPTERS)
    return Fault(f"dead {adapter} after {chance.randint(20, 200)} for {chance.randint(50, 600)}ms "
                 f"rank {chance.randrange(RANKS)}\n", (adapter,))


def hang(chance):
    """Longer than an adapter is waited for."""
    adapter = chance.randrange(ADAPTERS)
    return Fault(f"hang {adapter} after {chance.randint(30, 200)} "
                 f"for {chance.randint(1500, 2000)}ms rank {chance.randrange(RANKS)}\n", (adapter,))


def slow(chance):
    adapter = chance.randrange(ADAPTERS)
    return Fault(f"delay {adapter} {chance.randint(500, 20000)}us\n")


def bandwidth(chance):
    return Fault(f"bandwidth all {chance.randint(40, 100)}MB/s\n"
                 f"bandwidth {chance.randrange(ADAPTERS)} {chance.randint(2, 20)}MB/s\n")


def unready(_):
    """What finds no posted buffer fails, as when a receiver is not asked to try again."""
    return Fault("rnr error\n")


RECOVERED = {one.__name__: one
             for one in (storm, error, dead, dead_after, hang, slow, bandwidth, unready)}
