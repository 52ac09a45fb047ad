// Line icons, drawn with the text's colour. They say nothing that the text beside them does not say.
import { html } from "../lib/dom.js";

const PATHS = {
  up: "M8 13V3M3.5 7.5 8 3l4.5 4.5",
  down: "M8 3v10M3.5 8.5 8 13l4.5-4.5",
  flat: "M3 8h10",
  search: "M7 12A5 5 0 1 0 7 2a5 5 0 0 0 0 10ZM10.7 10.7 14 14",
  close: "M3.5 3.5l9 9M12.5 3.5l-9 9",
  check: "M3 8.5 6.5 12 13 4.5",
  warning: "M8 2 14.5 13.5h-13ZM8 6.5v3.5M8 11.8v.2",
  refresh: "M13.5 8A5.5 5.5 0 1 1 11.7 3.9M13.5 2v3h-3",
  link: "M9 3h4v4M13 3 7.5 8.5M11 9.5V13H3V5h3.5",
  plus: "M8 3v10M3 8h10",
  minus: "M3 8h10",
  left: "M10 3 5 8l5 5",
  right: "M6 3l5 5-5 5",
  key: "M10.5 9.5a3.5 3.5 0 1 0-3.2-2L2 12.8V14h2v-1.5h1.5V11H7l.8-.8c.8.3 1.8.1 2.7-.7ZM11 5v.1",
  settings: "M2 4.5h7M13 4.5h1M2 11.5h1M7 11.5h7M11 6.5v-4M5 13.5v-4",
  offline: "M2 2l12 12M4 9.5A5.5 5.5 0 0 1 6 8M9.5 7.8A5.5 5.5 0 0 1 12 9.5M6.3 11.8a2.5 2.5 0 0 1 3.4 0",
  undo: "M5 3 2 6l3 3M2.5 6H10a3.5 3.5 0 0 1 0 7H7",
  dots: "M3.5 8v.1M8 8v.1M12.5 8v.1",
  split: "M8 2v4L4 14M8 6l4 8",
  mute: "M2 6v4h2.5L8 13V3L4.5 6ZM10.5 6l4 4M14.5 6l-4 4",
  spark: "M1 9h3l2-5 3 8 2-5 1 2h3",
};

export const Icon = ({ name }) => html`
  <svg class="icon" viewBox="0 0 16 16" aria-hidden="true" focusable="false"><path d=${PATHS[name]} /></svg>
`;
