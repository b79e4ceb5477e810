/** Shows the prompts of a page, which are stored as differences (report/data/prompt-store.ts). */
import { type TextPart, textOf } from '../../../storage/text-parts.js';

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

function added<Name extends keyof HTMLElementTagNameMap>(
  place: Element,
  name: Name,
  text = '',
): HTMLElementTagNameMap[Name] {
  const made = document.createElement(name);
  made.textContent = text;
  place.append(made);
  return made;
}

const linesIn = (text: string) => text.split(/(?<=\n)/);

/** Shows a prompt, with the lines highlighted that the previous prompt on the page lacks. */
export function showPrompt(box: HTMLElement, block: Element | null): void {
  if (block === null) return;
  const call = Number(box.dataset.call);
  const { [call - 1]: previous, [call]: prompt = [] } = promptsIn(block);
  const before = previous && new Set(previous.flatMap(({ content }) => content.split('\n')));
  const isNew = (line: string) => before?.has(line.replace(/\n$/, '')) === false && line.trim() !== '';
  const note = added(box, 'p', 'Highlighted: lines that are not in the previous prompt on this page.');
  note.className = 'muted';
  note.hidden = true;
  for (const { content, role } of prompt) {
    added(box, 'h4', role);
    const text = added(box, 'pre');
    text.tabIndex = 0;
    const lines = linesIn(content);
    for (let from = 0, to = 1; from < lines.length; from = to, to++) {
      const isMarked = isNew(lines[from]!);
      while (to < lines.length && isNew(lines[to]!) === isMarked) to++;
      const piece = lines.slice(from, to).join('');
      if (isMarked) added(text, 'mark', piece);
      else text.append(piece);
      if (isMarked) note.hidden = false;
    }
  }
}
