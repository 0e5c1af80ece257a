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
  return text.replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff]/g, (c) => {
    const code = c.charCodeAt(0);
    return code < 0x20 ? String.fromCharCode(0x2400 + code) : code === 0x7f ? "\u2421" : "\ufffd";
  });
}

/** Asks the console for JSON. Whoever is no longer signed in is led to the form. */
export async function ask(path, body) {
  const options = body === undefined ? {} : { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) };
  const answer = await fetch(path, { ...options, headers: { accept: "application/json", ...options.headers } });
  if (answer.status === 401) { location.reload(); return new Promise(() => {}); }
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
