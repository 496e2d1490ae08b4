// The panel: every parameter of the scene, what is drawn, and the look.

import { GUI } from "lil-gui";
import { label, unitLabel } from "./format.js";
import { SliderController } from "./slider.js";

const OFTEN = 50; // ms between two messages of a slider that is dragged

/**
 * What the user sets. Parameters that act at once are sent as they change; the others wait for the
 * next reset. `actions`: colour(by), look(name), hold(on), reset().
 */
export class Panel {
  constructor(element, connection, actions) {
    this.element = element;
    this.connection = connection;
    this.actions = actions;
    this.view = { colour: "material", hold: false };
    this.waiting = new Map(); // values for the next reset
    this.controllers = new Map();
    this.locked = false;
  }

  /** Build the panel for a scene; what was waiting for a reset is kept when the page reconnects. */
  hello({ parameters, colours, mode }) {
    this.gui?.destroy();
    this.controllers.clear();
    this.known = new Map(parameters.map((one) => [one.name, one]));
    for (const name of this.waiting.keys()) if (!this.known.has(name)) this.waiting.delete(name);
    this.values = Object.fromEntries(
      parameters.map(({ name, value }) => [name, this.waiting.get(name) ?? value]),
    );
    this.gui = new GUI({
      container: this.element,
      injectStyles: false,
      width: "100%",
      title: "Settings",
    });
    this.addView(colours);
    if (mode === "live" && parameters.length) this.addParameters(parameters);
    this.lock(this.locked);
  }

  addView(colours) {
    const folder = this.gui.addFolder("View");
    if (!colours.includes(this.view.colour)) this.view.colour = "material";
    const by = Object.fromEntries(colours.map((name) => [label(name), name]));
    this.colour = folder
      .add(this.view, "colour", by)
      .name("colour by")
      .onChange((name) => this.setColour(name));
    this.hold = folder
      .add(this.view, "hold")
      .name("hold scale")
      .onChange((on) => this.actions.hold(on));
    this.hold.domElement.title = "Keep the range of the colours as it is";
    this.setColour(this.view.colour);
  }

  setColour(name) {
    this.hold.enable(!["material", "id"].includes(name));
    this.actions.colour(name);
  }

  addParameters(parameters) {
    const live = this.gui.addFolder("Parameters");
    const later = this.gui.addFolder("At the next reset").close();
    this.applied = later
      .add({ reset: () => this.actions.reset() }, "reset")
      .name("Reset with these");
    for (const parameter of parameters) this.addParameter(parameter.live ? live : later, parameter);
    if (!live.controllers.length) live.hide();
    if (later.controllers.length === 1) later.hide();
    this.markWaiting();
  }

  addParameter(folder, parameter) {
    const controller = controllerOf(folder, this.values, parameter);
    const unit = parameter.unit ? `, ${unitLabel(parameter.unit)}` : "";
    controller.name(`${label(parameter.name)}${unit}`);
    controller.domElement.title = `${parameter.description}${bounds(parameter)}`;
    controller.domElement.dataset.parameter = parameter.name;
    const send = parameter.live ? latest((value) => this.send(parameter.name, value), OFTEN) : null;
    controller.onChange((value) => (send ? send(value) : this.wait(parameter, value)));
    this.controllers.set(parameter.name, controller);
  }

  send(name, value) {
    this.connection.send("set", { name, value });
  }

  wait({ name, value }, wanted) {
    if (wanted === value) this.waiting.delete(name);
    else this.waiting.set(name, wanted);
    this.markWaiting();
  }

  markWaiting() {
    for (const [name, { domElement }] of this.controllers)
      domElement.classList.toggle("waiting", this.waiting.has(name));
    this.applied?.name(this.waiting.size ? `Reset with ${this.waiting.size} changed` : "Reset");
  }

  /** What the next reset changes, by name. */
  pending() {
    return Object.fromEntries(this.waiting);
  }

  /** Show values that the server tells; what the user is changing now stays as it is. */
  parameters({ values }) {
    for (const [name, value] of Object.entries(values)) {
      const parameter = this.known?.get(name);
      if (!parameter) continue;
      parameter.value = value;
      if (this.waiting.get(name) === value) this.waiting.delete(name);
      const controller = this.controllers.get(name);
      if (this.waiting.has(name) || controller?.domElement.contains(document.activeElement))
        continue;
      this.values[name] = value;
      controller?.updateDisplay();
    }
    this.markWaiting();
  }

  /** Only the viewer that steers may change parameters. */
  lock(locked) {
    this.locked = locked;
    for (const controller of this.controllers.values()) controller.disable(locked);
    this.applied?.disable(locked);
  }
}

function controllerOf(folder, values, parameter) {
  const { name, kind, choices } = parameter;
  if (kind === "choice") return folder.add(values, name, choices);
  if (kind === "float" || kind === "int")
    return new SliderController(folder, values, name, parameter);
  if (kind === "bool") values[name] = Boolean(values[name]);
  else values[name] = String(values[name] ?? "");
  return folder.add(values, name);
}

function bounds({ low, high }) {
  if (low === null && high === null) return "";
  return ` (${low ?? "…"} to ${high ?? "…"})`;
}

/** Call `run` at most once in `wait` ms, and always with the last value. */
function latest(run, wait) {
  let timer = null;
  let last;
  let due = false;
  const fire = () => {
    timer = due ? setTimeout(fire, wait) : null;
    if (due) run(last);
    due = false;
  };
  return (value) => {
    last = value;
    due = true;
    if (timer === null) fire();
  };
}
