"""The directive ``sizing-table``: what fits of several sizes need, by formulas of the package."""

from data_sets import _row, _Written

from klsnmf.kernels.sizing import in_bytes, in_time, needs

#: Samples, neighbours (None for a dense kernel) and workers.
_ROWS = [
    (10**5, None, 10),
    (10**6, None, 100),
    (10**6, 10, 10),
    (10**7, None, 100),
    (10**7, 10, 10),
    (10**7, 10, 100),
    (10**8, 10, 100),
]


class SizingTable(_Written):
    def lines(self):
        yield from [".. list-table::", "   :header-rows: 1", ""]
        header = ["samples", "kernel", "workers", "memory of a worker", "memory of the client"]
        header += ["network, until K is known", "network, an iteration"]
        yield from _row([*header, "time, until K is known", "time, an iteration"])
        for n, neighbors, workers in _ROWS:
            found = needs(n, 50, 10, neighbors=neighbors, workers=workers)
            kernel = "dense" if neighbors is None else f"{neighbors} neighbours"
            yield from _row(
                [
                    f"{n:,}",
                    kernel,
                    workers,
                    in_bytes(found.worker_memory),
                    in_bytes(found.client_memory),
                    in_bytes(found.first_traffic),
                    in_bytes(found.traffic),
                    in_time(found.first_seconds),
                    in_time(found.seconds),
                ]
            )


def setup(app):
    app.add_directive("sizing-table", SizingTable)
    return {"parallel_read_safe": True, "version": "1"}
