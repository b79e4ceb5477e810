import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import { renderReport } from '../../src/report/run-report.js';
import { scriptContent } from './markup.js';
import { runFixture } from './run-fixture.js';

/** The few parts of a document that unpacking a prompt needs. */
class FakeElement {
  readonly children: (FakeElement | string)[] = [];
  readonly dataset: Record<string, string>;
  readonly open = true;
  hidden = false;
  className = '';
  own = '';

  constructor(
    readonly name: string,
    data: Record<string, string> = {},
  ) {
    this.dataset = data;
  }

  matches(): boolean {
    return true;
  }

  append(child: FakeElement | string): void {
    this.children.push(child);
  }

  set textContent(text: string) {
    this.own = text;
  }

  get textContent(): string {
    return (
      this.own +
      this.children.map((child) => (typeof child === 'string' ? child : child.textContent)).join('')
    );
  }

  named(name: string): FakeElement[] {
    return this.children.filter(
      (child): child is FakeElement => typeof child !== 'string' && child.name === name,
    );
  }
}

/** Runs the page's script and returns what opening the prompt of a call shows. */
function openPrompts(page: string): (call: number) => FakeElement {
  let onToggle: ((event: { target: FakeElement }) => void) | undefined;
  const prompts = { textContent: scriptContent(page, 'prompts') };
  runInNewContext(scriptContent(page), {
    document: {
      getElementById: (id: string) => (id === 'prompts' ? prompts : null),
      querySelector: () => null,
      createElement: (name: string) => new FakeElement(name),
      querySelectorAll: () => [],
      addEventListener: (kind: string, listener: typeof onToggle) => {
        if (kind === 'toggle') onToggle = listener;
      },
    },
    location: { hash: '' },
    HTMLDetailsElement: FakeElement,
    addEventListener: () => undefined,
  });
  return (call) => {
    const box = new FakeElement('details', { call: String(call) });
    onToggle!({ target: box });
    onToggle!({ target: box });
    return box;
  };
}

describe('the page script', () => {
  const hostile = '</script><img src=x onerror=alert(1)>\u2028<!-- ]]>';
  const data = runFixture({ iterations: 30, historyCharacters: 2500, reason: hostile, failureRate: 0.4 });
  const open = openPrompts(renderReport(data));

  it('shows every message of every call as it was, once', () => {
    for (const [index, call] of data.calls.entries()) {
      const box = open(index);
      expect(box.named('h5').map((title) => title.textContent)).toEqual(
        call.messages.map(({ role }) => role),
      );
      expect(box.named('pre').map((text) => text.textContent)).toEqual(
        call.messages.map(({ content }) => content),
      );
    }
  });

  it('marks the lines that the call before did not have', () => {
    const first = open(0);
    expect(first.named('pre').flatMap((text) => text.named('mark'))).toEqual([]);
    const later = data.calls.findIndex(
      (call, i) => i > 5 && call.attempt === 0 && data.calls[i - 1]!.outcome.kind === 'accepted',
    );
    const marked = open(later)
      .named('pre')
      .flatMap((text) => text.named('mark'))
      .map((mark) => mark.textContent)
      .join('');
    const before = new Set(data.calls[later - 1]!.messages.flatMap(({ content }) => content.split('\n')));
    const added = data.calls[later]!.messages.flatMap(({ content }) => content.split('\n')).filter(
      (line) => line !== '' && !before.has(line),
    );
    expect(added.length).toBeGreaterThan(0);
    for (const line of added) expect(marked).toContain(line);
    for (const line of marked.split('\n').filter((text) => text !== '')) expect(added).toContain(line);
  });
});
