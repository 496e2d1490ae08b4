"""Rows of four float64, four at a time: from rows to lanes and back, and one row as a vector.

A block of contacts or bodies holds each number of all of them side by side, the arrays of a world
hold the numbers of one sphere side by side. Number by number, a transposition costs one store for
each; here it costs a quarter of one, and a shuffle. Quad q of an array are its numbers from 4 q on;
a row of eight numbers is two quads. With the JIT off the same functions work on NumPy arrays.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from berm.kernels.jit import JIT_ON, cgutils, intrinsic, ir, types

FOUR = 4

if JIT_ON:
    from berm.kernels.simd.vec8_lanes import I32, I64, Vec8

    def _shuffle(builder: Any, a: Any, b: Any, order: list[int]) -> Any:
        mask = ir.Constant(ir.VectorType(I32, len(order)), [ir.Constant(I32, k) for k in order])
        return builder.shuffle_vector(a, b, mask)

    def _data(context: Any, builder: Any, kind: Any, value: Any) -> Any:
        return context.make_array(kind)(context, builder, value).data

    def _pointers(context: Any, builder: Any, sig: Any, args: Any) -> list[Any]:
        """Where the quads who[at + k] * wide + shift of an array are; args: these five first."""
        data = _data(context, builder, sig.args[0], args[0])
        who = _data(context, builder, sig.args[1], args[1])
        at, wide, shift = args[2:5]
        places = []
        for k in range(FOUR):
            row = builder.load(builder.gep(who, [builder.add(at, ir.Constant(I64, k))]))
            row = row if row.type == I64 else builder.sext(row, I64)
            quad = builder.add(builder.mul(row, wide), shift)
            places.append(builder.gep(data, [builder.mul(quad, ir.Constant(I64, FOUR))]))
        return places

    def _vector(builder: Any, place: Any, count: int) -> Any:
        """The `count` numbers from a place on, seen as one vector."""
        kind = ir.VectorType(place.type.pointee, count)
        return builder.bitcast(place, kind.as_pointer())

    def _to_rows(builder: Any, columns: list[Any]) -> list[Any]:
        low, high = [0, 4, 2, 6], [1, 5, 3, 7]
        a, c = (_shuffle(builder, columns[k], columns[k + 1], low) for k in (0, 2))
        b, d = (_shuffle(builder, columns[k], columns[k + 1], high) for k in (0, 2))
        first, last = [0, 1, 4, 5], [2, 3, 6, 7]
        return [_shuffle(builder, *two, half) for half in (first, last) for two in ((a, c), (b, d))]

    @intrinsic
    def rows4(typingctx: Any, array: Any, who: Any, at: Any, wide: Any, shift: Any) -> Any:
        """The quads who[at + k] * wide + shift of an array as four vectors, one a column."""
        vec = Vec8(array.dtype, FOUR)

        def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            places = _pointers(context, builder, sig, args)
            columns = []
            for half in (0, 2):  # halves of rows are joined as they are loaded: no shuffle
                at = [builder.gep(place, [ir.Constant(I64, half)]) for place in places]
                two = [builder.load(_vector(builder, one, 2), align=8) for one in at]
                a = _shuffle(builder, two[0], two[2], [0, 1, 2, 3])
                b = _shuffle(builder, two[1], two[3], [0, 1, 2, 3])
                columns.append(_shuffle(builder, a, b, [0, 4, 2, 6]))
                columns.append(_shuffle(builder, a, b, [1, 5, 3, 7]))
            return cgutils.pack_array(builder, columns)

        whole = types.int64
        return types.UniTuple(vec, FOUR)(array, who, whole, whole, whole), codegen

    def _write(array: Any, who: Any, columns: Any, add: bool) -> Any:
        def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            places = _pointers(context, builder, sig, args)
            pieces = _to_rows(builder, cgutils.unpack_tuple(builder, args[5], FOUR))
            for place, piece in zip(places, pieces, strict=True):
                at = _vector(builder, place, FOUR)
                if add:
                    piece = builder.fadd(builder.load(at, align=8), piece)
                builder.store(piece, at, align=8)
            return context.get_dummy_value()

        whole = types.int64
        return types.none(array, who, whole, whole, whole, columns), codegen

    @intrinsic
    def set_rows4(
        typingctx: Any, array: Any, who: Any, at: Any, wide: Any, shift: Any, columns: Any
    ) -> Any:
        """Write four columns to the quads who[at + k] * wide + shift, one after the other."""
        return _write(array, who, columns, False)

    @intrinsic
    def add_rows4(
        typingctx: Any, array: Any, who: Any, at: Any, wide: Any, shift: Any, columns: Any
    ) -> Any:
        """Add four columns to the quads who[at + k] * wide + shift, which may repeat, in order."""
        return _write(array, who, columns, True)

    @intrinsic
    def four(typingctx: Any, array: Any, at: Any) -> Any:
        """array[at : at + 4] of a contiguous 1-D array."""
        vec = Vec8(array.dtype, FOUR)

        def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            place = builder.gep(_data(context, builder, sig.args[0], args[0]), [args[1]])
            return builder.load(_vector(builder, place, FOUR), align=8)

        return vec(array, types.int64), codegen

    @intrinsic
    def set_four(typingctx: Any, array: Any, at: Any, value: Any) -> Any:
        """array[at : at + 4] = value of a contiguous 1-D array."""

        def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            place = builder.gep(_data(context, builder, sig.args[0], args[0]), [args[1]])
            builder.store(args[2], _vector(builder, place, FOUR), align=8)
            return context.get_dummy_value()

        return types.none(array, types.int64, value), codegen

    @intrinsic
    def note_below(typingctx: Any, who: Any, count: Any, first: Any, a: Any, b: Any) -> Any:
        """Write first + k for the lanes in which a is not b or more to who from `count` on.

        Returns the new count. No jumps, and so no wrong guesses; who needs room for one more.
        """

        def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            data, (count, first) = _data(context, builder, sig.args[0], args[0]), args[1:3]
            below = builder.fcmp_unordered("<", args[3], args[4])  # so is a NaN
            for k in range(FOUR):
                number = builder.add(first, ir.Constant(I64, k))
                builder.store(number, builder.gep(data, [count]))
                one = builder.extract_element(below, ir.Constant(I32, k))
                count = builder.add(count, builder.zext(one, I64))
            return count

        return types.int64(who, types.int64, types.int64, a, a), codegen

    @intrinsic
    def transposed(typingctx: Any, a: Any, b: Any, c: Any, d: Any) -> Any:
        """Four columns as four rows, or rows as columns."""

        def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            return cgutils.pack_array(builder, _to_rows(builder, list(args)))

        return types.UniTuple(a, FOUR)(a, a, a, a), codegen

    @intrinsic
    def where_equal(typingctx: Any, a: Any, b: Any, value: Any) -> Any:
        """The value in lanes in which a is b, 0 in the others."""

        def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            same = builder.fcmp_ordered("==", args[0], args[1])
            return builder.select(same, args[2], ir.Constant(args[2].type, None))

        return a(a, a, a), codegen

    @intrinsic
    def next_axis(typingctx: Any, a: Any) -> Any:
        """(y, z, x) of (x, y, z); the last lane stays."""

        def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            return _shuffle(builder, args[0], args[0], [1, 2, 0, 3])

        return a(a), codegen

    @intrinsic
    def keep_last(typingctx: Any, new: Any, old: Any) -> Any:
        """The last lane of `old` behind the first three of `new`."""

        def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            return _shuffle(builder, args[0], args[1], [0, 1, 2, 7])

        return new(new, new), codegen

else:

    def rows4(array: Any, who: Any, at: Any, wide: int, shift: int) -> Any:
        """The quads who[at + k] * wide + shift of an array as four vectors, one a column."""
        return tuple(array.reshape(-1, FOUR)[who[at : at + FOUR] * wide + shift].T.copy())

    def set_rows4(array: Any, who: Any, at: Any, wide: int, shift: int, columns: Any) -> None:
        """Write four columns to the quads who[at + k] * wide + shift, one after the other."""
        for k in range(FOUR):
            array.reshape(-1, FOUR)[who[at + k] * wide + shift] = [one[k] for one in columns]

    def add_rows4(array: Any, who: Any, at: Any, wide: int, shift: int, columns: Any) -> None:
        """Add four columns to the quads who[at + k] * wide + shift, which may repeat, in order."""
        for k in range(FOUR):
            array.reshape(-1, FOUR)[who[at + k] * wide + shift] += [one[k] for one in columns]

    def four(array: Any, at: Any) -> Any:
        """array[at : at + 4]."""
        return array[at : at + FOUR].copy()

    def set_four(array: Any, at: Any, value: Any) -> None:
        """array[at : at + 4] = value."""
        array[at : at + FOUR] = value

    def note_below(who: Any, count: int, first: int, a: Any, b: Any) -> int:
        """Write first + k for the lanes in which a is not b or more to who from `count` on."""
        for k in range(FOUR):
            who[count] = first + k
            count += 0 if a[k] >= b[k] else 1
        return count

    def transposed(a: Any, b: Any, c: Any, d: Any) -> Any:
        """Four columns as four rows, or rows as columns."""
        return tuple(np.array([a, b, c, d]).T.copy())

    def where_equal(a: Any, b: Any, value: Any) -> Any:
        """The value in lanes in which a is b, 0 in the others."""
        return np.where(a == b, value, 0.0)

    def next_axis(a: Any) -> Any:
        """(y, z, x) of (x, y, z); the last lane stays."""
        return a[[1, 2, 0, 3]]

    def keep_last(new: Any, old: Any) -> Any:
        """The last lane of `old` behind the first three of `new`."""
        return np.append(new[:3], old[3])
