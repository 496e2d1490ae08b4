// The picture: renderer, camera, turning and zooming, and drawing only when something changed.

import * as THREE from "three";
import { OrbitControls } from "three/controls";
import { Bodies, LAST } from "./bodies.js";
import { Cloths } from "./cloths.js";
import { GrainBuffer } from "./grain_buffer.js";
import { Grains } from "./grains.js";
import { screenCorners } from "./screen.js";
import { Shadows } from "./shadows.js";
import { Surfaces } from "./surfaces.js";

const FIELD_OF_VIEW = 32; // degrees, as in berm.render
const FIRST_VIEW = [-60, 22]; // azimuth and elevation, degrees
const MARGIN = 1.14; // room around what is framed, as in berm.render
const SOFTWARE = /llvmpipe|softpipe|swiftshader|software|basic render/i;

/** Draws grains, bodies, cloths and surfaces into a canvas; z is up. "drawn" is told after each picture. */
export class View extends EventTarget {
  constructor(canvas, shading) {
    super();
    this.canvas = canvas;
    this.shading = shading;
    this.software = SOFTWARE.test(graphicsName());
    this.renderer = new THREE.WebGLRenderer({
      canvas,
      antialias: !this.software,
      powerPreference: "high-performance",
    });
    this.renderer.info.autoReset = false;
    this.camera = new THREE.PerspectiveCamera(FIELD_OF_VIEW, 1, 0.01, 100);
    this.camera.up.set(0, 0, 1);
    this.controls = new OrbitControls(this.camera, canvas);
    this.controls.zoomToCursor = true;
    this.controls.addEventListener("change", () => this.invalidate());
    this.scene = new THREE.Scene();
    this.grains = new Grains(shading, this.software);
    this.grains.setSmooth(!this.software);
    this.bodies = new Bodies(shading);
    this.surfaces = new Surfaces(shading, this.bodies);
    this.cloths = new Cloths(shading);
    this.shadows = new Shadows(shading, this.software ? 1024 : 2048);
    const sheets = [this.surfaces, this.cloths];
    this.shadows.scene.add(this.grains.shadow, this.bodies.shadow, ...sheets.map((s) => s.shadow));
    this.scene.add(backdrop(shading), this.bodies.group, ...sheets.map((s) => s.group));
    this.grainBuffer = this.software ? new GrainBuffer(shading, this.grains) : null;
    this.scene.add(this.grainBuffer?.lit ?? this.grains.mesh);
    this.stageBox = new THREE.Box3();
    this.moved = true; // whether the shadows have to be drawn again
    this.pending = null;
    this.pictures = 0;
    canvas.addEventListener("webglcontextlost", () => this.dispatchEvent(new Event("lost")));
    canvas.addEventListener("webglcontextrestored", () => {
      this.dispatchEvent(new Event("restored"));
      this.invalidate(true);
    });
    new ResizeObserver(() => this.resize()).observe(canvas.parentElement);
    this.resize();
  }

  /** Ask for a picture: however often it is asked for, one is drawn at the next refresh. */
  invalidate(moved = false) {
    this.moved ||= moved;
    this.pending ??= requestAnimationFrame(() => this.draw());
  }

  setStage(stage) {
    this.shading.setMaterials(stage.materials);
    this.shading.setGravity(stage.gravity);
    this.shadows.aim();
    this.bodies.setStage(stage);
    this.surfaces.clear();
    this.cloths.setStage(stage);
    this.stageBox.set(new THREE.Vector3(...stage.bounds[0]), new THREE.Vector3(...stage.bounds[1]));
    this.firstView = stage.view ?? FIRST_VIEW;
    this.invalidate(true);
  }

  setFrame(header, arrays) {
    this.grains.update(header, arrays);
    this.bodies.update(header.bodies);
    this.surfaces.place();
    this.cloths.update(arrays);
    this.invalidate(true);
  }

  draw() {
    cancelAnimationFrame(this.pending);
    this.pending = null;
    this.fitPlanes();
    if (this.moved) {
      this.shadows.fit(this.box());
      const { axes, box, size } = this.shadows;
      this.grains.prepareShadow(axes, box, size);
      this.shadows.draw(this.renderer);
      this.moved = false;
    }
    this.camera.updateMatrixWorld();
    const { width, height } = this.canvas;
    this.grains.prepare(this.camera, width, height);
    this.grainBuffer?.draw(this.renderer, this.camera, width, height);
    this.renderer.render(this.scene, this.camera);
    this.pictures += 1;
    this.dispatchEvent(new Event("drawn"));
  }

  /** What is worth looking at: the stage, and the grains and cloths where they are now. */
  box() {
    return this.stageBox.clone().union(this.grains.bounds).union(this.cloths.bounds);
  }

  /** Show everything, from where the camera looks now or (anew) from the stage's best side. */
  frameAll(anew = false) {
    const box = this.box();
    if (box.isEmpty()) return;
    const toEye = this.camera.position.clone().sub(this.controls.target).normalize();
    if (anew || toEye.lengthSq() === 0) toEye.copy(direction(...this.firstView));
    const middle = box.getCenter(new THREE.Vector3());
    this.controls.target.copy(middle);
    this.camera.position.copy(middle).addScaledVector(toEye, this.distanceFor(box, middle, toEye));
    this.controls.update();
    this.invalidate();
  }

