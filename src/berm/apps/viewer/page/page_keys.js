// The page's own keys, and the buttons that do the same.

import { byId, download } from "./dom.js";

const NARROW = 700; // pixels: settings and plots begin closed

/** `shortcuts`: what each key does, by code; `list`: the same in words. */
export class PageKeys {
  constructor({ view, transport, look, plots }) {
    this.plots = plots;
    this.view = view;
    this.scene = "berm";
    const does = {
      Space: ["run or hold", () => transport.toggle()],
      Period: ["one step", () => transport.step(1)],
      Comma: ["one frame back (playback)", () => transport.playback && transport.step(-1)],
      Backspace: ["begin anew", () => transport.playback || transport.reset()],
      KeyF: ["frame all", () => view.frameAll()],
      KeyR: ["first point of view", () => view.frameAll(true)],
      KeyP: ["save a picture", () => this.picture()],
      KeyL: ["dark or light", () => look.toggle()],
      KeyG: ["plots", () => this.toggle("plots")],
      KeyS: ["settings", () => this.toggle("panel")],
      KeyH: ["this list", () => this.keys.toggle()],
    };
    this.shortcuts = Object.fromEntries(Object.entries(does).map(([code, [, run]]) => [code, run]));
    this.list = Object.entries(does).map(([code, [text]]) => [code, text]);
    byId("frame-all").onclick = this.shortcuts.KeyF;
    byId("screenshot").onclick = this.shortcuts.KeyP;
    byId("look").onclick = this.shortcuts.KeyL;
    byId("plots-open").onclick = this.shortcuts.KeyG;
    byId("panel-open").onclick = this.shortcuts.KeyS;
    if (window.innerWidth < NARROW) for (const name of ["plots", "panel"]) this.toggle(name, false);
  }

  toggle(name, open = byId(name).hidden) {
    byId(name).hidden = !open;
    byId(`${name}-open`).setAttribute("aria-pressed", open);
    document.body.dataset[name] = open ? "open" : "closed";
    if (name === "plots" && open) this.plots.drawSoon();
  }

  async picture() {
    download(`${this.scene}.png`, await this.view.picture());
  }
}
