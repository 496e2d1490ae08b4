// What the colours mean: a colour map with its range and unit, or the materials.

import { make } from "./dom.js";
import { quantities } from "./format.js";

const SHRINK = 0.4; // a range this much smaller than the one shown ...
const PATIENCE = 1.5; // s: ... for this long makes the scale finer; a larger one acts at once
const MERGED = "bodies by super-body; grey: part of the ground";

/** The legend in the corner, and the range of the colours. */
export class Legend {
  constructor(element, shading) {
    this.element = element;
    this.shading = shading;
    this.held = false;
    this.range = [0, 1];
    this.smallSince = null;
    this.drawn = "";
  }

  setStage({ materials }) {
    this.materials = materials;
    this.drawn = "";
  }

  /** Update for a frame; returns the range [low, high] in the quantity's unit. */
  update({ colour, range }, materialsSeen, now = performance.now() / 1000) {
    if (colour !== this.colour) {
      this.colour = colour;
      this.range = range ?? [0, 1];
      this.smallSince = null;
    } else if (range && !this.held) {
      this.follow(range, now);
    }
    this.show(this.shading.modes.get(colour), materialsSeen);
    return this.range;
  }

  follow(range, now) {
    const small = range[1] < SHRINK * this.range[1];
    if (!small) this.smallSince = null;
    else this.smallSince ??= now;
    if (range[1] > this.range[1] || (small && now - this.smallSince > PATIENCE)) {
      this.range = range;
      this.smallSince = null;
    }
  }

  show(mode, materialsSeen) {
    const seen = [...materialsSeen].sort((a, b) => a - b);
    const now = JSON.stringify([
      mode?.name,
      mode?.name === "id" ? 0 : this.range,
      mode?.ramp ? 0 : seen,
    ]);
    if (now === this.drawn) return;
    this.drawn = now;
    this.element.dataset.kind = mode?.ramp && mode.name !== "id" ? "ramp" : "words";
    if (mode?.name === "merged")
      this.element.replaceChildren(make("span", { textContent: MERGED }));
    else if (!mode?.ramp) this.element.replaceChildren(...this.swatches(seen));
    else if (mode.name === "id")
      this.element.replaceChildren(make("span", { textContent: "colour by id" }));
    else this.element.replaceChildren(...this.bar(mode));
  }

  swatches(seen) {
    return seen.map((index) => {
      const material = this.materials?.[index];
      const patch = make("i", { className: "swatch" });
      patch.style.background = material?.colour ?? "#999";
      return make("span", { className: "material" }, patch, material?.name ?? `material ${index}`);
    });
  }

  bar(mode) {
    const table = this.shading.colours.ramps[mode.ramp];
    const strip = make("i", { className: "ramp" });
    const stops = Array.from(
      { length: 17 },
      (_, k) => table[Math.round((k * (table.length - 1)) / 16)],
    );
    strip.style.background = `linear-gradient(to right, ${stops.join(", ")})`;
    const [low, high] = this.range;
    const told = quantities([low, 0.5 * (low + high), high], mode.unit, true);
    const ticks = told.map((text) => make("span", { textContent: text }));
    return [
      make("span", { className: "name", textContent: mode.label }),
      strip,
      make("span", { className: "ticks" }, ...ticks),
    ];
  }
}
