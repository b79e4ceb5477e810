/** Shows the differences between two texts. */
import { diffLines, diffWordsWithSpace } from 'diff';
import { type Content, type Html, html, preformatted } from '../../../base/text/html.js';
import { formatCount } from '../../../base/text/numbers.js';

/** Number of unchanged lines to show before and after a difference. */
const context = 3;

/** Time limit of the comparison in milliseconds; if it is exceeded, both texts are shown in full. */
const patience = 1000;

/** Maximum length of a compared text, in characters. */
const longest = 500_000;

/** Marks the lines that differ and, in short changes with equally many lines on both sides, the words that differ. */
export function textDifference(left: string | undefined, right: string | undefined): Content {
  if (left === undefined && right === undefined) return html`<p class="empty">None on either side.</p>`;
  if (left === right) return html`<p class="empty">No differences.</p>${folded(left ?? '')}`;
  const [a, b] = [ended(left), ended(right)];
  const parts = diffLines(a, b, { timeout: patience });
  if (parts === undefined)
    return html`<p class="note">Too different for a line-by-line comparison.</p>
<h3>Left</h3>${preformatted(a)}<h3>Right</h3>${preformatted(b)}`;
  return html`<pre class="diff" tabindex="0">
${parts.flatMap((part, i) => {
  const before = parts[i - 1];
  if (!part.added && !part.removed) return equalLines(part.value, i > 0, i < parts.length - 1);
  // Show the two sides of a change together, line by line if they have the same number of lines.
  if (part.added) return before?.removed ? [] : linesOf('ins', part.value);
  const after = parts[i + 1];
  return after?.added ? changedLines(part.value, after.value) : linesOf('del', part.value);
})}</pre>`;
}

const linesIn = (value: string): readonly string[] => value.split(/(?<=\n)/);

const linesOf = (kind: 'ins' | 'del', value: string): readonly Html[] =>
  linesIn(value).map((line) => (kind === 'ins' ? html`<ins>${line}</ins>` : html`<del>${line}</del>`));

/** Time limit for comparing the words of a line, in milliseconds. */
const patienceOfLine = 50;

/** Maximum number of lines in a change that is compared word by word. */
const mostCompared = 50;

function changedLines(left: string, right: string): readonly Html[] {
  const [a, b] = [linesIn(left), linesIn(right)];
  if (a.length !== b.length || a.length > mostCompared)
    return [...linesOf('del', left), ...linesOf('ins', right)];
  return a.flatMap((line, i) => {
    const words = diffWordsWithSpace(line, b[i]!, { timeout: patienceOfLine });
    if (words === undefined) return [html`<del>${line}</del>`, html`<ins>${b[i]}</ins>`];
    const side = (own: 'added' | 'removed') =>
      words.map((word) =>
        word[own] ? html`<b>${word.value}</b>` : !word.added && !word.removed && word.value,
      );
    return [html`<del>${side('removed')}</del>`, html`<ins>${side('added')}</ins>`];
  });
}

/** Truncates a long text, and adds the final line break that a comparison by lines requires. */
const ended = (text = '') => `${text.slice(0, longest)}${text.endsWith('\n') ? '' : '\n'}`;

const folded = (text: string) =>
  html`<details><summary>Full text</summary>${preformatted(text.slice(0, longest))}</details>`;

function equalLines(value: string, isAfter: boolean, isBefore: boolean): Content {
  const lines = linesIn(value);
  const first = isAfter ? context : 0;
  const last = isBefore ? context : 0;
  const left = lines.length - first - last;
  if (left <= 1) return value;
  return [
    lines.slice(0, first).join(''),
    html`<span class="gap">… ${formatCount(left)} unchanged lines …
</span>`,
    lines.slice(lines.length - last).join(''),
  ];
}
