// The list of keys: those of the scene and those of the page.

import { byId, make } from "./dom.js";
import { codes, keyName, keyNames } from "./input.js";

const MOUSE = [
  ["drag", "turn"],
  ["right drag", "shift"],
  ["wheel", "zoom"],
  ["click", "state of a grain"],
];

/** `own`: [[code, what it does]] of the page. */
export class KeysPanel {
  constructor(own) {
    this.own = own;
    byId("keys-open").onclick = () => this.toggle();
    byId("keys").addEventListener("click", (event) => {
      if (event.target === byId("keys")) byId("keys").close(); // beside the list
    });
  }

  hello({ keys }) {
    const taken = new Set(keys.flatMap(({ key }) => codes(key)));
    const scene = keys.map(({ key, does }) => [keyNames(key), does]);
    const page = this.own
      .filter(([code]) => !taken.has(code))
      .map(([code, does]) => [[keyName(code)], does]);
    const parts = scene.length ? [section("Scene", scene)] : [];
    parts.push(
      section("Page", page),
      section(
        "Mouse",
        MOUSE.map(([name, does]) => [[name], does]),
      ),
    );
    byId("keys-list").replaceChildren(...parts);
  }

  toggle() {
    const dialog = byId("keys");
    if (dialog.open) dialog.close();
    else dialog.showModal();
  }
}

function section(title, rows) {
  const list = make(
    "dl",
    {},
    ...rows.flatMap(([names, does]) => [
      make("dt", {}, ...names.map((name) => make("kbd", { textContent: name }))),
      make("dd", { textContent: does }),
    ]),
  );
  return make("section", {}, make("h3", { textContent: title }), list);
}
