"""rank_program (tests/communicator) as plain processes, for tests."""
import os
import subprocess
import tempfile


def ends_of_ranks(program, of_rank, wrap=lambda rank, words: words, seconds=60):
    """Starts a rank with each of the settings that of_rank lists; wrap says how. Returns the status
    and the output of each, or exits when one does not end."""
    with tempfile.TemporaryDirectory() as folder:
        ranks = []
        for rank, settings in enumerate(of_rank):
            words = [program, str(rank), str(len(of_rank)), f"{folder}/id"]
            environment = {**os.environ, **settings}
            ranks.append(subprocess.Popen(wrap(rank, words), env=environment, text=True,
                                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT))
        try:
            told = [rank.communicate(timeout=seconds)[0] for rank in ranks]
        except subprocess.TimeoutExpired as late:
            for rank in ranks:
                rank.kill()
            raise SystemExit(f"FAILED: a rank is still there after {seconds} s: {late}, of\n" +
                             "\n".join(rank.communicate()[0] for rank in ranks)) from None
        return [(rank.returncode, text) for rank, text in zip(ranks, told)]


def expect_of_each(ends, holds, what):
    """holds gets the status and the output of a rank."""
    for rank, (status, text) in enumerate(ends):
        if not holds(status, text):
            raise SystemExit(f"FAILED: {what}: rank {rank} ended with {status} and said\n{text}")
