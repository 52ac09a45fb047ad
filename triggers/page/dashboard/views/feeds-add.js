// Adding feeds: by URL after a look at what is there, from a preset, or many from an OPML file that is dropped.
import { html, useEffect, useId, useRef, useState } from "../lib/dom.js";
import { number, relative } from "../lib/format.js";
import { refresh } from "../lib/live.js";
import { filled, hostName, operations } from "../lib/operations.js";
import { href, navigate } from "../lib/router.js";
import { t } from "../i18n/index.js";
import { Segments, Select } from "../components/choice.js";
import { managed } from "../components/dialog.js";
import { Message, Skeleton } from "../components/states.js";
import { note } from "../components/toast.js";

const WAYS = ["url", "preset", "opml"];

export function AddFeed({ close }) {
  const [way, setWay] = useState("url");
  const Form = { url: ByUrl, preset: FromPreset, opml: FromOpml }[way];
  return html`
    <div class="stack">
      <${Segments} label=${t("feed.add.way")} value=${way} onChange=${setWay} options=${WAYS.map((each) => [each, t(`feed.add.${each}`)])} />
      <${Form} close=${close} />
    </div>
  `;
}

const said = (error) => error.detail || error.title || error.message;

/** One look at a URL, shown before anything is stored. `fields` are those to add. */
function useLook() {
  const [state, setState] = useState({ phase: "none" });
  const number_ = useRef(0);
  const look = async (url) => {
    const own = (number_.current += 1);
    setState({ phase: "looking" });
    try {
      const found = await managed(() => operations.preview(url));
      if (own === number_.current) setState({ phase: "found", found });
    } catch (error) {
      if (own === number_.current) setState({ phase: "failed", error });
    }
  };
  return [state, look, () => setState({ phase: "none" })];
}

function Looked({ state }) {
  if (state.phase === "looking") return html`<${Skeleton} lines=${4} label=${t("feed.looking")} />`;
  if (state.phase === "failed") return html`<${Message} title=${t("feed.look.failed")} icon="warning" tone="bad" role="alert">${said(state.error)}<//>`;
  if (state.phase !== "found") return html`<p class="quiet">${t("feed.look.hint")}</p>`;
  const { found } = state;
  if (found.feed_id) {
    const there = html`<a class="button" href=${href(["feeds", found.feed_id])}>${t("feed.look.known.open")}</a>`;
    return html`<${Message} title=${t("feed.look.known")} icon="check" action=${there} role="status">${found.title ?? found.fetched_url}<//>`;
  }
  if (!found.is_feed) return html`<${Message} title=${t("feed.look.nothing")} icon="warning" tone="warning" role="alert">${found.error}<//>`;
  return html`
    <div class="found" role="status">
      <p class="message-title">${found.title ?? hostName(found.fetched_url)}</p>
      <p class="quiet small">${found.is_page && `${t("feed.look.page")} `}<span class="mono">${found.fetched_url}</span></p>
      <p class="small">${t("feed.look.entries", { count: found.entries, n: number(found.entries), newest: relative(found.newest_entry_at), format: found.format })}
        ${found.entries_skipped + found.parse_warnings > 0 && ` ${t("feed.look.flaws", { skipped: number(found.entries_skipped), repaired: number(found.parse_warnings) })}`}</p>
      <ul class="samples">${found.samples.map((each, index) => html`<li key=${index}><span class="clip-lines">${each.headline}</span> <span class="quiet small">${relative(each.published_at)}</span></li>`)}</ul>
    </div>
  `;
}

async function added(fields, close) {
  try {
    const feed = await managed(() => operations.addFeed(fields));
    note(t("feed.added", { name: feed.source_name }), {
      actionName: t("word.undo"),
      action: () => operations.removeFeed(feed.feed_id).then(() => refresh("feed"), (error) => note(said(error), { tone: "bad" })),
    });
    close(true);
    await refresh("feed");
    return null;
  } catch (error) {
    return error;
  }
}

function ByUrl({ close }) {
  const [url, setUrl] = useState("");
  const [name, setName] = useState("");
  const [error, setError] = useState(null);
  const [state, look, forget] = useLook();
  const id = useId();
  const input = useRef(null);
  useEffect(() => input.current?.focus(), []);
  const found = state.phase === "found" ? state.found : null;
  useEffect(() => {
    if (found?.is_feed) setName(found.title ?? hostName(found.fetched_url) ?? "");
  }, [found]);
  const add = async (event) => {
    event.preventDefault();
    setError(await added({ url: found.url, source_name: name.trim() }, close));
  };
  return html`
    <form class="stack tight" onSubmit=${(event) => { event.preventDefault(); if (url.trim()) look(url.trim()); }}>
      <label for=${`${id}-url`}>${t("feed.url")}</label>
      <div class="row nowrap">
        <input id=${`${id}-url`} ref=${input} class="input grow" inputmode="url" autocomplete="off" placeholder="https://…" value=${url} onInput=${(event) => { setUrl(event.currentTarget.value); forget(); }} />
        <button type="submit" class=${`button ${found?.is_feed ? "" : "button-primary"}`} disabled=${!url.trim()}>${t("feed.look")}</button>
      </div>
    </form>
    <div class="look"><${Looked} state=${state} /></div>
    ${found?.is_feed && !found.feed_id && html`
      <form class="stack tight" onSubmit=${add}>
        <label for=${`${id}-name`}>${t("feed.add.name")}</label>
        <div class="row nowrap">
          <input id=${`${id}-name`} class="input grow" maxlength="200" value=${name} onInput=${(event) => setName(event.currentTarget.value)} />
          <button type="submit" class="button button-primary" disabled=${!name.trim()}>${t("feed.add.do")}</button>
        </div>
        <p class="quiet small">${t("feed.add.effect", { count: found.entries, n: number(found.entries) })}</p>
        ${error && html`<p class="bad-text" role="alert">${said(error)}</p>`}
      </form>
    `}
  `;
}

