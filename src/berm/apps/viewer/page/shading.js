// The shaders, shared with the off-screen renderer, and the uniforms that all of them read.

import * as THREE from "three";

const MATERIALS = 32; // room for colours in the shaders

/** Fetch programs and colours; both come from Python, so that page and pictures look alike. */
export async function loadShading() {
  const [programs, colours] = await Promise.all([
    fetchJson("/shaders/programs.json"),
    fetchJson("/colours.json"),
  ]);
  return new Shading(programs, colours);
}

async function fetchJson(address) {
  const answer = await fetch(address);
  if (!answer.ok) throw new Error(`${address}: the server answers ${answer.status}`);
  return answer.json();
}

/** Makes materials; `shared` holds the uniforms that are the same for everything in a picture. */
export class Shading {
  constructor(programs, colours) {
    this.programs = programs;
    this.colours = colours;
    this.modes = new Map(colours.modes.map((mode) => [mode.name, mode]));
    this.ramps = new Map(
      Object.entries(colours.ramps).map(([name, table]) => [name, rampTexture(table)]),
    );
    this.shared = {
      up: { value: new THREE.Vector3(0, 0, 1) },
      sunDirection: { value: new THREE.Vector3(...colours.sun).normalize() },
      sunColour: { value: new THREE.Vector3() },
      skyColour: { value: new THREE.Vector3() },
      earthColour: { value: new THREE.Vector3() },
      backdropTop: { value: new THREE.Vector3() },
      backdropBottom: { value: new THREE.Vector3() },
      viewport: { value: new THREE.Vector2(1, 1) },
      shadowMap: { value: null },
      shadowMatrix: { value: new THREE.Matrix4() },
      shadowView: { value: new THREE.Matrix4() },
      shadowTexel: { value: 0 },
      sunRight: { value: new THREE.Vector3(1, 0, 0) },
      sunAbove: { value: new THREE.Vector3(0, 1, 0) },
      pixelAngle: { value: 1 },
      softEdge: { value: 0 },
      lift: { value: 0 },
      materialColours: {
        value: Array.from({ length: MATERIALS }, () => new THREE.Vector3(0.7, 0.7, 0.7)),
      },
      groundColour: { value: new THREE.Vector3() },
      lineColour: { value: new THREE.Vector3() },
    };
  }

  /** A material of one of the programs, with its own uniforms beside the shared ones. */
  material(program, uniforms = {}, options = {}) {
    const { vertex, fragment } = this.programs[program];
    return new THREE.RawShaderMaterial({
      glslVersion: THREE.GLSL3,
      vertexShader: vertex,
      fragmentShader: fragment,
      uniforms: { ...this.shared, ...uniforms },
      ...options,
    });
  }

  /** Take the light and the surroundings of a look ("dark" or "light"). */
  setLook(name) {
    const look = this.colours.looks[name];
    const pairs = {
      sunColour: look.sun,
      skyColour: look.sky,
      earthColour: look.earth,
      backdropTop: look.top,
      backdropBottom: look.bottom,
      groundColour: look.ground,
      lineColour: look.line,
    };
    for (const [uniform, value] of Object.entries(pairs)) this.shared[uniform].value.set(...value);
  }

  setMaterials(materials) {
    materials.slice(0, MATERIALS).forEach(({ colour }, k) => {
      this.shared.materialColours.value[k].set(...rgb(colour));
    });
  }

  /** The sun stands as high over a tilted world as over a level one. */
  setGravity(gravity) {
    const { up, sunDirection } = this.shared;
    const against = new THREE.Vector3(...gravity).negate();
    if (against.lengthSq() > 0) up.value.copy(against.normalize());
    const tilt = new THREE.Quaternion().setFromUnitVectors(new THREE.Vector3(0, 0, 1), up.value);
    sunDirection.value
      .set(...this.colours.sun)
      .normalize()
      .applyQuaternion(tilt);
  }
}

/** sRGB (0 to 1) of "#rrggbb". */
export function rgb(hex) {
  const bits = Number.parseInt(hex.slice(1), 16);
  return [(bits >> 16) / 255, ((bits >> 8) & 255) / 255, (bits & 255) / 255];
}

function rampTexture(table) {
  const bytes = new Uint8Array(4 * table.length);
  table.forEach((hex, k) =>
    bytes.set([...rgb(hex).map((part) => Math.round(255 * part)), 255], 4 * k),
  );
  const texture = new THREE.DataTexture(bytes, table.length, 1);
  texture.needsUpdate = true;
  return texture;
}
