// Small helpers that every script shares. Text is only ever set as text, never as markup.

/** Makes an element: `el("p.note", { title: "x" }, "text", child)`. */
export function el(kind, ...rest) {
  const [tag, ...classes] = kind.split(".");
  const element = document.createElement(tag);
  element.classList.add(...classes);
  for (const part of rest.flat()) {
    if (part === null || part === undefined || part === false) continue;
    if (typeof part === "object" && !(part instanceof Node)) {
      for (const [name, value] of Object.entries(part)) {
        if (value !== null && value !== undefined && value !== false) element.setAttribute(name, value === true ? "" : value);
      }
    } else element.append(part instanceof Node ? part : shown(String(part)));
  }
  return element;
}

/** A text in which every character can be seen and none turns another around. */
export function shown(text) {
  return text.replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff0-\ufffb\u{1d173}-\u{1d17a}\u{e0000}-\u{e0fff}]/gu, (c) => {
    const code = c.charCodeAt(0);
    return code < 0x20 ? String.fromCharCode(0x2400 + code) : code === 0x7f ? "\u2421" : "\ufffd";
  });
}

/** How many of something: `1 item`, `2 items`. */
export const plural = (count, one, many = `${one}s`) => `${count.toLocaleString("en")} ${count === 1 ? one : many}`;

/** What may be wider than its place: it is scrolled sideways, and says so as long as it is. */
export function slide(label, ...inside) {
  const box = el("div.scroll", { tabindex: "0", role: "region", "aria-label": label }, inside);
  return el("div.slide", box, slides(box));
}

/** The line below a box that is scrolled sideways: where there is more. */
export function slides(box) {
  const said = el("p.slide-hint", { "aria-hidden": "true", hidden: true });
  const look = () => {
    const left = box.scrollLeft > 1, right = box.scrollLeft + box.clientWidth < box.scrollWidth - 1;
    box.dataset.more = `${left ? "left" : ""} ${right ? "right" : ""}`.trim();
    // A first column that leaves room for others stays in sight: it says what a row is.
    const first = box.querySelector(":scope > .items > thead th");
    box.toggleAttribute("data-holds", first !== null && first.offsetWidth <= box.clientWidth * 0.4);
    said.hidden = !left && !right;
    said.textContent = `${left ? "← " : ""}scroll sideways for more${right ? " →" : ""}`;
  };
  const watch = new ResizeObserver(look);
  watch.observe(box);
  for (const one of box.children) watch.observe(one);
  box.addEventListener("scroll", look, { passive: true });
  return said;
}

/** Asks the console for JSON. Whoever is no longer signed in is led to the form; what a page has to keep, it keeps then. */
export async function ask(path, body) {
  const options = body === undefined ? {} : { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) };
  const answer = await fetch(path, { ...options, headers: { accept: "application/json", ...options.headers } });
  if (answer.status === 401) { dispatchEvent(new Event("signed-out")); location.reload(); return new Promise(() => {}); }
  const value = await answer.json();
  if (!answer.ok) throw new Error(value.detail ?? `the console answered ${answer.status}`);
  return value;
}

/** Copies a text, and says so on the button. */
export async function copy(text, button) {
  await navigator.clipboard.writeText(text);
  const label = button.textContent;
  button.textContent = "Copied";
  setTimeout(() => { button.textContent = label; }, 1200);
}
