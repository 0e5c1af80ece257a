// Plays a recording of examples: applies the changes of each step, forward and backward, and draws the table.
// The format of a recording is at the head of crates/example/src/film.rs.
import { ask, el, plural, shown } from "./show.js";

const root = document.querySelector("[data-play]");
const SPEEDS = [["0.5×", 2400], ["1×", 1200], ["2×", 600], ["4×", 300]];
const FEW = 4, MANY = 12;
const calm = matchMedia("(prefers-reduced-motion: reduce)");
const wide = matchMedia("(min-width: 1000px)");
const text = (value) => (typeof value === "string" ? value : JSON.stringify(value));
const has = (object, name) => Object.prototype.hasOwnProperty.call(object, name);

async function start() {
  try {
    const own = root.querySelector("[data-film]");
    new Player(own ? JSON.parse(own.textContent) : await ask(root.dataset.source));
  } catch (error) {
    root.replaceChildren(el("p.note.bad", { role: "alert" }, error.message));
  }
}

/** Where an item is in a place, the table or an index: a partition and a sort key, or nowhere. */
function whereIn(place, item) {
  if (!item || !has(item, place.partition) || (place.sort && !has(item, place.sort))) return null;
  return { partition: text(item[place.partition]), sort: place.sort ? item[place.sort] : "" };
}

/** Sort keys sort as their values do: numbers by size, texts by their characters. */
function bySort(a, b) {
  if (typeof a.sort === "number" && typeof b.sort === "number") return a.sort - b.sort;
  return a.sort < b.sort ? -1 : a.sort > b.sort ? 1 : 0;
}

/** A JSON text with a line for each member. It is laid out as text, so that no number is rounded. */
function laidOut(json) {
  let out = "", depth = 0, within = false;
  const line = () => `\n${"  ".repeat(depth)}`;
  for (let at = 0; at < json.length; at += 1) {
    const c = json[at];
    if (within) {
      out += c;
      if (c === "\\") { at += 1; out += json[at] ?? ""; } else if (c === '"') within = false;
    } else if (c === '"') { within = true; out += c; }
    else if ((c === "{" && json[at + 1] === "}") || (c === "[" && json[at + 1] === "]")) { out += c + json[at + 1]; at += 1; }
    else if (c === "{" || c === "[") { depth += 1; out += c + line(); }
    else if (c === "}" || c === "]") { depth -= 1; out += line() + c; }
    else if (c === ",") out += c + line();
    else if (c === ":") out += ": ";
    else if (c.trim() !== "") out += c;
  }
  return out;
}

class Player {
  constructor(film) {
    this.film = film;
    this.place = 0;
    this.at = 0;
    this.items = new Map();
    this.open = new Set();
    this.timer = null;
    this.prepare();
    if (!film.steps.length) {
      root.replaceChildren(el("p.empty", film.cut ?? "The document has no examples."));
      return;
    }
    this.build();
    this.listen();
    this.go(this.fromHash() ?? 1);
  }

  /** Goes through all steps once: what each item was and is, which partitions each step touches, what all cost so far. */
  prepare() {
    const { steps, places, asked } = this.film, [table] = places, items = new Map(), queues = new Map();
    let rcu = 0, wcu = 0;
    for (const step of steps) {
      step.requests = step.requests?.map((request) => ({ ...asked[request.asked], ...request }));
      step.moves = (step.changes ?? []).map((change) => {
        const whole = change.put ?? change.gone;
        const key = JSON.stringify(change.key ?? [whole[table.partition], ...(table.sort ? [whole[table.sort]] : [])]);
        const before = items.get(key) ?? null;
        let after = change.put ?? null;
        if (change.set) {
          after = { ...before };
          for (const set of change.set) { if (has(set, "is")) after[set.name] = set.is; else delete after[set.name]; }
        }
        if (after) items.set(key, after); else items.delete(key);
        return { key, before, after, set: new Map((change.set ?? []).map((set) => [set.name, set])) };
      });
      step.reads = (step.requests ?? []).flatMap((request) => request.reads ?? []);
      step.touches = places.map((place, at) => [
        ...step.moves.flatMap((move) => [whereIn(place, move.before), whereIn(place, move.after)]).filter(Boolean).map((one) => one.partition),
        ...step.reads.filter((read) => read.place === at).map((read) => text(read.partition)),
      ]);
      step.changesIn = places.map((place) => step.moves.some((move) => whereIn(place, move.before) || whereIn(place, move.after)));
      for (const change of step.queues ?? []) queues.set(change.queue, change.is);
      step.waiting = [...queues].filter(([, [waiting, dead]]) => waiting || dead);
      rcu += step.rcu; wcu += step.wcu;
      step.sum = { rcu, wcu };
    }
  }

