"""The directive ``sizing-table``: what fits of several sizes need, by formulas of the package."""

from data_sets import _row, _Written

from klsnmf.sizing import needs

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
                    _bytes(found.worker_memory),
                    _bytes(found.client_memory),
                    _bytes(found.first_traffic),
                    _bytes(found.traffic),
                    _seconds(found.first_seconds),
                    _seconds(found.seconds),
                ]
            )


def _bytes(count):
    for unit, size in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6)):
        if count >= size:
            return f"{count / size:.{0 if count >= 10 * size else 1}f} {unit}"
    return "none"


def _seconds(count):
    for unit, size in (("days", 86400), ("hours", 3600), ("minutes", 60)):
        if count >= 2 * size:
            return f"{count / size:.2g} {unit}"
    return f"{count:.2g} s"


def setup(app):
    app.add_directive("sizing-table", SizingTable)
    return {"parallel_read_safe": True, "version": "1"}
