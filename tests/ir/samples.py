"""Small hand-made programs in the text form, one or more for every node kind; `SAMPLES` maps names to texts."""

from __future__ import annotations

from functools import cache

from weft.ir.nodes import Program
from weft.ir.parser import parse_program

SAMPLES: dict[str, str] = {}

SAMPLES["jacobi"] = """\
weft-ir 1
program jacobi_1d
slot param 0: py_int
slot param 1: array float64 rank 1 layout C written
slot param 2: array float64 rank 1 layout C written
warning "multiply" line 4
scalar slot 0 = %steps.1: py_int
size %n.2: py_int in [0, 1099511627776]
size %m.3: py_int in [0, 1099511627776]
array A: f8[%n.2] argument slot 1 C written
array B: f8[%m.3] argument slot 2 C written
{
  site 0 f0@(0) {steps: %steps.1, A: slot 1, B: slot 2}
  guard equal(%n.2, %m.3) else site 0 "sizes differ"
  guard greater_equal(%n.2, 2) else site 0 "slices clip"
  for %t.4: py_int from 1 to %steps.1 - 1 in 1:%steps.1 {
    elementwise B[1:%n.2 - 1] at (%i.5: py_int) warn 0 {
      %l.6: f8 = A[0:%n.2 - 2]
      %c.7: f8 = A[1:%n.2 - 1]
      %r.8: f8 = A[2:%n.2]
      yield multiply(0.25:f8, add(add(%l.6, multiply(2.0:f8, %c.7)), %r.8))
    }
    elementwise A[1:%n.2 - 1] at (%i.9: py_int) warn 0 {
      %l.10: f8 = B[0:%n.2 - 2]
      %c.11: f8 = B[1:%n.2 - 1]
      %r.12: f8 = B[2:%n.2]
      yield multiply(0.25:f8, add(add(%l.10, multiply(2.0:f8, %c.11)), %r.12))
    }
    continue
  }
  return constant 0
}
""".replace("warning", "constant None\nwarning", 1)

SAMPLES["maps"] = """\
weft-ir 1
program shift_and_scale
slot param 0: array float64 rank 2
slot param 1: array float64 rank 2 layout C written
slot param 2: py_float
scalar slot 2 = %alpha.3: py_float
size %n.1: py_int in [0, 1099511627776]
size %m.2: py_int in [0, 1099511627776]
size %n.4: py_int in [0, 1099511627776]
size %m.5: py_int in [0, 1099511627776]
array A: f8[%n.1, %m.2] argument slot 0 S
array B: f8[%n.4, %m.5] argument slot 1 C written
{
  site 0 f0@(0) {A: slot 0, B: slot 1, alpha: %alpha.3}
  guard logical_and(equal(%n.1, %n.4), equal(%m.2, %m.5)) else site 0 "shapes differ"
  guard greater_equal(%m.2, 1) else site 0 "no columns"
  map (%i.6: py_int from 0 to %n.1 - 1, %j.7: py_int from 1 to %m.2 - 1) in [0:%n.1, 1:%m.2] parallel {
    tasklet {
      %a.8: f8 = A[%i.6, %j.7 - 1]
      %c.9: f8 = A[%i.6, %j.7]
      %t.10: f8 = multiply(subtract(%c.9, %a.8), cast(%alpha.3): f8)
      write B[%i.6, %j.7] = select(less(%t.10, 0.0:f8), negative(%t.10), %t.10)
    }
  }
  return slot 1
}
"""

SAMPLES["histogram"] = """\
weft-ir 1
program histogram
slot param 0: array int64 rank 1
slot param 1: py_int
scalar slot 1 = %bins.2: py_int
size %n.1: py_int in [0, 1099511627776]
array K: i8[%n.1] argument slot 0 S
array H: i8[%bins.2] transient C
{
  site 0 f0@(0) {keys: slot 0, bins: %bins.2}
  guard greater_equal(%bins.2, 0) else site 0 "negative size"
  alloc H site 0
  map (%b.3: py_int) in [0:%bins.2] simd {
    write H[%b.3] = 0:i8
  }
  map (%i.4: py_int) in [0:%n.1] {
    %k.5: i8 = K[%i.4]
    %p.6: py_int = cast(%k.5): py_int
    write H[%p.6] resolve add = 1:i8
  }
  return H[:]
}
"""

