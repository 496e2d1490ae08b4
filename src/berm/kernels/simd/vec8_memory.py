"""Eight lanes from memory and back: rows of four, eight or sixteen numbers, transposed."""

from __future__ import annotations

from typing import Any

from berm.kernels.jit import cgutils, intrinsic, ir, types
from berm.kernels.simd.vec8_lanes import I32, I64, LANES, Vec8, pack


def _array(context: Any, builder: Any, aryty: Any, value: Any) -> Any:
    return context.make_array(aryty)(context, builder, value)


def _shuffle(builder: Any, a: Any, b: Any, order: list[int]) -> Any:
    mask = ir.Constant(ir.VectorType(I32, len(order)), [ir.Constant(I32, k) for k in order])
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
        pointer = builder.bitcast(builder.gep(ary.data, [args[1]]), args[2].type.as_pointer())
        builder.store(args[2], pointer, align=_itemsize(context, sig.args[0]))
        return context.get_dummy_value()

    return types.none(array, types.int64, value), codegen


@intrinsic
def store_places(typingctx: Any, array: Any, index: Any, first: Any, places: Any) -> Any:
    """array[index + k] = first + byte k of `places` (int64), eight of a contiguous int32 array."""

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        ary = _array(context, builder, sig.args[0], args[0])
        one_byte = builder.bitcast(args[3], ir.VectorType(ir.IntType(8), LANES))
        wide = builder.zext(one_byte, ir.VectorType(I32, LANES))
        value = builder.add(wide, pack(builder, [builder.trunc(args[2], I32)] * LANES))
        pointer = builder.bitcast(builder.gep(ary.data, [args[1]]), value.type.as_pointer())
        builder.store(value, pointer, align=4)
        return context.get_dummy_value()

    return types.none(array, types.int64, types.int64, types.int64), codegen


def _quads(
    builder: Any, data: Any, rows: list[Any], align: int, quads: int, stride: int
) -> list[Any]:
    """The first 4 * quads columns of eight rows of 4 * stride numbers, four at a time."""
    columns = []
    first = [builder.mul(row, ir.Constant(I64, stride)) for row in rows]
    for quad in range(quads):
        at = [builder.add(row, ir.Constant(I64, quad)) for row in first]
        pieces = [_load(builder, _row_pointer(builder, data, k, 4, 4), align) for k in at]
        columns += _transpose_4_to_8(builder, pieces)
    return columns


def _indices(builder: Any, index: Any) -> list[Any]:
    """The lanes of an int32 vector as int64 scalars."""
    lanes = [builder.extract_element(index, ir.Constant(I32, k)) for k in range(LANES)]
    return [builder.sext(one, I64) for one in lanes]


def _indices_at(builder: Any, data: Any, first: Any) -> list[Any]:
    """Eight int32 from memory as int64 scalars, which is cheaper than taking lanes out."""
    places = [builder.add(first, ir.Constant(I64, k)) for k in range(LANES)]
    return [builder.sext(builder.load(builder.gep(data, [at])), I64) for at in places]


def _rows_of_lanes(context: Any, builder: Any, sig: Any, args: Any) -> list[Any]:
    """The rows index[k], of a vector that is the second argument."""
    return _indices(builder, args[1])


def _rows_of_list(context: Any, builder: Any, sig: Any, args: Any) -> list[Any]:
    """The rows index[first + k], of an array and a place that are the next arguments."""
    table = _array(context, builder, sig.args[1], args[1])
    return _indices_at(builder, table.data, args[2])


def _rows_in_order(context: Any, builder: Any, sig: Any, args: Any) -> list[Any]:
    """The rows first + k."""
    return [builder.add(args[1], ir.Constant(I64, k)) for k in range(LANES)]


def _gather(array: Any, others: tuple[Any, ...], rows_of: Any, quads: int, stride: int) -> Any:
    """Signature and code of loading 4 * quads columns of rows of 4 * stride numbers."""
    vec = Vec8(array.dtype)

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        ary = _array(context, builder, sig.args[0], args[0])
        rows, align = rows_of(context, builder, sig, args), _itemsize(context, sig.args[0])
        return cgutils.pack_array(builder, _quads(builder, ary.data, rows, align, quads, stride))

    return types.UniTuple(vec, 4 * quads)(array, *others), codegen


@intrinsic
def gather4(typingctx: Any, array: Any, index: Any) -> Any:
    """Rows array[index[k]] of an (N, 4) array, as four vectors (one a column)."""
    return _gather(array, (index,), _rows_of_lanes, 1, 1)


@intrinsic
def gather4_at(typingctx: Any, array: Any, index: Any, first: Any) -> Any:
    """As gather4, of the rows array[index[first + k]]."""
    return _gather(array, (index, types.int64), _rows_of_list, 1, 1)


@intrinsic
def gather8_at(typingctx: Any, array: Any, index: Any, first: Any) -> Any:
    """Rows array[index[first + k]] of an (N, 8) array, a vector a column."""
    return _gather(array, (index, types.int64), _rows_of_list, 2, 2)


@intrinsic
def gather12(typingctx: Any, array: Any, index: Any) -> Any:
    """The first twelve of sixteen columns of the rows array[index[k]], a vector each."""
    return _gather(array, (index,), _rows_of_lanes, 3, 4)


