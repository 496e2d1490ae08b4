// The websocket: connects, connects again, reads messages, and tells who listens.

import { decodeFrame, FrameError } from "./frame.js";

const FIRST_WAIT = 0.25; // s, doubled at each failure
const LONGEST_WAIT = 5;
const REFUSED = 1008; // the server's "you broke the rules": coming back at once would not help
const PROTOCOL = 1;

/**
 * Events: "open", "lost" {wait, reason}, "trouble" {message}, "frame" {header, arrays}, and one for
 * each type of message ("hello", "stage", "status", ...), with the message as `detail`.
 */
export class Connection extends EventTarget {
  constructor(address) {
    super();
    this.address = address;
    this.wait = FIRST_WAIT;
    this.socket = null;
    this.timer = null;
    document.addEventListener("visibilitychange", () => document.hidden || this.hurry());
    window.addEventListener("online", () => this.hurry());
  }

  get open() {
    return this.socket?.readyState === WebSocket.OPEN;
  }

  /** Connect now; whatever was waiting is given up. */
  connect() {
    clearTimeout(this.timer);
    this.timer = null;
    const socket = new WebSocket(this.address);
    socket.binaryType = "arraybuffer";
    this.socket = socket;
    socket.onopen = () => this.emit("open");
    socket.onmessage = (event) => this.read(socket, event.data);
    socket.onclose = (event) => {
      if (socket !== this.socket) return;
      if (event.code === REFUSED) this.wait = LONGEST_WAIT;
      this.retry(event.reason);
    };
  }

  /** Do not wait any longer when the user asks, or comes back to the page. */
  hurry() {
    if (this.timer !== null) this.connect();
  }

  /** Send a message; false: there is no connection, and it is dropped. */
  send(type, fields = {}) {
    if (!this.open) return false;
    this.socket.send(JSON.stringify({ type, ...fields }));
    return true;
  }

  retry(reason = "") {
    this.socket = null;
    const wait = this.wait * (1 + 0.2 * Math.random()); // many pages must not come back as one
    this.wait = Math.min(2 * this.wait, LONGEST_WAIT);
    this.timer = setTimeout(() => this.connect(), 1000 * wait);
    this.emit("lost", { wait, reason });
  }

  read(socket, data) {
    if (socket !== this.socket) return;
    if (typeof data === "string") return this.readText(data);
    try {
      this.emit("frame", decodeFrame(data));
    } catch (error) {
      if (!(error instanceof FrameError)) throw error;
      // its number is not known, so it cannot be acknowledged: begin anew
      this.emit("trouble", {
        message: `the server sent a frame that cannot be read: ${error.message}`,
      });
      socket.close();
    }
  }

  readText(text) {
    let message = null;
    try {
      message = JSON.parse(text);
    } catch {
      // told below
    }
    if (typeof message?.type !== "string") {
      this.emit("trouble", { message: "the server sent a message that cannot be read" });
      return;
    }
    if (message.type === "hello") {
      this.wait = FIRST_WAIT; // it is a server of ours, and it works
      if (message.protocol !== PROTOCOL) {
        const told = `the server speaks protocol ${message.protocol}, this page ${PROTOCOL}: reload it`;
        this.emit("trouble", { message: told });
      }
    }
    this.emit(message.type, message);
  }

  emit(type, detail = {}) {
    this.dispatchEvent(new CustomEvent(type, { detail }));
  }
}

/** The websocket beside this page. */
export function socketAddress(place = window.location) {
  return `${place.protocol === "https:" ? "wss" : "ws"}://${place.host}/ws`;
}
