// The articles of the chosen time: what each says of the tool, sentence by sentence, and what a person says to that.
import { html, useEffect, useId, useState } from "../../lib/dom.js";
import { api } from "../../lib/api.js";
import { judge, muteSource } from "../../lib/corrections.js";
import { dayAndClock, full, percent, signed, webUrl } from "../../lib/format.js";
import { useLive } from "../../lib/live.js";
import { pieces } from "../../lib/marks.js";
import { operations } from "../../lib/operations.js";
import { ARTICLES as PAGE, mentions as mentionsOf } from "../../lib/questions.js";
import { t } from "../../i18n/index.js";
import { Badge, Sentiment } from "../../components/badge.js";
import { Select } from "../../components/choice.js";
import { Icon } from "../../components/icons.js";
import { Empty, Failure, Live, Skeleton } from "../../components/states.js";
import { useFeedNames } from "./feed-names.js";
import { Sources } from "./sources.js";

const SAID = ["", "positive", "neutral", "negative", "unscored"];

export function Articles({ tool, since, until, sentiment, onSentiment }) {
  const first = useLive(...mentionsOf(tool.tool_id, since, until, sentiment));
  const [more, setMore] = useState([]);
  const [next, setNext] = useState(null);
  const [error, setError] = useState(null);
  const names = useFeedNames((first.data?.items ?? []).some((mention) => !mention.publisher && !mention.publisher_id));
  useEffect(() => {
    setMore([]);
    setNext(first.data?.next ?? null);
  }, [first.data]);
  const load = async () => {
    setError(null);
    try {
      const page = await api.mentions(tool.tool_id, { since, until, sentiment, limit: PAGE, cursor: next });
      setMore([...more, ...page.items]);
      setNext(page.next);
    } catch (failed) {
      setError(failed);
    }
  };
  const options = SAID.map((each) => [each, t(each ? `word.${each}` : "tool.filter.all")]);
  return html`
    <div class="inset-line"><${Select} label=${t("tool.filter")} value=${sentiment} options=${options} onChange=${onSentiment} /></div>
    <${Live} of=${first} skeleton=${html`<div class="inset"><${Skeleton} lines=${6} height="3rem" /></div>`}>
      ${(page) =>
        page.items.length
          ? html`
              <ul class="articles">${[...page.items, ...more].map((mention) => html`<${Article} key=${mention.source_id} tool=${tool} mention=${mention} feed=${names.get(mention.source) ?? mention.source} />`)}</ul>
              ${error && html`<div class="inset"><${Failure} error=${error} retry=${load} /></div>`}
              ${next && html`<div class="table-end"><button type="button" class="button" onClick=${load}>${t("word.more")}</button></div>`}
            `
          : html`<div class="inset"><${Empty} title=${t("tool.empty", { tool: tool.name })}>${t("tool.empty.text")}<//></div>`}
    <//>
  `;
}

/** A headline as a link to the web, if its address is one. */
export function Headline({ mention }) {
  const url = webUrl(mention.url);
  const text = (mention.headline ?? mention.source_id).trim();
  // The mark of an outside link stays with the last word.
  const last = text.lastIndexOf(" ") + 1;
  return url
    ? html`<a class="headline" href=${url} target="_blank" rel="noreferrer noopener">${text.slice(0, last)}<span class=${text.length - last < 24 ? "keep" : ""}>${text.slice(last)}<${Icon} name="link" /></span><span class="visually-hidden"> (${t("word.new.tab")})</span></a>`
    : html`<span class="headline">${text}</span>`;
}

const said = (sentiment) => t(`word.${sentiment ?? "unscored"}`);

function Article({ tool, mention, feed }) {
  const [open, setOpen] = useState(false);
  const id = useId();
  const names = [...new Set((mention.matches ?? []).map((match) => match.name))];
  return html`
    <li class="article">
      <span class="article-said"><${Sentiment} value=${mention.polarity} /><span class=${`tiny tone-${mention.sentiment ?? "none"}`}>${said(mention.sentiment)}</span></span>
      <div class="article-body">
        <${Headline} mention=${mention} />
        <div class="article-foot">
          <p class="quiet small meta">
            <time datetime=${mention.published_at} title=${full(mention.published_at)}>${dayAndClock(mention.published_at)}</time>
            <span>${mention.publisher ?? mention.publisher_id ?? feed}</span>
            ${names.length > 0 && html`<span>${names.join(", ")}</span>`}
            ${mention.corrected && html`<${Badge} tone="plain" icon="check" title=${t("article.corrected.title", { said: said(mention.analyzer_judgement?.sentiment) })}>${t("article.corrected")}<//>`}
            ${mention.verdict === "right" && html`<${Badge} tone="plain" icon="check">${t("article.confirmed")}<//>`}
          </p>
          <div class="row article-actions">
            <button type="button" class="button button-small button-plain" aria-expanded=${open ? "true" : "false"} aria-controls=${id} onClick=${() => setOpen(!open)}>
              <${Icon} name=${open ? "minus" : "plus"} />${t(open ? "article.close" : "article.open")}
            </button>
            <${Correct} tool=${tool} mention=${mention} />
          </div>
        </div>
        <div id=${id}>${open && html`<${Evidence} tool=${tool} mention=${mention} /><${Sources} tool=${tool} mention=${mention} />`}</div>
      </div>
    </li>
  `;
}

function Correct({ tool, mention }) {
  const others = ["positive", "neutral", "negative"].filter((each) => each !== mention.sentiment);
  const verdicts = ["not_this_tool", ...others, ...(mention.sentiment && !mention.corrected ? ["right"] : [])];
  const mute = async () => {
    const feed = await operations.feed(mention.source).catch(() => null);
    muteSource(tool, mention.source, feed?.source_name ?? mention.source);
  };
  const run = (event, act) => {
    event.currentTarget.closest("details").open = false;
    act();
  };
  return html`
    <details class="menu inline">
      <summary class="button button-small button-plain"><${Icon} name="check" />${t("correct.title")}</summary>
      <div class="menu-body">
        ${verdicts.map((verdict) => html`<button key=${verdict} type="button" class="button button-plain start" onClick=${(event) => run(event, () => judge(tool, mention, verdict))}>${t(`correct.${verdict}`)}</button>`)}
        ${mention.source && html`<button type="button" class="button button-plain start" onClick=${(event) => run(event, mute)}><${Icon} name="mute" />${t("correct.mute")}</button>`}
      </div>
    </details>
  `;
}

function Evidence({ tool, mention }) {
  const found = useLive(`tool ${tool.tool_id} mention ${mention.source_id}`, () => api.mention(tool.tool_id, mention.source_id), 0);
  return html`
    <${Live} of=${found} what=${t("article.gone")}>
      ${(evidence) => {
        const was = `${mention.analyzer}/${mention.analyzer_version}`;
        return html`
          <ol class="passages">
            ${evidence.passages.map((passage, index) => html`
              <li key=${index}>
                <p class="passage">${pieces(passage).map((piece, at) => html`<${Piece} key=${at} piece=${piece} />`)}</p>
                <p class="quiet tiny meta">
                  <span>${t(passage.where === "HEADLINE" ? "article.headline" : "article.sentence")}</span>
                  ${passage.sentiment && html`<span><${Sentiment} value=${passage.polarity} /> ${said(passage.sentiment)}</span>`}
                  <span>${t("article.weight", { share: percent(passage.weight) })}</span>
                </p>
              </li>
            `)}
          </ol>
          <p class="quiet tiny">${t(evidence.judged_by ? "article.legend" : "article.legend.names")}</p>
          ${evidence.judged_by && evidence.judged_by !== was && html`<p class="quiet tiny">${t("article.other", { was, now: evidence.judged_by })}</p>`}
        `;
      }}
    <//>
  `;
}

function Piece({ piece }) {
  if (piece.kind === "text") return piece.text;
  if (piece.kind === "name") return html`<mark class="mark-name" title=${t("article.name")}>${piece.text}</mark>`;
  if (piece.kind === "other") return html`<span class="mark-other">${piece.text}</span>`;
  const side = piece.effect > 0 ? "positive" : "negative";
  return html`<mark class=${`mark-${side}`} title=${`${t(`article.word.${side}`)} (${signed(piece.effect, 1)})`}>${piece.text}<span class="mark-sign" aria-hidden="true">${piece.effect > 0 ? "+" : "−"}</span><span class="visually-hidden"> (${t(`article.word.${side}`)})</span></mark>`;
}
