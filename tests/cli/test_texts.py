"""Texts through the command: a folder of them, a column of a table, new ones, hostile ones."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from benchmarks.docstrings import docstrings, write
from klsnmf.metrics import accuracy

from ..command_runs import as_labels, labels_of, rows_of, run

WORDS = {
    "cooking": "salt pepper onion butter oven bake recipe flour sugar pan",
    "sailing": "mast sail anchor harbour wind keel rope tide deck captain",
    "chess": "bishop knight rook pawn castle gambit queen board mate opening",
}
SUBJECTS = {subject: words.split() for subject, words in WORDS.items()}


def texts_of(n=20, seed=0):
    """Simulated texts on three subjects: words of the subject among words that all share."""
    rng = np.random.default_rng(seed)
    common = ["the", "and", "with", "from", "some", "very", "that", "this", "which", "about"]
    found = []
    for subject, words in SUBJECTS.items():
        for i in range(n):
            chosen = [*rng.choice(words, 12), *rng.choice(common, 20)]
            found.append((subject, f"{subject} {i:02}", " ".join(rng.permutation(chosen))))
    return found


def write_folder(texts, folder="texts"):
    for subject, name, text in texts:
        Path(folder, subject).mkdir(parents=True, exist_ok=True)
        Path(folder, subject, f"{name}.txt").write_text(text, encoding="utf-8")


def write_table(texts, path="texts.csv"):
    with open(path, "w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([("subject", "name", "body, whole"), *texts])


@pytest.mark.parametrize("kind", ["folder", "csv"])
def test_texts_and_new_ones(kind):
    texts = texts_of()
    y = [subject for subject, _, _ in texts]
    if kind == "folder":
        write_folder(texts)
        data, options = "texts", ["--label-column", "folder"]
        y = sorted(y)  # as the names of their folders come
    else:
        write_table(texts)
        data = "texts.csv"
        options = ["--text-column", "body, whole", "--label-column", "subject"]
        options += ["--id-column", "name"]
    shown = json.loads(run("cluster", data, *options, "--json", "-q")[0])
    assert shown["n_clusters"] == 3
    assert shown["scores"]["accuracy"] == 1
    assert shown["columns"] is None
    rows = rows_of("texts-clusters/labels.csv")
    assert list(rows[0]) == ["id", "cluster", "strength", "words"]
    for c, words in enumerate(shown["words"]):
        of_cluster = {row["words"] for row in rows if row["cluster"] == str(c)}
        assert of_cluster == {" ".join(words)}
        subject = next(name for name, known in SUBJECTS.items() if words[0] in known)
        assert set(words) <= set(SUBJECTS[subject])
    page = Path("texts-clusters/report.html").read_text(encoding="utf-8")
    assert all(some[0] in page for some in shown["words"])
    again = run("predict", "texts-clusters", data, "-q")[0]
    assert as_labels(again) == Path("texts-clusters/labels.csv").read_text()
    write_folder(texts_of(4, seed=1), "new")
    placed = csv.DictReader(run("predict", "texts-clusters", "new", "-q")[0].splitlines())
    for row in placed:
        subject = row["id"].split("/")[0]
        assert set(row["words"].split()) <= set(SUBJECTS[subject])


def test_a_model_of_a_folder_takes_a_column():
    write_folder(texts_of())
    write_table(texts_of(5, seed=1), "new.csv")
    run("cluster", "texts", "-k", 3, "-q")
    placed = run("predict", "texts-clusters", "new.csv", "--text-column", "body, whole", "-q")[0]
    labels = np.array([int(line.split(",")[1]) for line in placed.splitlines()[1:]])
    assert accuracy(np.repeat(range(3), 5), labels) == 1
    _, told = run("predict", "texts-clusters", "new.csv", code=3)
    assert "new.csv has no column 'text'" in told
    assert "Name the column of text with --text-column." in " ".join(told.split())


def test_the_table_shows_words_and_the_join_has_them():
    write_table(texts_of())
    shown, _ = run("cluster", "texts.csv", "--text-column", "body, whole", "-k", 3, "--join")
    head, first, *_ = shown.splitlines()
    assert head.split("\t") == ["cluster", "samples", "median strength", "below 0.3", "words"]
    assert len(first.split("\t")[4].split()) == 6
    assert "Clustered by 40 words of 'body, whole'." in shown
    rows = rows_of("texts-clusters/joined.csv")
    assert list(rows[0]) == ["subject", "name", "body, whole", "cluster", "strength", "words"]


@pytest.mark.parametrize(
    ("options", "code", "expected"),
    [
        (["--text-column", "boddy"], 3, "texts.csv has no column 'boddy'"),
        (["--text-column", "name", "--columns", "a"], 2, "text is used instead of numbers"),
        (["--text-column", "name", "--scale", "standard"], 3, "is sparse"),
        ([], 3, "no column of numbers to cluster by; its columns are 'subject', 'name', 'body, wh"),
        ([], 3, "for text use --text-column"),
    ],
)
def test_wrong_columns_of_text(options, code, expected):
    write_table(texts_of())
    _, told = run("cluster", "texts.csv", *options, code=code)
    assert expected in " ".join(told.split())


def test_other_files_encodings_and_what_is_no_text():
    write_folder(texts_of())
    Path("texts/list.pdf").write_bytes(b"%PDF")
    Path("texts/chess/french.txt").write_bytes("bishop knight rook caf\xe9".encode("latin-1"))
    Path("texts/empty.txt").write_text("")
    _, told = run("cluster", "texts", "-k", 3)
    assert "1 file in texts is no text and was left out: 'list.pdf'." in told
    assert "1 text in texts is not in UTF-8, and read as Latin-1: 'chess/french.txt'." in told
    assert "1 of 62 texts has no word that the clusters are made from" in " ".join(told.split())
    assert len(labels_of("texts-clusters")) == 62
    Path("texts/chess/picture.txt").write_bytes(b"\x89PNG\0\0\0")
    _, told = run("cluster", "texts", "-k", 3, "--out", "b", code=3)
    assert "1 file in texts is no text in UTF-8: 'chess/picture.txt'." in told
    _, told = run("cluster", "texts", "-k", 3, "--skip-broken", "--out", "b")
    assert "2 files in texts are not texts and were left out" in told
    assert len(labels_of("b")) == 62
    _, told = run("cluster", "texts", "--text-column", "a", "--out", "c", code=3)
    assert "which has no columns" in told
    np.save("a.npy", np.ones((3, 2)))
    _, told = run("cluster", "a.npy", "--text-column", "a", code=3)
    assert "a.npy has no columns of text" in told


def test_hostile_words_do_no_harm():
    texts = [(s, n, f"{t} <script>alert(1)</script> \x1b[31m =cmd") for s, n, t in texts_of()]
    write_table(texts)
    shown, told = run("cluster", "texts.csv", "--text-column", "body, whole", "-k", 3)
    assert "\x1b" not in shown + told
    page = Path("texts-clusters/report.html").read_text(encoding="utf-8")
    assert "<script>alert" not in page


# ---------------------------------------------------------------------- a stranger's walk


def test_a_stranger_clusters_docstrings(capsys):
    """Nothing but DATA: 1,461 functions of numpy, scipy and scikit-learn when this was written."""
    assert write(Path("texts")) == len(docstrings()) > 1000
    shown = json.loads(run("cluster", "texts", "--json", "-q")[0])
    rows = rows_of("texts-clusters/labels.csv")
    modules = [row["id"].split("/")[0] for row in rows]
    score = adjusted_rand_score(modules, labels_of("texts-clusters"))
    with capsys.disabled():
        print(f"\ndocstrings: {len(rows)} texts, {shown['n_clusters']} clusters, adjusted Rand "
              f"{score:.3f}")  # fmt: skip
    assert score > 0.5  # 0.71; other versions of these packages have other docstrings
