// Grains in two steps, as berm.render draws them: colour, normal and depth of what is in front are
// kept, then each pixel is lit once. For machines whose processor draws, where light is dear.

import * as THREE from "three";
import { screenCorners } from "./screen.js";

/** Draws the grains into a buffer of its own; `lit` shows them, with their depth, in the picture. */
export class GrainBuffer {
  constructor(shading, grains) {
    this.target = new THREE.WebGLRenderTarget(1, 1, {
      count: 2,
      minFilter: THREE.NearestFilter,
      magFilter: THREE.NearestFilter,
    });
    this.target.textures[1].type = THREE.HalfFloatType;
    this.target.depthTexture = new THREE.DepthTexture(1, 1, THREE.UnsignedIntType);
    this.scene = new THREE.Scene();
    this.scene.add(grains.mesh);
    this.pixelToWorld = new THREE.Matrix4();
    const uniforms = {
      colourMap: { value: this.target.textures[0] },
      normalMap: { value: this.target.textures[1] },
      depthMap: { value: this.target.depthTexture },
      pixelToWorld: { value: this.pixelToWorld },
    };
    this.lit = new THREE.Mesh(screenCorners(), shading.material("grain_light", uniforms));
    this.lit.frustumCulled = false;
    this.lit.renderOrder = -1; // first: the rest need not be drawn where grains are in front
  }

  draw(renderer, camera, width, height) {
    this.target.setSize(width, height);
    this.pixelToWorld.multiplyMatrices(camera.matrixWorld, camera.projectionMatrixInverse);
    const alpha = renderer.getClearAlpha();
    renderer.setClearAlpha(0); // where there is no grain
    renderer.setRenderTarget(this.target);
    renderer.clear();
    renderer.render(this.scene, camera);
    renderer.setRenderTarget(null);
    renderer.setClearAlpha(alpha);
  }
}
