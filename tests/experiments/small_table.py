"""A table that is quickly made; apart, so that processes of the tests import little else."""

from concurrent.futures import Executor, Future

from klsnmf.experiments.protocol import Table, Trial

KMEANS = Trial("KMeans", "kmeans", "plain", fixed={"n_init": 1}, rows="stored")
SMALL = Table(
    "small",
    "A small table",
    "digits",
    (2, 3),
    (
        KMEANS,
        Trial("WNMF", "wnmf", fixed={"n_init": 1, "max_iter": 5}, readings=("argmax", "kmeans")),
        Trial(
            "KLS-NMF",
            "kls-nmf",
            grid={"radius": (0.1, 1.0), "lam": (0.001, 0.1)},
            beside=(0.0,),
            fixed={"kernel": "rbf", "n_neighbors": None, "n_init": 2, "max_iter": 4},
        ),
    ),
    subsets=2,
)


class Here(Executor):
    """Works in this process, where everything is imported already."""

    def submit(self, function, /, *arguments, **options):
        done = Future()
        done.set_result(function(*arguments, **options))
        return done
