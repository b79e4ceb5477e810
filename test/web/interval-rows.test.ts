import { expect, it } from 'vitest';
import { intervalRows } from '../../src/web/interval-rows.js';
import { visibleText } from './shown.js';

it('interval rows show each interval in full, and say if there is none', () => {
  const rows = [
    { name: '<b>a', value: 1, interval: [-3, 5] as const, detail: '6 pairs' },
    { name: 'b', value: 2, interval: null },
    { name: 'c', value: null, interval: null },
  ];
  const text = visibleText({ part: intervalRows(rows, { title: 'Difference', line: 0 }) });
  expect(text).toContain('<b>a 1.000 −3.000 … 5.000, 6 pairs');
  expect(text).toMatch(/b 2\.000 no interval c +no result/);
});
