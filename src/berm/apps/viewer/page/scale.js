// A bar that tells how long a round length is, at the point around which the view turns.

import { byId } from "./dom.js";
import { quantity, roundDown } from "./format.js";

const LONGEST = 140; // pixels

export function showScale(pixelsPerMetre, gridStep) {
  if (!(pixelsPerMetre > 0) || !Number.isFinite(pixelsPerMetre)) return;
  const metres = roundDown(LONGEST / pixelsPerMetre);
  byId("scale-line").style.width = `${(metres * pixelsPerMetre).toFixed(1)}px`;
  const grid = gridStep ? ` · grid ${quantity(gridStep, "m")}` : "";
  const text = `${quantity(metres, "m")}${grid}`;
  if (byId("scale-text").textContent !== text) byId("scale-text").textContent = text;
}
