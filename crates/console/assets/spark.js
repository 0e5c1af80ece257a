// Small charts of the last minutes, and the words for rates and latencies.
import { el } from "./show.js";

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

/** A chart of several lines with a scale and a legend. A value that is null leaves a gap. */
export function figure(title, lines, say) {
  const length = Math.max(FEW, ...lines.map(({ values }) => values.length));
  const all = lines.flatMap(({ values }) => values.filter((value) => value !== null));
  const most = Math.max(...all, 0), scale = most || 1;
  const svg = document.createElementNS(SVG, "svg");
  const legend = lines.map(({ name, values, mark }) => ({ name, mark, last: values.findLast((value) => value !== null) }));
  const told = legend.map(({ name, last }) => `${name} ${last === undefined ? "–" : say(last)}`);
  svg.setAttribute("viewBox", `0 0 ${length - 1} 40`);
  svg.setAttribute("preserveAspectRatio", "none");
  svg.setAttribute("role", "img");
  svg.setAttribute("aria-label", `${title}: ${told.join(", ")}; at most ${say(most)}`);
  for (const { values, mark } of lines) {
    const path = document.createElementNS(SVG, "path");
    const at = (value, step) => `${length - values.length + step},${(39 - (value / scale) * 37).toFixed(2)}`;
    let pen = "M";
    const parts = values.map((value, step) => { if (value === null) { pen = "M"; return ""; } const part = pen + at(value, step) + (pen === "M" ? "h0" : ""); pen = "L"; return part; });
    path.setAttribute("d", parts.join(""));
    path.setAttribute("class", `line ${mark}`);
    svg.append(path);
  }
  return el("figure", el("figcaption", el("strong", title), el("span.muted.small", `at most ${say(most)}`)), svg,
    el("p.legend", ...legend.map(({ name, mark, last }) => el("span", el(`i.${mark}`, { "aria-hidden": "true" }), `${name} ${last === undefined ? "–" : say(last)}`))));
}

export const rate = (value) => (value === 0 ? "0" : value < 10 ? value.toFixed(value < 0.1 ? 2 : 1) : Math.round(value).toLocaleString("en"));

export function duration(ms) {
  if (ms < 1000) return `${ms < 10 ? +ms.toFixed(1) : Math.round(ms)} ms`;
  const s = ms / 1000;
  return s < 120 ? `${+s.toFixed(1)} s` : s < 7200 ? `${Math.round(s / 60)} min` : s < 172800 ? `${Math.round(s / 3600)} h` : `${Math.round(s / 86400)} d`;
}

/** The bound that a share of the calls was within. */
export const within = (quantile) => (quantile ? `${quantile.above ? ">" : "≤"} ${duration(quantile.us / 1000)}` : "–");
