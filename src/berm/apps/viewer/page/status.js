// The line at the top: what runs, when, how much, how fast, and who steers.

import { byId } from "./dom.js";
import { clock, number } from "./format.js";

/** Shows hello, status and the time of the frames. */
export class StatusLine {
  constructor(connection) {
    this.connection = connection;
    this.playback = false;
    byId("steer").onclick = () => connection.send("steer", { take: true });
  }

  hello({ title, scene, mode }) {
    this.playback = mode === "playback";
    byId("scene").textContent = scene || "world";
    byId("title").textContent = title && title !== scene ? title : "";
    document.title = `${scene || "world"} · berm`;
    byId("factor-figure").hidden = this.playback;
    byId("contacts").parentElement.hidden = this.playback;
  }

  status(status) {
    this.state(stateOf(status, this.playback));
    byId("grains").textContent = number(status.grains, 6);
    byId("contacts").textContent = number(status.contacts, 6);
    byId("factor").textContent = factor(status);
    byId("viewers").textContent = status.viewers;
    byId("viewers-figure").hidden = !(status.viewers > 1);
    byId("note").textContent = status.note ?? "";
    byId("steer").hidden = this.playback || status.steering !== false;
  }

  time(seconds) {
    byId("time").textContent = clock(seconds);
  }

  state(name) {
    byId("state").dataset.state = name;
    byId("state").textContent = name;
  }
}

function stateOf(status, playback) {
  if (status.error) return "failed";
  if (status.note) return "preparing";
  if (status.running) return playback ? "playing" : "running";
  return status.finished ? "finished" : "paused";
}

function factor({ running, real_time_factor: value }) {
  if (!running || !Number.isFinite(value)) return "–";
  return `${value >= 10 ? value.toFixed(0) : value.toFixed(2)} ×`;
}
