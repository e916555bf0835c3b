"""Files are written whole or not at all, and what killed processes left is removed."""

import pytest

from centrality._internal.files import remove_leftovers
from tests.conftest import quick


def test_only_what_killed_processes_left_is_swept(tmp_path):
    left = [".a.0123abcd.parquet", ".b.parquet.0123abcd"]
    stay = [".a.parquet", ".other.0123abcd.parquet", ".a.0123.parquet", "a.0123abcd.parquet"]
    for name in [*left, *stay]:
        (tmp_path / name).touch()
    remove_leftovers([tmp_path / "a.parquet"])
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([left[1], *stay])


@pytest.fixture
def saved(blob, tmp_path):
    path = tmp_path / "model.safetensors"
    quick().fit(blob).save(path)
    return path


def test_a_failed_save_leaves_the_old_file_and_nothing_beside_it(saved, blob, monkeypatch):
    old = saved.read_bytes()
    model = quick(hidden=(20,)).fit(blob)

    def full_disk(*args, **kwargs):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full_disk)
    with pytest.raises(OSError, match=rf"Cannot write {saved}: there is no space left"):
        model.save(saved)
    assert saved.read_bytes() == old
    assert [path.name for path in saved.parent.iterdir()] == [saved.name]


def test_saving_into_a_folder_that_is_not_there_says_so(fitted, tmp_path):
    with pytest.raises(FileNotFoundError, match=r"the folder .* does not exist"):
        fitted.save(tmp_path / "no" / "m.safetensors")
    with pytest.raises(IsADirectoryError, match="it is a folder, a file name was wanted"):
        fitted.save(tmp_path)
