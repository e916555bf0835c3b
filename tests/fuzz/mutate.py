"""Change bytes by lot, as chance and malice would: flips, cuts, copies, and tokens that readers stumble over."""

import random

TOKENS = [
    b"", b"\x00", b"\xff\xff\xff\xff", b"\xff" * 8, b"\x00" * 64, b'"', b'""', b",", b"\t", b"\n", b"\r\n", b"\r",
    b"{}", b"[]", b"[" * 300, b"{" * 300, b"nan", b"inf", b"-inf", b"1e999", b"-0", b"0x1f", b"true", b"null",
    b"NULL", b"99999999999999999999", b"2024-01-01", b"\xef\xbb\xbf", b"\xc3\x28", b"\xf0\x9f\x92\xa9", b"\x1b[2J",
    b"a" * 5000, b"'", b"\\", b"\\u0000", b"../../x", b"\x7fELF", b"PAR1", b"ARROW1\0\0", b"\x93NUMPY",
    b"PK\x03\x04", b"\x80\x04\x95",
]  # fmt: skip


def mutated(seeds: list[bytes], chance: random.Random) -> bytes:
    """Return one of the seeds with one to six changes."""
    data = bytearray(chance.choice(seeds))
    for _ in range(chance.choice((1, 1, 2, 3, 6))):
        at = chance.randrange(len(data) + 1)
        kind = chance.randrange(7)
        if kind == 0 and data:
            data[min(at, len(data) - 1)] ^= 1 << chance.randrange(8)
        elif kind == 1 and data:
            data[min(at, len(data) - 1)] = chance.randrange(256)
        elif kind == 2:
            data[at : at + chance.choice((0, 1, 4, 8))] = chance.choice(TOKENS)
        elif kind == 3:
            del data[at : at + chance.choice((1, 2, 8, 100))]
        elif kind == 4:
            del data[at:]
        elif kind == 5:
            begin = chance.randrange(len(data) + 1)
            data[at:at] = data[begin : begin + chance.choice((1, 8, 64, 500))]
        else:
            other = chance.choice(seeds)
            data[at:] = other[chance.randrange(len(other) + 1) :]
    return bytes(data)
