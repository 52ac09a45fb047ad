// The one place that names the DOM library: components import from here.
import { h, render, Fragment } from "../../vendor/preact.js";
import htm from "../../vendor/htm.js";

export { h, render, Fragment };
export { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState, useId } from "../../vendor/preact-hooks.js";

/** Markup as a tagged template: html`<p class="note">${text}</p>`. Texts are always text, never markup. */
export const html = htm.bind(h);
