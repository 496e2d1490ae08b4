// Bodies: triangles placed by pose. One looks into containers, through glass, and down on a grid.

import * as THREE from "three";
import { roundUp } from "./format.js";

/** Order of what mostly lies behind the rest: drawn late, its hidden pixels cost nothing. */
export const LAST = 1;

/** All bodies of a stage, as seen and as the sun sees them. */
export class Bodies {
  constructor(shading) {
    this.shading = shading;
    this.group = new THREE.Group();
    this.shadow = new THREE.Group();
    this.byId = new Map();
    this.ground = {
      gridStep: { value: 1 },
      middle: { value: new THREE.Vector3() },
      reach: { value: 1 },
      bodyColour: shading.shared.groundColour,
    };
  }

  /** Build the meshes of a stage; poses come with the frames. */
  setStage(stage) {
    this.clear();
    this.placeGround(stage.bounds);
    for (const body of stage.bodies) {
      const mesh = stage.meshes[body.mesh];
      if (mesh) this.add(body, mesh, stage.materials[body.material]);
    }
  }

  get hasGround() {
    return [...this.byId.values()].some(({ ground }) => ground);
  }

  placeGround([low, high]) {
    const size = Math.hypot(...high.map((top, k) => top - low[k]));
    this.ground.middle.value.set(...high.map((top, k) => 0.5 * (top + low[k])));
    this.ground.reach.value = 6 * size; // as in berm.render
    this.ground.gridStep.value = gridStep(size);
  }

  add(body, mesh, material) {
    const geometry = new THREE.BufferGeometry();
    geometry.setAttribute(
      "position",
      new THREE.BufferAttribute(fromBase64(mesh.vertices, Float32Array), 3),
    );
    geometry.setAttribute(
      "normal",
      new THREE.BufferAttribute(fromBase64(mesh.normals, Float32Array), 3),
    );
    geometry.setIndex(new THREE.BufferAttribute(fromBase64(mesh.faces, Uint32Array), 1));
    const side = mesh.two_sided ? THREE.DoubleSide : THREE.FrontSide;
    const pose = new THREE.Matrix4();
    const parts = [new THREE.Mesh(geometry, this.materialOf(body, material, side))];
    if (body.ground) parts[0].renderOrder = LAST;
    this.group.add(parts[0]);
    if (!body.glass && mesh.two_sided) {
      // what one looks into or through lets the light in as well
      parts.push(
        new THREE.Mesh(
          geometry,
          this.shading.material("body_shadow", {}, { side, colorWrite: false }),
        ),
      );
      this.shadow.add(parts[1]);
    }
    for (const part of parts) {
      part.matrixAutoUpdate = false;
      part.frustumCulled = false;
      part.visible = false; // until a frame tells where
    }
    const own = material?.colour ?? "#999999";
    this.byId.set(body.id, { ...body, parts, pose, geometry, own, shown: own });
  }

  materialOf(body, material, side) {
    if (body.ground) return this.shading.material("ground", this.ground, { side });
    const uniforms = {
      bodyColour: { value: asLinear(new THREE.Color(), material?.colour ?? "#999999") },
      glass: { value: body.glass ? 1 : 0 },
    };
    const seeThrough = { transparent: true, depthWrite: false };
    return this.shading.material("body", uniforms, { side, ...(body.glass ? seeThrough : {}) });
  }

  /** Give a body a colour, or its material's; the ground keeps its own. */
  paint(body, colour) {
    const wanted = colour ?? body.own;
    if (body.ground || wanted === body.shown) return;
    asLinear(body.parts[0].material.uniforms.bodyColour.value, wanted);
    body.shown = wanted;
  }

  /** Place the bodies of a frame; one that the frame does not name is not there. */
  update(poses) {
    const there = new Set();
    for (const { id, position, rotation: r, colour } of poses) {
      const body = this.byId.get(id);
      if (!body) continue;
      there.add(id);
      this.paint(body, colour);
      body.pose.set(
        r[0],
        r[1],
        r[2],
        position[0],
        r[3],
        r[4],
        r[5],
        position[1],
        r[6],
        r[7],
        r[8],
        position[2],
        0,
        0,
        0,
        1,
      );
      for (const part of body.parts) {
        part.matrix.copy(body.pose);
        part.visible = true;
      }
    }
    for (const [id, body] of this.byId) {
      if (!there.has(id)) for (const part of body.parts) part.visible = false;
    }
  }

  clear() {
    for (const { parts, geometry } of this.byId.values()) {
      geometry.dispose();
      for (const part of parts) part.material.dispose();
    }
    this.group.clear();
    this.shadow.clear();
    this.byId.clear();
  }
}

/** Set a colour to the numbers of a text like "#999999", which the shaders take as they are. */
function asLinear(colour, text) {
  return colour.setStyle(text, THREE.LinearSRGBColorSpace);
}

/** Distance of the thin grid lines (m) for a scene of this size, as in berm.render. */
export function gridStep(size) {
  return roundUp(0.06 * size);
}

/** The array of a kind whose bytes a text holds. */
export function fromBase64(text, Kind) {
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  return new Kind(bytes.buffer);
}
