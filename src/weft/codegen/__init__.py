"""Code generation: a program as C text and as the `KernelInfo` its caller needs."""

from __future__ import annotations

from weft.codegen.module import CFile, CModule, COptions, emit_c, emit_module

__all__ = ["CFile", "CModule", "COptions", "emit_c", "emit_module"]
