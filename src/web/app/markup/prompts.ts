/** Shows the prompts of a page, which are stored as differences (report/data/prompt-store.ts). */
import { render } from 'preact';
import { type TextPart, textOf } from '../../../base/files/text-parts.js';
import { html } from '../base/html.js';

type Prompt = readonly { readonly role: string; readonly content: string }[];

const known = new WeakMap<Element, readonly Prompt[]>();

function promptsIn(block: Element): readonly Prompt[] {
  const found = known.get(block);
  if (found !== undefined) return found;
  let text = '';
  const prompts = (JSON.parse(block.textContent) as (readonly TextPart[])[]).map((parts) => {
    text = textOf(parts, text);
    return JSON.parse(text) as Prompt;
  });
  known.set(block, prompts);
  return prompts;
}

const linesIn = (prompt: Prompt) => prompt.flatMap(({ content }) => content.split('\n'));

/** Shows a prompt, and highlights the lines that the previous prompt on the page doesn't contain. */
export function showPrompt(box: HTMLElement, block: Element | null): void {
  if (block === null) return;
  const call = Number(box.dataset.call);
  const { [call - 1]: previous, [call]: prompt = [] } = promptsIn(block);
  const before = previous && new Set(linesIn(previous));
  const isNew = (line: string) => before?.has(line) === false && line.trim() !== '';
  const place = document.createElement('div');
  box.append(place);
  render(
    html`${linesIn(prompt).some(isNew) && html`<p class="muted">Lines that are not in the previous prompt on this page are highlighted.</p>`}
${prompt.map(
  ({ content, role }) =>
    html`<h4>${role}</h4><pre tabindex="0">${content.split('\n').map((line, i, lines) => {
      const whole = line + (i < lines.length - 1 ? '\n' : '');
      return isNew(line) ? html`<mark>${whole}</mark>` : whole;
    })}</pre>`,
)}`,
    place,
  );
}
