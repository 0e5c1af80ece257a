// The views of an answer: a timeline, a tally, a table, cards, JSON. Which fit, and which is shown at first, the server has
// derived from the document. A contract that only reads can be watched: it is called again, and numbers that moved are marked.
import { el, plural } from "./show.js";
import { Exact, pretty, write } from "./fields.js";
import { UNKNOWN, card, clock, colour, day, isObject, isTable, moment, scalar, span, table, value, word } from "./items.js";

const EVERY_MS = 2000, MARKED_MS = 6000;
const LABELS = { timeline: "Timeline", tally: "Tally", table: "Table", card: "Card", json: "JSON" };

/** The views of a page's contract. `page.again` calls it as it was called last. */
export function viewer(page) {
  const { views } = page.known;
  const moved = new Map();
  let chosen = null, before = null, timer = null, body = null, shown = "";
  const box = el("div.view"), into = el("div.view-body", { "aria-live": "off" }), heard = el("p.unseen", { role: "status" });
  const watched = el("input", { type: "checkbox", role: "switch", "data-watch": true });
  const stopped = el("p.note.warn", { hidden: true });
  const bar = el("div.view-bar");
  const choices = el("div.choices", { role: "group", "aria-label": "Show as" });

  function draw() {
    const kinds = fitting(body, views), kind = kinds.includes(chosen) ? chosen : kinds.includes(views.first) ? views.first : kinds[0];
    choices.replaceChildren(...kinds.map((one) => el("button", { type: "button", "data-kind": one, "aria-pressed": String(one === kind) }, LABELS[one])));
    const focus = into.contains(document.activeElement) ? focusable().indexOf(document.activeElement) : -1;
    into.replaceChildren(...DRAWN[kind](body, page, marks));
    into.dataset.shown = kind;
    if (focus >= 0) (focusable()[focus] ?? into).focus?.({ preventScroll: true });
  }
  const focusable = () => [...into.querySelectorAll("a, button, summary, [tabindex]")];

  /** How a number moved since it was last seen, for a while. */
  function marks(key, count) {
    const own = moved.get(key);
    return own && Date.now() - own.at < MARKED_MS && own.count === count ? count - own.was : 0;
  }
  function compare() {
    const now = new Map(counts(body, views).flatMap((group) => group.words.map(({ word, count }) => [`${group.title} ${word}`, count])));
    const said = [];
    for (const [key, count] of now) {
      const was = before?.get(key);
      if (was !== undefined && was !== count) { moved.set(key, { at: Date.now(), was, count }); said.push(`${key}: ${count}, was ${was}`); }
    }
    before = now;
    if (said.length) heard.textContent = said.join("; ");
    return said.length > 0 || [...moved.values()].some(({ at }) => Date.now() - at < MARKED_MS + EVERY_MS);
  }

  function stop(why = "") {
    clearTimeout(timer);
    timer = null;
    watched.checked = false;
    stopped.hidden = !why;
    stopped.textContent = why;
  }
  async function look() {
    if (timer === null) return;
    const mine = timer;
    if (!document.hidden) {
      try {
        const called = await page.again();
        // Meanwhile it may have been stopped, or begun anew.
        if (mine !== timer) return;
        if (called.status >= 400) return stop(`Watching has stopped: the answer was ${called.status}.`);
        const next = called.read;
        const text = write(next);
        body = next;
        const marked = compare();
        if (text !== shown || marked) draw();
        shown = text;
      } catch (error) { return stop(`Watching has stopped: ${error.message ?? error}`); }
    }
    timer = setTimeout(look, EVERY_MS);
  }
  watched.addEventListener("change", () => {
    if (!watched.checked) return stop();
    stopped.hidden = true;
    timer = setTimeout(look, EVERY_MS);
  });
  choices.addEventListener("click", (event) => {
    const button = event.target.closest("[data-kind]");
    if (!button) return;
    chosen = button.dataset.kind;
    draw();
    choices.querySelector(`[data-kind="${chosen}"]`).focus();
  });
  choices.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    const all = [...choices.children], at = all.indexOf(document.activeElement);
    all[(at + step + all.length) % all.length].focus();
    event.preventDefault();
  });

  return {
    stop,
    /** An answer in the view that fits it best, or in the one that was chosen. */
    show(next) {
      stop();
      [body, before, shown] = [next, null, write(next)];
      moved.clear();
      heard.textContent = "";
      compare();
      bar.replaceChildren(choices, ...(views.watch ? [el("label.watch", { title: "Calls the contract again every 2 seconds" }, watched, "Watch")] : []));
      draw();
      box.replaceChildren(bar, stopped, into, heard);
      return box;
    },
  };
}

