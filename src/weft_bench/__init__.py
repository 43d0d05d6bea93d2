"""Programs that measure Weft and NumPy on the same kernels."""
