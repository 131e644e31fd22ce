"""Where tests run side by side, each has one thread: more would wait for each other, busily."""

import os

from threadpoolctl import threadpool_limits

if "PYTEST_XDIST_WORKER" in os.environ:
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(name, "1")
    # Plugins of pytest that other packages bring may have imported numpy before.
    threadpool_limits(1)
