// A number in the panel: a slider that keys can move too, a field, linear or in powers, or "none".

import { Controller } from "lil-gui";
import { make } from "./dom.js";

const STEPS = 1000; // positions of the slider

/** A number, or null where the parameter may have none. */
export class SliderController extends Controller {
  /** `parameter`: {low, high, slider: [low, high] or null, step, log}. */
  constructor(parent, object, property, parameter) {
    super(parent, object, property, "lil-number");
    this.parameter = parameter;
    this.ends = parameter.slider ?? finiteEnds(parameter);
    const named = { type: "range", min: 0, max: STEPS, step: 1 };
    this.$slider = make("input", named);
    this.$field = make("input", { type: "text", inputMode: "decimal", placeholder: "none" });
    for (const input of [this.$slider, this.$field]) {
      input.setAttribute("aria-labelledby", this.$name.id);
      this.$widget.append(input);
    }
    this.$slider.hidden = this.ends === null;
    this.domElement.classList.add("berm-slider");
    this.$slider.oninput = () =>
      this.setValue(this.fromPosition(Number(this.$slider.value) / STEPS));
    this.$slider.onchange = () => this._callOnFinishChange();
    this.$field.onchange = () => this.typed();
    this.$field.onkeydown = (event) => this.arrow(event);
    this.updateDisplay();
  }

  disable(disabled = true) {
    this.$slider.disabled = disabled;
    this.$field.disabled = disabled;
    return super.disable(disabled);
  }

  updateDisplay() {
    const value = this.getValue();
    const known = Number.isFinite(value);
    this.$field.value = known ? String(Number(value.toPrecision(5))) : "";
    if (this.ends && known) this.$slider.value = Math.round(STEPS * this.toPosition(value));
    this.$slider.setAttribute("aria-valuetext", this.$field.value || "none");
    return this;
  }

  typed() {
    const text = this.$field.value.trim().replace(",", ".");
    const value = text === "" ? null : Number(text);
    if (Number.isNaN(value)) this.updateDisplay();
    else this.setValue(value === null ? null : this.rounded(value));
    this._callOnFinishChange();
  }

  arrow(event) {
    const way = { ArrowUp: 1, ArrowDown: -1 }[event.key];
    const value = this.getValue();
    if (!way || !Number.isFinite(value) || !this.ends) return;
    event.preventDefault();
    this.setValue(
      this.fromPosition(this.toPosition(value) + (way * (event.shiftKey ? 50 : 5)) / STEPS),
    );
  }

  toPosition(value) {
    const [low, high] = this.ends;
    const share = this.parameter.log
      ? Math.log(value / low) / Math.log(high / low)
      : (value - low) / (high - low);
    return Math.min(1, Math.max(0, share || 0));
  }

  fromPosition(share) {
    const [low, high] = this.ends;
    const at = Math.min(1, Math.max(0, share));
    const value = this.parameter.log ? low * (high / low) ** at : low + at * (high - low);
    return this.rounded(Number(value.toPrecision(3)));
  }

  rounded(value) {
    return this.parameter.step === 1 ? Math.round(value) : value;
  }
}

function finiteEnds({ low, high }) {
  return Number.isFinite(low) && Number.isFinite(high) ? [low, high] : null;
}