  /** Goes to a step, counted from 1. */
  go(to) {
    const { steps } = this.film;
    const next = Math.min(Math.max(to, 1), steps.length);
    for (; this.at < next; this.at += 1) for (const move of steps[this.at].moves) this.set(move.key, move.after);
    for (; this.at > next; this.at -= 1) for (const move of [...steps[this.at - 1].moves].reverse()) this.set(move.key, move.before);
    if (this.at === steps.length) this.pause();
    history.replaceState(null, "", `#step-${this.at}`);
    this.draw();
  }

  set(key, item) { if (item) this.items.set(key, item); else this.items.delete(key); }

  get step() { return this.film.steps[this.at - 1]; }

  fromHash() {
    const found = /^#step-(\d{1,6})$/.exec(location.hash);
    return found ? Number(found[1]) : null;
  }

  pause() {
    clearTimeout(this.timer);
    this.timer = null;
    this.drawPlaying();
  }

  toggle() {
    if (this.timer !== null) { this.pause(); return; }
    if (this.at === this.film.steps.length) this.go(1);
    this.tick();
  }

  tick() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => {
      this.go(this.at + 1);
      if (this.timer !== null) this.tick();
    }, SPEEDS[this.speed.value][1]);
    this.drawPlaying();
  }

  // ---- the frame

  build() {
    const { film } = this, count = film.steps.length;
    const button = (label, sign, act, more = "") => {
      const made = el(`button.play-button${more}`, { type: "button", "aria-label": label, title: label }, el(`span.sign-${sign}`, { "aria-hidden": "true" }));
      made.addEventListener("click", act);
      return made;
    };
    this.first = button("First step (Home)", "first", () => this.go(1));
    this.back = button("Step back (←)", "back", () => { this.pause(); this.go(this.at - 1); });
    this.playing = button("Play (Space)", "play", () => this.toggle(), ".main");
    this.next = button("Step forward (→)", "next", () => { this.pause(); this.go(this.at + 1); });
    this.last = button("Last step (End)", "last", () => this.go(count));
    this.slider = el("input.play-slider", { type: "range", min: 1, max: count, value: 1, "aria-label": "Step" });
    this.slider.addEventListener("input", () => { this.pause(); this.go(Number(this.slider.value)); });
    this.speed = el("select.play-speed", { "aria-label": "Speed" }, SPEEDS.map(([label], at) => el("option", { value: at, selected: at === 1 }, label)));
    this.position = el("span.play-position");
    this.sums = el("span.play-sums.muted");
    this.said = el("p.play-said", { role: "status" });
    this.list = el("div.play-list");
    this.now = el("section.card.play-now", { "aria-label": "This step", tabindex: 0 });
    this.queues = el("p.play-queues");
    this.tabs = el("div.play-tabs", { role: "tablist", "aria-label": "The table and its indexes" });
    this.view = el("div.play-view", { role: "tabpanel", id: "play-view", tabindex: 0 });
    this.buildSteps();
    this.buildTabs();
    root.replaceChildren(
      film.cut ? el("p.note.warn", `The recording ends early: ${film.cut}`) : "",
      el("div.play-bar", { role: "group", "aria-label": "Playback" },
        el("div.buttons", this.first, this.back, this.playing, this.next, this.last), this.slider, this.position, this.sums, this.speed),
      this.said,
      el("div.play-columns",
        el("details.play-steps", { open: wide.matches }, el("summary", "Steps"), this.list),
        el("div.play-main", this.now, el("div.play-places", this.tabs, this.queues), this.view)));
  }

  buildSteps() {
    const { film } = this;
    this.buttons = [];
    let block = -1, into = null;
    film.steps.forEach((step, at) => {
      if (step.block !== block) {
        block = step.block;
        const { title, line } = film.blocks[block] ?? { title: "", line: 0 };
        into = el("ol", { start: at + 1 });
        this.list.append(el("h2.play-block", { title: `line ${line}` }, title || "Examples"), into);
      }
      const made = el("button.play-step", { type: "button" }, ...this.label(step));
      made.addEventListener("click", () => { this.pause(); this.go(at + 1); });
      this.buttons.push(made);
      into.append(el("li", made));
    });
  }

  /** A step in the list: what it was, and what it came to. */
  label(step) {
    const units = step.wcu ? el("span.units", { title: "Write units" }, `${step.wcu} W`) : null;
    if (step.call) {
      const { method, path, status } = step.call;
      return [badge(method), el("span.what", path), units, el(`span.pill${tone(step)}`, status)];
    }
    if (step.work) return [el("span.method.m-queue", "QUEUE"), el("span.what", step.work.queue), units, el(`span.pill${tone(step)}`, step.work.failed ? "failed" : "worked")];
    return [el("span.method", "QUEUE"), el("span.what", step.queue.queue), el("span.pill", step.queue.mode)];
  }

  buildTabs() {
    this.tabButtons = this.film.places.map((place, at) => {
      const tab = el("button.play-tab", { type: "button", role: "tab", id: `play-tab-${at}`, "aria-controls": "play-view" }, place.name, el("span.play-dot"));
      tab.addEventListener("click", () => this.show(at));
      return tab;
    });
    this.tabs.append(...this.tabButtons);
    this.tabs.addEventListener("keydown", (event) => {
      const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (!by) return;
      event.preventDefault();
      event.stopPropagation();
      this.show((this.place + by + this.tabButtons.length) % this.tabButtons.length);
      this.tabButtons[this.place].focus();
    });
  }

  show(place) { this.place = place; this.drawPlace(); }

  listen() {
    addEventListener("hashchange", () => { const to = this.fromHash(); if (to !== null && to !== this.at) { this.pause(); this.go(to); } });
    document.addEventListener("keydown", (event) => {
      const { target, key } = event;
      if (event.ctrlKey || event.metaKey || event.altKey || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName)) return;
      if (key === " " && /^(BUTTON|SUMMARY|A)$/.test(target.tagName)) return;
      const act = {
        ArrowRight: () => { this.pause(); this.go(this.at + 1); }, ArrowLeft: () => { this.pause(); this.go(this.at - 1); },
        Home: () => { this.pause(); this.go(1); }, End: () => { this.pause(); this.go(this.film.steps.length); }, " ": () => this.toggle(),
      }[key];
      if (act) { event.preventDefault(); act(); }
    });
  }

  // ---- a step

  draw() {
    const { step, at } = this, count = this.film.steps.length;
    this.slider.value = at;
    this.position.textContent = `${at} of ${count}`;
    this.sums.textContent = `so far ${step.sum.rcu} read, ${step.sum.wcu} write units`;
    this.first.disabled = this.back.disabled = at === 1;
    this.next.disabled = this.last.disabled = at === count;
    this.buttons.forEach((button, index) => {
      if (index === at - 1) button.setAttribute("aria-current", "step"); else button.removeAttribute("aria-current");
    });
    this.drawPlaying();
    this.drawNow();
    this.queues.replaceChildren(...step.waiting.flatMap(([queue, [waiting, dead]]) => [
      el("span.pill", `queue ${queue}: ${waiting} waiting${dead ? `, ${dead} dead` : ""}`), " "]));
    this.drawPlace();
    this.reveal();
  }

  drawPlaying() {
    if (!this.playing) return;
    const on = this.timer !== null, label = on ? "Pause (Space)" : "Play (Space)";
    this.playing.firstChild.className = on ? "sign-pause" : "sign-play";
    this.playing.setAttribute("aria-label", label);
    this.playing.title = label;
  }

  /** Brings the step in the list and the first change in the table into view. */
  reveal() {
    const button = this.buttons[this.at - 1], { list } = this;
    const [box, inner] = [list.getBoundingClientRect(), button.getBoundingClientRect()];
    if (inner.top < box.top + 40 || inner.bottom > box.bottom - 8) list.scrollTop += inner.top - box.top - box.height / 3;
    const found = this.view.querySelector(".play-item.new, .play-item.changed, .play-item.ghost, .play-item.read") ?? this.view.querySelector(".play-part.read");
    // On a small screen whoever reads the request is not taken away from it.
    if (!found || (!wide.matches && this.view.getBoundingClientRect().top > innerHeight / 2)) return;
    found.scrollIntoView({ block: "nearest", behavior: calm.matches ? "auto" : "smooth" });
  }

  drawNow() {
    const { step, film } = this, { call, work } = step;
    const block = film.blocks[step.block];
    const line = step.line ? `line ${step.line}` : null;
    const head = call
      ? [badge(call.method), " ", el("code", call.path)]
      : [el("span.method.m-queue", "QUEUE"), " ", work ? `A message of ${work.queue}` : `Queue ${step.queue.queue} ${step.queue.mode} from here on`];
    const came = call ? `${call.status}${call.code ? ` ${call.code}` : ""}` : work ? work.ended : null;
    const who = call ? (call.by ? [el("strong", call.by.id), [...(call.by.roles ?? []), ...(call.by.orgs ?? []).map((org) => `of ${org}`)].map((role) => ` ${role}`).join(",")] : ["nobody"]) : null;
    this.now.replaceChildren(
      el("header", el("h2.play-what", head), step.rcu || step.wcu ? el("span.play-units", units(step)) : null, came ? el(`span.pill.play-came${tone(step)}`, came) : null),
      el("p.play-facts.muted", [
        who ? el("span", "by ", who) : null, el("span", "at ", el("time", step.at)), step.contract ? this.contract(step.contract) : null,
        work && work.tries > 1 ? el("span", `try ${work.tries}`) : null, el("span", [block?.title, line].filter(Boolean).join(", ")),
      ]),
      call?.wrong ? el("p.note.warn", `The example says otherwise: ${call.wrong}`) : "",
      step.statement ? el("div.note.bad.play-statement", el("p", `Refused by the statement at line ${step.statement.line}`), el("pre", dedented(step.statement.text))) : "",
      this.requests(step),
      call ? el("div.play-talk", this.told("Request", call.headers, call.body), this.told("Answer", call.answerHeaders, call.answer)) : "");
    this.now.scrollTop = 0;
    this.said.textContent = shown(`Step ${this.at} of ${film.steps.length}: ${call ? `${call.method} ${call.path}, ${came}` : work ? `${work.queue}, ${came}` : `queue ${step.queue.queue} ${step.queue.mode}`}. ${summary(step)}`);
  }

  contract(id) {
    const name = [el("strong", id), this.film.titles[id] ? ` ${this.film.titles[id]}` : ""];
    // In a file there is no console to lead to.
    const path = `/console/systems/${encodeURIComponent(this.film.system)}/contracts/${encodeURIComponent(id)}`;
    return root.dataset.source ? el("a", { href: path }, name) : el("span", name);
  }

  told(title, headers, body) {
    return el("div", el("h3.label", title), headers ? el("p.play-headers", headers.map(([name, value]) => el("code", `${name}: ${value}`))) : null,
      body ? el("pre.play-json", { tabindex: 0 }, /^[[{]/.test(body) ? laidOut(body) : body) : headers ? null : el("p.muted.small", "no body"));
  }

  requests(step) {
    if (!step.requests) return el("p.muted.small", step.queue ? "" : "Nothing was asked of the table.");
    const row = (request) => el("tr",
      el("td", el("details", el("summary", el("code", request.operation)), el("pre.play-json", { tabindex: 0 }, typeof request.json === "string" ? request.json : JSON.stringify(request.json, null, 2)))),
      el("td", request.outcome), el("td.num", request.rcu || "–"), el("td.num", request.wcu || "–"));
    return el("div.scroll", { tabindex: 0 }, el("table.play-requests",
      el("thead", el("tr", el("th", "Asked of the table"), el("th", "Came to"), el("th.num", el("abbr", { title: "read units" }, "Read")), el("th.num", el("abbr", { title: "write units" }, "Write")))),
      el("tbody", step.requests.map(row)),
      step.requests.length > 1 ? el("tfoot", el("tr", el("th", { colspan: 2 }, "In all"), el("th.num", step.rcu || "–"), el("th.num", step.wcu || "–"))) : null));
  }

  // ---- the table

  drawPlace() {
    const { film, step, place: chosen } = this, place = film.places[chosen];
    this.tabButtons.forEach((tab, at) => {
      tab.setAttribute("aria-selected", String(at === chosen));
      tab.tabIndex = at === chosen ? 0 : -1;
      const what = step.changesIn[at] ? "changed" : step.touches[at].length ? "read" : "";
      tab.lastChild.className = `play-dot ${what}`;
      tab.title = what ? `${what} in this step` : "";
    });
    this.view.setAttribute("aria-labelledby", `play-tab-${chosen}`);
    const groups = this.groups(place, chosen);
    const here = new Set();
    for (let at = this.at - 1; at >= 0 && film.steps[at].block === step.block; at -= 1) film.steps[at].touches[chosen].forEach((one) => here.add(one));
    const order = this.order(chosen);
    const [now, before] = [[], []];
    for (const partition of order) {
      const group = groups.get(partition);
      if (here.has(partition)) now.push(this.drawGroup(partition, group ?? [], true));
      else if (group) before.push(this.drawGroup(partition, group, false));
    }
    const empty = chosen ? `Nothing is in ${place.name} yet that this example touches.` : "This example has touched nothing yet.";
    this.view.replaceChildren(
      el("p.play-legend.muted", el("span", chosen ? "Index " : "Table ", el("strong", place.name)), el("span", "partition ", el("code", place.partition)),
        place.sort ? el("span", "sort ", el("code", place.sort)) : null, el("span", summary(step))),
      ...(now.length ? now : [el("p.empty", empty)]),
      before.length ? el("details.play-before", el("summary", `${plural(before.length, "partition")} of earlier examples`), before) : "");
    const earlier = this.view.querySelector(".play-before");
    if (earlier) { earlier.open = this.earlier ?? false; earlier.addEventListener("toggle", () => { this.earlier = earlier.open; }); }
  }

  /** All partitions so far, in the order in which they were first touched. */
  order(chosen) {
    const all = new Set();
    for (let at = 0; at < this.at; at += 1) this.film.steps[at].touches[chosen].forEach((one) => all.add(one));
    return all;
  }

  /** The items of a place by partition, with what this step did to each. */
  groups(place, chosen) {
    const groups = new Map(), { step } = this, marks = new Map();
    const add = (where, entry) => {
      if (!groups.has(where.partition)) groups.set(where.partition, []);
      groups.get(where.partition).push({ ...entry, sort: where.sort });
    };
    const same = (a, b) => a && b && a.partition === b.partition && a.sort === b.sort;
    for (const move of step.moves) {
      const [was, is] = [whereIn(place, move.before), whereIn(place, move.after)];
      if (was && !same(was, is)) add(was, { key: `${move.key} gone`, item: move.before, mark: "ghost", to: is ? "moved" : "removed" });
      if (is) marks.set(move.key, same(was, is) ? { mark: "changed", set: move.set } : { mark: "new", set: was ? move.set : null, moved: Boolean(was) });
    }
    for (const [key, item] of this.items) {
      const where = whereIn(place, item);
      if (!where) continue;
      const read = step.reads.some((one) => one.place === chosen && text(one.partition) === where.partition && (one.sort === where.sort || (!place.sort && !chosen)));
      add(where, { key, item, read, ...marks.get(key) });
    }
    groups.forEach((group) => group.sort(bySort));
    return groups;
  }

  drawGroup(partition, group, here) {
    const { step, place } = this;
    const read = step.reads.some((one) => one.place === place && text(one.partition) === partition);
    const touched = group.filter((entry) => entry.mark || entry.read);
    const name = `all of ${place} ${partition}`, whole = this.open.has(name) || group.length <= MANY;
    const few = whole ? group : group.filter((entry, at) => entry.mark || at < MANY - touched.length);
    const cards = el("div.play-cards", few.map((entry) => this.card(entry)),
      group.length ? null : el("p.muted.small.play-none", read ? "Looked for, and nothing is here." : "Nothing is here."),
      whole ? null : this.toggler(name, `Show all ${group.length}`));
    const head = [el("code.value", partition), el("span.muted.small", plural(group.filter((entry) => entry.mark !== "ghost").length, "item")), read ? el("span.pill.play-read", "read") : null];
    return here ? el(`section.play-part${read ? ".read" : ""}`, { "aria-label": partition }, el("header.play-head", head), cards)
      : el("section.play-part", { "aria-label": partition }, el("header.play-head", head), cards);
  }

  toggler(name, label) {
    const button = el("button.quiet.play-more", { type: "button" }, label);
    button.addEventListener("click", () => {
      if (!this.open.delete(name)) this.open.add(name);
      this.drawPlace();
    });
    return button;
  }

  card({ key, item, sort, mark, set, to, read, moved }) {
    const { film } = this, kind = item[film.discriminator];
    const at = film.entities.findIndex((entity) => entity.type === kind), entity = film.entities[at];
    const keys = new Set(film.places.flatMap((place) => [place.partition, place.sort]).concat(film.discriminator));
    const declared = (entity?.attributes ?? []).filter((name) => has(item, name));
    const others = Object.keys(item).filter((name) => !declared.includes(name));
    const plain = declared.concat(others.filter((name) => !keys.has(name)));
    const dropped = mark === "ghost" || !set ? [] : [...set.keys()].filter((name) => !has(item, name));
    const all = plain.concat(others.filter((name) => keys.has(name)), dropped);
    const open = this.open.has(key);
    const isChanged = (name) => mark === "changed" && set?.has(name);
    const first = plain.filter((name) => !keys.has(name) || declared.includes(name)).slice(0, FEW);
    const shownNames = open ? all : all.filter((name) => first.includes(name) || (isChanged(name) && (!keys.has(name) || declared.includes(name))));
    const rows = shownNames.map((name) => this.attribute(name, item, isChanged(name) || (moved && set?.has(name)) ? set.get(name) : null));
    const word = { new: moved ? "moved here" : "new", changed: "changed", ghost: to }[mark];
    const hidden = all.length - shownNames.length;
    // From the ninth entity on, colours come again with a pattern.
    const round = Math.floor(Math.max(at, 0) / 8) % 4;
    return el(`article.play-item.e${at < 0 ? "x" : at % 8}${round ? `.round-${round}` : ""}${mark ? `.${mark}` : ""}${read ? ".read" : ""}`,
      el("header", el("code.value.sort", text(sort) || "·"), el("span.kind", entity?.name ?? String(kind ?? "")), word ? el(`span.pill.mark-${mark}`, word) : null),
      el("dl", rows),
      hidden > 0 || open ? this.toggler(key, open ? "less" : `${hidden} more`) : null);
  }

  attribute(name, item, set) {
    const value = (of) => el("bdi.value", short(of));
    const cell = !set ? value(item[name])
      : [has(set, "was") ? el("del", value(set.was)) : null, " ", has(set, "is") ? el("ins", value(set.is)) : el("span.muted", "removed")];
    return el(`div${set ? ".is-changed" : ""}`, el("dt", name), el("dd", cell));
  }
}

function badge(method) {
  const word = method.toLowerCase();
  return el(/^[a-z]+$/.test(word) ? `span.method.m-${word}` : "span.method", method);
}

function tone(step) {
  if (step.work) return step.work.failed ? ".bad" : ".good";
  if (!step.call) return "";
  return step.call.status >= 500 || step.call.wrong ? ".bad" : step.call.status >= 400 ? ".warn" : ".good";
}

/** What a step did to the table, in a few words. */
function summary(step) {
  const count = (test) => step.moves.filter(test).length;
  const [added, gone, changed] = [count((m) => !m.before), count((m) => !m.after), count((m) => m.before && m.after)];
  const parts = [added ? `${added} new` : "", changed ? `${changed} changed` : "", gone ? `${gone} removed` : ""].filter(Boolean);
  return parts.length ? `${parts.join(", ")} in this step` : "nothing changed in this step";
}

function short(value) {
  const whole = text(value);
  return whole.length > 120 ? `${whole.slice(0, 119)}…` : whole;
}

function units(step) {
  return [step.rcu ? plural(step.rcu, "read unit") : "", step.wcu ? plural(step.wcu, "write unit") : ""].filter(Boolean).join(", ");
}

/** A statement at the left edge, without the blanks that line up columns in the document. */
function dedented(lines) {
  const all = lines.split("\n"), least = Math.min(...all.filter((line) => line.trim()).map((line) => line.length - line.trimStart().length));
  return all.map((line) => line.slice(least).replace(/(\S) {3,}/g, "$1  ")).join("\n");
}

start();