const listed = (body, views) => (isObject(body) ? views.lists.filter((list) => isTable(body[list.name])) : []);
const rest = (body, views) => {
  const lists = listed(body, views).map((list) => list.name);
  return Object.entries(body).filter(([name]) => !lists.includes(name) && name !== "nextCursor");
};

/** The views that fit an answer. */
function fitting(body, views) {
  if (!isObject(body) && !isTable(body)) return ["json"];
  const timed = listed(body, views).some((list) => list.at || list.ends);
  return [timed && "timeline", counts(body, views).length > 0 && "tally", "table", "card", "json"].filter(Boolean);
}

/** The object around lists, without what is shown otherwise. */
function around(body, page, views, without = []) {
  const shown = rest(body, views).filter(([name, one]) => !without.includes(name) && !isTable(one));
  return shown.length ? card(Object.fromEntries(shown), page, views.item) : null;
}

/** The lists around which no view is made: lists of records, each as a table. */
const others = (body, page, views) => rest(body, views).filter(([, one]) => isTable(one)).map(([name, all]) => el("div.stacked", el("p.label", name), table(all, page)));

const named = (body, views, list, child) => (listed(body, views).length > 1 || rest(body, views).length ? el("div.stacked", el("p.label", list.name), child) : child);

const DRAWN = {
  json: (body) => [el("pre.json", { tabindex: "0" }, el("code", pretty(body)))],

  table(body, page) {
    const { views } = page.known;
    if (!isObject(body)) return [table(body, page)];
    const lists = listed(body, views);
    if (!lists.length && !Object.values(body).some(isTable)) return [table([body], page, views.item)];
    return [around(body, page, views), ...lists.map((list) => named(body, views, list, table(body[list.name], page, list))), ...others(body, page, views)].filter(Boolean);
  },

  card(body, page) {
    const { views } = page.known;
    if (!isObject(body)) return [cards(body, page, UNKNOWN)];
    const all = [around(body, page, views), ...listed(body, views).map((list) => named(body, views, list, cards(body[list.name], page, list))), ...others(body, page, views)].filter(Boolean);
    return all.length ? all : [el("p.muted", "An empty object.")];
  },

  timeline(body, page) {
    const { views } = page.known;
    return [around(body, page, views), ...listed(body, views).map((list) => named(body, views, list,
      !body[list.name].length ? el("p.empty", "No items.") : list.ends ? bars(body[list.name], page, list) : list.at ? points(body[list.name], page, list) : table(body[list.name], page, list))), ...others(body, page, views)].filter(Boolean);
  },

  tally(body, page, marks) {
    const { views } = page.known;
    const groups = counts(body, views);
    const rows = listed(body, views).map((list) => named(body, views, list, table(body[list.name], page, list)));
    const counted = views.tallies.flatMap((one) => (one.name === null ? one.words : [one.name]));
    return [el("div.tallies", groups.map((group) => tally(group, marks))), around(body, page, views, counted), ...rows, ...others(body, page, views)].filter(Boolean);
  },
};

const cards = (all, page, known) => (all.length ? el("ul.cards", all.map((item) => el("li", card(item, page, known)))) : el("p.empty", "No items."));

/** What an answer counts: by itself, or by the statuses of its items. */
function counts(body, views) {
  if (!isObject(body)) return [];
  const number = (one) => (typeof one === "number" ? one : one instanceof Exact ? Number(one.source) : null);
  const groups = [];
  for (const own of views.tallies) {
    const from = own.name === null ? body : body[own.name];
    if (!isObject(from)) continue;
    const words = own.words.map((one, at) => ({ word: one, count: number(from[one]), at: own.name === null ? "x" : at % 8 })).filter(({ count }) => count !== null);
    if (words.length) groups.push({ title: own.name ?? "counted", words, whole: own.name !== null });
  }
  const counted = (status) => views.tallies.some((own) => own.name !== null && own.words.join() === status.words.join());
  for (const list of listed(body, views)) {
    const moving = list.statuses.filter((status) => status.moves);
    for (const status of (moving.length ? moving : list.statuses).filter((one) => !counted(one))) {
      const all = body[list.name].map((item) => item[status.name]);
      const words = status.words.map((one, at) => ({ word: one, count: all.filter((own) => own === one).length, at: at % 8 }));
      const none = all.length - words.reduce((sum, { count }) => sum + count, 0);
      if (none) words.push({ word: "(none)", count: none, at: "x" });
      groups.push({ title: status.name, words, whole: true, of: all.length, more: typeof body.nextCursor === "string" });
    }
  }
  return groups;
}

