"""Eight-lane vectors for the solvers' inner loops: LLVM vector types as Numba values.

One `Vec8` holds eight numbers of one scalar type (float32, float64, int32 or a mask of bools).
LLVM maps it to whatever the machine has (AVX2, AVX-512, NEON, SSE), so the source is written
once. With the JIT off the same functions work on NumPy arrays of length 8 and give the same
answers. Only exact IEEE operations are offered (no approximate reciprocals), so that every
machine computes the same bits.
"""

from __future__ import annotations

import operator
from typing import Any

from berm.kernels import jit as _jit

LANES = 8

if _jit.JIT_ON:
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
    _I32 = ir.IntType(32)
    _I64 = ir.IntType(64)

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

    def _array(context: Any, builder: Any, aryty: Any, value: Any) -> Any:
        return context.make_array(aryty)(context, builder, value)

    def _lanes(builder: Any, pieces: list[Any]) -> Any:
        """Pack scalars into one vector."""
        vec = ir.Constant(ir.VectorType(pieces[0].type, len(pieces)), ir.Undefined)
        for k, piece in enumerate(pieces):
            vec = builder.insert_element(vec, piece, ir.Constant(_I32, k))
        return vec

    def _shuffle(builder: Any, a: Any, b: Any, order: list[int]) -> Any:
        mask = ir.Constant(ir.VectorType(_I32, len(order)), [ir.Constant(_I32, k) for k in order])
        return builder.shuffle_vector(a, b, mask)

    def _transpose_4_to_8(builder: Any, rows: list[Any]) -> list[Any]:
        """Eight 4-vectors (one a grain) to four 8-vectors (one a coordinate)."""
        pairs = [_shuffle(builder, rows[k], rows[k + 4], list(range(8))) for k in range(4)]
        low, high = [0, 8, 1, 9, 4, 12, 5, 13], [2, 10, 3, 11, 6, 14, 7, 15]
        t0 = _shuffle(builder, pairs[0], pairs[1], low)
        t1 = _shuffle(builder, pairs[2], pairs[3], low)
        t2 = _shuffle(builder, pairs[0], pairs[1], high)
        t3 = _shuffle(builder, pairs[2], pairs[3], high)
        first, second = [0, 1, 8, 9, 4, 5, 12, 13], [2, 3, 10, 11, 6, 7, 14, 15]
        return [
            _shuffle(builder, t0, t1, first),
            _shuffle(builder, t0, t1, second),
            _shuffle(builder, t2, t3, first),
            _shuffle(builder, t2, t3, second),
        ]

    def _transpose_8(builder: Any, rows: list[Any]) -> list[Any]:
        """Transpose eight 8-vectors."""
        low, high = [0, 8, 1, 9, 4, 12, 5, 13], [2, 10, 3, 11, 6, 14, 7, 15]
        t = []
        for k in range(0, 8, 2):
            t.append(_shuffle(builder, rows[k], rows[k + 1], low))
            t.append(_shuffle(builder, rows[k], rows[k + 1], high))
        first, second = [0, 1, 8, 9, 4, 5, 12, 13], [2, 3, 10, 11, 6, 7, 14, 15]
        s = []
        for k in (0, 4):
            s.append(_shuffle(builder, t[k], t[k + 2], first))
            s.append(_shuffle(builder, t[k], t[k + 2], second))
            s.append(_shuffle(builder, t[k + 1], t[k + 3], first))
            s.append(_shuffle(builder, t[k + 1], t[k + 3], second))
        lower, upper = [0, 1, 2, 3, 8, 9, 10, 11], [4, 5, 6, 7, 12, 13, 14, 15]
        out = [_shuffle(builder, s[k], s[k + 4], lower) for k in range(4)]
        out += [_shuffle(builder, s[k], s[k + 4], upper) for k in range(4)]
        return out

    def _row_pointer(builder: Any, data: Any, row: Any, width: int, count: int) -> Any:
        element = builder.gep(data, [builder.mul(row, ir.Constant(row.type, width))])
        return builder.bitcast(element, ir.VectorType(data.type.pointee, count).as_pointer())

    def _load(builder: Any, pointer: Any, align: int) -> Any:
        return builder.load(pointer, align=align)

    def _itemsize(context: Any, aryty: Any) -> int:
        return int(context.get_abi_sizeof(context.get_value_type(aryty.dtype)))

    @intrinsic
    def load(typingctx: Any, array: Any, index: Any) -> Any:
        """Load array[index : index + 8] of a contiguous 1-D array."""
        vec = Vec8(array.dtype)

        def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            ary = _array(context, builder, sig.args[0], args[0])
            pointer = builder.bitcast(
                builder.gep(ary.data, [args[1]]), context.get_value_type(vec).as_pointer()
            )
            return _load(builder, pointer, _itemsize(context, sig.args[0]))

        return vec(array, types.int64), codegen

    @intrinsic
    def store(typingctx: Any, array: Any, index: Any, value: Any) -> Any:
        """Store eight lanes to array[index : index + 8] of a contiguous 1-D array."""

        def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            ary = _array(context, builder, sig.args[0], args[0])
            pointer = builder.bitcast(
                builder.gep(ary.data, [args[1]]), args[2].type.as_pointer()
            )
            builder.store(args[2], pointer, align=_itemsize(context, sig.args[0]))
            return context.get_dummy_value()

        return types.none(array, types.int64, value), codegen

    def _quads(
        builder: Any, data: Any, rows: list[Any], align: int, quads: int = 1, stride: int = 1
    ) -> list[Any]:
        """The first 4 * quads columns of eight rows of 4 * stride numbers, four at a time."""
        columns = []
        first = [builder.mul(row, ir.Constant(_I64, stride)) for row in rows]
        for quad in range(quads):
            at = [builder.add(row, ir.Constant(_I64, quad)) for row in first]
            pieces = [_load(builder, _row_pointer(builder, data, k, 4, 4), align) for k in at]
            columns += _transpose_4_to_8(builder, pieces)
        return columns

    def _indices(builder: Any, index: Any) -> list[Any]:
        """The lanes of an int32 vector as int64 scalars."""
        lanes = [builder.extract_element(index, ir.Constant(_I32, k)) for k in range(LANES)]
        return [builder.sext(one, _I64) for one in lanes]

    def _indices_at(builder: Any, data: Any, first: Any) -> list[Any]:
        """Eight int32 from memory as int64 scalars, which is cheaper than taking lanes out."""
        places = [builder.add(first, ir.Constant(_I64, k)) for k in range(LANES)]
        return [builder.sext(builder.load(builder.gep(data, [at])), _I64) for at in places]

    @intrinsic
    def gather4(typingctx: Any, array: Any, index: Any) -> Any:
        """Rows array[index[k]] of an (N, 4) array, as four vectors (one a column)."""
        vec = Vec8(array.dtype)

        def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            ary = _array(context, builder, sig.args[0], args[0])
            rows, align = _indices(builder, args[1]), _itemsize(context, sig.args[0])
            return cgutils.pack_array(builder, _quads(builder, ary.data, rows, align))

        return types.UniTuple(vec, 4)(array, index), codegen

    @intrinsic
    def gather12(typingctx: Any, array: Any, index: Any) -> Any:
        """The first twelve of sixteen columns of the rows array[index[k]], a vector each."""
        vec = Vec8(array.dtype)

        def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            ary = _array(context, builder, sig.args[0], args[0])
            rows, align = _indices(builder, args[1]), _itemsize(context, sig.args[0])
            return cgutils.pack_array(builder, _quads(builder, ary.data, rows, align, 3, 4))

        return types.UniTuple(vec, 12)(array, index), codegen

    @intrinsic
    def gather12_at(typingctx: Any, array: Any, index: Any, first: Any) -> Any:
        """As gather12, of the rows array[index[first + k]]."""
        vec = Vec8(array.dtype)

        def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            ary, table = (_array(context, builder, sig.args[k], args[k]) for k in (0, 1))
            rows = _indices_at(builder, table.data, args[2])
            align = _itemsize(context, sig.args[0])
            return cgutils.pack_array(builder, _quads(builder, ary.data, rows, align, 3, 4))

        return types.UniTuple(vec, 12)(array, index, types.int64), codegen

    @intrinsic
    def load4(typingctx: Any, array: Any, first: Any) -> Any:
        """Rows array[first : first + 8] of an (N, 4) array, as four vectors (one a column)."""
        vec = Vec8(array.dtype)

        def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            ary = _array(context, builder, sig.args[0], args[0])
            rows = [builder.add(args[1], ir.Constant(_I64, k)) for k in range(LANES)]
            align = _itemsize(context, sig.args[0])
            return cgutils.pack_array(builder, _quads(builder, ary.data, rows, align))

        return types.UniTuple(vec, 4)(array, types.int64), codegen

    @intrinsic
    def set_quad(typingctx: Any, array: Any, quad: Any, value: Any) -> Any:
        """Write four lanes to the numbers from 4 * quad on of a contiguous 2-D array."""

        def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            ary = _array(context, builder, sig.args[0], args[0])
            pointer = _row_pointer(builder, ary.data, args[1], 4, 4)
            builder.store(args[2], pointer, align=_itemsize(context, sig.args[0]))
            return context.get_dummy_value()

        return types.none(array, types.int64, value), codegen

    @intrinsic
    def quad(typingctx: Any, array: Any, index: Any) -> Any:
        """Four lanes: the numbers from 4 * index on of a contiguous 2-D array."""
        vec = Vec8(array.dtype, 4)

        def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            ary = _array(context, builder, sig.args[0], args[0])
            pointer = _row_pointer(builder, ary.data, args[1], 4, 4)
            return _load(builder, pointer, _itemsize(context, sig.args[0]))

        return vec(array, types.int64), codegen

    @intrinsic
    def load8(typingctx: Any, array: Any, first: Any) -> Any:
        """Rows array[first : first + 8] of an (N, 8) array, as eight vectors (one a column)."""
        vec = Vec8(array.dtype)

        def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            ary = _array(context, builder, sig.args[0], args[0])
            rows = []
            for k in range(LANES):
                row = builder.add(args[1], ir.Constant(_I64, k))
                pointer = _row_pointer(builder, ary.data, row, 8, 8)
                rows.append(_load(builder, pointer, _itemsize(context, sig.args[0])))
            return cgutils.pack_array(builder, _transpose_8(builder, rows))

        return types.UniTuple(vec, 8)(array, types.int64), codegen

    @intrinsic
    def splat4(typingctx: Any, value: Any) -> Any:
        """One scalar in four lanes."""
        vec = Vec8(value, 4)

        def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            return _lanes(builder, [args[0]] * 4)

        return vec(value), codegen

    @intrinsic
    def quad_of(typingctx: Any, a: Any, b: Any, c: Any, d: Any) -> Any:
        """Four scalars in four lanes."""

        def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            return _lanes(builder, list(args))

        return Vec8(a, 4)(a, a, a, a), codegen

    @intrinsic
    def with_last(typingctx: Any, vec: Any, value: Any) -> Any:
        """Four lanes with the last one replaced by a scalar."""

        def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            return builder.insert_element(args[0], args[1], ir.Constant(_I32, 3))

        return vec(vec, vec.scalar), codegen

    def _transpose_8_to_4(builder: Any, columns: list[Any]) -> list[Any]:
        """Four 8-vectors (one a coordinate) to eight 4-vectors (one a grain)."""
        low, high = [0, 8, 1, 9, 4, 12, 5, 13], [2, 10, 3, 11, 6, 14, 7, 15]
        a = _shuffle(builder, columns[0], columns[1], low)
        b = _shuffle(builder, columns[0], columns[1], high)
        c = _shuffle(builder, columns[2], columns[3], low)
        d = _shuffle(builder, columns[2], columns[3], high)
        first, second = [0, 1, 8, 9, 4, 5, 12, 13], [2, 3, 10, 11, 6, 7, 14, 15]
        pairs = [
            _shuffle(builder, a, c, first),
            _shuffle(builder, a, c, second),
            _shuffle(builder, b, d, first),
            _shuffle(builder, b, d, second),
        ]
        return [
            _shuffle(builder, pair, pair, half) for half in ([0, 1, 2, 3], [4, 5, 6, 7])
            for pair in pairs
        ]  # fmt: skip

    @intrinsic
    def scatter_add4(typingctx: Any, array: Any, index: Any, shift: Any, columns: Any) -> Any:
        """array[index[k] + shift, c] += columns[c][k], lane after lane (indices may repeat)."""

        def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            ary = _array(context, builder, sig.args[0], args[0])
            align = _itemsize(context, sig.args[0])
            pieces = _transpose_8_to_4(builder, cgutils.unpack_tuple(builder, args[3], 4))
            for row, piece in zip(_indices(builder, args[1]), pieces, strict=True):
                pointer = _row_pointer(builder, ary.data, builder.add(row, args[2]), 4, 4)
                total = builder.fadd(_load(builder, pointer, align), piece)
                builder.store(total, pointer, align=align)
            return context.get_dummy_value()

        return types.none(array, index, types.int64, columns), codegen

    def _tail_pointers(builder: Any, data: Any, rows: list[Any]) -> list[Any]:
        """Where columns 4 to 11 of rows of sixteen are."""
        quads = [
            builder.add(builder.mul(row, ir.Constant(_I64, 4)), ir.Constant(_I64, 1))
            for row in rows
        ]
        return [_row_pointer(builder, data, at, 4, 8) for at in quads]

    @intrinsic
    def scatter_add_tail8(typingctx: Any, array: Any, index: Any, columns: Any) -> Any:
        """array[index[k], 4 + c] += columns[c][k] of an (N, 16) array, lane after lane."""

        def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            ary = _array(context, builder, sig.args[0], args[0])
            align = _itemsize(context, sig.args[0])
            pieces = _transpose_8(builder, cgutils.unpack_tuple(builder, args[2], 8))
            places = _tail_pointers(builder, ary.data, _indices(builder, args[1]))
            for pointer, piece in zip(places, pieces, strict=True):
                total = builder.fadd(_load(builder, pointer, align), piece)
                builder.store(total, pointer, align=align)
            return context.get_dummy_value()

        return types.none(array, index, columns), codegen

    @intrinsic
    def scatter_tail8_at(
        typingctx: Any, array: Any, index: Any, first: Any, columns: Any
    ) -> Any:
        """array[index[first + k], 4 + c] = columns[c][k] of an (N, 16) array, lane 0 last."""

        def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            ary, table = (_array(context, builder, sig.args[k], args[k]) for k in (0, 1))
            align = _itemsize(context, sig.args[0])
            pieces = _transpose_8(builder, cgutils.unpack_tuple(builder, args[3], 8))
            rows = _indices_at(builder, table.data, args[2])
            places = _tail_pointers(builder, ary.data, rows)
            for pointer, piece in reversed(list(zip(places, pieces, strict=True))):
                builder.store(piece, pointer, align=align)
            return context.get_dummy_value()

        return types.none(array, index, types.int64, columns), codegen

    @intrinsic
    def store4(typingctx: Any, array: Any, first: Any, columns: Any) -> Any:
        """array[first + k, c] = columns[c][k] of an (N, 4) array."""

        def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            ary = _array(context, builder, sig.args[0], args[0])
            align = _itemsize(context, sig.args[0])
            pieces = _transpose_8_to_4(builder, cgutils.unpack_tuple(builder, args[2], 4))
            for k, piece in enumerate(pieces):
                row = builder.add(args[1], ir.Constant(_I64, k))
                builder.store(piece, _row_pointer(builder, ary.data, row, 4, 4), align=align)
            return context.get_dummy_value()

        return types.none(array, types.int64, columns), codegen

    @intrinsic
    def splat(typingctx: Any, value: Any) -> Any:
        """One scalar in all eight lanes."""
        vec = Vec8(value)

        def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            return _lanes(builder, [args[0]] * LANES)

        return vec(value), codegen

    @intrinsic
    def iota32(typingctx: Any, start: Any) -> Any:
        """int32 lanes start, start + 1, ..., start + 7."""

        def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            base = builder.trunc(args[0], _I32)
            return _lanes(
                builder, [builder.add(base, ir.Constant(_I32, k)) for k in range(LANES)]
            )

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
            return builder.zext(builder.bitcast(args[0], ir.IntType(8)), _I64)

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
    def take(typingctx: Any, table: Any, index: Any) -> Any:
        """table[index[k]] of a contiguous 1-D array, lane by lane."""
        vec = Vec8(table.dtype)

        def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            ary = _array(context, builder, sig.args[0], args[0])
            pieces = []
            for k in range(LANES):
                at = builder.sext(builder.extract_element(args[1], ir.Constant(_I32, k)), _I64)
                pieces.append(builder.load(builder.gep(ary.data, [at])))
            return _lanes(builder, pieces)

        return vec(table, index), codegen

    @intrinsic
    def lane(typingctx: Any, vec: Any, k: Any) -> Any:
        """One lane as a scalar."""

        def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            return builder.extract_element(args[0], builder.trunc(args[1], _I32))

        return vec.scalar(vec, types.int64), codegen

    @intrinsic
    def count_zeros(typingctx: Any, value: Any) -> Any:
        """Number of trailing zero bits of an int64."""

        def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            return builder.cttz(args[0], ir.Constant(ir.IntType(1), 1))

        return types.int64(types.int64), codegen

else:
    from berm.kernels.vec8_plain import (  # noqa: F401
        bits,
        count_zeros,
        fma,
        gather4,
        gather12,
        gather12_at,
        iota32,
        lane,
        load,
        load4,
        load8,
        quad,
        quad_of,
        scatter_add4,
        scatter_add_tail8,
        scatter_tail8_at,
        select,
        set_quad,
        splat,
        splat4,
        store,
        store4,
        take,
        vabs,
        vmax,
        vmin,
        vsqrt,
        with_last,
    )
