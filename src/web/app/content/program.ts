/** Source code of programs, and the differences between two programs. */
import { diffLines } from 'diff';
import { html } from '../base/html.js';

const keywords =
  'break|case|catch|const|continue|default|do|else|false|finally|for|function|if|in|let|new|null|of|return|switch|this|throw|true|try|typeof|undefined|var|while';
const tokenPattern = new RegExp(
  [
    String.raw`(?<comment>\/\/[^\n]*|\/\*[\s\S]*?\*\/)`,
    String.raw`(?<string>'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|${'`'}(?:[^${'`'}\\]|\\.)*${'`'})`,
    String.raw`(?<![\w$.])(?<keyword>${keywords})(?![\w$])`,
    String.raw`(?<![\w$])(?<number>\.?\d(?:[eE][+-]?\d|[\w.])*)`,
  ].join('|'),
  'g',
);

/** Shows source code with highlighted comments, strings, keywords and numbers. */
export function SourceCode({ source }: { readonly source: string }) {
  const parts: unknown[] = [];
  let end = 0;
  for (const { 0: tokenText, groups, index } of source.matchAll(tokenPattern)) {
    const [kind] = Object.entries(groups!).find(([, part]) => part !== undefined)!;
    parts.push(source.slice(end, index), html`<span class=${kind}>${tokenText}</span>`);
    end = index + tokenText.length;
  }
  return html`<pre class="source" tabindex="0"><code>${parts}${source.slice(end).trimEnd()}</code></pre>`;
}

/** Number of unchanged lines to show before and after a difference. */
const contextLines = 3;

interface DifferenceProps {
  readonly left: string;
  readonly right: string;
}

/** Shows two texts as one, with the lines that differ marked. */
export function TextDifference({ left, right }: DifferenceProps) {
  if (left === right) return html`<p class="empty">No differences.</p>`;
  const parts = diffLines(left, right);
  return html`<pre class="diff" tabindex="0">${parts.map(({ added, removed, value }, i) => {
    if (added) return html`<ins>${value}</ins>`;
    if (removed) return html`<del>${value}</del>`;
    const lines = value.split(/(?<=\n)/);
    const [first, last] = [i > 0 ? contextLines : 0, i < parts.length - 1 ? contextLines : 0];
    const hiddenCount = lines.length - first - last;
    if (hiddenCount <= 1) return value;
    return [
      lines.slice(0, first).join(''),
      html`<span class="gap">${`… ${hiddenCount} unchanged lines …\n`}</span>`,
      lines.slice(lines.length - last).join(''),
    ];
  })}</pre>`;
}
