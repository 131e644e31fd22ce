"""What is known about each data set: publisher, address, terms, and how to recognise it.

There are two kinds of hashes. ``sha256`` recognises a publisher's file byte by byte, before it is
parsed. ``content`` recognises the pixels, the classes and the shape of the images, however they are
stored, so that a prepared .npz can be checked whatever program compressed it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Original:
    """A publisher's file.

    Attributes
    ----------
    file : str, its name
    sha256 : tuple of str
        The hashes it may have: first that of the publisher's file, then those of copies that
        differ only in blanks and line ends. Empty if we could not get the file, so that only its
        content can be checked.
    size : int, the most bytes it may have
    url : str, where it can be downloaded; None if you have to ask for it first
    """

    file: str
    sha256: tuple[str, ...]
    size: int
    url: str | None


@dataclass(frozen=True)
class DataSet:
    """One data set. ``how_to_get`` completes the sentence "To get it, ..."."""

    name: str
    title: str
    n_samples: int
    n_classes: int
    image_shape: tuple[int, int]
    publisher: str
    address: str
    licence: str
    redistribution: Literal["yes", "no", "unknown"]
    content: str
    original: Original | None
    how_to_get: str

    @property
    def n_features(self) -> int:
        return self.image_shape[0] * self.image_shape[1]


def _downloaded(name: str) -> str:
    return f"run klsnmf data fetch {name}, or load it with download=True"


_FEATURE_SELECTION = "scikit-feature, feature selection repository of Arizona State University"

_SETS = [
    DataSet(
        name="digits",
        title="Handwritten digits of scikit-learn",
        n_samples=1797,
        n_classes=10,
        image_shape=(8, 8),
        publisher="UCI Machine Learning Repository; a copy is part of scikit-learn",
        address="https://archive.ics.uci.edu/dataset/80/optical+recognition+of+handwritten+digits",
        licence="CC BY 4.0",
        redistribution="yes",
        content="62dda7b90467b96ee19261e0559b2741fe7ad5243fce92ce9e74b08735518745",
        original=None,
        how_to_get="nothing needs to be done: it is a part of scikit-learn",
    ),
    DataSet(
        name="semeion",
        title="Semeion handwritten digits",
        n_samples=1593,
        n_classes=10,
        image_shape=(16, 16),
        publisher="UCI Machine Learning Repository",
        address="https://archive.ics.uci.edu/dataset/178/semeion+handwritten+digit",
        licence="CC BY 4.0",
        redistribution="yes",
        content="8063488aef3de62cc992fef1895643b2db4250f88ed13c6f3005ff920182f1ca",
        original=Original(
            file="semeion.data",
            sha256=(
                "f43228ae3da5ea6a3c95069d53450b86166770e3b719dcc333182128fe08d4b1",
                "d92d6c4103d1dbe202ad7fa50652f821c11b5bc1890f9d2673706203410d68b8",
            ),
            size=2_889_702,
            url="https://archive.ics.uci.edu/ml/machine-learning-databases/semeion/semeion.data",
        ),
        how_to_get=_downloaded("semeion"),
    ),
    DataSet(
        name="alphadigit",
        title="Binary Alphadigits: handwritten digits and capital letters",
        n_samples=1404,
        n_classes=36,
        image_shape=(20, 16),
        publisher="Sam Roweis, New York University",
        address="https://cs.nyu.edu/~roweis/data.html",
        licence="unknown",
        redistribution="unknown",
        content="617497bbbc8e32610dc6e0b20c9cc644a2bab58bd8186f16e91e8a7037e92370",
        original=Original(
            file="binaryalphadigs.mat",
            sha256=("3ee9392e64e4e3bb7b35502b69bf2555a0b4197c1b31048c4189b84bc0bc6ea7",),
            size=532_304,
            url="https://cs.nyu.edu/~roweis/data/binaryalphadigs.mat",
        ),
        how_to_get=_downloaded("alphadigit"),
    ),
    DataSet(
        name="jaffe",
        title="JAFFE: faces of 10 Japanese women, 26 × 26",
        n_samples=213,
        n_classes=10,
        image_shape=(26, 26),
        publisher="Michael Lyons, Miyuki Kamachi, Jiro Gyoba",
        address="https://zenodo.org/records/3451524",
        licence="non-commercial scientific research, on request",
        redistribution="no",
        content="096bcb54cb04885c6cee86453e3ff3edcb0b67c48667d1b15a7a85faa087e38d",
        original=Original(
            file="jaffe_213n_676d_10c.mat",
            sha256=("abc1a812f7f61c74f94fbbecff5503dbedfc083f528200e1a6a186446e9178ac",),
            size=130_498,
            url=None,
        ),
        how_to_get=(
            "ask the publisher for permission at https://zenodo.org/records/3451524. The 26 × 26 "
            "copy that papers on clustering use is the file jaffe_213n_676d_10c.mat, which goes "
            "with the code of such papers (RMKKM by Du and others, 2015, for one)"
        ),
    ),
    DataSet(
        name="pix",
        title="PIX (pixraw10P): faces of 10 people, 100 × 100",
        n_samples=100,
        n_classes=10,
        image_shape=(100, 100),
        publisher=_FEATURE_SELECTION,
        address="https://jundongl.github.io/scikit-feature/datasets.html",
        licence="unknown",
        redistribution="unknown",
        content="455d88674c9491c37813fa139dc1657596601a1d768d4bd8e8376b06c0b5e391",
        original=Original(
            file="pixraw10P.mat",
            sha256=("aa4b474244ae847dc2efdc868c0ff58fc3748a830c2ffdf760a1697cf72088f8",),
            size=520_463,
            url="https://jundongl.github.io/scikit-feature/files/datasets/pixraw10P.mat",
        ),
        how_to_get=_downloaded("pix"),
    ),
    DataSet(
        name="yale",
        title="Yale faces: 15 people, 32 × 32",
        n_samples=165,
        n_classes=15,
        image_shape=(32, 32),
        publisher=f"Yale University; the 32 × 32 copy: {_FEATURE_SELECTION}",
        address="https://jundongl.github.io/scikit-feature/datasets.html",
        licence="research; not to be put into a larger public database without Yale's permission",
        redistribution="no",
        content="6897dee24c0c68a46ff8706de66cc199c2bb615c0fd6b28408314fd5629c5476",
        original=Original(
            file="Yale.mat",
            sha256=("cccd29abd2c520dd5cc8ff7645b422c2bdadd59406a6b6a0239143d9d44afcf3",),
            size=161_021,
            url="https://jundongl.github.io/scikit-feature/files/datasets/Yale.mat",
        ),
        how_to_get=_downloaded("yale"),
    ),
    DataSet(
        name="faces94",
        title="Faces94, the 113 men, grey, averaged 4 × 4 to 50 × 45",
        n_samples=2260,
        n_classes=113,
        image_shape=(50, 45),
        publisher="Libor Spacek, University of Essex",
        address="https://cswww.essex.ac.uk/mv/allfaces/faces94.html",
        licence="research use",
        redistribution="no",
        content="d70e06b28f1898a6e36f818836b034257d788bae88880f16b1934b52fd053a0e",
        original=Original(file="faces94.zip", sha256=(), size=200_000_000, url=None),
        how_to_get=(
            "ask at https://cswww.essex.ac.uk/mv/allfaces/faces94.html for faces94.zip, or unpack "
            "it yourself into a folder faces94. Its JPEG images are read with Pillow: "
            "pip install pillow"
        ),
    ),
]

#: The data sets by name.
REGISTRY: dict[str, DataSet] = {each.name: each for each in _SETS}
