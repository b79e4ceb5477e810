/** Unpacks the prompts of a page, which share their messages and lines (report/data/prompt-store.ts). */
import { render } from 'preact';
import { html } from '../base/html.js';

interface Store {
  readonly lines: readonly string[];
  /** Role, then pairs: the first of some consecutive lines, and their number. */
  readonly messages: readonly (readonly [string, ...number[]])[];
  /** Indices of each prompt's messages. */
  readonly prompts: readonly (readonly number[])[];
}

const stores = new WeakMap<Element, Store>();

function storeIn(block: Element): Store {
  const store = stores.get(block) ?? (JSON.parse(block.textContent) as Store);
  stores.set(block, store);
  return store;
}

function lineNumbers([, ...pairs]: Store['messages'][number]): readonly number[] {
  const numbers: number[] = [];
  for (let i = 0; i + 1 < pairs.length; i += 2)
    for (let j = 0; j < pairs[i + 1]!; j++) numbers.push(pairs[i]! + j);
  return numbers;
}

/** Shows a prompt, with the lines highlighted that the previous prompt on the page lacks. */
export function showPrompt(box: HTMLElement, block: Element | null): void {
  if (block === null) return;
  const { lines, messages, prompts } = storeIn(block);
  const call = Number(box.dataset.call);
  const before = prompts[call - 1] && new Set(prompts[call - 1]!.flatMap((m) => lineNumbers(messages[m]!)));
  const isNew = (number: number) => before?.has(number) === false && lines[number]!.trim() !== '';
  const shown = (prompts[call] ?? []).map((m) => ({
    role: messages[m]![0],
    numbers: lineNumbers(messages[m]!),
  }));
  const place = document.createElement('div');
  box.append(place);
  render(
    html`${shown.some(({ numbers }) => numbers.some(isNew)) && html`<p class="muted">Highlighted: lines that are not in the previous prompt on this page.</p>`}
${shown.map(
  ({ numbers, role }) =>
    html`<h4>${role}</h4><pre tabindex="0">${numbers.map((number, i) => {
      const line = lines[number]! + (i < numbers.length - 1 ? '\n' : '');
      return isNew(number) ? html`<mark>${line}</mark>` : line;
    })}</pre>`,
)}`,
    place,
  );
}
