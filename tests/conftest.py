"""Where tests run side by side, each has one thread: more would wait for each other, busily.

Commands print no lines of progress, which would appear on a busy machine only. Ctrl-C is heard,
also where a shell started the tests in the background and ignores it.
"""

import os
import signal

import pytest
from threadpoolctl import threadpool_limits

if "PYTEST_XDIST_WORKER" in os.environ:
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(name, "1")
    # Plugins of pytest that other packages bring may have imported numpy before.
    threadpool_limits(1)


@pytest.fixture(autouse=True, scope="session")
def no_lines_of_progress():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("klsnmf.cli.working._SHORT", 1e6)
        yield


@pytest.fixture(autouse=True, scope="session")
def ctrl_c_is_heard():
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
