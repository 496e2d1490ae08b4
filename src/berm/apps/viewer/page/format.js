// Numbers as a person reads them.

const PREFIXES = [
  [1e9, "G"],
  [1e6, "M"],
  [1e3, "k"],
  [1, ""],
  [1e-3, "m"],
  [1e-6, "µ"],
  [1e-9, "n"],
];
const PREFIXED = new Set(["N", "J", "Pa", "m", "s", "W", "N m", "m/s", "g"]);

/** A number with `digits` significant digits, thousands apart, no trailing zeros. */
export function number(value, digits = 3) {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 1e7 || size < 1e-4)
    return value.toExponential(Math.max(0, digits - 1)).replace("e+", "e");
  if (Number.isInteger(value) || size >= 10 ** digits)
    return Math.round(value).toLocaleString("en");
  return String(Number(value.toPrecision(digits)));
}

/** Factor and unit in which a size is read best: [1000, "kN"]; 0.5 m stays in m. */
export function unitFor(size, unit) {
  const way = Math.abs(size);
  if (unit === "kg")
    return way >= 1 || way === 0
      ? [1, "kg"]
      : [1e-3 * unitFor(1000 * way, "g")[0], unitFor(1000 * way, "g")[1]];
  if (!PREFIXED.has(unit) || way === 0 || !Number.isFinite(way)) return [1, unit];
  if (unit.startsWith("m") && way >= 0.0995 && way < 1) return [1, unit];
  const [factor, prefix] = PREFIXES.find(([f]) => way >= 0.9995 * f) ?? PREFIXES.at(-1);
  return [factor, `${prefix}${unit}`];
}

/** A number with its unit, prefixed where people do so: 12.3 kN, 4 mm, but 0.4 without one. */
export function quantity(value, unit = "", digits = 3) {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  const [factor, shown] = unitFor(value, unit);
  return shown ? `${number(value / factor, digits)} ${shown}` : number(value, digits);
}

/** Several values with one unit: 0, 5, 10 mm/s; the unit stands once if `once`, else with each. */
export function quantities(values, unit = "", once = false) {
  const [factor, shown] = unitFor(Math.max(...values.map(Math.abs)), unit);
  return values.map((value, k) => {
    const told = shown && (!once || k === values.length - 1);
    return told ? `${number(value / factor)} ${shown}` : number(value / factor);
  });
}

/** Time as 12.34 s or 2:05.3 min: of fixed width, so that a running clock does not jump. */
export function clock(seconds) {
  if (!Number.isFinite(seconds)) return "–";
  if (seconds < 100) return `${seconds.toFixed(2)} s`;
  const tenths = Math.round(10 * seconds); // rounded first: never 1:60.0
  return `${Math.floor(tenths / 600)}:${((tenths % 600) / 10).toFixed(1).padStart(4, "0")} min`;
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

/** A unit as it is printed: "kg/m^3" becomes "kg/m³", "degrees/s" becomes "°/s". */
export function unitLabel(unit) {
  return unit.replace("^2", "²").replace("^3", "³").replace("degrees", "°");
}
