// Small charts of the last minutes, and the words for rates and latencies.
const SVG = "http://www.w3.org/2000/svg";

/** The fewest steps that a chart is wide: a server that has just started has few. */
const FEW = 36;

/** An empty chart. */
export function spark() {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("preserveAspectRatio", "none");
  svg.setAttribute("class", "spark");
  svg.setAttribute("role", "img");
  svg.setAttribute("aria-label", "no calls yet");
  const line = (name) => { const one = document.createElementNS(SVG, name === "area" ? "path" : "polyline"); one.setAttribute("class", name); return one; };
  svg.append(line("area"), line("calls"), line("failed"));
  return svg;
}

/** Draws calls and failures a second, the newest at the right end. */
export function draw(svg, { calls, failed }) {
  const steps = Math.max(FEW, calls.length);
  svg.setAttribute("viewBox", `0 0 ${steps - 1} 20`);
  const most = Math.max(...calls, 0.001);
  const points = (values) => values.map((value, at) => `${steps - values.length + at},${(19 - (value / most) * 18).toFixed(2)}`);
  const line = points(calls);
  svg.children[0].setAttribute("d", line.length ? `M${steps - line.length},20 L${line.join(" L")} L${steps - 1},20 Z` : "");
  svg.children[1].setAttribute("points", line.join(" "));
  svg.children[2].setAttribute("points", failed.some((value) => value > 0) ? points(failed).join(" ") : "");
  const worst = Math.max(...failed, 0);
  svg.setAttribute("aria-label", `calls a second: now ${rate(calls.at(-1) ?? 0)}, most ${rate(Math.max(...calls, 0))}${worst > 0 ? `; failed at most ${rate(worst)}` : ""}`);
}

export const rate = (value) => (value === 0 ? "0" : value < 10 ? value.toFixed(value < 0.1 ? 2 : 1) : Math.round(value).toLocaleString("en"));

export function duration(ms) {
  if (ms < 1000) return `${ms < 10 ? +ms.toFixed(1) : Math.round(ms)} ms`;
  const s = ms / 1000;
  return s < 120 ? `${+s.toFixed(1)} s` : s < 7200 ? `${Math.round(s / 60)} min` : s < 172800 ? `${Math.round(s / 3600)} h` : `${Math.round(s / 86400)} d`;
}

/** The bound that a share of the calls was within. */
export const within = (quantile) => (quantile ? `${quantile.above ? ">" : "≤"} ${duration(quantile.us / 1000)}` : "–");
