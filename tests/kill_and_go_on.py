"""Run by test_checkpoints: a fit that is killed or interrupted again and again until it is done.

A child is forked for every attempt, so that packages are imported once. An attempt has its signal
at a random moment after it has written, and the next goes on: it must come to an end.
"""

import os
import random
import signal
import sys
import time
from pathlib import Path

import numpy as np

from klsnmf import KLSNMF
from klsnmf.solve import checkpoint

from .helpers import blobs

STOPS = 6


def attempt(file, first, disturbed):
    """One child; it notes the first iteration that it saw, and leaves its result."""
    seen, last = 0, random.randint(2, 8)
    ends = random.choice([signal.SIG_DFL, signal.default_int_handler])  # killed, or interrupted
    signal.signal(signal.SIGALRM, ends)

    def watch(progress):
        nonlocal seen
        if progress.phase == "screening":
            return
        seen += 1
        if seen == 1:
            first.write_text(f"{progress.phase} {progress.iteration}")
        if seen == last and disturbed:
            # An alarm of the system's clock: it rings long before the iterations are through.
            signal.setitimer(signal.ITIMER_REAL, random.uniform(0.0001, 0.02))
        time.sleep(0.002)

    checkpoint.PAUSE = -1.0  # write after every iteration, whatever it costs
    checkpoint.SHARE = np.inf
    X, _ = blobs(120, 4, 8, 0)
    model = KLSNMF(4, checkpoint=file, callback=watch, random_state=0, tol=0, max_iter=100).fit(X)
    np.savez(sys.argv[2], labels=model.labels_, W=model.W_, G=model.G_, **model.history_)


def main():
    random.seed(int(sys.argv[3]))
    file, firsts = Path(sys.argv[1]), []
    for stop in range(STOPS + 1):
        first = file.with_name(f"first{stop}")
        random.random()  # the children's generators go on from here: each its own way
        child = os.fork()
        if not child:
            try:
                attempt(file, first, disturbed=stop < STOPS)
            except KeyboardInterrupt:
                os._exit(1)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        firsts.append(first.read_text() if first.exists() else "nothing")
        if status == 0:
            print(*firsts, sep="\n")
            return
    raise SystemExit("the last attempt was not disturbed, and failed")


if __name__ == "__main__":
    main()
