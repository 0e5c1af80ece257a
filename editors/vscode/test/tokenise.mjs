// Tokenises Markdown as VS Code would: with the grammars and injections that package.json contributes.

import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import oniguruma from "vscode-oniguruma";
import textmate from "vscode-textmate";

const here = (path) => new URL(path, import.meta.url);
const manifest = JSON.parse(await readFile(here("../package.json"), "utf8"));

export const contributed = manifest.contributes.grammars;

const paths = new Map(
  contributed.map(({ scopeName, path }) => [scopeName, new URL(path, here("../"))]),
);
paths.set("text.html.markdown", here("markdown.json"));

const wasm = createRequire(import.meta.url).resolve("vscode-oniguruma/release/onig.wasm");
await oniguruma.loadWASM(await readFile(wasm));

const registry = new textmate.Registry({
  onigLib: Promise.resolve({
    createOnigScanner: (patterns) => new oniguruma.OnigScanner(patterns),
    createOnigString: (text) => new oniguruma.OnigString(text),
  }),
  loadGrammar: async (scope) => {
    const path = paths.get(scope);
    return path && textmate.parseRawGrammar(await readFile(path, "utf8"), path.pathname);
  },
  getInjections: (scope) =>
    contributed.filter(({ injectTo }) => injectTo?.includes(scope)).map(({ scopeName }) => scopeName),
});

/** The lines of a text, each as its tokens: their text, their scopes from the root on, and where they start. */
export async function tokenise(text, root = "text.html.markdown") {
  const grammar = await registry.loadGrammar(root);
  let state = textmate.INITIAL;
  return text.split(/\r?\n/).map((line) => {
    const { tokens, ruleStack } = grammar.tokenizeLine(line, state);
    state = ruleStack;
    return tokens.map(({ startIndex, endIndex, scopes }) => ({
      text: line.slice(startIndex, endIndex),
      start: startIndex,
      scopes,
    }));
  });
}
