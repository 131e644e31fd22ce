"""Two directives for the page on data sets, filled from the registry: nothing is typed twice.

``data-set-table`` lists the sets, ``data-set-instructions`` tells how to get each.
"""

from sphinx.util.docutils import SphinxDirective

from klsnmf.datasets import REGISTRY


class _Written(SphinxDirective):
    """A directive that is replaced by the lines it writes."""

    def run(self):
        return self.parse_text_to_nodes("\n".join(self.lines()))


class DataSetTable(_Written):
    def lines(self):
        yield from [".. list-table::", "   :header-rows: 1", ""]
        header = ["name", "what it is", "samples", "pixels", "classes", "publisher", "licence"]
        yield from _row([*header, "may be passed on"])
        for each in REGISTRY.values():
            pixels = "{} × {}".format(*each.image_shape)
            publisher = f"`{each.publisher} <{each.address}>`__"
            counts = [each.n_samples, pixels, each.n_classes]
            yield from _row(
                [
                    f"``{each.name}``",
                    each.title,
                    *counts,
                    publisher,
                    each.licence,
                    each.redistribution,
                ]
            )


class DataSetInstructions(_Written):
    def lines(self):
        for each in REGISTRY.values():
            yield f"``{each.name}``"
            file = f" The file is ``{each.original.file}``." if each.original else ""
            yield f"   {each.how_to_get[0].upper()}{each.how_to_get[1:]}.{file}"


def _row(cells):
    for i, cell in enumerate(cells):
        yield f"   {'* -' if i == 0 else '  -'} {cell}"


def setup(app):
    app.add_directive("data-set-table", DataSetTable)
    app.add_directive("data-set-instructions", DataSetInstructions)
    return {"parallel_read_safe": True, "version": "1"}
