// Shows items of answers: objects as cards, lists of objects as tables; what names another thing leads to it.
import { el } from "./show.js";
import { Exact, pretty, write } from "./fields.js";

export const isObject = (value) => value !== null && typeof value === "object" && !Array.isArray(value) && !(value instanceof Exact);
export const isTable = (value) => Array.isArray(value) && value.every(isObject);
const isNumber = (value) => typeof value === "number" || value instanceof Exact;

/** What is known of members of which nothing is known. */
export const UNKNOWN = { times: [], statuses: [] };

/** A list of items as a table. */
export function table(all, page, known = UNKNOWN) {
  if (!all.length) return el("p.empty", "No items.");
  if (!isTable(all)) return el("pre.json", el("code", pretty(all)));
  const columns = [...new Set(all.flatMap((item) => Object.keys(item)))];
  const numeric = new Set(columns.filter((name) => all.every((item) => !(name in item) || isNumber(item[name]))));
  const row = (item) => el("tr", columns.map((name) => el(numeric.has(name) ? "td.num" : "td", Object.hasOwn(item, name) ? value(name, item[name], item, page, { ...known, times: [] }) : "")));
  return el("div.scroll", { tabindex: "0", role: "region", "aria-label": "Items" }, el("table.items",
    el("thead", el("tr", columns.map((name) => el(numeric.has(name) ? "th.num" : "th", { scope: "col" }, name)))), el("tbody", all.map(row))),
    el("p.muted.small", all.length === 1 ? "1 item" : `${all.length} items`));
}

/** An object as names and values. */
export const card = (item, page, known = UNKNOWN) =>
  el("dl.item", Object.entries(item).map(([name, one]) => el("div", el("dt", name), el("dd", value(name, one, item, page, known)))));

/** A value under a name; one that names something another contract shows leads there. */
export function value(name, one, item, page, known = UNKNOWN) {
  if (one !== null && typeof one === "object" && !(one instanceof Exact)) return compact(one);
  if (known.times.includes(name) && typeof one === "string") return moment(one);
  const status = known.statuses.find((own) => own.name === name);
  if (status && typeof one === "string") return word(status, one);
  const to = page && typeof one === "string" ? page.leadFrom(name, item) : null;
  return to ? el(one.length <= 40 ? "a.value.short" : "a.value", { href: to.href, title: `${to.id}: ${to.title}` }, one) : scalar(one);
}

/** One of a few words, in the colour of its place among them. */
export const word = (status, one) => el(`span.word.w${colour(status, one)}`, one);

/** The number of a word's colour. Words have a colour each as far as there are colours; they are told apart by their text. */
export const colour = (status, one) => { const at = status ? status.words.indexOf(one) : -1; return at < 0 ? "x" : at % 8; };

export function scalar(one) {
  if (one === null) return el("span.muted", "null");
  if (typeof one === "boolean") return el("span.pill", String(one));
  const text = String(one);
  return el(text.length <= 40 ? "bdi.value.short" : "bdi.value", text);
}

/** A list or an object within a cell: in a line, or behind one. */
function compact(one) {
  const line = write(one);
  if (line.length <= 60) return el("code", line);
  const what = Array.isArray(one) ? `${one.length} elements` : `${Object.keys(one).length} members`;
  return el("details.compact", el("summary", what), el("pre.json", el("code", pretty(one, "", 60))));
}

const DAY = new Intl.DateTimeFormat("en-GB", { timeZone: "UTC", day: "numeric", month: "short", year: "numeric" });
const MINUTE = new Intl.DateTimeFormat("en-GB", { timeZone: "UTC", hour: "2-digit", minute: "2-digit" });
const SECOND = new Intl.DateTimeFormat("en-GB", { timeZone: "UTC", hour: "2-digit", minute: "2-digit", second: "2-digit" });

/** The day of a time, and the time of the day, as people write them. */
export const day = (ms) => DAY.format(ms);
export const clock = (ms) => (ms % 60_000 === 0 ? MINUTE : SECOND).format(ms) + (ms % 1000 === 0 ? "" : `.${String(ms % 1000).padStart(3, "0")}`);

/** A time as people read it, with how far it is from now. */
export function moment(text) {
  const ms = Date.parse(text);
  if (Number.isNaN(ms)) return scalar(text);
  return el("span.moment", el("time", { datetime: text, title: `${text} · here ${new Date(ms).toLocaleString()}` }, `${day(ms)}, ${clock(ms - (ms % 1000))} UTC`), " ", el("span.muted.small", distance(ms - Date.now())));
}

const UNITS = [["year", 31_557_600_000], ["month", 2_629_800_000], ["day", 86_400_000], ["hour", 3_600_000], ["minute", 60_000], ["second", 1000]];
const RELATIVE = new Intl.RelativeTimeFormat("en", { numeric: "auto" });

function distance(ms) {
  const [unit, size] = UNITS.find(([, size]) => Math.abs(ms) >= size) ?? UNITS.at(-1);
  return RELATIVE.format(Math.trunc(ms / size), unit);
}

/** A length of time: `2 h 30 min`. */
export function span(ms) {
  const parts = [["d", 86_400_000], ["h", 3_600_000], ["min", 60_000], ["s", 1000], ["ms", 1]];
  const said = [];
  let rest = Math.abs(ms);
  for (const [name, size] of parts) {
    if (rest >= size && said.length < 2) said.push(`${Math.floor(rest / size)} ${name}`);
    else if (said.length) break;
    rest %= size;
  }
  return said.join(" ") || "0 s";
}
