// @vitest-environment jsdom

import { render } from 'preact';
import { afterAll, describe, expect, it, vi } from 'vitest';
import { type Content, type ContentJson, childrenOf, Part } from '../../../src/base/text/content.js';
import { number, pageTable, text } from '../../../src/base/text/table.js';
import { html } from '../../../src/web/app/base/html.js';
import { drawContent } from '../../../src/web/app/content/draw.js';
import { PageView } from '../../../src/web/app/pages/shown-page.js';
import { type Chart, chartFigure } from '../../../src/web/chart.js';
import type { RunData } from '../../../src/web/report/data/proposals.js';
import { renderReport } from '../../../src/web/report/run-report.js';
import { runFixture } from '../report/run-fixture.js';
import { pageIn } from '../shown.js';

vi.hoisted(() => {
  class ResizeObserver {
    observe() {}
    disconnect() {}
  }
  vi.stubGlobal('ResizeObserver', ResizeObserver);
});

vi.useFakeTimers();
afterAll(() => vi.useRealTimers());
/** Effects have run, which Preact delays by a frame. */
const settled = () => vi.advanceTimersByTimeAsync(120);

const shown = (content: Content) => {
  render(null, document.body);
  const parts = JSON.parse(JSON.stringify(childrenOf(content))) as ContentJson[];
  render(html`${parts.map(drawContent)}`, document.body);
  return document.body;
};

const shownPage = (data: RunData) => {
  render(null, document.body);
  render(html`<${PageView} page=${pageIn(renderReport(data))} />`, document.body);
  return document.body;
};

describe('prompts', () => {
  const hostile = '</script><img src=x onerror=alert(1)>\u2028<!-- ]]>';
  const data = runFixture({ iterations: 30, historyCharacters: 2500, reason: hostile, failureRate: 0.4 });

  it('are shown verbatim, with marks on lines that are new since the previous prompt', async () => {
    const body = shownPage(data);
    expect(body.querySelector('img[src="x"]')).toBeNull();
    const boxes = [...body.querySelectorAll<HTMLDetailsElement>('details.prompt')];
    expect(boxes.length).toBe(data.calls.length);
    for (const box of boxes) box.dispatchEvent(new Event('toggle'));
    await settled();
    for (const [index, box] of boxes.entries()) {
      const texts = [...box.querySelectorAll('pre')].map((pre) => pre.textContent);
      const { messages } = data.calls[index]!;
      expect(texts).toEqual(messages.map(({ content }) => content));
      if (index === 0) expect(box.querySelector('mark')).toBeNull();
    }
    const linesOf = (call: number) =>
      data.calls[call]!.messages.flatMap(({ content }) => content.split('\n'));
    const later = data.calls.findIndex(
      (call, i) => i > 5 && call.attempt === 0 && data.calls[i - 1]!.outcome.kind === 'accepted',
    );
    const before = new Set(linesOf(later - 1));
    const added = linesOf(later).filter((line) => line.trim() !== '' && !before.has(line));
    const marked = [...boxes[later]!.querySelectorAll('mark')]
      .flatMap((mark) => mark.textContent.split('\n'))
      .filter((line) => line !== '');
    expect(marked).toEqual(added);
    expect(added.length).toBeGreaterThan(0);
  });
});

describe('a chart', () => {
  const press = async (body: HTMLElement, key: string) => {
    body.querySelector('.chart')!.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true }));
    await settled();
  };
  const chart: Chart = {
    label: 'Three evaluations.',
    x: { title: 'Iteration', kind: 'whole' },
    y: { title: 'Return' },
    at: [0, 1, 2],
    series: [
      {
        label: 'score',
        draw: 'points',
        color: '--point',
        values: [3, 1, 2],
        low: [1, 0, 1],
        high: [4, 2, 2],
      },
    ],
    links: [null, '#evaluation-1', null],
    hint: 'Point at it.',
  };

  it('reads out the values at each x with the arrow keys, and links to the item', async () => {
    const body = shown(chartFigure(chart));
    await settled();
    const [slider, line] = [body.querySelector('.chart')!, body.querySelector('.readout')!];
    expect([slider.getAttribute('role'), slider.getAttribute('tabindex')]).toEqual(['slider', '0']);
    expect(line.textContent).toBe('Point at it.');
    await press(body, 'ArrowRight');
    expect(line.textContent).toBe('Iteration 0: score 3 (1 … 4)');
    expect(line.querySelector('a')).toBeNull();
    await press(body, 'ArrowRight');
    expect(line.querySelector('a')?.getAttribute('href')).toBe('#evaluation-1');
    expect(slider.getAttribute('aria-valuetext')).toBe('Iteration 1: score 1 (0 … 2)');
    await press(body, 'Enter');
    expect(location.hash).toBe('#evaluation-1');
    await press(body, 'End');
    await press(body, 'ArrowRight');
    expect(slider.getAttribute('aria-valuenow')).toBe('3');
  });

  it('is replaced by a note if there are no values', async () => {
    const body = shown(chartFigure({ ...chart, at: [], series: [{ ...chart.series[0]!, values: [] }] }));
    await settled();
    expect(body.querySelector('.chart')).toBeNull();
    expect(body.textContent).toContain('No values yet.');
  });

  it('has one checkbox per label, and one for all bands', async () => {
    const line = {
      draw: 'line',
      color: '--accent',
      values: [1, 2, 3],
      low: [0, 0, 0],
      high: [5, 5, 5],
    } as const;
    const body = shown(
      chartFigure({
        ...chart,
        series: ['a', 'a', 'b'].map((label) => ({ ...line, label })),
        marks: [{ label: 'b', draw: 'diamond', color: '--good', marks: [{ y: 2 }] }],
        bands: { label: 'intervals', isHidden: true },
      }),
    );
    await settled();
    const boxes = [...body.querySelectorAll<HTMLInputElement>('.legend input')];
    const shownBoxes = boxes.map((box) => [box.labels![0]!.textContent.trim(), box.checked]);
    expect(shownBoxes).toEqual([
      ['a', true],
      ['b', true],
      ['intervals', false],
    ]);
    await press(body, 'Home');
    expect(body.querySelector('.readout')!.textContent).toBe('Iteration 0: a 1, b 1');
    boxes[2]!.click();
    await settled();
    expect(body.querySelector('.readout')!.textContent).toBe('Iteration 0: a 1 (0 … 5), b 1 (0 … 5)');
  });
});

