// Cloths: their faces come with the stage, their vertices with every frame.

import * as THREE from "three";
import { fromBase64 } from "./bodies.js";
import { Sheet } from "./sheet.js";

/** All cloths of a stage; `bounds` is the box of those that are there. */
export class Cloths {
  constructor(shading) {
    this.shading = shading;
    this.group = new THREE.Group();
    this.shadow = new THREE.Group();
    this.byId = new Map();
    this.bounds = new THREE.Box3();
  }

  setStage({ cloths = [] }) {
    for (const sheet of this.byId.values()) sheet.dispose();
    this.byId.clear();
    this.bounds.makeEmpty();
    for (const { id, material, faces } of cloths) {
      const sheet = new Sheet(this.shading, material, fromBase64(faces, Uint32Array));
      sheet.visible = false; // until a frame tells where
      sheet.addTo(this);
      this.byId.set(id, sheet);
    }
  }

  /** Move the cloths of a frame; one that the frame does not hold is not there. */
  update(arrays) {
    this.bounds.makeEmpty();
    for (const [id, sheet] of this.byId) {
      const vertices = arrays[`cloth ${id}`];
      sheet.visible = vertices !== undefined;
      if (!vertices) continue;
      sheet.move(vertices);
      sheet.geometry.computeBoundingBox();
      this.bounds.union(sheet.geometry.boundingBox);
    }
  }
}
