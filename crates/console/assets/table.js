// The page of a table: keys made of typed ids, and the partitions that were looked at before.
import { shaped } from "./fields.js";
import { clock, day } from "./items.js";
import { el } from "./show.js";

for (const form of document.querySelectorAll("form[data-template]")) {
  const partition = form.elements.partition;
  form.addEventListener("submit", () => {
    const value = (name) => form.querySelector(`[data-hole="${CSS.escape(name)}"]`)?.value.trim() ?? "";
    partition.value = form.dataset.template.replace(/\{([^{}:]+)(?::([^{}]+))?\}/g, (_, name, form) => form === undefined ? value(name) : shaped(value(name), form));
    partition.disabled = false;
  });
}

// What was looked at, newest first; kept in this browser alone.
const box = document.querySelector("[data-recent]");
const name = `latchkey-recent-${box.dataset.recent}`;
let recent = [];
try { recent = JSON.parse(localStorage.getItem(name) ?? "[]").filter((one) => typeof one === "string").slice(0, 12); } catch { recent = []; }
const here = new URLSearchParams(location.search);
if (here.get("partition")) {
  for (const place of ["after", "before"]) here.delete(place);
  recent = [here.toString(), ...recent.filter((one) => one !== here.toString())].slice(0, 12);
  try { localStorage.setItem(name, JSON.stringify(recent)); } catch { /* A browser that keeps nothing remembers nothing. */ }
}
if (recent.length) {
  box.hidden = false;
  box.querySelector("ul").replaceChildren(...recent.map((one) => {
    const asked = new URLSearchParams(one);
    return el("li", el("a", { href: `${location.pathname}?${asked}` }, el("code", asked.get("partition") ?? "")), asked.get("index") ? el("span.pill", asked.get("index")) : "");
  }));
}

// Items whose keys are ordered by a time can be shown in the order of time, those of all entities together.
const items = document.querySelector("[data-items]");
const timed = items ? [...items.children].filter((item) => !Number.isNaN(Date.parse(item.dataset.at))) : [];
if (timed.length > 1) {
  const first = [...items.children];
  const inTime = [...timed].sort((a, b) => Date.parse(a.dataset.at) - Date.parse(b.dataset.at));
  const times = new Map(timed.map((item) => {
    const ms = Date.parse(item.dataset.at);
    return [item, el("p.at", { hidden: true }, el("time", { datetime: item.dataset.at, title: item.dataset.at }, `${day(ms)}, ${clock(ms)} UTC`))];
  }));
  for (const [item, time] of times) item.prepend(time);
  const choose = (timeline) => {
    items.classList.toggle("as-timeline", timeline);
    items.replaceChildren(...(timeline ? [...inTime, ...first.filter((item) => !times.has(item))] : first));
    for (const time of times.values()) time.hidden = !timeline;
    for (const button of choices.children) button.setAttribute("aria-pressed", String((button.dataset.kind === "timeline") === timeline));
  };
  const choice = (kind, text) => { const button = el("button", { type: "button", "data-kind": kind }, text); button.addEventListener("click", () => choose(kind === "timeline")); return button; };
  const choices = el("div.choices", { role: "group", "aria-label": "Show as" }, choice("keys", "By key"), choice("timeline", "Timeline"));
  items.before(choices);
  choose(false);
}