describe('a heat map', () => {
  const data = runFixture({ iterations: 5 });
  const drawn = () => shownPage(data);

  it('names the cell that the arrow keys move to', async () => {
    const map = drawn().querySelector('.heat-map')!;
    for (const key of ['ArrowDown', 'ArrowRight']) {
      map.dispatchEvent(new KeyboardEvent('keydown', { key }));
      await settled();
    }
    const text = map.closest('figure')!.querySelector('.readout')!.textContent;
    expect(text).toMatch(/^params\[1\], .* in evaluation 2 \(/);
    expect(map.getAttribute('aria-valuetext')).toBe(text);
  });

  it('has a cell of the right colour for every parameter of every evaluation', () => {
    const paths = [...drawn().querySelectorAll('.heat-map g:nth-of-type(2) > path')];
    const scale = Math.max(...data.entries.flatMap(({ parameters }) => parameters.map(Math.abs)));
    for (const [column, { parameters }] of data.entries.entries())
      for (const [row, value] of parameters.entries()) {
        const own = paths.filter((path) => path.getAttribute('d')!.includes(`M${column} ${row}h1v1h-1z`));
        expect(own).toHaveLength(1);
        expect(own[0]!.getAttribute('fill')).toBe(`var(--${value < 0 ? 'negative' : 'positive'})`);
        expect(Number(own[0]!.getAttribute('fill-opacity'))).toBeCloseTo(Math.abs(value) / scale, 1);
      }
  });
});

describe('a table', () => {
  const rows = [
    ['x', 3],
    ['y', 20],
    ['z', null],
    ['w', -1],
  ] as const;
  const table = pageTable(rows, [text('name', ([name]) => name), number('value', ([, value]) => value)]);
  const names = (body: HTMLElement) => [...body.querySelectorAll('tbody th')].map((cell) => cell.textContent);

  it('is sorted by clicking a header, with missing values last, and restored by a third click', async () => {
    const body = shown(table);
    const button = body.querySelectorAll<HTMLButtonElement>('thead button')[1]!;
    button.click();
    await settled();
    expect(names(body)).toEqual(['y', 'x', 'w', 'z']);
    button.click();
    await settled();
    expect(names(body)).toEqual(['w', 'x', 'y', 'z']);
    button.click();
    await settled();
    expect(names(body)).toEqual(['x', 'y', 'z', 'w']);
  });

  it('labels cells for a phone if it has many columns, and cannot be sorted if it hides repeats', () => {
    const columns = ['a', 'b', 'c', 'd', ''].map((title) =>
      text<string>(title, (row) => row, { grouped: title === 'a', spoken: 'last' }),
    );
    const body = shown(pageTable(['1', '1', '2'], columns));
    expect(body.querySelector('table')!.className).toBe('stack');
    expect(body.querySelector('td')!.dataset.label).toBe('b');
    expect(body.querySelector('thead button')).toBeNull();
    expect(names(body)).toEqual(['1', '1', '2']);
    expect(body.querySelector('tbody .repeated')!.textContent).toBe('1');
    expect(body.querySelector('thead .repeated')!.textContent).toBe('last');
  });
});

describe('a program', () => {
  it('is shown with marked comments, strings, keywords and numbers', () => {
    const source = `const a = "</code><b>" + 1.5e-3; // if <i>\n/* return\n2 */ x1 = a.return ?? .5`;
    const body = shown(new Part('source-code', { source }));
    expect(body.textContent).toBe(source);
    expect(
      [...body.querySelectorAll('span')].map(({ className, textContent }) => [className, textContent]),
    ).toEqual([
      ['keyword', 'const'],
      ['string', '"</code><b>"'],
      ['number', '1.5e-3'],
      ['comment', '// if <i>'],
      ['comment', '/* return\n2 */'],
      ['number', '.5'],
    ]);
  });

  it('is compared with another one by marking changed lines and omitting equal lines far from them', () => {
    const lines = Array.from({ length: 20 }, (_, i) => `line ${i}\n`);
    const body = shown(
      new Part('text-difference', { left: lines.join(''), right: lines.with(2, 'new\n').join('') }),
    );
    expect(body.querySelector('del')!.textContent).toBe('line 2\n');
    expect(body.querySelector('ins')!.textContent).toBe('new\n');
    expect(body.querySelector('.gap')!.textContent).toContain('unchanged lines');
  });
});