function FromPreset({ close }) {
  const [presets, setPresets] = useState(null);
  const [name, setName] = useState("");
  const [values, setValues] = useState({});
  const [error, setError] = useState(null);
  const [state, look, forget] = useLook();
  const id = useId();
  useEffect(() => {
    operations.presets().then(
      ({ items }) => { setPresets(items); setName(items[0]?.preset ?? ""); },
      setError,
    );
  }, []);
  if (!presets) return error ? html`<p class="bad-text" role="alert">${said(error)}</p>` : html`<${Skeleton} lines=${4} />`;
  const preset = presets.find((each) => each.preset === name);
  if (!preset) return html`<p class="quiet">${t("feed.preset.none")}</p>`;
  const url = filled(preset.url, values);
  const wrong = preset.values.filter((each) => values[each.name] && !new RegExp(`^(?:${each.pattern})$`, "u").test(values[each.name]));
  const add = async (event) => {
    event.preventDefault();
    setError(await added({ preset: name, values }, close));
  };
  return html`
    <form class="stack tight" onSubmit=${add}>
      <${Select} label=${t("feed.preset")} value=${name} onChange=${(next) => { setName(next); setValues({}); forget(); }} options=${presets.map((each) => [each.preset, each.about])} />
      ${preset.values.map((each) => html`
        <label key=${each.name} for=${`${id}-${each.name}`}>${each.about}</label>
        <input id=${`${id}-${each.name}`} class="input" placeholder=${each.example} value=${values[each.name] ?? ""} onInput=${(event) => { setValues({ ...values, [each.name]: event.currentTarget.value.trim() }); forget(); }} />
      `)}
      ${wrong.map((each) => html`<p key=${each.name} class="bad-text" role="alert">${t("feed.preset.wrong", { name: each.about, example: each.example })}</p>`)}
      <div class="look"><${Looked} state=${state} /></div>
      ${error && html`<p class="bad-text" role="alert">${said(error)}</p>`}
      <div class="row end">
        <button type="button" class="button" disabled=${!url || wrong.length > 0} onClick=${() => look(url)}>${t("feed.look")}</button>
        <button type="submit" class="button button-primary" disabled=${!url || wrong.length > 0}>${t("feed.add.do")}</button>
      </div>
    </form>
  `;
}

function FromOpml({ close }) {
  const [report, setReport] = useState(null);
  const [error, setError] = useState(null);
  const [over, setOver] = useState(false);
  const [busy, setBusy] = useState(false);
  const take = async (file) => {
    if (!file) return;
    setBusy(true);
    setError(null);
    try {
      const text = await file.text();
      setReport(await managed(() => operations.importOpml(text)));
      await refresh("feed");
    } catch (problem) {
      setError(problem);
    } finally {
      setBusy(false);
    }
  };
  const drop = (event) => {
    event.preventDefault();
    setOver(false);
    take(event.dataTransfer.files[0]);
  };
  if (report) {
    return html`
      <${Message} title=${t("feed.opml.done", { count: report.added.length, added: number(report.added.length), known: number(report.known.length) })} icon="check" role="status">
        ${report.refused.length > 0 && html`<p>${t("feed.opml.refused", { count: report.refused.length, n: number(report.refused.length) })}</p>
          <ul class="plain-list">${report.refused.slice(0, 20).map((each, index) => html`<li key=${index}>${each.source_name ?? each.name ?? each.url}: ${each.reason ?? each.error}</li>`)}</ul>`}
      <//>
      <div class="row end"><button type="button" class="button button-primary" onClick=${() => { close(true); navigate(href(["feeds"])); }}>${t("word.close")}</button></div>
    `;
  }
  return html`
    <label class=${`drop ${over ? "drop-over" : ""}`} onDragOver=${(event) => { event.preventDefault(); setOver(true); }} onDragLeave=${() => setOver(false)} onDrop=${drop}>
      <strong>${busy ? t("feed.opml.busy") : t("feed.opml.drop")}</strong>
      <span class="quiet small">${t("feed.opml.effect")}</span>
      <input type="file" accept=".opml,.xml,text/x-opml,text/xml" onChange=${(event) => take(event.currentTarget.files[0])} />
    </label>
    ${error && html`<p class="bad-text" role="alert">${said(error)}</p>`}
  `;
}
