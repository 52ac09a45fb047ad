// Why the figure moved: what entered and left since the time before, by story or by publisher. The effects add up.
import { html, useState } from "../../lib/dom.js";
import { number, signed } from "../../lib/format.js";
import { t } from "../../i18n/index.js";
import { Change, Sentiment, toneOf } from "../../components/badge.js";
import { Segments, Select } from "../../components/choice.js";

const MOST = 8;

const AGAINST = ["before", "24", "168"];

export function Why({ movement, against, onAgainst }) {
  const [by, setBy] = useState("story");
  const parts = by === "story" ? movement.stories : movement.publishers;
  const moving = [...parts].filter((part) => part.effect).sort((a, b) => Math.abs(b.effect) - Math.abs(a.effect));
  const shown = moving.slice(0, MOST);
  const rest = movement.difference === null ? 0 : movement.difference - shown.reduce((sum, part) => sum + part.effect, 0);
  const reach = Math.max(0.01, ...shown.map((part) => Math.abs(part.effect)), Math.abs(rest));
  return html`
    <section class="card" aria-labelledby="why">
      <div class="card-head">
        <h2 id="why">${t("why.title")}</h2>
        ${movement.difference !== null && html`<${Segments} label=${t("why.by")} value=${by} options=${["story", "publisher"].map((each) => [each, t(`why.${each}`)])} onChange=${setBy} />`}
      </div>
      <${Select} label=${t("why.against")} value=${against} options=${AGAINST.map((each) => [each, t(`why.against.${each}`)])} onChange=${onAgainst} />
      ${movement.difference === null
        ? html`<p class="quiet">${t("why.none")}</p>`
        : html`
            <p class="why-sum"><${Sentiment} value=${movement.previous.average_sentiment} /> → <${Sentiment} value=${movement.present.average_sentiment} /> <${Change} value=${movement.difference} /></p>
            <p class="quiet small">${t("why.from", { entered: number(movement.entered), left: number(movement.left) })}</p>
            <ul class="effects">
              ${shown.map((part) => html`
                <li key=${part.event_id ?? part.publisher ?? part.headline}>
                  <span class="effect-name"><span class="lines-2">${part.headline ?? nameOf(part.publisher, movement)}</span><span class="quiet tiny">${t("why.moves", { entered: number(part.entered), left: number(part.left) })}</span></span>
                  <${Effect} value=${part.effect} reach=${reach} />
                </li>
              `)}
              ${Math.abs(rest) >= 0.005 && html`<li><span class="effect-name quiet">${t("why.rest")}</span><${Effect} value=${rest} reach=${reach} /></li>`}
            </ul>
          `}
      ${movement.rescored.length > 0 && html`
        <h3>${t("why.rescored")}</h3>
        <ul class="effects">
          ${movement.rescored.map((each) => html`
            <li key=${each.source_id}><span class="effect-name"><span class="lines-2">${each.headline}</span><span class="quiet tiny">${t(`word.${each.before ?? "unscored"}`)} → ${t(`word.${each.after ?? "unscored"}`)}</span></span><span class="figure">${signed(each.effect, 3)}</span></li>
          `)}
        </ul>
      `}
    </section>
  `;
}

/** A publisher that is not known counts by its source: then the name of the source, if it is among those of the movement. */
export function nameOf(publisher, movement) {
  const source = publisher.replace(/^source:/, "");
  return movement.sources.find((each) => each.source === source)?.source_name ?? source;
}

function Effect({ value, reach }) {
  const size = `${(50 * Math.abs(value)) / reach}%`;
  return html`
    <span class="effect"><span class="effect-bar" aria-hidden="true"><span class=${toneOf(value)} style=${value > 0 ? { left: "50%", width: size } : { right: "50%", width: size }}></span></span><span class=${`figure tone-${toneOf(value)}`}>${signed(value)}</span></span>
  `;
}
