// The sun's view: a depth map over what is there, drawn again only when something moved.

import * as THREE from "three";

/** A shadow map that fits itself to a box. */
export class Shadows {
  constructor(shading, size) {
    this.shading = shading;
    this.size = size;
    this.scene = new THREE.Scene();
    this.camera = new THREE.Camera(); // the shaders bring their own matrix
    this.target = new THREE.WebGLRenderTarget(size, size);
    this.target.depthTexture = new THREE.DepthTexture(size, size, THREE.UnsignedIntType);
    this.target.depthTexture.compareFunction = THREE.LessEqualCompare;
    this.target.depthTexture.minFilter = THREE.LinearFilter;
    this.target.depthTexture.magFilter = THREE.LinearFilter;
    this.box = new THREE.Sphere(new THREE.Vector3(), 0);
    this.aim();
  }

  /** Set up the sun's own axes. */
  aim() {
    const { sunDirection, sunRight, sunAbove, up } = this.shading.shared;
    sunRight.value.crossVectors(up.value, sunDirection.value);
    if (sunRight.value.lengthSq() < 1e-6) sunRight.value.set(1, 0, 0); // the sun stands overhead
    sunRight.value.normalize();
    sunAbove.value.crossVectors(sunDirection.value, sunRight.value).normalize();
  }

  /** Cover the box: the map stays as it is while the box changes little, so shadows do not crawl. */
  fit(box) {
    const wanted = box.getBoundingSphere(new THREE.Sphere());
    const fits =
      this.box.radius > 0 &&
      wanted.radius > 0.6 * this.box.radius &&
      wanted.center.distanceTo(this.box.center) + wanted.radius < this.box.radius;
    if (fits) return;
    this.box.set(wanted.center, 1.15 * wanted.radius);
    const { sunDirection, sunRight, sunAbove, shadowView, shadowMatrix, lift } =
      this.shading.shared;
    const { center, radius } = this.box;
    const row = (axis, sign) => [
      ...axis.toArray().map((part) => (sign * part) / radius),
      (-sign * axis.dot(center)) / radius,
    ];
    shadowView.value.set(
      ...row(sunRight.value, 1),
      ...row(sunAbove.value, 1),
      ...row(sunDirection.value, -1),
      0,
      0,
      0,
      1,
    );
    shadowMatrix.value
      .set(0.5, 0, 0, 0.5, 0, 0.5, 0, 0.5, 0, 0, 0.5, 0.5, 0, 0, 0, 1)
      .multiply(shadowView.value);
    lift.value = (4 * radius) / this.size; // two texels of the map
  }

  /** The sun's own axes, unit vectors. */
  get axes() {
    const { sunDirection, sunRight, sunAbove } = this.shading.shared;
    return { right: sunRight.value, above: sunAbove.value, towards: sunDirection.value };
  }

  draw(renderer) {
    renderer.setRenderTarget(this.target);
    renderer.clear();
    renderer.render(this.scene, this.camera);
    renderer.setRenderTarget(null);
    this.shading.shared.shadowMap.value = this.target.depthTexture;
    this.shading.shared.shadowTexel.value = 1 / this.size;
  }
}
