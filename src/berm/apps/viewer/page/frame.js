// Binary frames: a magic word, a JSON header, then arrays (docs/decisions/0004-viewer.md).

const MAGIC = 0x314d5242; // "BRM1", little endian
const KINDS = {
  uint8: Uint8Array,
  uint16: Uint16Array,
  float16: Uint16Array, // the bits: the graphics card reads them as they are
  uint32: Uint32Array,
  float32: Float32Array,
};

// arrays of every moment, and their columns
const NEEDED = { position: 3, radius: 1, material: 1, scatter: 1 };

/** What is wrong with a frame that cannot be read. */
export class FrameError extends Error {}

/**
 * Return {header, arrays} of a frame; arrays are views of the buffer, no copies.
 * Everything is checked: a frame that is cut off must not become a picture of nonsense.
 */
export function decodeFrame(buffer) {
  const view = new DataView(buffer);
  if (buffer.byteLength < 8 || view.getUint32(0, true) !== MAGIC) {
    throw new FrameError("a frame does not begin with BRM1");
  }
  const length = view.getUint32(4, true);
  if (8 + length > buffer.byteLength) throw new FrameError("a frame ends within its header");
  const header = readHeader(new Uint8Array(buffer, 8, length));
  const start = align(8 + length);
  const arrays = {};
  for (const { name, kind, columns, offset } of header.arrays) {
    const Kind = KINDS[kind];
    if (!Kind) throw new FrameError(`array ${name} is of kind ${kind}`);
    const count = rows(header, name) * columns;
    const from = start + offset;
    const inside =
      Number.isInteger(count) &&
      Number.isInteger(from) &&
      count >= 0 &&
      offset >= 0 &&
      from % Kind.BYTES_PER_ELEMENT === 0 &&
      from + count * Kind.BYTES_PER_ELEMENT <= buffer.byteLength;
    if (!inside) throw new FrameError(`array ${name} does not fit into its frame`);
    arrays[name] = new Kind(buffer, from, count);
  }
  if (header.stream === "moment") checkMoment(header, arrays);
  return { header, arrays };
}

/** A moment that lacks something would fail in the middle of a picture, again and again. */
function checkMoment(header, arrays) {
  for (const [name, columns] of Object.entries(NEEDED)) {
    if (arrays[name]?.length !== columns * header.n) throw new FrameError(`it has no ${name}`);
  }
  const numbers = [...vector(header.origin), header.scale, header.radius_min, header.radius_scale];
  if (!numbers.every(Number.isFinite)) throw new FrameError("its scales are no numbers");
  const poses = Array.isArray(header.bodies) ? header.bodies : [null];
  const good = poses.every((pose) =>
    [...vector(pose?.position), ...vector(pose?.rotation, 9)].every(Number.isFinite),
  );
  if (!good) throw new FrameError("its bodies have no poses");
}

function vector(value, length = 3) {
  return Array.isArray(value) && value.length === length ? value : [NaN];
}

function readHeader(bytes) {
  let header;
  try {
    header = JSON.parse(new TextDecoder().decode(bytes));
  } catch {
    throw new FrameError("a frame's header is not JSON");
  }
  const good =
    header !== null &&
    typeof header === "object" &&
    Array.isArray(header.arrays) &&
    typeof header.stream === "string" &&
    Number.isInteger(header.seq);
  if (!good) throw new FrameError("a frame's header has no stream, seq or arrays");
  return header;
}

function rows(header, name) {
  return header.rows?.[name] ?? header.n;
}

function align(offset) {
  return (offset + 3) & ~3;
}
