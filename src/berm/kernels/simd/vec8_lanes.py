"""The type of eight lanes for Numba, and what can be computed with it.

LLVM maps it to whatever the machine has (AVX2, AVX-512, NEON, SSE), so the source is written once.
"""

from __future__ import annotations

import operator
from typing import Any

from berm.kernels.jit import (
    AbstractTemplate,
    cgutils,
    infer_global,
    intrinsic,
    ir,
    lower_builtin,
    models,
    register_model,
    signature,
    types,
)

LANES = 8
I32 = ir.IntType(32)
I64 = ir.IntType(64)


class Vec8(types.Type):  # type: ignore[misc, name-defined]
    """Numba type of eight lanes (or, for one row of four, four) of one scalar type."""

    def __init__(self, scalar: Any, lanes: int = LANES) -> None:
        self.scalar, self.lanes = scalar, lanes
        super().__init__(name=f"vec{lanes}({scalar})")


@register_model(Vec8)
class _Vec8Model(models.PrimitiveModel):
    def __init__(self, dmm: Any, fe_type: Any) -> None:
        if fe_type.scalar == types.boolean:
            lane = ir.IntType(1)
        else:
            lane = dmm.lookup(fe_type.scalar).get_value_type()
        super().__init__(dmm, fe_type, ir.VectorType(lane, fe_type.lanes))


_MASK = Vec8(types.boolean)


def _is_float(vec: Any) -> bool:
    return isinstance(vec.scalar, types.Float)


