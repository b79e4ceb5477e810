/** The log of proposals: a filter, the proposals, and their prompts, which are stored as differences. */
import { type ComponentChildren, createContext } from 'preact';
import { useContext, useEffect, useMemo, useState } from 'preact/hooks';
import { decodeText } from '../../../base/files/text-parts.js';
import type { PackedPrompts } from '../../report/data/prompt-store.js';
import { html } from '../base/html.js';

type Prompts = readonly (readonly { readonly role: string; readonly content: string }[])[];

const PagePrompts = createContext<() => Prompts>(() => []);

function unpackPrompts(packed: PackedPrompts): Prompts {
  let text = '';
  const latestFirst = packed.map((parts) => {
    text = decodeText(parts, text);
    return JSON.parse(text) as Prompts[number];
  });
  return latestFirst.toReversed();
}

interface LogProps {
  readonly prompts: PackedPrompts;
  /** Number of proposals for each filter; empty if the log has no filters. */
  readonly counts: readonly (readonly [filter: string, label: string, count: number])[];
  readonly children?: ComponentChildren;
}

export function ProposalLog({ children, counts, prompts }: LogProps) {
  const [filter, setFilter] = useState('all');
  const getPrompts = useMemo(() => {
    let unpacked: Prompts | undefined;
    return () => (unpacked ??= unpackPrompts(prompts));
  }, [prompts]);
  useEffect(() => {
    // A link may lead to a proposal that the filter hides.
    const showAll = () => setFilter('all');
    addEventListener('hashchange', showAll);
    return () => removeEventListener('hashchange', showAll);
  }, []);
  return html`<${PagePrompts.Provider} value=${getPrompts}>
${
  counts.length > 0 &&
  html`<fieldset class="filter"><legend>Show</legend>
${counts.map(([name, label, count]) => html`<label><input type="radio" name="show" checked=${filter === name} onChange=${() => setFilter(name)} /> ${label} <span class="muted">${count}</span></label>`)}
</fieldset>
<p class="log-head" aria-hidden="true"><span>iteration</span><span>return</span><span></span><span>stated reason, or reply</span></p>`
}
<div class=${`log show-${filter}`}>${children}</div><//>`;
}

const linesIn = (prompt: Prompts[number]) => prompt.flatMap(({ content }) => content.split('\n'));

interface PromptProps {
  /** Index among the prompts of the page. */
  readonly index: number;
  readonly length: string;
}

/** Shows a prompt, and highlights the lines that the previous prompt on the page doesn't contain. */
export function Prompt({ index, length }: PromptProps) {
  const [isOpen, setOpen] = useState(false);
  const prompts = useContext(PagePrompts);
  return html`<details class="prompt" onToggle=${() => setOpen(true)}><summary>Prompt <span class="muted">${length}</span></summary>${isOpen && textOfPrompt(prompts(), index)}</details>`;
}

function textOfPrompt(prompts: Prompts, index: number) {
  const [previous, prompt = []] = [prompts[index - 1], prompts[index]];
  const previousLines = previous && new Set(linesIn(previous));
  const isNew = (line: string) => previousLines?.has(line) === false && line.trim() !== '';
  return html`${linesIn(prompt).some(isNew) && html`<p class="muted">Lines that are not in the previous prompt on this page are highlighted.</p>`}
${prompt.map(
  ({ content, role }) =>
    html`<h4>${role}</h4><pre tabindex="0">${content.split('\n').map((line, i, lines) => {
      const fullLine = line + (i < lines.length - 1 ? '\n' : '');
      return isNew(line) ? html`<mark>${fullLine}</mark>` : fullLine;
    })}</pre>`,
)}`;
}
