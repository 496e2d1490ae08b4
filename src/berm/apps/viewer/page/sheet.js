// A sheet: triangles that change their shape, lit and seen from both sides, with a shadow.

import * as THREE from "three";

/** What is drawn of a surface; `parts` are the mesh that is seen and the one that the sun sees. */
export class Sheet {
  constructor(shading, material, faces) {
    this.geometry = new THREE.BufferGeometry();
    this.geometry.setIndex(new THREE.BufferAttribute(faces, 1));
    const colour =
      shading.shared.materialColours.value[material] ?? new THREE.Vector3(0.6, 0.6, 0.6);
    const uniforms = { bodyColour: { value: colour }, glass: { value: 0 } };
    const side = THREE.DoubleSide;
    this.parts = [
      shading.material("body", uniforms, { side }),
      shading.material("body_shadow", {}, { side, colorWrite: false }),
    ].map((look) => new THREE.Mesh(this.geometry, look));
    for (const part of this.parts) {
      part.matrixAutoUpdate = false;
      part.frustumCulled = false;
    }
  }

  addTo({ group, shadow }) {
    group.add(this.parts[0]);
    shadow.add(this.parts[1]);
  }

  /** Put the vertices elsewhere (x, y, z of each, m). */
  move(position) {
    const known = this.geometry.getAttribute("position");
    if (known?.array.length === position.length) {
      known.array.set(position); // in place: the graphics card keeps its buffer
      known.needsUpdate = true;
    } else {
      const fresh = new THREE.BufferAttribute(Float32Array.from(position), 3);
      this.geometry.setAttribute("position", fresh.setUsage(THREE.DynamicDrawUsage));
      this.geometry.deleteAttribute("normal");
    }
    this.geometry.computeVertexNormals();
  }

  /** Give each vertex its own colour (sRGB bytes) instead of the material's. */
  dye(colour) {
    const { x, y, z } = this.parts[0].material.uniforms.bodyColour.value;
    const own = [x, y, z];
    const fade = new Float32Array(colour.length);
    for (let k = 0; k < fade.length; k += 1) fade[k] = own[k % 3] - colour[k] / 255;
    this.geometry.setAttribute("fade", new THREE.BufferAttribute(fade, 3));
  }

  set visible(on) {
    for (const part of this.parts) part.visible = on;
  }

  dispose() {
    this.geometry.dispose();
    for (const part of this.parts) {
      part.material.dispose();
      part.removeFromParent();
    }
  }
}
