"""Arguments and results of a kernel as files that any interpreter can read: `.npy` and JSON, never pickles.

in:   a value (an array, a scalar of NumPy or Python, a tuple or list of them) and a folder
out:  a description for JSON, the arrays beside it as files; `read_value` gives the value back with its type

    np.zeros(3)  ->  {"kind": "array", "file": "A.npy"}         7  ->  {"kind": "int", "value": 7}

The environments of the frameworks hold other versions of NumPy, and a pickle from one is a program in the other.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeAlias, cast

import numpy as np

Description: TypeAlias = dict[str, Any]


def write_value(value: Any, folder: Path, stem: str) -> Description:
    """Describe one value; arrays and NumPy's scalars go to `folder` under names that start with `stem`."""
    match value:
        case None:
            return {"kind": "none"}
        case bool() if type(value) is bool:
            return {"kind": "bool", "value": value}
        case int() if type(value) is int:
            return {"kind": "int", "value": value}
        case float() if type(value) is float:
            return {"kind": "float", "value": value.hex()}
        case complex() if type(value) is complex:
            return {"kind": "complex", "real": value.real.hex(), "imag": value.imag.hex()}
        case str() if type(value) is str:
            return {"kind": "str", "value": value}
        case tuple() | list():
            items = cast("tuple[Any, ...]", value)
            described = [write_value(item, folder, f"{stem}.{number}") for number, item in enumerate(items)]
            return {"kind": "tuple" if isinstance(value, tuple) else "list", "items": described}
        case np.ndarray() | np.generic():
            return _write_array(cast("Any", value), folder, stem)
        case _:
            raise TypeError(f"{stem}: a value of type {type(value).__name__} cannot cross between processes")


def _write_array(value: Any, folder: Path, stem: str) -> Description:
    name = f"{stem}.npy"
    np.save(folder / name, np.asarray(value), allow_pickle=False)
    return {"kind": "array" if isinstance(value, np.ndarray) else "scalar", "file": name}


def read_value(described: Description, folder: Path) -> Any:
    """The value that `write_value` described."""
    match described["kind"]:
        case "none":
            return None
        case "bool" | "int" | "str":
            return described["value"]
        case "float":
            return float.fromhex(described["value"])
        case "complex":
            return complex(float.fromhex(described["real"]), float.fromhex(described["imag"]))
        case "tuple":
            return tuple(read_value(item, folder) for item in described["items"])
        case "list":
            return [read_value(item, folder) for item in described["items"]]
        case "array":
            return np.load(folder / described["file"], allow_pickle=False)
        case "scalar":
            return np.load(folder / described["file"], allow_pickle=False)[()]
        case kind:
            raise ValueError(f"nothing is known of values of kind {kind!r}")


def write_values(values: Mapping[str, Any], folder: Path) -> dict[str, Description]:
    """Describe values by name."""
    folder.mkdir(parents=True, exist_ok=True)
    return {name: write_value(value, folder, name) for name, value in values.items()}


def read_values(described: Mapping[str, Description], folder: Path) -> dict[str, Any]:
    """The values by name."""
    return {name: read_value(item, folder) for name, item in described.items()}
