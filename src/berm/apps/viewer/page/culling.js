// Which grains are hidden by others: for machines whose processor draws, where each pixel counts.
//
// Every grain is put as a disc through its centre into a coarse map of depths; only cells that the
// disc covers as a whole are filled. A grain that lies behind the map in all its cells is hidden.
// The picture stays the same: in a heap of 20,000 grains two of three need not be drawn.

const FINEST = 2; // pixels of a cell
const COARSEST = 16;
const CELLS = 3; // a mean radius in cells: finer finds more, and takes longer
const SHRINK = 0.95; // what hides is taken smaller, what may be hidden larger: a disc seen from
const GROW = 1.1; // the side of the picture is an ellipse
const LEAST = 0.75; // a smaller disc (in cells) covers no cell

/**
 * Where grains are looked at from: rows [x, y, z, offset] that give right, above and depth (m) of a
 * point of the world; `focal` turns right and above into pixels, at depth 1 if `narrowing` (an eye)
 * and everywhere if not (the sun).
 */
export function eyeOf(camera, height) {
  const m = camera.matrixWorldInverse.elements;
  const row = (k, sign) => [0, 4, 8, 12].map((at) => sign * m[at + k]);
  return {
    right: row(0, 1),
    above: row(1, 1),
    depth: row(2, -1),
    focal: 0.5 * height * camera.projectionMatrix.elements[5],
    narrowing: true,
    thick: GROW,
  };
}

/** The sun sees each grain as a flat disc: axes are unit vectors, the map covers a sphere. */
export function sunOf({ right, above, towards }, { center, radius }, size) {
  const row = (axis, sign, far) => [
    ...axis.toArray().map((part) => sign * part),
    far - sign * axis.dot(center),
  ];
  return {
    right: row(right, 1, 0),
    above: row(above, 1, 0),
    depth: row(towards, -1, 4 * radius),
    focal: (0.5 * size) / radius,
    narrowing: false,
    thick: 0,
  };
}

/** Finds the grains that are seen; keeps its arrays from picture to picture. */
export class Culling {
  constructor() {
    this.room = 0;
    this.map = new Float32Array(0);
  }

  /**
   * Return how many grains are seen; their numbers are in `seen`.
   * header, arrays: of a frame; eye: from where; width, height: of the picture in pixels.
   */
  find(header, arrays, eye, width, height) {
    const { n } = header;
    this.reserve(n);
    this.project(header, arrays, eye, width, height);
    const cell = this.cellSize(n);
    const across = Math.ceil(width / cell);
    const down = Math.ceil(height / cell);
    if (this.map.length < across * down) this.map = new Float32Array(across * down);
    this.map.fill(Infinity, 0, across * down);
    this.hide(n, cell, across, down);
    return this.collect(n, cell, across, down, eye.thick);
  }

  reserve(n) {
    if (n <= this.room) return;
    this.room = Math.ceil(1.3 * n);
    for (const name of ["x", "y", "depth", "radius", "pixels"])
      this[name] = new Float32Array(this.room);
    this.seen = new Uint32Array(this.room);
  }

  /** Place (pixels), depth and radius (m), and radius in pixels of every grain. */
  project({ n, origin, scale, radius_min: small, radius_scale: more }, arrays, eye, width, height) {
    const [rx, ry, rz, r0] = eye.right;
    const [ax, ay, az, a0] = eye.above;
    const [dx, dy, dz, d0] = eye.depth;
    const { focal, narrowing } = eye;
    const { position, radius: sizes } = arrays;
    for (let k = 0; k < n; k += 1) {
      const px = origin[0] + scale * position[3 * k];
      const py = origin[1] + scale * position[3 * k + 1];
      const pz = origin[2] + scale * position[3 * k + 2];
      const depth = dx * px + dy * py + dz * pz + d0;
      const toPixels = narrowing ? focal / depth : focal;
      this.x[k] = 0.5 * width + toPixels * (rx * px + ry * py + rz * pz + r0);
      this.y[k] = 0.5 * height + toPixels * (ax * px + ay * py + az * pz + a0);
      this.depth[k] = depth;
      this.radius[k] = small + more * sizes[k];
      this.pixels[k] = toPixels * this.radius[k];
    }
  }

  cellSize(n) {
    let sum = 0;
    let count = 0;
    for (let k = 0; k < n; k += 7) {
      // a sample
      if (this.depth[k] <= 2 * this.radius[k]) continue;
      sum += this.pixels[k];
      count += 1;
    }
    const mean = count ? sum / count : 0;
    return Math.min(COARSEST, Math.max(FINEST, Math.round(mean / CELLS)));
  }

  /** Fill the map with the nearest disc of each cell. */
  hide(n, cell, across, down) {
    const { map } = this;
    for (let k = 0; k < n; k += 1) {
      const size = (SHRINK * this.pixels[k]) / cell;
      const depth = this.depth[k];
      if (depth <= 2 * this.radius[k] || size < LEAST) continue;
      const cx = this.x[k] / cell;
      const cy = this.y[k] / cell;
      const last = Math.min(down, Math.floor(cy + size));
      for (let row = Math.max(0, Math.ceil(cy - size)); row < last; row += 1) {
        const aside = Math.max(Math.abs(row - cy), Math.abs(row + 1 - cy));
        if (aside >= size) continue;
        const half = Math.sqrt(size * size - aside * aside);
        const end = row * across + Math.min(across, Math.floor(cx + half));
        for (let at = row * across + Math.max(0, Math.ceil(cx - half)); at < end; at += 1) {
          if (depth < map[at]) map[at] = depth;
        }
      }
    }
  }

  /** List the grains that are in the picture and before the map in at least one cell. */
  collect(n, cell, across, down, thick) {
    let count = 0;
    for (let k = 0; k < n; k += 1) {
      if (this.isSeen(k, cell, across, down, thick)) {
        this.seen[count] = k;
        count += 1;
      }
    }
    return count;
  }

  isSeen(k, cell, across, down, thick) {
    const radius = this.radius[k];
    if (this.depth[k] <= 2 * radius) return this.depth[k] > -radius; // at the eye
    const reach = (GROW * this.pixels[k] + 1) / cell;
    const cx = this.x[k] / cell;
    const cy = this.y[k] / cell;
    const left = Math.max(0, Math.floor(cx - reach));
    const right = Math.min(across - 1, Math.floor(cx + reach));
    const top = Math.min(down - 1, Math.floor(cy + reach));
    const nearest = this.depth[k] - thick * radius;
    for (let row = Math.max(0, Math.floor(cy - reach)); row <= top; row += 1) {
      for (let at = row * across + left; at <= row * across + right; at += 1) {
        if (this.map[at] >= nearest) return true;
      }
    }
    return false;
  }
}
