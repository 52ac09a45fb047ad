// Where the page begins: the language, then the shell.
import { loadLanguage } from "./i18n/index.js";
import { html, render } from "./lib/dom.js";
import { Shell } from "./shell.js";

await loadLanguage();
const root = document.getElementById("app");
root.replaceChildren();
render(html`<${Shell} />`, root);
