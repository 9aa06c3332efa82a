"""The conformance tool itself, and a small sample of what it runs. The sample downloads torch's macOS wheel once."""

import pytest
from conformance import wheels


def container(size, function_list=wheels.HEADER_BYTES):
    """A header as `wheels.embedded` reads it, filled up to `size` bytes."""
    header = wheels.MAGIC + bytes(12) + size.to_bytes(8, "little") + function_list.to_bytes(8, "little")
    return header.ljust(size, b"x")


def test_libraries_are_found_inside_other_data():
    first, second = container(100), container(93)
    assert wheels.embedded(b"image" + first + b"MTL" + second + b"MTLB") == [first, second]


@pytest.mark.parametrize("broken", [container(100)[:-1], container(88), container(100, function_list=96), b"MTLB"])
def test_what_only_looks_like_a_library_is_left_out(broken):
    assert wheels.embedded(broken) == []


def test_a_wheel_with_another_digest_is_refused_and_removed(tmp_path, monkeypatch):
    monkeypatch.setenv("CONFORMANCE_CACHE", str(tmp_path))
    path = tmp_path / "wheels" / wheels.WHEELS["mtlattn"].filename
    path.parent.mkdir()
    path.write_bytes(b"not the wheel")
    with pytest.raises(RuntimeError, match="SHA-256 is .*, expected 61d84ad3"):
        wheels.libraries("mtlattn")
    assert not path.exists()
