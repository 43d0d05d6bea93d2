from __future__ import annotations

import json
import math
import struct

import numpy as np
import pytest

import weft.support.abi
from weft.runtime.constants import NotDecodable, NotEncodable, decode_constant, encode_constant
from weft.support.abi import ArgKind, KernelInfo

VALUES = [
    None, True, False, 0, -1, 2**63, -(10**5000), 0.0, -0.0, 0.1, math.inf, -math.inf, 1e-320,
    1j, complex(-0.0, math.inf), "", "text \N{GREEK SMALL LETTER ALPHA} \ud800", b"\x00\xff",
    (), (1, (2.0, "x"), None), slice(None), slice(1, -2, 3), range(10), range(9, 0, -2), ...,
    np.dtype("f8"), np.dtype(">i2"), np.dtype("q"), np.dtype("l"), np.dtype("M8[ns]"), np.dtype("S5"), np.dtype(bool),
    np.float32(0.1), np.float64(0.1), np.float64(-0.0), np.int8(-5), np.uint64(2**64 - 1), np.bool_(True),
    np.complex64(1 - 2j), np.datetime64("2020-01-02"), ArgKind.ARRAY,
    np.float64, np.longlong, np.add, np.linalg.norm, np.ndarray.sum, np.random.default_rng, np, np.linalg,
    math, math.sin, len, int, KernelInfo, weft.support.abi,
]  # fmt: skip


@pytest.mark.parametrize("value", VALUES, ids=lambda v: type(v).__name__)
def test_what_is_encoded_comes_back(value):
    text = json.dumps(encode_constant(value))
    again = decode_constant(json.loads(text))
    assert type(again) is type(value)
    assert again == value or again is value
    if isinstance(value, float):
        assert struct.pack("d", again) == struct.pack("d", value)
    if isinstance(value, np.dtype):
        assert again.num == value.num


def test_nan_keeps_its_bits():
    nan = struct.unpack("d", b"\x01\x00\x00\x00\x00\x00\xf8\xff")[0]
    again = decode_constant(encode_constant(nan))
    assert struct.pack("d", again) == struct.pack("d", nan)


def local_function():
    def inner():
        return None

    return inner


def replaced():
    return None


first_replaced = replaced
globals()["replaced"] = local_function


@pytest.mark.parametrize(
    "value",
    [
        [], {}, object(), (1, [2]), "x".upper, iter(()),
        local_function(), lambda: None, first_replaced,
        np.zeros(2), np.dtype([("x", "f8")]), np.dtype(object), np.zeros(1, [("x", "f8")])[0],
    ],
    ids=lambda v: type(v).__name__,
)  # fmt: skip
def test_what_has_no_form_on_disk(value):
    with pytest.raises(NotEncodable):
        encode_constant(value)


@pytest.mark.parametrize(
    "data",
    [
        ["import", "no.such.module", "x"],
        ["import", "math", "no_such"],
        ["what"],
        [],
        ["float", "zz"],
        ["dtype", "zz"],
        ["int"],
    ],
)
def test_what_cannot_be_found_again(data):
    with pytest.raises(NotDecodable):
        decode_constant(data)
