// The frame around every view: navigation, state of the connection, settings, and the view that the URL names.
import { html, useCallback, useEffect, useMemo, useRef, useState } from "./lib/dom.js";
import { relative, timeZone } from "./lib/format.js";
import { keep, key, onKeys } from "./lib/keys.js";
import { newestRead, prime, retryNow, useConnection, useNewestRead, useNow } from "./lib/live.js";
import { firstOf } from "./lib/questions.js";
import { BASE, changed, href, isOwnClick, match, navigate, onNavigate, parse } from "./lib/router.js";
import { t } from "./i18n/index.js";
import { Dialogs } from "./components/dialog.js";
import { Icon } from "./components/icons.js";
import { Empty, Failure, Skeleton } from "./components/states.js";
import { Toasts } from "./components/toast.js";
import { VIEWS } from "./views/index.js";

function useLocation() {
  const [where, setWhere] = useState(() => parse(location.pathname, location.search));
  useEffect(() => onNavigate(() => setWhere(parse(location.pathname, location.search))), []);
  return where;
}

function found(segments) {
  for (const view of VIEWS) {
    const params = match(view.path, segments);
    if (params) return { view, params };
  }
  return null;
}

/** Menus close with Escape, and when something else is pressed, as people expect of menus. */
function useClosingMenus() {
  useEffect(() => {
    const close = (event) => {
      if (event.type === "keydown" && event.key !== "Escape") return;
      for (const menu of document.querySelectorAll("details.menu[open]")) {
        const isInside = menu.contains(event.target);
        if (event.type === "pointerdown" && isInside) continue;
        menu.open = false;
        if (event.type === "keydown" && isInside) menu.querySelector("summary").focus();
      }
    };
    addEventListener("keydown", close);
    addEventListener("pointerdown", close);
    return () => {
      removeEventListener("keydown", close);
      removeEventListener("pointerdown", close);
    };
  }, []);
}

export function Shell() {
  useClosingMenus();
  const { segments, query } = useLocation();
  const place = found(segments);
  const main = useRef(null);
  const path = segments.join("/");
  const first = useRef(true);
  useEffect(() => {
    if (!first.current) {
      scrollTo(0, 0);
      main.current?.focus({ preventScroll: true });
    }
    first.current = false;
  }, [path]);
  const follow = (event) => {
    const anchor = event.target.closest?.("a[href]");
    if (!anchor || !isOwnClick(event, anchor)) return;
    event.preventDefault();
    navigate(anchor.getAttribute("href"));
  };
  return html`
    <div class="shell" onClick=${follow}>
      <a class="skip" href="#main" onClick=${(event) => { event.preventDefault(); main.current?.focus(); }}>${t("app.skip")}</a>
      <${Header} view=${place?.view} />
      <${Connection} />
      <main id="main" ref=${main} tabindex="-1">
        ${place ? html`<${View} key=${place.view.id} place=${place} query=${query} segments=${segments} />` : html`<${Absent} />`}
      </main>
      <${Footer} />
      <${Dialogs} />
      <${Toasts} />
    </div>
  `;
}

const modules = new Map();

function View({ place, query, segments }) {
  const { view, params } = place;
  const [loaded, setLoaded] = useState(modules.get(view.id) ?? null);
  const [error, setError] = useState(null);
  useMemo(() => firstOf({ segments, query }).forEach((question) => prime(...question)), [segments.join("/")]);
  const load = () =>
    view.load().then(
      (module) => {
        modules.set(view.id, module);
        setLoaded(module);
      },
      () => setError({ kind: "offline" }),
    );
  // While it is drawn first, not after: an effect would wait for the frame of a skeleton.
  useMemo(() => loaded ?? load(), []);
  useEffect(() => {
    if (!view.titled) document.title = `${t(`nav.${view.id}`)} · toolpulse`;
  }, [view]);
  const setQuery = useCallback(
    (change, options) => {
      const now = parse(location.pathname, location.search).query;
      navigate(href(segments, changed(now, change, loaded?.DEFAULTS)), options);
    },
    [segments.join("/"), loaded],
  );
  const again = () => {
    setError(null);
    return load();
  };
  if (error) return html`<${Failure} error=${error} retry=${again} />`;
  if (!loaded) return html`<${Skeleton} lines=${8} />`;
  return html`<${loaded.default} params=${params} query=${{ ...loaded.DEFAULTS, ...query }} setQuery=${setQuery} />`;
}

