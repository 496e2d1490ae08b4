// Grains: one quad each, on which the shader finds the sphere; and the same as the sun sees them.

import * as THREE from "three";

const SPARE = 1.3; // room beyond what is needed, so that a growing heap does not make new buffers
const CORNERS = new Float32Array([-1, -1, 1, -1, -1, 1, 1, 1]);

/** All grains of a frame, drawn with one call. */
export class Grains {
  constructor(shading) {
    this.shading = shading;
    this.uniforms = {
      origin: { value: new THREE.Vector3() },
      extent: { value: new THREE.Vector3(1, 1, 1) },
      radiusRange: { value: new THREE.Vector2() },
      colourBy: { value: 0 },
      valueRange: { value: new THREE.Vector2(0, 1) },
      ramp: { value: shading.ramps.values().next().value },
    };
    this.geometry = new THREE.InstancedBufferGeometry();
    this.geometry.setAttribute("corner", new THREE.BufferAttribute(CORNERS, 2));
    this.geometry.setIndex([0, 1, 2, 2, 1, 3]);
    this.geometry.instanceCount = 0;
    this.mesh = new THREE.Mesh(this.geometry, shading.material("grain", this.uniforms));
    this.shadow = new THREE.Mesh(
      this.geometry, shading.material("grain_shadow", this.uniforms, { side: THREE.DoubleSide, colorWrite: false }),
    );
    for (const one of [this.mesh, this.shadow]) one.frustumCulled = false;
    this.bounds = new THREE.Box3();
    this.materialsSeen = new Set();
  }

  /** Blend the edges over the samples of a pixel where there are some. */
  setSmooth(smooth) {
    this.mesh.material.alphaToCoverage = smooth;
    this.shading.shared.softEdge.value = smooth ? 1 : 0;
  }

  /** Take over a frame: its arrays are copied into the buffers of the graphics card. */
  update(header, arrays) {
    const { n, origin, scale } = header;
    this.fill("place", arrays.position, 3, n);
    this.fill("size", arrays.radius, 1, n);
    this.fill("material", arrays.material, 1, n);
    this.fill("scatter", arrays.scatter, 1, n, { normalized: true });
    const own = arrays.value !== undefined;
    // by id: the scatter of the tags is the value
    this.fill("value", own ? arrays.value : arrays.scatter, 1, n, { normalized: !own, half: own });
    this.geometry.instanceCount = n;
    this.uniforms.origin.value.set(...origin);
    this.uniforms.extent.value.setScalar(scale);
    this.uniforms.radiusRange.value.set(header.radius_min, header.radius_scale);
    this.look(header);
    this.measure(header, arrays);
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

  /** Put an array into the attribute `name`; the buffer is made anew when it is too small. */
  fill(name, array, columns, n, { normalized = false, half = false } = {}) {
    let attribute = this.geometry.getAttribute(name);
    const fits = attribute && attribute.array.constructor === array.constructor &&
      attribute.array.length >= array.length && attribute.normalized === normalized &&
      (attribute.isFloat16BufferAttribute === true) === half;
    if (!fits) {
      const room = columns * Math.max(64, Math.ceil(SPARE * n));
      attribute = new THREE.InstancedBufferAttribute(new array.constructor(room), columns, normalized);
      attribute.setUsage(THREE.DynamicDrawUsage);
      if (half) attribute.isFloat16BufferAttribute = true;
      this.release();
      this.geometry.setAttribute(name, attribute);
    }
    attribute.array.set(array);
    attribute.clearUpdateRanges();
    attribute.addUpdateRange(0, array.length);
    attribute.needsUpdate = true;
  }

  /** Give back the buffers on the graphics card; those that are still used come back by themselves. */
  release() {
    this.geometry.dispose();
  }
}
