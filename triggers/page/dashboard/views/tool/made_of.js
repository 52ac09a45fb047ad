// What the figure is made of: publishers and sources with their shares, languages, and the names that were found.
import { html, useState } from "../../lib/dom.js";
import { muteSource } from "../../lib/corrections.js";
import { languageName, number, percent } from "../../lib/format.js";
import { t } from "../../i18n/index.js";
import { Sentiment } from "../../components/badge.js";
import { Segments } from "../../components/choice.js";
import { Icon } from "../../components/icons.js";
import { nameOf } from "./why.js";

const MOST = 10;

export function MadeOf({ tool, movement }) {
  const [by, setBy] = useState("publishers");
  const rows = movement[by].filter((each) => each.mentions || each.unscored_mentions);
  return html`
    <section class="card" aria-label=${t(`made.${by}`)}>
      <div class="card-head"><h2>${t(`made.${by}`)}</h2><${Segments} label=${t("why.by")} value=${by} options=${["publishers", "sources"].map((each) => [each, t(`made.${each}`)])} onChange=${setBy} /></div>
      <ul class="bars">
        ${rows.slice(0, MOST).map((row) => html`
          <li key=${row.publisher ?? row.source}>
            <span class="clip">${row.source_name ?? (row.publisher ? nameOf(row.publisher, movement) : row.source)}</span>
            <span class="meter" aria-hidden="true"><span style=${{ width: `${100 * (row.share ?? 0)}%` }}></span></span>
            <span class="figure small">${percent(row.share)}</span>
            <span class="small"><${Sentiment} value=${row.average_sentiment} /></span>
            ${row.source && html`<button type="button" class="button button-small button-plain" title=${t("correct.mute")} onClick=${() => muteSource(tool, row.source, row.source_name ?? row.source)}><${Icon} name="mute" /><span class="visually-hidden">${t("correct.mute")}: ${row.source_name ?? row.source}</span></button>`}
          </li>
        `)}
      </ul>
    </section>
    <section class="card" aria-labelledby="names">
      <h2 id="names">${t("made.names")}</h2>
      ${movement.names.length
        ? html`<ul class="bars plain">
            ${movement.names.slice(0, MOST).map((name) => html`
              <li key=${`${name.name}${name.kind}`} title=${t("made.places", { headline: number(name.in_headline), text: number(name.in_text), tags: number(name.in_tags) })}>
                <span class="clip"><strong>${name.name}</strong> <span class="quiet small">${t(`made.kind.${name.kind}`)}</span></span><span class="figure small">${number(name.mentions)}</span>
              </li>
            `)}
          </ul>`
        : html`<p class="quiet small">${t("made.name.none")}</p>`}
      ${movement.languages_of > 0 && html`
        <h3 class="gap-above">${t("made.languages")} <span class="quiet small">${t("made.languages.of", { count: number(movement.languages_of) })}</span></h3>
        <ul class="bars plain">
          ${movement.languages.map((each) => html`<li key=${each.language}><span class="clip">${languageName(each.language) ?? t("made.language.und")}</span><span class="figure small">${percent(each.articles / movement.languages_of)}</span></li>`)}
        </ul>
      `}
    </section>
  `;
}
