import numpy as np, weft
N, M = weft.symbols("N M")
@weft.program
def f(A: weft.float64[N, M], c: weft.complex128[N], i: weft.int32[N], b: weft.bool_[3], u: weft.uint8[N]) -> weft.float64[N]:
    A[1:, :] += 2 * A[:-1, :] % 3 
    return np.sqrt(A).sum(axis=1) * c * (i & 3) @ A.T * ~b // u
f(np.zeros((3,4)), np.zeros(3, dtype=np.complex128), np.zeros(3, dtype=np.int32), np.zeros(3, dtype=bool), np.zeros(3, dtype=np.uint8))
f(np.zeros((3,4), dtype=np.float32), np.zeros(3, dtype=np.complex128), np.zeros(3, dtype=np.int32), np.zeros(3, dtype=bool), np.zeros(3, dtype=np.uint8))
