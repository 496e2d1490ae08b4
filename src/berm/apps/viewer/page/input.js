// Keys and game pads: their state goes to Python whenever it changes; the page's own keys stay here.

import { isTyping } from "./dom.js";

const OFTEN = 33; // ms between two messages of a stick that moves
const FINE = 100; // steps of an axis: noise below does not count
const OF_THE_BROWSER = new Set(["Tab", "Enter", "Escape"]); // they move the focus, press and close
const SIGNS = {
  "↑": "ArrowUp",
  "↓": "ArrowDown",
  "←": "ArrowLeft",
  "→": "ArrowRight",
  ".": "Period",
  ",": "Comma",
};

/** Sends {down, axes, buttons}; `shortcuts` maps codes of keys to what the page does. */
export class Input {
  constructor(connection, shortcuts) {
    this.connection = connection;
    this.shortcuts = shortcuts;
    this.sceneKeys = new Set();
    this.down = new Set();
    this.sent = "";
    this.lastTime = 0;
    window.addEventListener("keydown", (event) => this.pressed(event));
    window.addEventListener("keyup", (event) => this.released(event));
    window.addEventListener("blur", () => this.releaseAll());
    document.addEventListener("visibilitychange", () => document.hidden && this.releaseAll());
    window.addEventListener("gamepadconnected", () => this.poll());
  }

  /** The keys that the scene listens to come first, before the page's own. */
  hello({ keys, can }) {
    this.sceneKeys = new Set(keys.flatMap(({ key }) => codes(key)));
    this.wanted = can.includes("keys");
    this.sent = "";
    this.send();
  }

  pressed(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
    if (document.querySelector("dialog[open]")) return;
    const run = this.sceneKeys.has(event.code) ? null : this.shortcuts[event.code];
    if (run) {
      const onButton = event.target instanceof HTMLButtonElement && event.code === "Space";
      if (onButton) return; // it presses the button
      event.preventDefault();
      if (!event.repeat) run();
    } else if (this.wanted && !OF_THE_BROWSER.has(event.code)) {
      if (this.sceneKeys.has(event.code)) event.preventDefault();
      this.down.add(event.code);
      this.send();
    }
  }

  released(event) {
    if (this.down.delete(event.code)) this.send();
  }

  /** A page that is not looked at holds no key down. */
  releaseAll() {
    this.down.clear();
    this.send();
  }

  send() {
    if (!this.wanted) return;
    const state = { down: [...this.down], ...gamepad() };
    const text = JSON.stringify(state);
    if (text === this.sent || !this.connection.send("keys", state)) return;
    this.sent = text;
    this.lastTime = performance.now();
  }

  /** Game pads tell nothing by themselves: look at them while one is there. */
  poll() {
    if (!pads().length) return this.send();
    if (performance.now() - this.lastTime > OFTEN) this.send();
    requestAnimationFrame(() => this.poll());
  }
}

function pads() {
  return (navigator.getGamepads?.() ?? []).filter((pad) => pad?.connected);
}

function gamepad() {
  const [pad] = pads();
  if (!pad || document.hidden) return { axes: [], buttons: [] };
  const coarse = (value) => Math.round(value * FINE) / FINE;
  return {
    axes: pad.axes.slice(0, 16).map(coarse),
    buttons: pad.buttons.slice(0, 32).map(({ value }) => coarse(value)),
  };
}

/** The parts of what a scene calls a key: "W or ↑" is ["W", "↑"]. */
export function keyNames(text) {
  return text
    .split(/ or |\s*\/\s*/)
    .map((part) => part.trim())
    .filter(Boolean);
}

/** The codes of these parts; what is no key ("left stick") has none. */
export function codes(text) {
  return keyNames(text).map(codeOf).filter(Boolean);
}

function codeOf(name) {
  if (SIGNS[name]) return SIGNS[name];
  if (/^[A-Z]$/i.test(name)) return `Key${name.toUpperCase()}`;
  if (/^\d$/.test(name)) return `Digit${name}`;
  if (/^[A-Z][a-zA-Z]+\d*$/.test(name)) return name; // a code already: "ShiftLeft"
  return name === "space" ? "Space" : null;
}

/** A code as it stands on the keyboard: "KeyW" is W, "ArrowUp" is ↑. */
export function keyName(code) {
  const sign = Object.entries(SIGNS).find(([, known]) => known === code)?.[0];
  return (
    sign ??
    code
      .replace(/^(Key|Digit)/, "")
      .replace("Backspace", "⌫")
      .replace("Space", "space")
  );
}
