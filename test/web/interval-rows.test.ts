import { expect, it } from 'vitest';
import { render } from '../../src/base/text/html.js';
import { intervalRows } from '../../src/web/interval-rows.js';
import { elementsOf, visibleText } from './report/markup.js';

const rows = [
  { name: '<b>a', value: 1, interval: [-3, 5] as const, detail: '6 pairs' },
  { name: 'b', value: 2, interval: null },
  { name: 'c', value: null, interval: null },
];

it('interval rows show each interval in full, and say if there is none', () => {
  const markup = render(intervalRows(rows, { title: 'Difference', line: 0 }));
  const lines = elementsOf(markup).filter(({ attributes }) => attributes.y1 === '12');
  expect(lines.map(({ attributes }) => [attributes.x1, attributes.x2])).toEqual([['0%', '100%']]);
  expect(elementsOf(markup).filter(({ name }) => name === 'circle')).toHaveLength(2);
  const text = visibleText(markup);
  expect(text).toContain('<b>a');
  expect(text).toContain('−3.000 … 5.000, 6 pairs');
  expect(text).toMatch(/b 2\.000 no interval c no result/);
});

it('interval rows have an axis even for a single value, and for none', () => {
  for (const value of [0, 7, null]) {
    const markup = render(intervalRows([{ name: 'a', value, interval: null }], { title: 'Value' }));
    expect(markup).not.toContain('NaN');
    expect(elementsOf(markup).filter(({ name }) => name === 'text').length).toBeGreaterThan(1);
  }
});
