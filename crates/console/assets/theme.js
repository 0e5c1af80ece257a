// Chooses light or dark before anything is painted: what the visitor chose, or else what the system has.
(() => {
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const chosen = () => { try { return localStorage.getItem("latchkey-theme"); } catch { return null; } };
  const paint = () => { document.documentElement.dataset.theme = chosen() ?? (dark.matches ? "dark" : "light"); };
  paint();
  dark.addEventListener("change", paint);
})();
