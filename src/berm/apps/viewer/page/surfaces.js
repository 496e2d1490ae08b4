// Surfaces that change their shape: height fields ("height") and sheets ("cloth").
//
// Each has its own stream of frames and its own version, so that a frame of grains that was skipped
// never loses a surface, and a surface that is at rest costs nothing.

import * as THREE from "three";

/** Height fields, in the frame of their body, and sheets, in the world's. */
export class Surfaces {
  constructor(shading, bodies) {
    this.shading = shading;
    this.bodies = bodies;
    this.group = new THREE.Group();
    this.shadow = new THREE.Group();
    this.byName = new Map();
  }

  /** Take over a frame; false: it is not newer than what is drawn. */
  update(header, arrays) {
    const name = `${header.stream} ${header.id}`;
    const known = this.byName.get(name);
    if (known && !(header.version > known.version)) return false;
    const surface = header.stream === "height" ? heightGrid(header, arrays) : sheet(arrays, known);
    const kept =
      known && known.faces.length === surface.faces.length ? known : this.make(name, known, header);
    kept.version = header.version;
    kept.faces = surface.faces;
    kept.body = header.stream === "height" ? header.id : null;
    const { geometry } = kept;
    geometry.setAttribute("position", new THREE.BufferAttribute(surface.position, 3));
    geometry.setIndex(new THREE.BufferAttribute(surface.faces, 1));
    geometry.computeVertexNormals();
    this.place();
    return true;
  }

  make(name, old, { material = 0, stream }) {
    if (old) this.remove(name, old);
    const geometry = new THREE.BufferGeometry();
    const colour =
      this.shading.shared.materialColours.value[material] ?? new THREE.Vector3(0.6, 0.6, 0.6);
    const uniforms = { bodyColour: { value: colour }, glass: { value: 0 } };
    const side = THREE.DoubleSide;
    const shown = new THREE.Mesh(geometry, this.shading.material("body", uniforms, { side }));
    const shadow = new THREE.Mesh(
      geometry,
      this.shading.material("body_shadow", {}, { side, colorWrite: false }),
    );
    for (const part of [shown, shadow]) {
      part.matrixAutoUpdate = false;
      part.frustumCulled = false;
    }
    this.group.add(shown);
    this.shadow.add(shadow);
    const made = { geometry, parts: [shown, shadow], stream };
    this.byName.set(name, made);
    return made;
  }

  /** Move height fields with their bodies, whose first shape they replace. */
  place() {
    for (const { body, parts } of this.byName.values()) {
      const carrier = body === null ? undefined : this.bodies.byId.get(body);
      if (!carrier) continue;
      for (const part of parts) part.matrix.copy(carrier.pose);
      for (const part of carrier.parts) part.visible = false;
    }
  }

  remove(name, { geometry, parts }) {
    geometry.dispose();
    for (const part of parts) {
      part.material.dispose();
      part.removeFromParent();
    }
    this.byName.delete(name);
  }

  clear() {
    for (const [name, surface] of [...this.byName]) this.remove(name, surface);
  }
}

/** Vertices and faces of a grid of heights: shape [nx, ny], x outermost, in the body's frame (m). */
function heightGrid({ shape: [nx, ny], origin, spacing }, { height }) {
  const position = new Float32Array(3 * nx * ny);
  for (let i = 0, k = 0; i < nx; i += 1) {
    for (let j = 0; j < ny; j += 1, k += 1) {
      position.set([origin[0] + i * spacing[0], origin[1] + j * spacing[1], height[k]], 3 * k);
    }
  }
  const faces = new Uint32Array(6 * (nx - 1) * (ny - 1));
  for (let i = 0, at = 0; i < nx - 1; i += 1) {
    for (let j = 0; j < ny - 1; j += 1, at += 6) {
      const a = i * ny + j;
      faces.set([a, a + ny, a + ny + 1, a, a + ny + 1, a + 1], at);
    }
  }
  return { position, faces };
}

/** Vertices and faces of a sheet; faces come with the first frame, and when they change. */
function sheet({ position, faces }, known) {
  return {
    position: Float32Array.from(position),
    faces: faces ? Uint32Array.from(faces) : (known?.faces ?? new Uint32Array(0)),
  };
}
