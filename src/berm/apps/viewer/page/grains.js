// Grains: one quad each, on which the shader finds the sphere; and the same as the sun sees them.

import * as THREE from "three";
import { Culling, eyeOf, sunOf } from "./culling.js";

const SPARE = 1.3; // room beyond what is needed, so that a growing heap does not make new buffers
const CORNERS = new Float32Array([-1, -1, 1, -1, -1, 1, 1, 1]);
const PLACED = ["position", "radius"]; // what the sun sees
const COLOURED = [...PLACED, "material", "scatter", "value"]; // what is drawn

/** All grains of a frame, drawn with one call; `sparing`: those that others hide are left out. */
export class Grains {
  constructor(shading, sparing) {
    this.shading = shading;
    this.culling = sparing ? new Culling() : null;
    this.uniforms = {
      origin: { value: new THREE.Vector3() },
      extent: { value: new THREE.Vector3(1, 1, 1) },
      radiusRange: { value: new THREE.Vector2() },
      colourBy: { value: 0 },
      valueRange: { value: new THREE.Vector2(0, 1) },
      ramp: { value: shading.ramps.values().next().value },
    };
    const dark = { side: THREE.DoubleSide, colorWrite: false };
    this.drawn = quads();
    this.sunlit = sparing ? quads() : this.drawn;
    const program = sparing ? "grain_fill" : "grain"; // lit later, or at once
    this.mesh = new THREE.Mesh(this.drawn, shading.material(program, this.uniforms));
    this.shadow = new THREE.Mesh(this.sunlit, shading.material("grain_shadow", this.uniforms, dark));
    for (const one of [this.mesh, this.shadow]) one.frustumCulled = false;
    this.frame = null;
    this.bounds = new THREE.Box3();
    this.materialsSeen = new Set();
  }

  /** Blend the edges over the samples of a pixel where there are some. */
  setSmooth(smooth) {
    this.mesh.material.alphaToCoverage = smooth;
    this.shading.shared.softEdge.value = smooth ? 1 : 0;
  }

  /** Take over a frame. */
  update(header, arrays) {
    this.frame = { header, arrays };
    if (!this.culling) this.fill(this.drawn, arrays, header.n);
    this.uniforms.origin.value.set(...header.origin);
    this.uniforms.extent.value.setScalar(header.scale);
    this.uniforms.radiusRange.value.set(header.radius_min, header.radius_scale);
    this.look(header);
    this.measure(header, arrays);
  }

  /** Before a picture: choose what is drawn, where that is worth it. */
  prepare(camera, width, height) {
    this.choose(this.drawn, COLOURED, eyeOf(camera, height), width, height);
  }

  /** Before a map of the sun's: choose what it sees. */
  prepareShadow(axes, sphere, size) {
    this.choose(this.sunlit, PLACED, sunOf(axes, sphere, size), size, size);
  }

  choose(geometry, names, eye, width, height) {
    if (!this.culling || !this.frame) return;
    const { header, arrays } = this.frame;
    const count = this.culling.find(header, arrays, eye, width, height);
    const chosen = {};
    for (const name of names) {
      const array = arrays[name];
      if (array) chosen[name] = rowsOf(array, array.length / header.n, this.culling.seen, count);
    }
    this.fill(geometry, chosen, count);
  }

  /** Put the arrays of n grains into the buffers of a geometry. */
  fill(geometry, arrays, n) {
    geometry.instanceCount = n;
    if (n === 0) return;
    put(geometry, "place", arrays.position, 3, n);
    put(geometry, "size", arrays.radius, 1, n);
    if (geometry !== this.drawn) return; // the sun sees no colours
    put(geometry, "material", arrays.material, 1, n);
    put(geometry, "scatter", arrays.scatter, 1, n, { normalized: true });
    const own = arrays.value !== undefined;
    // by id: the scatter of the tags is the value
    put(geometry, "value", own ? arrays.value : arrays.scatter, 1, n, {
      normalized: !own,
      half: own,
    });
  }

  /** Colour by what the frame carries; `range` (in its unit) is set by the legend. */
  look({ colour, value_scale: unit }) {
    const mode = this.shading.modes.get(colour);
    this.uniforms.colourBy.value = mode?.ramp ? 1 : 0;
    if (mode?.ramp) this.uniforms.ramp.value = this.shading.ramps.get(mode.ramp);
    this.valueUnit = colour === "id" ? 1 : unit;
  }

  setRange(low, high) {
    this.uniforms.valueRange.value.set(low / this.valueUnit, high / this.valueUnit);
  }

  /** Remember where the grains are and which materials there are. */
  measure({ n, origin, scale, radius_min: small, radius_scale: more }, arrays) {
    const low = [Infinity, Infinity, Infinity];
    const high = [-Infinity, -Infinity, -Infinity];
    const stride = 3 * Math.max(1, Math.floor(n / 4096)); // a sample: it is for shadows and framing
    for (let k = 0; k < 3 * n; k += stride) {
      for (let axis = 0; axis < 3; axis += 1) {
        const at = arrays.position[k + axis];
        if (at < low[axis]) low[axis] = at;
        if (at > high[axis]) high[axis] = at;
      }
    }
    this.bounds.makeEmpty();
    if (n > 0) {
      const largest = small + 255 * more;
      this.bounds.min.set(...low.map((at, k) => origin[k] + scale * at - largest));
      this.bounds.max.set(...high.map((at, k) => origin[k] + scale * at + largest));
    }
    this.materialsSeen = new Set(arrays.material);
  }
}

function quads() {
  const geometry = new THREE.InstancedBufferGeometry();
  geometry.setAttribute("corner", new THREE.BufferAttribute(CORNERS, 2));
  geometry.setIndex([0, 1, 2, 2, 1, 3]);
  geometry.instanceCount = 0;
  return geometry;
}

/** Put an array into the attribute `name`; the buffer is made anew when it is too small. */
function put(geometry, name, array, columns, n, { normalized = false, half = false } = {}) {
  let attribute = geometry.getAttribute(name);
  const fits =
    attribute &&
    attribute.array.constructor === array.constructor &&
    attribute.array.length >= columns * n &&
    attribute.normalized === normalized &&
    (attribute.isFloat16BufferAttribute === true) === half;
  if (!fits) {
    const room = columns * Math.max(64, Math.ceil(SPARE * n));
    attribute = new THREE.InstancedBufferAttribute(
      new array.constructor(room),
      columns,
      normalized,
    );
    attribute.setUsage(THREE.DynamicDrawUsage);
    if (half) attribute.isFloat16BufferAttribute = true;
    geometry.dispose(); // gives back all its buffers; those still used come back by themselves
    geometry.setAttribute(name, attribute);
  }
  attribute.array.set(columns * n < array.length ? array.subarray(0, columns * n) : array);
  attribute.clearUpdateRanges();
  attribute.addUpdateRange(0, columns * n);
  attribute.needsUpdate = true;
}

/** The rows `seen[0..count]` of an array. */
function rowsOf(array, columns, seen, count) {
  const chosen = new array.constructor(columns * count);
  for (let k = 0, at = 0; k < count; k += 1) {
    for (let c = 0, from = columns * seen[k]; c < columns; c += 1, at += 1)
      chosen[at] = array[from + c];
  }
  return chosen;
}
