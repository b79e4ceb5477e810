import { expect, it } from 'vitest';
import { spread } from '../../src/base/spread.js';

it('spread selects evenly spaced items that include the last', () => {
  const list = [0, 1, 2, 3, 4, 5, 6];
  expect(spread(list, 3)).toEqual([0, 3, 6]);
  expect(spread(list, 7)).toEqual(list);
  expect(spread(list, 20)).toEqual(list);
  expect(spread(list, 1)).toEqual([6]);
});