const Absent = () => html`
  <h1 class="visually-hidden">${t("app.absent")}</h1>
  <${Empty} title=${t("app.absent")} action=${html`<a class="button" href=${BASE}>${t("app.home")}</a>`}>${t("app.absent.text")}<//>
`;

/** What is marked in the navigation: the view itself, or the one that it belongs to. */
const mark = (each, view) => (each.id === view?.id ? "page" : each.id === view?.under ? "true" : undefined);

const Header = ({ view: shown }) => html`
  <header class="header">
    <a class="brand" href=${BASE}><${Icon} name="spark" />toolpulse</a>
    <nav class="nav" aria-label=${t("app.menu")}>
      ${VIEWS.filter((view) => view.nav).map(
        (view) => html`
          <a key=${view.id} href=${href(view.path ? [view.path] : [])} aria-current=${mark(view, shown)}>${t(`nav.${view.id}`)}</a>
        `,
      )}
    </nav>
    <${Freshness} />
    <${Settings} />
  </header>
`;

function Freshness() {
  const now = useNow(5);
  const at = useNewestRead();
  if (!at) return html`<span class="freshness"></span>`;
  return html`<span class="freshness quiet" title=${t("app.updated.title")}>${t("app.updated", { when: relative(at, Math.max(now, at)) })}</span>`;
}

/** Says when the connection is lost, and goes away when it is back. */
function Connection() {
  const connection = useConnection();
  const at = newestRead();
  if (!connection.lost || !at) return html`<div role="status" class="connection-none"></div>`;
  return html`
    <div role="status" class="connection">
      <${Icon} name="offline" /><span>${t("state.offline", { when: relative(at) })} ${t("state.offline.text")}</span>
      <button type="button" class="button" onClick=${retryNow}>${t("state.retry")}</button>
    </div>
  `;
}

const THEMES = ["auto", "light", "dark"];

function chosenTheme() {
  return document.documentElement.dataset.theme ?? "auto";
}

function choose(theme) {
  if (theme === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
  try {
    if (theme === "auto") localStorage.removeItem("toolpulse.theme");
    else localStorage.setItem("toolpulse.theme", theme);
  } catch {
    // Then the choice lasts until the page is left.
  }
}

function Settings() {
  const [theme, setTheme] = useState(chosenTheme);
  const [, redraw] = useState(0);
  useEffect(() => onKeys(() => redraw((count) => count + 1)), []);
  const state = (kind) => (key(kind) ? t("app.keys.kept") : t("app.keys.none"));
  return html`
    <details class="menu">
      <summary class="button button-plain" title=${t("app.settings")}><${Icon} name="settings" /><span class="visually-hidden">${t("app.settings")}</span></summary>
      <div class="menu-body">
        <fieldset class="choice">
          <legend>${t("app.theme")}</legend>
          ${THEMES.map(
            (name) => html`
              <label key=${name}><input type="radio" name="theme" checked=${theme === name} onChange=${() => { choose(name); setTheme(name); }} />${t(`app.theme.${name}`)}</label>
            `,
          )}
        </fieldset>
        <dl class="facts">
          <dt>${t("app.keys.function")}</dt><dd>${state("function")}</dd>
          <dt>${t("app.keys.management")}</dt><dd>${state("management")}</dd>
        </dl>
        ${(key("function") || key("management")) &&
        html`<button type="button" class="button" onClick=${() => { keep("function", ""); keep("management", ""); }}>${t("app.keys.forget")}</button>`}
        <p class="quiet">${t("app.zone", { zone: timeZone() })}</p>
      </div>
    </details>
  `;
}

const Footer = () => html`
  <footer class="footer quiet">
    <span>${t("app.zone", { zone: timeZone() })}</span>
    <a href="/api/docs">${t("app.docs")}</a>
  </footer>
`;