/** Counts side by side, with their shares where they are of one whole. */
function tally({ title, words, whole, of, more }, marks) {
  const total = words.reduce((sum, { count }) => sum + Math.max(count, 0), 0);
  const bar = el("div.share", { "aria-hidden": "true" }, words.filter(({ count }) => count > 0).map(({ count, at }) => {
    const part = el(`span.w${at}`);
    part.style.flexGrow = String(count);
    return part;
  }));
  const note = of === undefined ? null : `of ${plural(of, "item")} on this page${more ? "; there are more" : ""}`;
  return el("section.tally", { "aria-label": `Tally by ${title}` }, el("p.label", title, " ", note ? el("span.tally-note", note) : null), whole && total ? bar : null,
    el("dl.counts", words.map(({ word: name, count, at }) => {
      const by = marks(`${title} ${name}`, count);
      return el(by ? "div.count.moved" : "div.count", { "data-word": name }, el("dt", el(`span.dot.w${at}`, { "aria-hidden": "true" }), name),
        el("dd", count.toLocaleString("en"), by ? el("span.by", by > 0 ? `+${by.toLocaleString("en")}` : by.toLocaleString("en")) : null));
    })));
}

/** What else an item says, in a line. */
function details(item, page, list, without) {
  const left = Object.entries(item).filter(([name]) => !without.includes(name) && !list.statuses.some((status) => status.name === name));
  return el("dl.details", left.map(([name, one]) => el("div", el("dt", name), el("dd", list.times.includes(name) && typeof one === "string" ? brief(one) : value(name, one, item, page)))));
}
const brief = (text) => { const ms = Date.parse(text); return Number.isNaN(ms) ? scalar(text) : el("time", { datetime: text, title: text }, `${day(ms)}, ${clock(ms)}`); };
const words = (item, list) => list.statuses.filter((status) => typeof item[status.name] === "string").map((status) => word(status, item[status.name]));

/** Items at their times, one below the other, with the time between them. */
function points(all, page, list) {
  let last = null;
  return el("ol.timeline", all.map((item) => {
    const ms = Date.parse(item[list.at]);
    const here = Number.isNaN(ms) ? null : ms;
    const gap = last !== null && here !== null ? span(here - last) : null;
    const when = here === null ? el("span.muted", "no time") : el("time", { datetime: item[list.at], title: item[list.at] }, last === null || day(last) !== day(here) ? el("span.day", day(here)) : null, clock(here));
    const later = gap === null || here === last ? null : el("span.muted.small", `${gap} ${here > last ? "later" : "earlier"}`);
    last = here ?? last;
    return el(`li.point.w${colour(list.statuses[0], item[list.statuses[0]?.name])}`, el("div.when", when, later), el("div.what", words(item, list), details(item, page, list, [list.at])));
  }));
}

/** Items from their beginnings to their ends, on one scale. */
function bars(all, page, list) {
  const [begin, end] = list.ends;
  const at = (item, name) => { const ms = Date.parse(item[name]); return Number.isNaN(ms) ? null : ms; };
  const times = all.flatMap((item) => [at(item, begin), at(item, end)]).filter((ms) => ms !== null);
  if (!times.length) return table(all, page, list);
  const low = Math.min(...times), high = Math.max(Math.max(...times), low + 1), now = Date.now();
  const place = (ms) => `${((ms - low) / (high - low)) * 100}%`;
  const line = () => { const mark = el("span.now", { title: "now" }); mark.style.left = place(now); return mark; };
  const row = (item) => {
    const from = at(item, begin), to = at(item, end);
    const bar = el(`span.bar-span.w${colour(list.statuses[0], item[list.statuses[0]?.name])}${from === null ? ".open-start" : ""}${to === null ? ".open-end" : ""}`);
    bar.style.left = place(from ?? low);
    bar.style.right = `calc(100% - ${place(to ?? high)})`;
    const until = to === null ? "no end" : from !== null && day(from) === day(to) ? clock(to) : `${day(to)}, ${clock(to)}`;
    const when = el("span.range", from === null ? "no beginning" : `${day(from)}, ${clock(from)}`, " – ", until, from !== null && to !== null ? el("span.muted.small", ` ${span(to - from)}`) : null);
    return el("li.stretch", el("div.when", when, words(item, list)), el("div.track", { "aria-hidden": "true" }, bar, now > low && now < high ? line() : null), details(item, page, list, [begin, end]));
  };
  const same = day(low) === day(high);
  return el("div.chart", el("div.axis", { "aria-hidden": "true" }, el("span", `${day(low)}, ${clock(low)}`), el("span", same ? clock(high) : `${day(high)}, ${clock(high)}`)),
    el("ol.timeline.stretches", all.map(row)), el("p.muted.small", `Times are in UTC. ${plural(all.length, "item")}.`));
}
