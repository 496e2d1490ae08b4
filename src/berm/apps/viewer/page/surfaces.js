// Height fields that change their shape.
//
// Each has its own stream of frames and its own version, so that a frame of grains that was skipped
// never loses a surface, and a surface that is at rest costs nothing.

import * as THREE from "three";
import { Sheet } from "./sheet.js";

/** Height fields, in the frame of their body. */
export class Surfaces {
  constructor(shading, bodies) {
    this.shading = shading;
    this.bodies = bodies;
    this.group = new THREE.Group();
    this.shadow = new THREE.Group();
    this.byName = new Map();
  }

  /** Take over a frame; false: it is not newer than what is drawn, or of no known stream. */
  update(header, arrays) {
    const name = `${header.stream} ${header.id}`;
    const known = this.byName.get(name);
    if (header.stream !== "height" || (known && !(header.version > known.version))) return false;
    const { position, faces, colour } = heightGrid(header, arrays);
    const { id: body, version, material } = header;
    const shape = header.shape.join();
    let sheet = known?.sheet;
    if (known?.shape !== shape) {
      sheet?.dispose();
      sheet = new Sheet(this.shading, material, faces);
      sheet.addTo(this);
    }
    sheet.move(position);
    if (colour) sheet.dye(colour);
    this.byName.set(name, { version, body, shape, sheet });
    this.place();
    return true;
  }

  /** Move height fields with their bodies, whose first shape they replace. */
  place() {
    for (const { body, sheet } of this.byName.values()) {
      const carrier = this.bodies.byId.get(body);
      if (!carrier) continue;
      for (const part of sheet.parts) part.matrix.copy(carrier.pose);
      for (const part of carrier.parts) part.visible = false;
    }
  }

  clear() {
    for (const { sheet } of this.byName.values()) sheet.dispose();
    this.byName.clear();
  }
}

/**
 * Vertices, faces and colours of a grid of heights: shape [nx, ny], x outermost, in the body's frame
 * (m); with a base, it has sides that go down there.
 */
function heightGrid({ shape: [nx, ny], origin, spacing, base }, { height, colour }) {
  const rim = base === undefined ? [] : border(nx, ny);
  const nodes = nx * ny;
  const sides = Math.max(rim.length - 1, 0);
  const position = new Float32Array(3 * (nodes + 2 * rim.length));
  for (let i = 0, k = 0; i < nx; i += 1) {
    for (let j = 0; j < ny; j += 1, k += 1) {
      position.set([origin[0] + i * spacing[0], origin[1] + j * spacing[1], height[k]], 3 * k);
    }
  }
  const faces = new Uint32Array(6 * (nx - 1) * (ny - 1) + 6 * sides);
  for (let i = 0, at = 0; i < nx - 1; i += 1) {
    for (let j = 0; j < ny - 1; j += 1, at += 6) {
      const a = i * ny + j;
      faces.set([a, a + ny, a + ny + 1, a, a + ny + 1, a + 1], at);
    }
  }
  rim.forEach((node, k) => {
    const [x, y, z] = position.subarray(3 * node, 3 * node + 3);
    position.set([x, y, z], 3 * (nodes + k));
    position.set([x, y, base], 3 * (nodes + rim.length + k));
  });
  for (let k = 0, at = 6 * (nx - 1) * (ny - 1); k < sides; k += 1, at += 6) {
    const a = nodes + k;
    const b = a + rim.length;
    faces.set([a, b, b + 1, a, b + 1, a + 1], at);
  }
  return { position, faces, colour: colour && dyed(colour, rim) };
}

/** Nodes of the border of a grid, once around. */
function border(nx, ny) {
  const nodes = [];
  for (let i = 0; i < nx - 1; i += 1) nodes.push(i * ny);
  for (let j = 0; j < ny - 1; j += 1) nodes.push((nx - 1) * ny + j);
  for (let i = nx - 1; i > 0; i -= 1) nodes.push(i * ny + ny - 1);
  for (let j = ny - 1; j >= 0; j -= 1) nodes.push(j);
  return nodes;
}

/** Colours of the nodes, and of the sides below the border. */
function dyed(colour, rim) {
  const all = new Uint8Array(colour.length + 6 * rim.length);
  all.set(colour);
  rim.forEach((node, k) => {
    const own = colour.subarray(3 * node, 3 * node + 3);
    all.set(own, colour.length + 3 * k);
    all.set(own, colour.length + 3 * (rim.length + k));
  });
  return all;
}