SAMPLES["library"] = """\
weft-ir 1
program library
slot param 0: array float64 rank 2 layout C
slot param 1: array float64 rank 2 layout C
constant ('text', 1, None)
warning "reduce" line 3
warning "matmul" line 4
size %n.1: py_int in [0, 1099511627776]
size %k.2: py_int in [0, 1099511627776]
size %k.3: py_int in [0, 1099511627776]
size %m.4: py_int in [0, 1099511627776]
array A: f8[%n.1, %k.2] argument slot 0 C
array B: f8[%k.3, %m.4] argument slot 1 C
array P: f8[%n.1, %m.4] transient C
array S: f8[%n.1] transient C
array T: f8[%n.1, 1] transient F
array L: i8[%m.4] transient C
array R: f8[%n.1*%m.4] alias of P C
{
  site 0 f0@(0) {a: slot 0, b: slot 1}
  guard equal(%k.2, %k.3) else site 0 "inner sizes differ"
  guard greater(%n.1*%m.4, 0) else site 0 "empty"
  alloc P site 0
  alloc S site 0
  alloc T site 0
  alloc L site 0
  matmul P[:, :] = A[:, :] @ B[0:%k.2, :] warn 1
  matmul add P[:, :] = A[:, :] @ B[0:%k.2, :] times 0.5:f8
  reduce add S[:] = P[:, :] axes (1) initial 0.0:f8 warn 0
  reduce maximum T[:, :] = P[:, :] axes (1)
  reduce argmax L[:] = P[$1, $0] over [%m.4, %n.1] axes (1)
  scan add S[:] = S[:] axis 0
  elementwise R[:] at (%p.5: py_int) {
    %v.6: f8 = R[:]
    yield add(%v.6, cast(1*%p.5): f8)
  }
  return tuple(P[$1, $0] over [%m.4, %n.1], S[:], T[:, :], L[:], constant 0, list(%n.1, missing))
}
"""

SAMPLES["swap"] = """\
weft-ir 1
program swap
slot param 0: py_int
slot param 1: array float64 rank 1 layout C written
slot param 2: array float64 rank 1 layout C written
scalar slot 0 = %steps.1: py_int
size %n.2: py_int in [0, 1099511627776]
size %n.3: py_int in [0, 1099511627776]
size %x.4: py_int in [0, 1099511627776]
size %y.5: py_int in [0, 1099511627776]
array A: f8[%n.2] argument slot 1 C written
array B: f8[%n.3] argument slot 2 C written
array X: f8[%x.4] ref S may alias (A, B) written
array Y: f8[%y.5] ref S may alias (A, B) written
{
  site 0 f0@(0) {steps: %steps.1, a: slot 1, b: slot 2}
  guard equal(%n.2, %n.3) else site 0 "sizes differ"
  for %t.6: py_int from 0 to %steps.1 - 1 in 0:%steps.1 carry (X = A[:], Y = B[:], %s.7: f8 = 0.0:f8) {
    elementwise Y[:] at (%i.8: py_int) {
      %v.9: f8 = X[0:%y.5]
      yield add(%v.9, 1.0:f8)
    }
    %u.10: f8 = add(%s.7, 1.0:f8)
    continue Y[:], X[:], %u.10
  }
  return tuple(X[:], Y[:], %s.7)
}
"""

SAMPLES["control"] = """\
weft-ir 1
program control
slot param 0: array int64 rank 1
slot param 1: py_int
slot global "limit": py_int
function of -1 calls 3:8
function of 0 via "global" "helper"
scalar slot 1 = %key.1: py_int
scalar slot 2 = %limit.2: py_int
size %n.3: py_int in [0, 1099511627776]
array A: i8[%n.3] argument slot 0 S
{
  site 0 f0@(0) {A: slot 0, key: %key.1}
  guard logical_not(add_overflows(%key.1, %limit.2)) else site 0 "integer overflow"
  while carry (%i.4: py_int in [0, _] = 0, %steps.5: py_int = 0) {
    if greater_equal(%i.4, %n.3) {
      break %i.4, %steps.5
    } else {
      yield
    }
    %a.6: i8 = A[%i.4]
    %p.7: py_int = cast(%a.6): py_int
    if less(%p.7, 0) -> (%next.8: py_int, %jump.9: py_bool) {
      yield %i.4 + 2, true:py_bool
    } else {
      if equal(%p.7, %key.1) {
        return tuple(1*%i.4, %steps.5)
      } else {
        yield
      }
      yield %i.4 + 1, false:py_bool
    }
    site 1 f0@(1, 0) {A: slot 0, key: %key.1, i: %i.4}, f1@(0) {x: %p.7, "odd name": missing}
    guard less(%steps.5, %limit.2) else site 1 "over the \\"limit\\""
    continue %next.8, %steps.5 + 1
  }
  return tuple(choice cast(greater(%i.4, %n.3)): i8 (%i.4, constant 0), %steps.5)
}
""".replace("scalar", "constant 'far'\nscalar", 1)

