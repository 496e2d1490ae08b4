// Numbers as a person reads them.

const PREFIXES = [[1e9, "G"], [1e6, "M"], [1e3, "k"], [1, ""], [1e-3, "m"], [1e-6, "µ"], [1e-9, "n"]];
const PREFIXED = new Set(["N", "J", "Pa", "m", "s", "W", "N m", "m/s"]);

/** A number with `digits` significant digits, thousands apart, no trailing zeros. */
export function number(value, digits = 3) {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 1e7 || size < 1e-4) return value.toExponential(Math.max(0, digits - 1)).replace("e+", "e");
  if (Number.isInteger(value) || size >= 10 ** digits) return Math.round(value).toLocaleString("en");
  return String(Number(value.toPrecision(digits)));
}

/** A number with its unit, prefixed where people do so: 12.3 kN, 4 mm, but 0.4 without one. */
export function quantity(value, unit = "", digits = 3) {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  if (!unit) return number(value, digits);
  if (unit === "kg" && Math.abs(value) < 1) return quantity(1000 * value, "g", digits);
  if (!PREFIXED.has(unit) && unit !== "g") return `${number(value, digits)} ${unit}`;
  const size = Math.abs(value);
  if (size === 0) return `0 ${unit}`;
  if (unit === "m" && size >= 0.0995 && size < 1) return `${number(value, digits)} m`; // not 500 mm
  const [factor, prefix] = PREFIXES.find(([f]) => size >= 0.9995 * f) ?? PREFIXES.at(-1);
  return `${number(value / factor, digits)} ${prefix}${unit}`;
}

/** Time as 12.34 s or 2:05.3 min: of fixed width, so that a running clock does not jump. */
export function clock(seconds) {
  if (!Number.isFinite(seconds)) return "–";
  if (seconds < 100) return `${seconds.toFixed(2)} s`;
  const minutes = Math.floor(seconds / 60);
  return `${minutes}:${(seconds % 60).toFixed(1).padStart(4, "0")} min`;
}

/** The next round number (1, 2 or 5 times a power of ten) from `value` down. */
export function roundDown(value) {
  const power = 10 ** Math.floor(Math.log10(value));
  return [5, 2, 1].map((k) => k * power).find((nice) => nice <= value * (1 + 1e-9)) ?? power;
}

/** The next round number from `value` up. */
export function roundUp(value) {
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 5, 10].map((k) => k * power).find((nice) => nice >= value * (1 - 1e-9));
}

/** A name as a label: "rate_of_flow" becomes "rate of flow". */
export function label(name) {
  return name.replaceAll("_", " ");
}
