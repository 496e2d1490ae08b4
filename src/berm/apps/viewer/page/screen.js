// What covers the whole picture.

import * as THREE from "three";

/** One triangle over all pixels, for shaders that place `corner` themselves. */
export function screenCorners() {
  const geometry = new THREE.BufferGeometry();
  geometry.setAttribute(
    "corner",
    new THREE.BufferAttribute(new Float32Array([-1, -1, 3, -1, -1, 3]), 2),
  );
  geometry.setIndex([0, 1, 2]);
  return geometry;
}
