// The sources that published an article: why each is in it, and taking one out.
import { html } from "../../lib/dom.js";
import { api } from "../../lib/api.js";
import { splitArticle } from "../../lib/corrections.js";
import { dayAndClock, full } from "../../lib/format.js";
import { useLive } from "../../lib/live.js";
import { operations } from "../../lib/operations.js";
import { known, t } from "../../i18n/index.js";
import { Icon } from "../../components/icons.js";
import { Live } from "../../components/states.js";

/** Nothing for an article of one source: it has nothing to be taken out of. */
export function Sources({ tool, mention }) {
  const found = useLive(`article ${mention.source_id}`, () => api.article(mention.source_id), 0);
  return html`
    <${Live} of=${found} what=${t("article.gone")}>
      ${(article) => article.sources.length > 1 && html`
        <section class="gap-above" aria-label=${t("source.title")}>
          <h3>${t("source.title")}</h3>
          <ul class="members">${article.sources.map((source) => html`<${Source} key=${source} tool=${tool} article=${article} source=${source} />`)}</ul>
        </section>
      `}
    <//>
  `;
}

function Source({ tool, article, source }) {
  const own = article.source_attribution[source] ?? {};
  // Articles name the publisher that the source names, if any; else it is the feed itself.
  const feed = useLive(own.source_name ? null : `feed ${source}`, () => operations.feed(source), 0);
  const name = own.source_name ?? feed.data?.source_name ?? source;
  const at = own.published_at ?? own.crawl_timestamp;
  const takeOut = () => splitArticle(tool, article.source_id, source, { source: name, headline: own.headline ?? own.original_headline ?? article.headline });
  return html`
    <li>
      <div class="grow">
        <span>${name}</span>
        <p class="quiet tiny meta">
          ${at && html`<time datetime=${at} title=${full(at)}>${dayAndClock(at)}</time>`}
          ${own.joined_by && html`<span>${known(`source.rule.${own.joined_by}`, own.joined_by)}</span>`}
        </p>
      </div>
      <button type="button" class="button button-small" onClick=${takeOut}><${Icon} name="split" />${t("source.out")}<span class="visually-hidden"> ${name}</span></button>
    </li>
  `;
}
