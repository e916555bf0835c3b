"""What is compressed in parts is one gzip file, and noise costs no time."""

import gzip
import zlib

import numpy as np
import pytest

from centrality.apps.explorer.payload import PART, gzip_in_parallel


@pytest.mark.parametrize("size", [0, 1, 3, PART - 1, PART, PART + 1, 3 * PART + 17])
@pytest.mark.parametrize("levels", [2, 256])
def test_any_reader_of_gzip_gets_back_what_was_compressed(size, levels):
    data = np.random.default_rng(0).integers(0, levels, size=size, dtype=np.uint8).tobytes()
    packed = gzip_in_parallel(data)
    assert gzip.decompress(packed) == data
    reader = zlib.decompressobj(wbits=16 + zlib.MAX_WBITS)  # one file and nothing after it: browsers refuse more
    assert reader.decompress(packed) + reader.flush() == data
    assert reader.eof
    assert reader.unused_data == b""


def test_noise_is_stored_and_the_rest_shrinks():
    noise = np.random.default_rng(0).bytes(2 * PART)
    assert 0 < len(gzip_in_parallel(noise)) - len(noise) < len(noise) // 1000
    assert len(gzip_in_parallel(bytes(2 * PART))) < PART // 50  # zlib's fastest makes a 230th of zeros


def test_what_comes_before_does_not_decide_for_what_comes_after():
    noise, zeros = np.random.default_rng(0).bytes(PART), bytes(PART)
    assert len(gzip_in_parallel(noise + zeros)) < 1.02 * PART
    assert len(gzip_in_parallel(zeros + noise)) < 1.02 * PART