SAMPLES["refs"] = """\
weft-ir 1
program refs
slot param 0: array float32 rank 1
slot param 1: array float32 rank 1
slot param 2: py_bool
scalar slot 2 = %flag.1: py_bool
size %n.2: py_int in [0, 1099511627776]
size %m.3: py_int in [0, 1099511627776]
size %k.4: py_int in [0, 1099511627776]
array A: f4[%n.2] argument slot 0 S
array B: f4[%m.3] argument slot 1 S
array T: f4[%m.3] transient C
array X: f4[%k.4] ref S may alias (A, T)
array R: f4[%k.4] transient C
{
  site 0 f0@(0) {a: slot 0, b: slot 1, flag: %flag.1}
  if %flag.1 -> (X) {
    yield A[:]
  } else {
    alloc T site 0
    elementwise T[:] at (%i.5: py_int) {
      %b.6: f4 = B[%m.3 - 1 - $0] over [%m.3]
      yield %b.6
    }
    yield T[:]
  }
  alloc R site 0
  elementwise R[:] at (%i.7: py_int) {
    %x.8: f4 = X[:]
    yield multiply(%x.8, cast(1*%i.7): f4)
  }
  return R[:]
}
"""

SAMPLES["methods"] = """\
weft-ir 1
program Walker.step
slot param 0: object value 'walker:Walker'
slot attribute 0 "position": np_scalar float64
slot attribute 0 "counts": tuple length 2
slot item 0 of 2: py_int
slot param 1: static value 'fast'
writeback slot 0 "position"
warning "add" line 12
scalar slot 1 = %position.1: f8
scalar slot 3 = %count.2: py_int in [-5, 5]
{
  %new.3: f8 = add(%position.1, cast(%count.2): f8) warn 0
  return %new.3 writebacks (%new.3)
}
"""

SAMPLES["literals"] = """\
weft-ir 1
program "odd name"
slot param 0: ignored
constant object "<function f>"
constant {'a': [1, 2.5, None], 'b': b'x'}
constant -1e999
{
  tasklet {
    %a.1: f8 = nan:f8
    %b.2: f8 = -inf:f8
    %c.3: f8 = -0.0:f8
    %d.4: f4 = 0.10000000149011612:f4
    %e.5: c16 = (-0.0, nan):c16
    %f.6: c8 = complex(0.5:f4, %d.4): c8
    %g.7: u8 = 18446744073709551615:u8
    %h.8: i1 = -128:i1
    %i.9: b1 = true:b1
    %j.10: py_int = -3
    %"k l".11: py_int = 2*%j.10*%j.10 - 7
    %.12: py_float = 1e-300:py_float
    %m.13: py_int = 1*%j.10
    %n.14: py_int = %j.10
  }
  return tuple(%a.1, %b.2, %c.3, %d.4, %e.5, %f.6, %g.7, %h.8, %i.9, %j.10, %"k l".11, %.12, %m.13, %n.14)
}
"""

SAMPLES["scalars_only"] = """\
weft-ir 1
program nothing
{
  return constant 0
}
""".replace("{", "constant None\n{", 1)

SAMPLES["leaving_loops"] = """\
weft-ir 1
program leaving_loops
slot param 0: array int64 rank 2
slot param 1: py_int
scalar slot 1 = %key.1: py_int
size %n.2: py_int in [0, 1099511627776]
size %m.3: py_int in [0, 1099511627776]
array A: i8[%n.2, %m.3] argument slot 0 S
{
  for %i.4: py_int from 0 to %n.2 - 1 in 0:%n.2 carry (%row.5: py_int = -1, %seen.6: py_int = 0) {
    for %j.7: py_int from 0 to %m.3 - 1 in 0:%m.3 carry (%count.8: py_int = 1*%seen.6) {
      %a.9: i8 = A[%i.4, %j.7]
      if equal(cast(%a.9): py_int, %key.1) {
        break out 1 %i.4, %count.8
      } else {
        yield
      }
      continue %count.8 + 1
    }
    continue %row.5, %count.8
  }
  return tuple(%row.5, %seen.6)
}
"""

