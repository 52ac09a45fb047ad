// A passage cut into pieces: text, names of the tool, names of others, and words that decided. Pure.

/** Places count Unicode code points, as the API does; JavaScript counts UTF-16 units. Later marks never overlap. */
export function pieces(passage) {
  const letters = [...passage.text];
  const marks = [
    ...passage.names.map(([start, end]) => ({ kind: "name", start, end })),
    ...passage.other_names.map(([start, end]) => ({ kind: "other", start, end })),
    ...passage.deciding_words.map((word) => ({ kind: "word", start: word.start, end: word.end, effect: word.effect })),
  ].sort((a, b) => a.start - b.start);
  const found = [];
  let at = 0;
  const text = (end) => {
    if (end > at) found.push({ kind: "text", text: letters.slice(at, end).join("") });
  };
  for (const { start, end, ...mark } of marks) {
    if (start < at || end > letters.length) continue;
    text(start);
    found.push({ ...mark, text: letters.slice(start, end).join("") });
    at = end;
  }
  text(letters.length);
  return found;
}
