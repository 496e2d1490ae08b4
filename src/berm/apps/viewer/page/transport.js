// Run, hold, step, begin anew; speed; and the timeline of a recording.

import { byId, make } from "./dom.js";
import { clock } from "./format.js";

const SPEEDS = [0.05, 0.1, 0.25, 0.5, 1, 2, 5, 10, 100];
const FASTEST = 100; // what the server allows: as fast as it can

/** The controls at the bottom; `parameters()` tells what the next reset changes. */
export class Transport {
  constructor(connection, parameters) {
    this.connection = connection;
    this.parameters = parameters;
    this.running = false;
    this.begin = this.end = 0; // s, of a recording
    this.dragging = false;
    this.speed = byId("speed");
    this.speed.append(
      ...SPEEDS.map((s) => make("option", { value: s, textContent: speedText(s) })),
    );
    this.speed.onchange = () => connection.send("speed", { factor: Number(this.speed.value) });
    byId("play").onclick = () => this.toggle();
    byId("step").onclick = () => this.step(1);
    byId("reset").onclick = () => this.reset();
    byId("loop").onchange = () => connection.send("loop", { on: byId("loop").checked });
    this.seek = byId("seek");
    this.seek.addEventListener("pointerdown", () => {
      this.dragging = true;
    });
    this.seek.addEventListener("change", () => {
      this.dragging = false;
    });
    this.seek.oninput = () => this.goto(Number(this.seek.value));
  }

  hello({ mode, times, frames, can }) {
    this.playback = mode === "playback";
    this.begin = times?.[0] ?? 0;
    this.end = times?.at(-1) ?? 0;
    byId("timeline").hidden = !this.playback;
    byId("loop-label").hidden = !this.playback;
    byId("reset").hidden = this.playback;
    this.seek.max = Math.max(0, (frames ?? 1) - 1);
    this.can = new Set(can ?? []);
  }

  status({ running, speed, loop, steering, frames, duration }) {
    this.running = running;
    if (this.playback && frames > 0) {
      // one that is still being written grows
      this.seek.max = frames - 1;
      this.end = this.begin + duration;
    }
    byId("play").dataset.running = running;
    byId("play").setAttribute("aria-pressed", running);
    byId("loop").checked = loop === true;
    showSpeed(this.speed, speed);
    const locked = !this.playback && steering === false;
    for (const id of ["play", "step", "reset", "speed"]) byId(id).disabled = locked;
    if (this.can.size && !this.can.has("reset")) byId("reset").disabled = true;
  }

  frame({ frame, time }) {
    if (!this.playback) return;
    if (!this.dragging) this.seek.value = frame;
    byId("seek-text").textContent = `${clock(time)} / ${clock(this.end)}`;
    this.seek.setAttribute("aria-valuetext", clock(time));
  }

  toggle() {
    this.connection.send(this.running ? "pause" : "resume");
  }

  step(count) {
    this.connection.send("step", { count });
  }

  reset() {
    this.connection.send("reset", { parameters: this.parameters() });
  }

  goto(frame) {
    this.connection.send("seek", { frame });
  }
}

function speedText(speed) {
  if (speed >= FASTEST) return "max";
  return speed < 1 ? `1/${Math.round(1 / speed)} ×` : `${speed} ×`;
}

function showSpeed(select, speed) {
  if (!Number.isFinite(speed) || document.activeElement === select) return;
  if (!SPEEDS.includes(speed) && ![...select.options].some((o) => Number(o.value) === speed)) {
    select.append(make("option", { value: speed, textContent: speedText(speed) }));
  }
  select.value = String(speed);
}
