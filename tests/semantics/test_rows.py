"""The promise as a table: each of its rows, and the tests that hold Weft to it.

Every test runs programs compiled and in Python and compares all there is to see: values with their bits, types, shapes,
order of strides, which argument a result is, the arguments afterwards, exceptions and warnings with their words.
"""

from __future__ import annotations

from importlib import import_module

import pytest

ROWS = {
    "dtypes": {
        "semantics.test_dtypes": (
            "test_pairs_of_arrays", "test_pairs_of_numpy_scalars", "test_python_scalars_are_weak",
            "test_python_ints_out_of_range", "test_scalars_through_joins_and_loops",
            "test_scalars_and_arrays_without_axes", "test_strides_of_results",
            "test_strides_of_results_of_arrays_chosen_at_run_time",
        ),
        "semantics.test_casting": ("test_in_place_operators", "test_outputs", "test_stores"),
        "semantics.test_arithmetic": ("test_casts",),
    },
    "errors": {
        "semantics.test_errors": ("test_indices", "test_state_after_an_exception"),
        "semantics.test_casting": (
            "test_outputs", "test_stores_of_other_things", "test_dot_refuses_what_is_not_contiguous",
        ),
        "semantics.test_reductions": ("test_reductions_of_all", "test_reductions_over_axes"),
    },
    "indices": {"semantics.test_errors": ("test_indices",)},
    "aliasing": {
        "semantics.test_aliasing": (
            "test_operands_that_overlap", "test_arguments_that_overlap", "test_what_results_are",
            "test_an_array_chosen_at_run_time_is_itself", "test_strides_of_axes_of_length_one",
            "test_a_single_element_reshaped",
        ),
    },
    "Python ints": {"semantics.test_arithmetic": ("test_python_ints", "test_powers", "test_operations_on_literals")},
    "floats: arithmetic": {
        "semantics.test_arithmetic": (
            "test_integers_at_their_ends", "test_integer_scalars_at_their_ends", "test_floats_of_every_kind",
            "test_scalar_floats_of_every_kind", "test_zero_minus_an_integer_zero_keeps_its_sign",
        ),
    },
    "floats: functions": {
        "semantics.test_functions": (
            "test_functions_are_within_four_units", "test_strict_functions_have_the_bits_of_numpy",
            "test_functions_of_odd_numbers", "test_powers_that_are_products_and_roots", "test_functions_of_module_math",
            "test_warnings_of_powers_in_fused_loops",
        ),
    },
    "floats: sums": {
        "semantics.test_functions": (
            "test_sums_are_as_good_as_pairwise_ones", "test_the_same_bits_for_every_number_of_threads",
        ),
        "semantics.test_reductions": ("test_reductions_of_odd_floats",),
    },
    "warnings": {
        "semantics.test_warnings": (
            "test_what_warns_and_what_does_not", "test_every_mode_of_errstate", "test_modes_of_one_kind",
            "test_filters_that_raise", "test_warnings_of_loops", "test_results_nobody_uses",
        ),
    },
    "failure": {
        "end_to_end.test_language_arguments": ("test_odd_arrays_run_in_python_with_a_reason",),
        "end_to_end.test_decorator": (
            "test_fallback_is_announced_once_with_the_place", "test_fallback_as_an_error_shows_line_caret_and_help",
        ),
    },
    "state": {
        "semantics.test_errors": (
            "test_state_after_an_exception", "test_state_after_an_exception_in_a_loop",
            "test_an_exception_in_a_loop_that_was_to_be_parallel", "test_attributes_after_an_exception",
        ),
    },
    "repeatability": {
        "end_to_end.test_process": (
            "test_the_generated_code_does_not_depend_on_the_hash_seed", "test_the_results_are_the_same_every_time",
        ),
        "semantics.test_functions": ("test_the_same_bits_for_every_number_of_threads",),
    },
}  # fmt: skip


@pytest.mark.parametrize("row", ROWS)
def test_every_row_has_its_tests(row: str) -> None:
    for module, names in ROWS[row].items():
        found = vars(import_module(f"tests.{module}"))
        assert [name for name in names if not callable(found.get(name))] == []


def test_every_test_of_the_table_is_in_a_row() -> None:
    named = {(module, name) for row in ROWS.values() for module, names in row.items() for name in names}
    modules = ("dtypes", "casting", "arithmetic", "reductions", "errors", "aliasing", "functions", "warnings")
    for module in (f"semantics.test_{name}" for name in modules):
        tests = {name for name in vars(import_module(f"tests.{module}")) if name.startswith("test_")}
        left = {name for name in tests if (module, name) not in named}
        assert left <= ELSEWHERE, left


# Of the same rows, but not one for itself.
ELSEWHERE = {"test_an_exception_in_a_function_called", "test_filters_are_looked_at_again"}
