// Click a grain: its state is shown, followed while it moves, and marked in the picture.

import { make } from "./dom.js";
import { clock, number, quantity } from "./format.js";

const STILL = 4; // pixels: a pointer that moved more has turned the view
const EVERY = 400; // ms between two questions about the picked grain

/** The card of the picked grain, and the ring around it. */
export class Picking {
  constructor(element, view, connection) {
    Object.assign(this, { element, view, connection });
    this.tag = null;
    this.asked = []; // tags, and null for rays, whose answers are under way
    this.ring = make("div", { className: "ring", hidden: true });
    element.parentElement.append(this.ring);
    const canvas = view.canvas;
    let start = null;
    canvas.addEventListener("pointerdown", (event) => {
      start = event.button === 0 && event.isPrimary ? [event.clientX, event.clientY] : null;
    });
    canvas.addEventListener("pointerup", (event) => {
      const moved = start
        ? Math.hypot(event.clientX - start[0], event.clientY - start[1])
        : Infinity;
      if (moved <= STILL) this.ask(null, this.view.ray(event.clientX, event.clientY));
      start = null;
    });
    setInterval(() => this.follow(), EVERY);
    view.addEventListener("drawn", () => this.placeRing());
  }

  follow() {
    if (this.tag !== null && !document.hidden) this.ask(this.tag, { tag: this.tag });
  }

  /** Ask for the grain on a ray (tag null) or the followed one; answers come in the same order. */
  ask(tag, question) {
    if (this.connection.send("pick", question)) this.asked.push(tag);
  }

  hello() {
    this.asked = []; // what another connection was asked is not answered any more
  }

  picked(state) {
    const asked = this.asked.shift() ?? null;
    if (asked !== null && asked !== this.tag) return; // of a grain that was let go meanwhile
    if (state.tag === null) return this.close();
    if (!Array.isArray(state.position)) throw new TypeError("a grain without a position");
    this.tag = state.tag;
    this.state = state;
    this.show(state);
    this.placeRing();
  }

  close() {
    this.tag = null;
    this.element.hidden = true;
    this.ring.hidden = true;
  }

  show(state) {
    const rows = [
      ["material", state.material || "–"],
      ["radius", quantity(state.radius, "m")],
      ["mass", quantity(state.mass, "kg")],
      ["position", vector(state.position, "m")],
      ["velocity", vector(state.velocity, "m/s")],
      ["speed", quantity(state.speed, "m/s")],
      ["force", quantity(state.force, "N")],
      ["overlap", quantity(state.overlap, "m")],
      ["age", Number.isFinite(state.age) ? clock(state.age) : "–"],
    ].filter(([, text]) => text !== "–");
    const close = make("button", { textContent: "×", title: "Close", onclick: () => this.close() });
    close.setAttribute("aria-label", "Close");
    const list = make(
      "dl",
      {},
      ...rows.flatMap(([name, text]) => [
        make("dt", { textContent: name }),
        make("dd", { textContent: text }),
      ]),
    );
    this.element.replaceChildren(make("h2", {}, `Grain ${number(state.tag, 9)}`, close), list);
    this.element.hidden = false;
  }

  placeRing() {
    const at = this.tag === null ? null : this.view.project(this.state.position);
    this.ring.hidden = at === null;
    if (at === null) return;
    const radius = Math.max(7, 3 + this.view.pixelsPerMetre() * this.state.radius);
    this.ring.style.width = this.ring.style.height = `${2 * radius}px`;
    this.ring.style.transform = `translate(${at[0] - radius}px, ${at[1] - radius}px)`;
  }
}

function vector(value, unit) {
  return Array.isArray(value) ? `${value.map((part) => part.toFixed(3)).join(", ")} ${unit}` : "–";
}
