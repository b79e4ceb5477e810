import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { UserError } from '../../src/base/errors.js';
import { findRun, findRuns } from '../../src/runs/finder.js';
import { temporaryDirectory } from '../support/experiments.js';
import { writeRun } from '../support/written-runs.js';

const cwd = temporaryDirectory();
const at = (...path: readonly string[]) => join(cwd, 'buffers', ...path);
const cart = ['cart-1', 'cart-2'].map((name) => writeRun(at(name), { seed: 1 }));
const other = writeRun(at('other'), { seed: 1 });
const repeat = writeRun(at('repeated', 'repeat-1'), { seed: 1 });
writeFileSync(
  at('repeated', 'group.json'),
  JSON.stringify({ version: 1, seeds: [0, 1], runs: ['repeat-1', 'repeat-2'] }),
);
const played = writeRun(at('study', 'pole', 'random-01'), { seed: 1 });
writeFileSync(at('study', 'plan.json'), '{}');
mkdirSync(at('no-run'));
const all = [...cart, other, repeat, played];

const places = { cwd, runsDir: 'buffers' };
const find = (...names: string[]) => findRuns(names, places);

it('finds runs by path, by name, by directory and by pattern, from here or the runs directory', () => {
  expect(find('buffers/cart-1')).toEqual([cart[0]]);
  expect(find('cart-1')).toEqual([cart[0]]);
  expect(find(other)).toEqual([other]);
  expect(find('buffers/cart-*')).toEqual(cart);
  expect(find('cart-?')).toEqual(cart);
  expect(find('**')).toEqual(all);
  expect(find('./buffers/../buffers/*')).toEqual(all);
  expect(find('buffers')).toEqual(all);
  expect(find('repeated')).toEqual([repeat]);
  expect(find('study')).toEqual([played]);
});

it('gives each run once, in the order of the names', () => {
  expect(find('other', 'buffers/cart-1', 'cart-*')).toEqual([other, ...cart]);
  symlinkSync(other, at('zzz-link'));
  expect(find('other', 'zzz-link')).toHaveLength(1);
});

it('says what is wrong with a name that means no run', () => {
  expect(() => find('none-*')).toThrow(UserError);
  expect(() => find('none-*')).toThrow(/no run matches this pattern/);
  expect(() => find('none')).toThrow(/no such run/);
  expect(() => find(at('no-run'))).toThrow(/holds no run/);
});

it('finds the one run, or the repeats, that a command works on', () => {
  expect(findRun('other', places)).toBe(other);
  expect(findRun('buffers/other', places)).toBe(other);
  expect(findRun('repeated', places)).toBe(at('repeated'));
  expect(() => findRun('none', places)).toThrow(/there is no such run/);
  expect(() => findRun('study', places)).toThrow(UserError);
});
