/** Unpacks the prompts of a page, which share their messages and lines (report/data/prompt-store.ts). */

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

/** Shows a prompt, with the lines highlighted that the previous prompt on the page lacks. */
export function showPrompt(box: HTMLElement, block: Element | null): void {
  if (block === null) return;
  const store = storeIn(block);
  const call = Number(box.dataset.call);
  const previous = store.prompts[call - 1];
  const before = previous && new Set(previous.flatMap((m) => lineNumbers(store.messages[m]!)));
  const note = added(box, 'p', 'Highlighted: lines that are not in the previous prompt on this page.');
  note.className = 'muted';
  note.hidden = true;
  for (const m of store.prompts[call] ?? []) {
    const message = store.messages[m]!;
    const numbers = lineNumbers(message);
    added(box, 'h4', message[0]);
    const text = added(box, 'pre');
    text.tabIndex = 0;
    let piece = '';
    let isPieceNew = false;
    const flush = () => {
      if (piece === '') return;
      if (isPieceNew) added(text, 'mark', piece);
      else text.append(piece);
      piece = '';
    };
    numbers.forEach((number, i) => {
      const line = store.lines[number]! + (i < numbers.length - 1 ? '\n' : '');
      const isNew = before !== undefined && line.trim() !== '' && !before.has(number);
      if (isNew !== isPieceNew) flush();
      isPieceNew = isNew;
      if (isNew) note.hidden = false;
      piece += line;
    });
    flush();
  }
}
