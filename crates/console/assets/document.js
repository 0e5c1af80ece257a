// The page of a document: marks where one reads in the contents. It works as a module and as a plain script, from files too.
(() => {
  const contents = document.querySelector("[data-contents]");
  if (contents) {
    // Above the text the contents are folded, beside it they are open; and only a change folds what a visitor has opened.
    let beside = null;
    const fold = () => {
      const now = getComputedStyle(contents).position === "sticky";
      if (now !== beside) contents.querySelector("details").open = now;
      beside = now;
    };
    fold();
    addEventListener("resize", fold);

    const links = new Map([...contents.querySelectorAll("a")].map((link) => [link.hash.slice(1), link]));
    const places = [...links.keys()].map((id) => document.getElementById(decodeURIComponent(id))).filter(Boolean);
    let waiting = false;
    const mark = () => {
      waiting = false;
      const here = places.filter((place) => place.getBoundingClientRect().top < 140).pop() ?? places[0];
      for (const [id, link] of links) {
        const is = here && decodeURIComponent(id) === here.id;
        if (is === (link.getAttribute("aria-current") === "true")) continue;
        if (is) {
          link.setAttribute("aria-current", "true");
          const box = contents.getBoundingClientRect(), own = link.getBoundingClientRect();
          if (own.top < box.top || own.bottom > box.bottom) contents.scrollTop += own.top - box.top - box.height / 2;
        } else link.removeAttribute("aria-current");
      }
    };
    addEventListener("scroll", () => { if (!waiting) { waiting = true; requestAnimationFrame(mark); } }, { passive: true });
    mark();
  }

  const theme = document.querySelector("[data-theme-button]");
  if (theme) {
    theme.hidden = false;
    theme.addEventListener("click", () => {
      const next = document.documentElement.dataset.theme === "dark" ? "light" : "dark";
      document.documentElement.dataset.theme = next;
      try { localStorage.setItem("latchkey-theme", next); } catch { /* It holds until the next page. */ }
    });
  }
})();
