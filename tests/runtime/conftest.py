"""Hand-written C kernels behind a real dispatcher: `harness.program(function, body, args, ...)`."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FunctionType
from typing import Any

import pytest

from weft.runtime.cache import Cache
from weft.runtime.compile import compile_c
from weft.runtime.dispatcher import Dispatcher, Variant
from weft.runtime.native import Native, load_kernel, load_native
from weft.runtime.toolchain import Toolchain, find_toolchain
from weft.support.abi import ArgKind, ArgSpec, Const, Exit, KernelInfo, Slot, SlotKind, WriteBack

MISS = "no variant fits"


def kernel_text(body: str, before: str = "") -> str:
    return (
        f'#include "weft_abi.h"\n{before}\n'
        f"int32_t kernel(weft_ctx *ctx, const weft_value *args, weft_value *out) {{\n{body}\n}}\n"
    )


def array(dtype: str = "float64", ndim: int = 1, **fields: Any) -> ArgSpec:
    return ArgSpec(ArgKind.ARRAY, dtype, ndim, **fields)


def params(count: int) -> tuple[Slot, ...]:
    return tuple(Slot(SlotKind.PARAM, index) for index in range(count))


@dataclass(frozen=True)
class Program:
    """A callable, and the parameters of each call that no variant fitted."""

    call: Callable[..., Any]
    dispatcher: Dispatcher
    misses: list[tuple[Any, ...]]


@dataclass(frozen=True)
class Harness:
    native: Native
    toolchain: Toolchain
    folder: Path

    def address(self, body: str, before: str = "") -> int:
        text = kernel_text(body, before)
        library = self.folder / f"{hashlib.sha256(text.encode()).hexdigest()[:16]}.so"
        if not library.exists():
            compile_c(self.toolchain, text, library)
        return load_kernel(library, "kernel")

    def dispatcher(self, function: FunctionType) -> Program:
        misses: list[tuple[Any, ...]] = []

        def on_miss(parameters: tuple[Any, ...]) -> str:
            misses.append(parameters)
            return MISS

        dispatcher = Dispatcher(self.native, function, on_miss)
        return Program(dispatcher.call, dispatcher, misses)

    def variant(
        self,
        body: str,
        args: Sequence[ArgSpec],
        exits: Sequence[Exit] = (Exit(Const(0)),),
        *,
        slots: Sequence[Slot] | None = None,
        before: str = "",
        out_count: int = 0,
        writebacks: Sequence[WriteBack] = (),
        **fields: Any,
    ) -> Variant:
        info = KernelInfo(
            "test",
            "kernel",
            params(len(args)) if slots is None else tuple(slots),
            tuple(args),
            tuple(exits),
            out_count,
            writebacks=tuple(writebacks),
        )
        return Variant(info=info, address=self.address(body, before), **{"constants": (None,), **fields})

    def program(
        self, function: Callable[..., Any], body: str, args: Sequence[ArgSpec], *rest: Any, **more: Any
    ) -> Program:
        assert isinstance(function, FunctionType)
        program = self.dispatcher(function)
        program.dispatcher.add_variant(self.variant(body, args, *rest, **more))
        return program


@pytest.fixture(scope="session")
def toolchain() -> Toolchain:
    return find_toolchain()


@pytest.fixture(scope="session")
def shared_cache(tmp_path_factory: pytest.TempPathFactory) -> Cache:
    """One cache for the session, so that the dispatcher is built once."""
    return Cache(tmp_path_factory.mktemp("cache"))


@pytest.fixture(scope="session")
def native(shared_cache: Cache, toolchain: Toolchain) -> Native:
    return load_native(shared_cache, lambda: toolchain)


@pytest.fixture(scope="session")
def harness(native: Native, toolchain: Toolchain, tmp_path_factory: pytest.TempPathFactory) -> Harness:
    return Harness(native, toolchain, tmp_path_factory.mktemp("kernels"))
