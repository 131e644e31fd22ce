"""Files that appear complete or not at all."""

from klsnmf.core.writing import write_whole


def test_a_file_that_is_written_anew_is_another_file(tmp_path):
    """Whoever has opened the old one reads it to its end: the new one took its name, at once."""
    file = tmp_path / "a"
    file.write_bytes(b"old")
    with file.open("rb") as reader:
        write_whole(file, b"new, and longer")
        assert reader.read() == b"old"
    assert file.read_bytes() == b"new, and longer"
    assert [each.name for each in tmp_path.iterdir()] == ["a"]