@intrinsic
def gather12_at(typingctx: Any, array: Any, index: Any, first: Any) -> Any:
    """As gather12, of the rows array[index[first + k]]."""
    return _gather(array, (index, types.int64), _rows_of_list, 3, 4)


@intrinsic
def load4(typingctx: Any, array: Any, first: Any) -> Any:
    """Rows array[first : first + 8] of an (N, 4) array, as four vectors (one a column)."""
    return _gather(array, (types.int64,), _rows_in_order, 1, 1)


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
        align = _itemsize(context, sig.args[0])
        places = _rows_in_order(context, builder, sig, args)
        rows = [_load(builder, _row_pointer(builder, ary.data, k, 8, 8), align) for k in places]
        return cgutils.pack_array(builder, _transpose_8(builder, rows))

    return types.UniTuple(vec, 8)(array, types.int64), codegen


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


def _scatter_add4(rows_of: Any) -> Any:
    """Code of adding four columns to rows of four, shifted by the argument before the last."""

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        ary = _array(context, builder, sig.args[0], args[0])
        align = _itemsize(context, sig.args[0])
        pieces = _transpose_8_to_4(builder, cgutils.unpack_tuple(builder, args[-1], 4))
        for row, piece in zip(rows_of(context, builder, sig, args), pieces, strict=True):
            pointer = _row_pointer(builder, ary.data, builder.add(row, args[-2]), 4, 4)
            total = builder.fadd(_load(builder, pointer, align), piece)
            builder.store(total, pointer, align=align)
        return context.get_dummy_value()

    return codegen


@intrinsic
def scatter_add4(typingctx: Any, array: Any, index: Any, shift: Any, columns: Any) -> Any:
    """array[index[k] + shift, c] += columns[c][k], lane after lane (indices may repeat)."""
    return types.none(array, index, types.int64, columns), _scatter_add4(_rows_of_lanes)


@intrinsic
def scatter_add4_at(
    typingctx: Any, array: Any, index: Any, first: Any, shift: Any, columns: Any
) -> Any:
    """As scatter_add4, to the rows index[first + k] + shift."""
    kind = types.none(array, index, types.int64, types.int64, columns)
    return kind, _scatter_add4(_rows_of_list)


def _tail_pointers(builder: Any, data: Any, rows: list[Any]) -> list[Any]:
    """Where columns 4 to 11 of rows of sixteen are."""
    quads = [
        builder.add(builder.mul(row, ir.Constant(I64, 4)), ir.Constant(I64, 1)) for row in rows
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
def scatter_tail8_at(typingctx: Any, array: Any, index: Any, first: Any, columns: Any) -> Any:
    """array[index[first + k], 4 + c] = columns[c][k] of an (N, 16) array, lane 0 last."""

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        ary = _array(context, builder, sig.args[0], args[0])
        align = _itemsize(context, sig.args[0])
        pieces = _transpose_8(builder, cgutils.unpack_tuple(builder, args[3], 8))
        places = _tail_pointers(builder, ary.data, _rows_of_list(context, builder, sig, args))
        for pointer, piece in reversed(list(zip(places, pieces, strict=True))):
            builder.store(piece, pointer, align=align)
        return context.get_dummy_value()

    return types.none(array, index, types.int64, columns), codegen


@intrinsic
def fetch8_at(typingctx: Any, array: Any, index: Any, first: Any) -> Any:
    """Begin to load the rows array[index[first + k]] of an (N, 16) array into the cache."""

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        ary = _array(context, builder, sig.args[0], args[0])
        byte = ir.IntType(8).as_pointer()
        kind = ir.FunctionType(ir.VoidType(), [byte, I32, I32, I32])
        prefetch = builder.module.declare_intrinsic("llvm.prefetch", [byte], kind)
        for row in _rows_of_list(context, builder, sig, args):
            pointer = builder.bitcast(_row_pointer(builder, ary.data, row, 16, 4), byte)
            write, locality, data = (ir.Constant(I32, number) for number in (0, 3, 1))
            builder.call(prefetch, [pointer, write, locality, data])
        return context.get_dummy_value()

    return types.none(array, index, types.int64), codegen


@intrinsic
def store4(typingctx: Any, array: Any, first: Any, columns: Any) -> Any:
    """array[first + k, c] = columns[c][k] of an (N, 4) array."""

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        ary = _array(context, builder, sig.args[0], args[0])
        align = _itemsize(context, sig.args[0])
        pieces = _transpose_8_to_4(builder, cgutils.unpack_tuple(builder, args[2], 4))
        rows = _rows_in_order(context, builder, sig, args)
        for row, piece in zip(rows, pieces, strict=True):
            builder.store(piece, _row_pointer(builder, ary.data, row, 4, 4), align=align)
        return context.get_dummy_value()

    return types.none(array, types.int64, columns), codegen


@intrinsic
def take(typingctx: Any, table: Any, index: Any) -> Any:
    """table[index[k]] of a contiguous 1-D array, lane by lane."""
    vec = Vec8(table.dtype)

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        ary = _array(context, builder, sig.args[0], args[0])
        pieces = []
        for k in range(LANES):
            at = builder.sext(builder.extract_element(args[1], ir.Constant(I32, k)), I64)
            pieces.append(builder.load(builder.gep(ary.data, [at])))
        return pack(builder, pieces)

    return vec(table, index), codegen
