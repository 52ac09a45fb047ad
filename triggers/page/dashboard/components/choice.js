// Choosing one of a few, or of many: segments, and selects with a label.
import { html, useId } from "../lib/dom.js";

const capital = (text) => text.charAt(0).toLocaleUpperCase() + text.slice(1);

/** A row of buttons of which one is pressed. options: [[value, text]] */
export const Segments = ({ label, options, value, onChange }) => html`
  <div class="segments" role="group" aria-label=${label}>
    ${options.map(
      ([each, text]) => html`<button key=${each} type="button" aria-pressed=${each === value ? "true" : "false"} onClick=${() => onChange(each)}>${capital(text)}</button>`,
    )}
  </div>
`;

export function Select({ label, options, value, onChange }) {
  const id = useId();
  return html`
    <span class="field">
      <label for=${id}>${label}</label>
      <select id=${id} class="input" value=${value} onChange=${(event) => onChange(event.currentTarget.value)}>
        ${options.map(([each, text]) => html`<option key=${each} value=${each} selected=${each === value}>${text}</option>`)}
      </select>
    </span>
  `;
}