def _define_arithmetic(op: Any, float_name: str, int_name: str | None) -> None:
    @infer_global(op)
    class _Typing(AbstractTemplate):  # type: ignore[misc]
        def generic(self, args: Any, kws: Any) -> Any:
            if len(args) == 2 and isinstance(args[0], Vec8) and args[0] == args[1]:
                return signature(args[0], *args)
            return None

    @lower_builtin(op, Vec8, Vec8)
    def _lower(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        name = float_name if _is_float(sig.args[0]) else int_name
        return getattr(builder, name)(*args)


def _define_comparison(op: Any, symbol: str) -> None:
    @infer_global(op)
    class _Typing(AbstractTemplate):  # type: ignore[misc]
        def generic(self, args: Any, kws: Any) -> Any:
            if len(args) == 2 and isinstance(args[0], Vec8) and args[0] == args[1]:
                return signature(_MASK, *args)
            return None

    @lower_builtin(op, Vec8, Vec8)
    def _lower(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        if _is_float(sig.args[0]):
            return builder.fcmp_ordered(symbol, *args)
        return builder.icmp_signed(symbol, *args)


for _op, _f, _i in (
    (operator.add, "fadd", "add"),
    (operator.sub, "fsub", "sub"),
    (operator.mul, "fmul", "mul"),
    (operator.truediv, "fdiv", None),
    (operator.and_, "", "and_"),
    (operator.or_, "", "or_"),
):
    _define_arithmetic(_op, _f, _i)
for _op, _s in (
    (operator.lt, "<"),
    (operator.le, "<="),
    (operator.gt, ">"),
    (operator.ge, ">="),
    (operator.eq, "=="),
    (operator.ne, "!="),
):
    _define_comparison(_op, _s)


@infer_global(operator.neg)
class _NegTyping(AbstractTemplate):  # type: ignore[misc]
    def generic(self, args: Any, kws: Any) -> Any:
        return signature(args[0], *args) if isinstance(args[0], Vec8) else None


@lower_builtin(operator.neg, Vec8)
def _lower_neg(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    return builder.fneg(args[0])


def pack(builder: Any, pieces: list[Any]) -> Any:
    """Pack scalars into one vector."""
    vec = ir.Constant(ir.VectorType(pieces[0].type, len(pieces)), ir.Undefined)
    for k, piece in enumerate(pieces):
        vec = builder.insert_element(vec, piece, ir.Constant(I32, k))
    return vec


@intrinsic
def splat(typingctx: Any, value: Any) -> Any:
    """One scalar in all eight lanes."""
    vec = Vec8(value)

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return pack(builder, [args[0]] * LANES)

    return vec(value), codegen


@intrinsic
def iota32(typingctx: Any, start: Any) -> Any:
    """int32 lanes start, start + 1, ..., start + 7."""

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        base = builder.trunc(args[0], I32)
        return pack(builder, [builder.add(base, ir.Constant(I32, k)) for k in range(LANES)])

    return Vec8(types.int32)(types.int64), codegen


@intrinsic
def select(typingctx: Any, mask: Any, yes: Any, no: Any) -> Any:
    """yes where mask, else no."""

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return builder.select(*args)

    return yes(mask, yes, yes), codegen


@intrinsic
def bits(typingctx: Any, mask: Any) -> Any:
    """The mask as an integer, lane 0 in the lowest bit."""

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return builder.zext(builder.bitcast(args[0], ir.IntType(8)), I64)

    return types.int64(mask), codegen


def _call_llvm(builder: Any, name: str, values: list[Any]) -> Any:
    """Call an LLVM intrinsic overloaded on the vector's type, such as llvm.fma.v8f32."""
    vec = values[0].type
    suffix = f".v{vec.count}{'f32' if isinstance(vec.element, ir.FloatType) else 'f64'}"
    kind = ir.FunctionType(vec, [vec] * len(values))
    function = cgutils.get_or_insert_function(builder.module, kind, name + suffix)
    return builder.call(function, values)


@intrinsic
def vsqrt(typingctx: Any, a: Any) -> Any:
    """Lane-wise square root, correctly rounded."""

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return _call_llvm(builder, "llvm.sqrt", args)

    return a(a), codegen


@intrinsic
def vabs(typingctx: Any, a: Any) -> Any:
    """Lane-wise absolute value."""

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return _call_llvm(builder, "llvm.fabs", args)

    return a(a), codegen


@intrinsic
def vmax(typingctx: Any, a: Any, b: Any) -> Any:
    """Lane-wise maximum (b where a is NaN)."""

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return builder.select(builder.fcmp_ordered(">", *args), *args)

    return a(a, a), codegen


@intrinsic
def vmin(typingctx: Any, a: Any, b: Any) -> Any:
    """Lane-wise minimum (b where a is NaN)."""

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return builder.select(builder.fcmp_ordered("<", *args), *args)

    return a(a, a), codegen


@intrinsic
def fma(typingctx: Any, a: Any, b: Any, c: Any) -> Any:
    """a * b + c with one rounding."""

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return _call_llvm(builder, "llvm.fma", args)

    return a(a, a, a), codegen


@intrinsic
def splat4(typingctx: Any, value: Any) -> Any:
    """One scalar in four lanes."""
    vec = Vec8(value, 4)

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return pack(builder, [args[0]] * 4)

    return vec(value), codegen


@intrinsic
def quad_of(typingctx: Any, a: Any, b: Any, c: Any, d: Any) -> Any:
    """Four scalars in four lanes."""

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return pack(builder, list(args))

    return Vec8(a, 4)(a, a, a, a), codegen


@intrinsic
def with_last(typingctx: Any, vec: Any, value: Any) -> Any:
    """Four lanes with the last one replaced by a scalar."""

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return builder.insert_element(args[0], args[1], ir.Constant(I32, 3))

    return vec(vec, vec.scalar), codegen


@intrinsic
def lane(typingctx: Any, vec: Any, k: Any) -> Any:
    """One lane as a scalar."""

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return builder.extract_element(args[0], builder.trunc(args[1], I32))

    return vec.scalar(vec, types.int64), codegen


@intrinsic
def count_zeros(typingctx: Any, value: Any) -> Any:
    """Number of trailing zero bits of an int64."""

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return builder.cttz(args[0], ir.Constant(ir.IntType(1), 1))

    return types.int64(types.int64), codegen
