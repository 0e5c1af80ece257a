// The page of a table: keys made of typed ids, and the partitions that were looked at before.
import { el } from "./show.js";

for (const form of document.querySelectorAll("form[data-template]")) {
  const partition = form.elements.partition;
  form.addEventListener("submit", () => {
    const value = (name) => form.querySelector(`[data-hole="${CSS.escape(name)}"]`)?.value.trim() ?? "";
    partition.value = form.dataset.template.replace(/\{([^{}:]+)(?::([^{}]+))?\}/g, (_, name, form) => shape(value(name), form));
    partition.disabled = false;
  });
}

/** A value in the form that a key has it in. */
function shape(value, form) {
  if (form === undefined) return value;
  if (/^0\d+$/.test(form)) return value.padStart(Number(form), "0");
  if (/^-0\d+$/.test(form)) return (10n ** BigInt(form.slice(2)) - 1n - BigInt(/^\d+$/.test(value) ? value : "0")).toString().padStart(Number(form.slice(2)), "0");
  const cut = { year: 4, month: 7, day: 10, hour: 13 }[form];
  if (cut) return value.slice(0, cut);
  return form === "lower" ? value.toLowerCase() : form === "upper" ? value.toUpperCase() : value;
}

// What was looked at, newest first; kept in this browser alone.
const box = document.querySelector("[data-recent]");
const name = `latchkey-recent-${box.dataset.recent}`;
let recent = [];
try { recent = JSON.parse(localStorage.getItem(name) ?? "[]").filter((one) => typeof one === "string").slice(0, 12); } catch { recent = []; }
const here = new URLSearchParams(location.search);
if (here.get("partition")) {
  here.delete("after");
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
