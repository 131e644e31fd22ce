"""Workers of Dask are forked where what they need is imported, which takes each of them seconds."""

import multiprocessing

import dask

dask.config.set({"distributed.worker.multiprocessing-method": "forkserver"})

import distributed  # noqa: E402, F401  # it reads the line above, and says what is imported

multiprocessing.get_context("forkserver").set_forkserver_preload(
    ["distributed", "klsnmf.grams.block_tasks", "klsnmf.kernels.worker_tasks"]
)
