// What every page has: the filter box, the list of pages on a phone, light and dark.
import { ask, el, slides } from "./show.js";

const box = document.querySelector("[data-find]");
const input = document.getElementById("find");
const list = document.getElementById("found");
let all = null, hits = [], at = 0;

box.hidden = false;
input.addEventListener("focus", load);
input.addEventListener("input", find);
input.addEventListener("keydown", (event) => {
  if (event.key === "ArrowDown" || event.key === "ArrowUp") { choose(at + (event.key === "ArrowDown" ? 1 : -1)); event.preventDefault(); }
  else if (event.key === "Enter" && hits[at]) location.href = hits[at].to;
  else if (event.key === "Escape") { input.value = ""; close(); input.blur(); }
});
document.addEventListener("click", (event) => { if (!box.contains(event.target)) close(); });
document.addEventListener("keydown", (event) => {
  const typing = /^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName);
  if (event.key === "/" && !typing && !event.ctrlKey && !event.metaKey && !event.altKey) { input.focus(); event.preventDefault(); }
  if (event.key === "Escape") for (const menu of document.querySelectorAll("details.who[open]")) menu.open = false;
});

// Whoever signs out leaves nothing of what was typed or looked at; light and dark stay.
document.addEventListener("submit", (event) => {
  if (!new URL(event.target.action).pathname.endsWith("/sign-out")) return;
  try {
    sessionStorage.clear();
    for (const name of Object.keys(localStorage)) if (name.startsWith("latchkey-recent-")) localStorage.removeItem(name);
  } catch { /* A browser that keeps nothing has nothing to forget. */ }
});

async function load() {
  all ??= (await ask("/console/find.json")).map((entry) => ({
    ...entry, text: [entry.name, entry.title, entry.more, entry.system].filter(Boolean).join(" ").toLowerCase(),
  }));
  find();
}

function find() {
  if (!all || document.activeElement !== input) return;
  const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
  const rank = (entry) => (words.length && entry.name.toLowerCase().startsWith(words[0]) ? 0 : 1);
  hits = all.filter((entry) => words.every((word) => entry.text.includes(word))).sort((a, b) => rank(a) - rank(b)).slice(0, 40);
  const row = (entry, index) => el("li", { role: "option", id: `hit-${index}`, "data-to": entry.to },
    el(`span.method.m-${entry.kind.toLowerCase()}`, entry.kind), el("span", el("strong", entry.name), entry.title ? ` ${entry.title}` : ""),
    el("span.f-where", entry.system ?? ""), entry.more ? el("span.f-more", entry.more) : null);
  list.replaceChildren(...(hits.length ? hits.map(row) : [el("li.none", "Nothing has these words.")]));
  list.hidden = false;
  input.setAttribute("aria-expanded", "true");
  choose(0);
}

function choose(next) {
  if (!hits.length) return;
  at = (next + hits.length) % hits.length;
  [...list.children].forEach((row, index) => row.setAttribute("aria-selected", String(index === at)));
  input.setAttribute("aria-activedescendant", `hit-${at}`);
  list.children[at].scrollIntoView({ block: "nearest" });
}

function close() { list.hidden = true; input.setAttribute("aria-expanded", "false"); }

list.addEventListener("mousedown", (event) => {
  const row = event.target.closest("[data-to]");
  if (row) location.href = row.dataset.to;
});

// Tables that the server has made may be wider than the page, too.
for (const box of document.querySelectorAll(".scroll")) box.after(slides(box));

const side = document.getElementById("side");
document.querySelector("[data-side]").addEventListener("click", (event) => {
  event.currentTarget.setAttribute("aria-expanded", String(side.classList.toggle("open")));
});
// The list alone is scrolled; `scrollIntoView` would scroll the page as well.
const here = side.querySelector("[aria-current]");
if (here) side.scrollTop = here.offsetTop - side.clientHeight / 2;

document.querySelector("[data-theme-switch]").addEventListener("click", () => {
  const next = document.documentElement.dataset.theme === "dark" ? "light" : "dark";
  document.documentElement.dataset.theme = next;
  try { localStorage.setItem("latchkey-theme", next); } catch { /* A browser that keeps nothing shows it until the next page. */ }
});
