// One place for what went wrong; the most important message is shown.

import { byId } from "./dom.js";

const PASSING = 6; // s that a refused command stays

/** Messages by kind, the first of these kinds that is there is shown. */
const KINDS = ["lost", "failed", "graphics", "refused"];

/** Shows {title, text, action, run}; a kind that is set again replaces its message. */
export class Banner {
  constructor() {
    this.messages = new Map();
    this.timers = new Map();
    byId("banner-close").onclick = () => this.clear(this.shown);
    byId("banner-action").onclick = () => this.messages.get(this.shown)?.run?.();
  }

  set(kind, message) {
    this.messages.set(kind, message);
    clearTimeout(this.timers.get(kind));
    if (kind === "refused")
      this.timers.set(
        kind,
        setTimeout(() => this.clear(kind), 1000 * PASSING),
      );
    this.show();
  }

  clear(kind) {
    if (this.messages.delete(kind)) this.show();
  }

  show() {
    this.shown = KINDS.find((kind) => this.messages.has(kind));
    const message = this.messages.get(this.shown);
    const box = byId("banner");
    box.hidden = !message;
    if (!message) return;
    box.dataset.kind = this.shown;
    byId("banner-title").textContent = message.title;
    byId("banner-text").textContent = message.text ?? "";
    const action = byId("banner-action");
    action.hidden = !message.action;
    action.textContent = message.action ?? "";
  }
}
