"""The functions that are called, not compiled: all pure, their types known from those of their arguments.

`NAMES` are the names of the rules; the tables below give calls that test each. To add a function: it must give fresh
results whose types, ranks and number follow from the types of its arguments and from static ones, must not change or
keep its arguments, and must have no other effect than a warning.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np

from weft.numpy_rules.builder import Builder
from weft.numpy_rules.registry import RuleEntry, guarded, numpy_rule
from weft.numpy_rules.typed_calls import call_numpy
from weft.numpy_rules.values import Array, Operand, Static

_LINEAR_ALGEBRA: Final = {
    "cholesky": ("linalg.cholesky(f8[1, 1] + 9)",),
    "cond": ("linalg.cond(f8[3, 3] + 0.5)", "linalg.cond(f8[2, 3, 3] + 0.5, 1)"),
    "cross": ("linalg.cross(f8[4, 3], f8[4, 3])",),
    "det": ("linalg.det(f8[3, 3] + 0.5)", "linalg.det(f4[2, 3, 3])", "linalg.det(c16[3, 3])"),
    "eig": ("linalg.eig(c16[3, 3])",),
    "eigh": ("linalg.eigh(f8[3, 3])", "linalg.eigh(c8[2, 3, 3], 'U')", "linalg.eigh(i4[3, 3])"),
    "eigvals": ("linalg.eigvals(c16[3, 3])",),
    "eigvalsh": ("linalg.eigvalsh(f8[3, 3])", "linalg.eigvalsh(c16[3, 3], UPLO='U')"),
    "inv": ("linalg.inv(f8[3, 3] + 0.5)", "linalg.inv(f4[2, 3, 3] + 0.25)", "linalg.inv(c16[2, 2])"),
    "lstsq": ("linalg.lstsq(f8[5, 3], f8[5])", "linalg.lstsq(f8[5, 3], f8[5, 2], rcond=v(0.001))"),
    "matrix_norm": ("linalg.matrix_norm(f8[3, 4])", "linalg.matrix_norm(f4[2, 3, 4], ord=2, keepdims=True)"),
    "matrix_power": ("linalg.matrix_power(f8[3, 3], 3)", "linalg.matrix_power(i8[3, 3], v(2))"),
    "matrix_rank": ("linalg.matrix_rank(f8[3, 4])", "linalg.matrix_rank(f8[2, 3, 3], hermitian=True)"),
    "multi_dot": ("linalg.multi_dot((f8[2, 3], f8[3, 4], f8[4, 5]))",),
    "pinv": ("linalg.pinv(f8[3, 4])", "linalg.pinv(c16[2, 3, 4])"),
    "qr": (
        "linalg.qr(f8[4, 3])", "linalg.qr(c16[3, 3])", "linalg.qr(f4[4, 3], mode='complete')",
        "linalg.qr(f8[4, 3], 'r')",
    ),
    "slogdet": ("linalg.slogdet(f8[3, 3] + 0.5)", "linalg.slogdet(c16[2, 3, 3])"),
    "solve": (
        "linalg.solve(f8[3, 3] + 0.5, f8[3])", "linalg.solve(f4[3, 3] + 0.5, f4[3, 2])",
        "linalg.solve(c16[2, 3, 3], f8[2, 3, 4])", "linalg.solve(i8[3, 3], i8[3])",
    ),
    "svd": (
        "linalg.svd(f8[4, 3])", "linalg.svd(c8[4, 3], full_matrices=False)", "linalg.svd(f8[3, 3], compute_uv=False)",
    ),
    "svdvals": ("linalg.svdvals(f8[4, 3])",),
    "tensorinv": ("linalg.tensorinv(f8[2, 2, 2, 2] + 0.25, ind=2)",),
    "tensorsolve": ("linalg.tensorsolve(f8[2, 2, 2, 2] + 0.25, f8[2, 2])",),
    "vecdot": ("linalg.vecdot(f8[2, 3], f8[2, 3])", "linalg.vecdot(c8[3], c8[3])"),
    "vector_norm": ("linalg.vector_norm(f8[3, 4], axis=1)", "linalg.vector_norm(c16[3], ord=1)"),
}  # fmt: skip

_FOURIER: Final = {
    "fft": (
        "fft.fft(f8[5])", "fft.fft(c16[4, 3], axis=0)", "fft.fft(f4[4, 3])", "fft.fft(f8[5], v(8))",
        "fft.fft(i4[5], norm='ortho')",
    ),
    "fft2": ("fft.fft2(f8[4, 3])", "fft.fft2(c8[2, 4, 3])"),
    "fftfreq": ("fft.fftfreq(v(8), v(0.5))", "fft.fftfreq(5)"),
    "fftn": ("fft.fftn(f8[2, 3, 4])", "fft.fftn(f8[2, 3, 4], axes=(0, 2))"),
    "fftshift": ("fft.fftshift(f8[5])", "fft.fftshift(c16[4, 3], axes=0)", "fft.fftshift(i4[4, 3])"),
    "hfft": ("fft.hfft(c16[5])",),
    "ifft": ("fft.ifft(c16[5])", "fft.ifft(f8[4, 3], axis=0)"),
    "ifft2": ("fft.ifft2(c16[4, 3])",),
    "ifftn": ("fft.ifftn(c16[2, 3, 4])",),
    "ifftshift": ("fft.ifftshift(f8[5])",),
    "ihfft": ("fft.ihfft(f8[5])",),
    "irfft": ("fft.irfft(c16[5])", "fft.irfft(c8[4, 3], axis=0)"),
    "irfft2": ("fft.irfft2(c16[4, 3])",),
    "irfftn": ("fft.irfftn(c16[2, 3, 4])",),
    "rfft": ("fft.rfft(f8[5])", "fft.rfft(f4[4, 3], axis=0)"),
    "rfft2": ("fft.rfft2(f8[4, 3])",),
    "rfftfreq": ("fft.rfftfreq(v(8), 0.5)",),
    "rfftn": ("fft.rfftn(f8[2, 3, 4])",),
}  # fmt: skip

_SORTING: Final = {
    "argpartition": ("argpartition(f8[5], 0)", "argpartition(i4[4, 3], v(0), axis=0)"),
    "argsort": (
        "argsort(f8[5])", "argsort(i4[4, 3], axis=0)", "argsort(f8[4, 3], axis=None)", "argsort(u1[5], kind='stable')",
    ),
    "argwhere": ("argwhere(f8[5])", "argwhere(i8[3, 4] % 2)"),
    "digitize": ("digitize(f8[5], [1.0, 2.5, 4.0])", "digitize(f8[4, 3], [1, 3], right=True)"),
    "extract": ("extract(b1[5], f8[5])",),
    "flatnonzero": ("flatnonzero(f8[5])", "flatnonzero(b1[3, 4])"),
    "intersect1d": ("intersect1d(i8[5], i8[7])",),
    "isin": ("isin(i8[5], i8[7])", "isin(f8[3, 4], [1.0, 2.5], invert=True)"),
    "lexsort": ("lexsort((i8[5], f8[5]))", "lexsort(f8[3, 4])"),
    "nonzero": ("nonzero(f8[5])", "nonzero(i8[3, 4] % 2)"),
    "partition": ("partition(f8[5], 0)", "partition(i4[4, 3], v(0), axis=0)"),
    "searchsorted": (
        "searchsorted([1.0, 2.5, 4.0], f8[5])", "searchsorted([1.0, 2.5], v(2.0))",
        "searchsorted([1, 2, 3], i8[2, 3], side='right')",
    ),
    "setdiff1d": ("setdiff1d(i8[5], i8[7])",),
    "setxor1d": ("setxor1d(i8[5], i8[7])",),
    "sort": (
        "sort(f8[5])", "sort(i4[4, 3], axis=0)", "sort(f8[4, 3], axis=None)", "sort(c16[5])", "sort(b1[5])",
        "sort(f4[2, 3, 4], 1, kind='stable')",
    ),
    "sort_complex": ("sort_complex(c16[5])", "sort_complex(f8[5])"),
    "union1d": ("union1d(i8[5], i8[7])",),
    "unique": (
        "unique(i8[5] % 3)", "unique(f8[4, 3])", "unique(i8[5] % 3, return_counts=True)",
        "unique(i8[4, 3] % 2, axis=0)", "unique(f8[5], return_index=True, return_inverse=True)",
    ),
    "unique_counts": ("unique_counts(i8[5] % 3)",),
    "unique_inverse": ("unique_inverse(i8[5] % 3)",),
    "unique_values": ("unique_values(i8[5] % 3)",),
}  # fmt: skip

_STATISTICS: Final = {
    "bincount": ("bincount(u1[5])", "bincount(u1[5], f8[5])", "bincount(u1[5], minlength=v(12))"),
    "corrcoef": ("corrcoef(f8[3, 5])", "corrcoef(f8[5], f8[5])"),
    "cov": ("cov(f8[3, 5])", "cov(f8[3, 5], rowvar=False)", "cov(f8[5])", "cov(f8[5], f8[5], ddof=0)"),
    "histogram": (
        "histogram(f8[5])", "histogram(f8[5], bins=v(4))", "histogram(i8[5], [0, 2, 4])",
        "histogram(f8[5], 3, density=True)", "histogram(f8[5], 3, (0.0, 1.0), weights=f8[5])",
    ),
    "histogram2d": ("histogram2d(f8[5], f8[5], 3)",),
    "histogram_bin_edges": ("histogram_bin_edges(f8[5], 4)",),
    "median": ("median(f8[5])", "median(f8[4, 3], axis=0)", "median(i4[4, 3], axis=1, keepdims=True)", "median(f4[5])"),
    "nanargmax": ("nanargmax(f8[4, 3], axis=0)", "nanargmax(f8[5])"),
    "nanargmin": ("nanargmin(f8[4, 3], axis=1)",),
    "nancumprod": ("nancumprod(f8[5])",),
    "nancumsum": ("nancumsum(f8[4, 3], axis=0)", "nancumsum(f8[4, 3])"),
    "nanmedian": ("nanmedian(f8[4, 3], axis=1)",),
    "nanpercentile": ("nanpercentile(f8[5], 30)",),
    "nanprod": ("nanprod(f8[4, 3], axis=0)",),
    "nanquantile": ("nanquantile(f8[4, 3], 0.3, axis=0)",),
    "percentile": (
        "percentile(f8[5], 30)", "percentile(f8[4, 3], v(25.0), axis=0)", "percentile(f8[5], [25, 50, 75])",
        "percentile(i8[4, 3], 50, axis=1, keepdims=True)", "percentile(f8[5], 40, method='lower')",
    ),
    "quantile": ("quantile(f8[5], 0.3)", "quantile(f8[4, 3], v(0.25), axis=0)", "quantile(f8[5], [0.25, 0.75])"),
}  # fmt: skip

_CALCULUS: Final = {
    "array_equiv": ("array_equiv(f8[4, 3], f8[3])",),
    "convolve": ("convolve(f8[5], f8[3])", "convolve(i8[5], i8[3], 'same')", "convolve(f4[5], f8[3], mode='valid')"),
    "correlate": ("correlate(f8[5], f8[3])", "correlate(c16[5], c16[3], mode='full')"),
    "cross": ("cross(f8[4, 3], f8[4, 3])", "cross(i8[3], i8[3])"),
    "ediff1d": ("ediff1d(f8[5])", "ediff1d(i8[4, 3])"),
    "i0": ("i0(f8[5])",),
    "interp": (
        "interp(f8[5], [0.0, 1.0, 4.0], [1.0, 0.0, 2.0])", "interp(v(0.5), [0.0, 1.0], [1.0, 0.0])",
        "interp(f8[2, 3], [0.0, 1.0], [1.0, 0.0], left=v(-1.0))",
    ),
    "kron": ("kron(f8[2, 3], f8[3, 2])", "kron(i8[3], i8[2])"),
    "poly": ("poly(f8[3])",),
    "polyadd": ("polyadd(f8[3], f8[5])",),
    "polyder": ("polyder(f8[5])", "polyder(f8[5], 2)"),
    "polydiv": ("polydiv(f8[5] + 1, f8[2] + 1)",),
    "polyfit": ("polyfit(f8[7], f8[7], 2)", "polyfit(f8[7], f8[7, 2], v(1))"),
    "polyint": ("polyint(f8[4])",),
    "polymul": ("polymul(f8[3], f8[5])",),
    "polysub": ("polysub(f8[3], f8[5])",),
    "polyval": ("polyval(f8[3], f8[5])", "polyval(f8[3], v(2.0))", "polyval([1, 2], i8[3])"),
    "sinc": ("sinc(f8[5])", "sinc(f8[4, 3])"),
    "matvec": ("matvec(f8[2, 3], f8[3])", "matvec(i8[2, 2, 3], i8[2, 3])"),
    "piecewise": ("piecewise(f8[5], [b1[5], b1[5]], [0.5, v(2.0)])",),
    "unwrap": ("unwrap(f8[5])", "unwrap(f8[4, 3], axis=0)"),
    "vander": ("vander(f8[3])", "vander(i8[3], v(4))"),
    "vecdot": ("vecdot(f8[2, 3], f8[2, 3])", "vecdot(c16[3], c16[3])"),
    "vecmat": ("vecmat(f8[3], f8[3, 2])",),
}  # fmt: skip

_REARRANGING: Final = {
    "append": ("append(f8[5], f8[3])", "append(f8[5], v(2.0))", "append(f8[2, 3], f8[2, 1], axis=1)"),
    "block": ("block([[f8[2, 2], f8[2, 3]], [f8[3, 2], f8[3, 3]]])",),
    "choose": ("choose(u1[5] % 2, (f8[5], f8[5]))",),
    "compress": ("compress(b1[5], f8[5])", "compress([True, False, True], f8[2, 3], axis=1)"),
    "delete": ("delete(f8[5], 0)", "delete(f8[4, 3], [0], axis=0)"),
    "diagflat": ("diagflat(f8[3])", "diagflat(i8[3], 1)"),
    "dstack": ("dstack((f8[2, 3], f8[2, 3]))", "dstack((f8[3], f8[3]))"),
    "indices": ("indices((2, 3))", "indices((v(2), v(3)))"),
    "insert": ("insert(f8[5], 0, 9.0)", "insert(f8[4, 3], 0, v(2.0), axis=1)"),
    "ravel_multi_index": ("ravel_multi_index((u1[5] % 2, u1[5] % 3), (2, 3))",),
    "resize": ("resize(f8[5], (2, 4))",),
    "select": ("select([b1[5], b1[5]], [f8[5], f8[5]], 0.5)",),
    "take": ("take(f8[5], [0, -1])", "take(f8[4, 3], i8[2, 2] % 2, axis=1)", "take(f8[5], v(0))"),
    "take_along_axis": ("take_along_axis(f8[4, 3], i8[4, 3] % 2, axis=1)",),
    "tril_indices": ("tril_indices(v(3))", "tril_indices(3, 1, 4)"),
    "tril_indices_from": ("tril_indices_from(f8[3, 3])",),
    "triu_indices": ("triu_indices(v(3))", "triu_indices(4, v(1))"),
    "triu_indices_from": ("triu_indices_from(f8[3, 3])",),
    "unravel_index": ("unravel_index(u1[5], (4, 5))", "unravel_index(v(7), (4, 5))"),
}  # fmt: skip

_ELEMENTWISE: Final = {
    "bartlett": ("bartlett(v(6))",),
    "bitwise_count": ("bitwise_count(i8[5])",),
    "blackman": ("blackman(v(6))",),
    "divmod": ("divmod(i8[5], 3)", "divmod(f8[4, 3], v(1.5))"),
    "float_power": ("float_power(f8[5], 2)", "float_power(i8[4, 3], v(2.0))"),
    "frexp": ("frexp(f8[5])",),
    "gcd": ("gcd(i8[5], i8[5])",),
    "geomspace": ("geomspace(v(1.0), v(8.0), v(4))", "geomspace(1.0, 8.0, 4)"),
    "hamming": ("hamming(v(6))",),
    "hanning": ("hanning(v(6))",),
    "iscomplex": ("iscomplex(c16[5])",),
    "isneginf": ("isneginf(f8[5])",),
    "isposinf": ("isposinf(f8[5])",),
    "isreal": ("isreal(c16[5])",),
    "kaiser": ("kaiser(v(6), v(2.0))",),
    "lcm": ("lcm(i8[5], i8[5])",),
    "ldexp": ("ldexp(f8[5], i8[5])",),
    "logspace": ("logspace(v(0.0), v(2.0), v(4))",),
    "modf": ("modf(f8[5])", "modf(f4[4, 3])"),
    "nextafter": ("nextafter(f8[5], 9.0)",),
    "packbits": ("packbits(u1[5] % 2)",),
    "spacing": ("spacing(f8[5])",),
    "unpackbits": ("unpackbits(u1[5])",),
}  # fmt: skip

_METHODS: Final = {
    "argpartition": ("argpartition(f8[5], 0)",),
    "argsort": ("argsort(f8[5])", "argsort(i4[4, 3], axis=0)", "argsort(f8[4, 3], axis=None)"),
    "choose": ("choose(u1[5] % 2, (f8[5], f8[5]))",),
    "compress": ("compress(f8[5], [True, False, True])",),
    "nonzero": ("nonzero(f8[5])", "nonzero(i8[3, 4] % 2)"),
    "searchsorted": ("searchsorted(f8[1], f8[5])",),
    "take": ("take(f8[5], [0, -1])",),
}

_UFUNC_METHODS: Final = {
    "accumulate": ("bitwise_or.accumulate(i8[5])", "logaddexp.accumulate(f8[4, 3], axis=1)"),
    "outer": (),
    "reduce": ("gcd.reduce(i8[5])", "bitwise_xor.reduce(i8[4, 3], axis=1)"),
    "reduceat": ("add.reduceat(f8[5], [0, 2])", "maximum.reduceat(f8[4, 3], [0, 2], axis=1)"),
}

# Functions that are compiled: calls in forms that are not.
OTHER_FORMS: Final = {
    "all": ("all(b1[4, 3], where=b1[4, 3])",),
    "any": ("any(b1[4, 3], where=b1[4, 3])",),
    "allclose": ("allclose(f8[5], f8[5], f8[5])",),
    "array_equal": ("array_equal(f8[5], f8[5], equal_nan=True)",),
    "isclose": ("isclose(f8[5], f8[5], f8[5])", "isclose(v(2.0), v(3.0))"),
    "average": ("average(f8[2, 3, 4], axis=(1, 2), weights=f8[3, 4] + 1)",),
    "diff": ("diff(f8[5], prepend=0.0)",),
    "einsum": (
        "einsum('ij,jk->ik', f4[2, 3], f4[3, 4], optimize=True)",
        "einsum('ij,jk,kl->il', f8[2, 3], f8[3, 4], f8[4, 5], optimize=True)",
    ),
    "linalg.norm": ("linalg.norm(f8[3, 4], 2)", "linalg.norm(f8[3, 4], 'nuc')", "linalg.norm(f8[5], 3)"),
    "linspace": ("linspace(f8[3], f8[3] + 1, 5)",),
    "max": ("max(f8[4, 3], initial=2.0, where=b1[4, 3])",),
    "mean": ("mean(f8[4, 3], where=b1[4, 3])",),
    "min": ("min(f8[4, 3], initial=2.0, where=b1[4, 3])",),
    "nan_to_num": ("nan_to_num(f8[5], nan=f8[5])",),
    "nanmax": ("nanmax(f8[4, 3], axis=1, initial=v(2.0))",),
    "nanmean": ("nanmean(f8[4, 3], where=b1[4, 3])", "nanmean(f4[5], dtype=np.float64)"),
    "nanmin": ("nanmin(f8[4, 3], axis=0, initial=2.0, where=b1[4, 3])",),
    "nanstd": ("nanstd(f4[4, 3], 1, np.float64)",),
    "nansum": ("nansum(f8[4, 3], where=b1[4, 3])",),
    "nanvar": ("nanvar(f8[4, 3], axis=1, ddof=-1)",),
    "prod": ("prod(f8[4, 3], where=b1[4, 3])",),
    "repeat": ("repeat(f8[3], [1, 0, 2])", "repeat(f8[3], u1[3])"),
    "std": ("std(f8[4, 3], where=b1[4, 3])",),
    "sum": ("sum(f8[4, 3], where=b1[4, 3])",),
    "trapezoid": ("trapezoid(f8[4, 3], dx=f8[2])",),
    "var": ("var(f8[4, 3], where=b1[4, 3])",),
}  # fmt: skip

# Extents of results that depend on what is in the arrays.
_FREE_SIZES = frozenset((
    "argwhere", "bincount", "compress", "delete", "extract", "flatnonzero", "histogram", "histogram_bin_edges",
    "insert", "intersect1d", "linalg.lstsq", "nonzero", "polyadd", "polydiv", "polymul", "polysub", "setdiff1d",
    "setxor1d", "tril_indices", "tril_indices_from", "triu_indices", "triu_indices_from", "union1d", "unique",
    "unique_counts", "unique_inverse", "unique_values",
))  # fmt: skip
# Real or complex by what is in the matrix, unless it is complex itself.
_COMPLEX_ONLY = frozenset(("linalg.eig", "linalg.eigvals"))


def _names() -> dict[str, tuple[str, ...]]:
    found = {f"linalg.{name}": samples for name, samples in _LINEAR_ALGEBRA.items()}
    found |= {f"fft.{name}": samples for name, samples in _FOURIER.items()}
    for table in (_SORTING, _STATISTICS, _CALCULUS, _REARRANGING, _ELEMENTWISE):
        found |= table
    return found


NAMES: Final[Mapping[str, tuple[str, ...]]] = {
    "numpy.einsum": (),
    "numpy.gradient": ("gradient(f8[5], f8[5], edge_order=2)",),
    "numpy.linspace": (),
    "numpy.pad": ("pad(f8[5], 1, 'maximum')",),
    **{f"numpy.{name}": samples for name, samples in _names().items()},
    **{f"ndarray.{name}": samples for name, samples in _METHODS.items()},
}


def typed_entry(name: str) -> RuleEntry:
    """A rule that calls NumPy itself, made for a function that has another rule."""

    def lower(build: Builder, *args: Operand, **keywords: Operand) -> Operand:
        return call_numpy(build, name, args, keywords, free_sizes=name.partition(".")[2] in _FREE_SIZES)

    return RuleEntry(name, guarded(lower), (), typed=True)


def _register(name: str, samples: tuple[str, ...]) -> None:
    root, _, rest = name.partition(".")
    function = name if root == "numpy" else f"numpy.{name}"

    @numpy_rule(name, samples=samples, typed=True)
    def lower(build: Builder, *args: Operand, **keywords: Operand) -> Operand:
        if rest in _COMPLEX_ONLY and not any(isinstance(arg, Array) and arg.dtype.kind == "c" for arg in args):
            raise build.error("E242", f"the result of {name} is real or complex by what is in it", "pass it as complex")
        return call_numpy(build, function, args, keywords, free_sizes=rest in _FREE_SIZES)


def _register_method(method: str, samples: tuple[str, ...]) -> None:
    @numpy_rule(f"ufunc.{method}", samples=samples, typed=True)
    def lower(build: Builder, ufunc: Static, *args: Operand, **keywords: Operand) -> Operand:
        name = str(ufunc.value.__name__)
        if getattr(np, name, None) is not ufunc.value:
            raise build.error("E116", f"method '{method}' of a ufunc that is not NumPy's own is not compiled")
        return call_numpy(build, f"numpy.{name}.{method}", args, keywords)


for _name, _samples in NAMES.items():
    _register(_name, _samples)
for _name, _samples in _UFUNC_METHODS.items():
    _register_method(_name, _samples)