  /** How far (m) the eye has to be from the middle of a box so that all its corners are seen. */
  distanceFor(box, middle, toEye) {
    const right = new THREE.Vector3().crossVectors(this.camera.up, toEye).normalize();
    const above = new THREE.Vector3().crossVectors(toEye, right);
    const high = Math.tan(THREE.MathUtils.degToRad(FIELD_OF_VIEW) / 2) / MARGIN;
    const wide = high * this.camera.aspect;
    let far = 0;
    for (let k = 0; k < 8; k += 1) {
      const corner = new THREE.Vector3(
        k & 1 ? box.max.x : box.min.x,
        k & 2 ? box.max.y : box.min.y,
        k & 4 ? box.max.z : box.min.z,
      ).sub(middle);
      const across = Math.max(
        Math.abs(corner.dot(right)) / wide,
        Math.abs(corner.dot(above)) / high,
      );
      far = Math.max(far, corner.dot(toEye) + across);
    }
    return far;
  }

  /** Near and far plane around what there is, so that depth is not wasted on nothing. */
  fitPlanes() {
    const sphere = this.box().getBoundingSphere(new THREE.Sphere());
    const away = this.camera.position.distanceTo(sphere.center);
    const far = away + 12 * sphere.radius;
    this.camera.near = Math.max(far / 5000, 0.5 * (away - 1.5 * sphere.radius));
    this.camera.far = far;
    this.camera.updateProjectionMatrix();
  }

  /** Pixels of the page that a metre takes at the point around which the view turns. */
  pixelsPerMetre() {
    const away = this.camera.position.distanceTo(this.controls.target);
    const height = 2 * away * Math.tan(THREE.MathUtils.degToRad(FIELD_OF_VIEW) / 2);
    return this.canvas.clientHeight / height;
  }

  /** The ray {origin, direction} (arrays, m) through a point of the page. */
  ray(clientX, clientY) {
    const box = this.canvas.getBoundingClientRect();
    const at = new THREE.Vector2(
      (2 * (clientX - box.left)) / box.width - 1,
      1 - (2 * (clientY - box.top)) / box.height,
    );
    const caster = new THREE.Raycaster();
    caster.setFromCamera(at, this.camera);
    return { origin: caster.ray.origin.toArray(), direction: caster.ray.direction.toArray() };
  }

  /** Where a point of the world (m) is in the canvas, in pixels of the page; null: behind the eye. */
  project(point) {
    const at = new THREE.Vector3(...point).project(this.camera);
    if (!(at.z < 1)) return null;
    return [
      (0.5 + 0.5 * at.x) * this.canvas.clientWidth,
      (0.5 - 0.5 * at.y) * this.canvas.clientHeight,
    ];
  }

  /** The picture as PNG. */
  picture() {
    this.draw(); // at once: the browser forgets the canvas after this task
    return new Promise((done) => this.canvas.toBlob(done, "image/png"));
  }

  resize() {
    const { clientWidth: width, clientHeight: height } = this.canvas.parentElement;
    if (!width || !height) return;
    this.renderer.setPixelRatio(this.software ? 1 : Math.min(window.devicePixelRatio, 2));
    this.renderer.setSize(width, height, false);
    this.camera.aspect = width / height;
    this.camera.updateProjectionMatrix();
    const pixels = this.renderer.getDrawingBufferSize(new THREE.Vector2());
    this.shading.shared.viewport.value.copy(pixels);
    this.shading.shared.pixelAngle.value =
      (2 * Math.tan(THREE.MathUtils.degToRad(FIELD_OF_VIEW) / 2)) / pixels.y;
    this.invalidate();
  }
}

/** Unit vector from the scene to an eye at azimuth and elevation (degrees). */
function direction(azimuth, elevation) {
  const [turn, rise] = [azimuth, elevation].map(THREE.MathUtils.degToRad);
  return new THREE.Vector3(
    Math.cos(turn) * Math.cos(rise),
    Math.sin(turn) * Math.cos(rise),
    Math.sin(rise),
  );
}

function backdrop(shading) {
  const mesh = new THREE.Mesh(
    screenCorners(),
    shading.material("backdrop", {}, { depthWrite: false }),
  );
  mesh.frustumCulled = false;
  mesh.renderOrder = LAST + 1; // where nothing is in front
  return mesh;
}

/** What draws: the page is gentler where a processor does the work of a graphics card. */
function graphicsName() {
  const gl = document.createElement("canvas").getContext("webgl2");
  if (!gl) throw new Error("this browser has no WebGL 2, which the view needs");
  const told = gl.getExtension("WEBGL_debug_renderer_info");
  const name = String(gl.getParameter(told ? told.UNMASKED_RENDERER_WEBGL : gl.RENDERER));
  gl.getExtension("WEBGL_lose_context")?.loseContext();
  return name;
}