SAMPLES["no_array"] = """\
weft-ir 1
program no_array
slot param 0: array int32 rank 1
slot param 1: py_bool
constant None
scalar slot 1 = %flag.1: py_bool
size %n.2: py_int in [0, 1099511627776]
size %k.3: py_int in [0, 1099511627776]
array A: i4[%n.2] argument slot 0 S
array X: i4[%k.3] ref S may alias (A)
{
  if %flag.1 -> (%tag.4: i8, X) {
    yield 0:i8, A[:]
  } else {
    yield 1:i8, ""[0:0]
  }
  return choice %tag.4 (X[:], constant 0)
}
"""

SAMPLES["elements"] = """\
weft-ir 1
program elements
slot param 0: array float64 rank 2 layout C
slot param 1: array float64 rank 1
slot param 2: array int64 rank 1
warning "multiply" line 2
warning "reduce" line 2
size %n.1: py_int in [0, 1099511627776]
size %m.2: py_int in [0, 1099511627776]
size %k.3: py_int in [0, 1099511627776]
size %l.4: py_int in [0, 1099511627776]
array A: f8[%n.1, %m.2] argument slot 0 C
array x: f8[%k.3] argument slot 1 S
array at: i8[%l.4] argument slot 2 S
array P: f8[%n.1] transient C
array S: f8[] transient C
array L: i8[1, %m.2] transient C
array E: f8[2] transient C
array C: b1[] transient C
{
  site 0 f0@(0) {A: slot 0, x: slot 1, at: slot 2}
  guard logical_and(equal(%m.2, %k.3), greater(%n.1, 0)) else site 0 "sizes"
  alloc P site 0
  alloc S site 0
  alloc L site 0
  alloc E site 0
  alloc C site 0
  reduce add P[:] = elements at (%i.5: py_int, %j.6: py_int from 0 to %m.2 - 1) over [%n.1, %m.2] {
    tasklet {
      %a.7: f8 = A[%i.5, %j.6]
      %b.8: f8 = x[%j.6]
      %p.9: f8 = multiply(%a.7, %b.8) warn 0
    }
    yield %p.9
  } axes (1) initial 0.0:f8 parallel warn 1
  reduce add S[] = elements at (%i.10: py_int, %j.11: py_int) over [%n.1, %m.2] {
    %a.12: f8 = A[%i.10, %j.11]
    yield absolute(%a.12)
  } axes (0, 1) initial 0.0:f8
  reduce argmax L[:, :] = elements at (%i.13: py_int, %j.14: py_int) over [%n.1, %m.2] {
    %a.15: f8 = A[%n.1 - %i.13 - 1, %j.14]
    yield cast(%a.15): f4
  } axes (0)
  reduce maximum E[:] = elements at (%i.16: py_int, %j.17: py_int) over [2, 3] {
    yield cast(%i.16 - %j.17): f8
  } axes (1)
  reduce logical_or C[] = elements at (%i.18: py_int) over [%l.4] {
    %w.19: i8 = at[%i.18]
    %k.20: py_int = cast(%w.19): py_int
    %b.21: f8 = x[%k.20]
    yield less(%b.21, 0.5:f8)
  } axes (0) initial false:b1
  return tuple(P[:], S[], L[:, :], E[:], C[])
}
"""


SAMPLES["calls"] = """\
weft-ir 1
program calls
slot param 0: array float64 rank 2 layout C
slot param 1: array float64 rank 1 layout C
constant 'F'
size %n.1: py_int in [0, 1099511627776]
size %m.2: py_int in [0, 1099511627776]
size %k.3: py_int in [0, 1099511627776]
array A: f8[%n.1, %m.2] argument slot 0 C
array b: f8[%k.3] argument slot 1 C
array s.5: f8[%m.2, %n.1] transient C
array u.6: f8[%u.4] transient C
array c.7: i8[%u.4] transient C
{
  site 0 f0@(0) {A: slot 0, b: slot 1}
  call numpy.copy(A[:, :], order=constant 0) -> (s.5 axes (1, 0)) site 0
  call numpy.unique(b[:], return_counts=true:py_bool) -> (u.6, c.7) sizes (%u.4: py_int in [0, 1099511627776]) site 0
  call numpy.trapezoid(b[:], slot 1) -> (%t.8: f8) site 0
  return tuple(s.5[:, :], list(u.6[:], c.7[:]), %t.8)
}
"""


@cache
def sample(name: str) -> Program:
    """A program of the library, parsed."""
    return parse_program(SAMPLES[name])
