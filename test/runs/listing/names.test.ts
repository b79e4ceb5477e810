import { mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { UserError } from '../../../src/base/errors.js';
import { findItem, findPaths, findRun, findRuns } from '../../../src/runs/listing/names.js';
import { temporaryDirectory } from '../../support/experiments.js';
import { writeRun } from '../../support/written-runs.js';

const cwd = temporaryDirectory();
const at = (...path: readonly string[]) => join(cwd, 'buffers', ...path);
const cart = ['cart-1', 'cart-2'].map((name) => writeRun(at(name), { seed: 1 }));
const other = writeRun(at('other'), { seed: 1 });
const repeat = writeRun(at('repeated', 'repeat-1'), { seed: 1 });
const played = writeRun(at('study', 'pole', 'random-01'), { seed: 1 });
writeFileSync(at('study', 'plan.json'), '{}');
mkdirSync(at('no-run'));
const all = [...cart, other, repeat, played];

const places = { cwd, runsDir: 'buffers' };
const find = (...names: string[]) => findRuns(names, places);

it('findRuns finds runs by path, name, directory or pattern, relative to the working or the runs directory', () => {
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

it('findRuns gives each run once, in the order of the given names', () => {
  expect(find('other', 'buffers/cart-1', 'cart-*')).toEqual([other, ...cart]);
  symlinkSync(other, at('zzz-link'));
  expect(find('other', 'zzz-link')).toHaveLength(1);
});

it('findRuns explains why a name matches no run', () => {
  expect(() => find('none-*')).toThrow(/^no run matches none-\*\n.*hint: list your runs/);
  expect(() => find('status=none')).toThrow(
    /^no such run: status=none\n.*hint: only policyloop list accepts filters/,
  );
  expect(() => find(at('no-run'))).toThrow(/contains no run/);
});

it('findRun finds a single run', () => {
  expect(findRun('other', places)).toBe(other);
  expect(findRun('buffers/other', places)).toBe(other);
  expect(() => findRun('none', places)).toThrow(/^no such run: none\n/);
  expect(() => findRun('study', places)).toThrow(UserError);
});

/** The first line of what is wrong, and the candidates. */
function problemOf(find: () => unknown) {
  try {
    find();
  } catch (error) {
    if (error instanceof UserError) return error.problems[0]!;
  }
  throw new Error('a name was taken that means nothing, or several');
}

describe('names that are not paths', () => {
  const home = temporaryDirectory();
  const here = { cwd: home, runsDir: 'buffers' };
  const inside = (...path: readonly string[]) => join(home, 'buffers', ...path);
  // Numbers go by the time at which runs began.
  const write = (path: string, day: number) => {
    writeRun(path, { seed: day });
    const file = join(path, 'manifest.json');
    const manifest = JSON.parse(readFileSync(file, 'utf8')) as object;
    writeFileSync(file, JSON.stringify({ ...manifest, created: `2026-01-0${day}T00:00:00.000Z` }));
    return path;
  };
  const zebra = write(inside('zebra'), 1);
  const carts = [2, 3].map((day) => write(inside(`cart-${day}`), day));
  const study = inside('study-1');
  const inStudy = ['random-01', 'cma-es-01'].map((name, i) => write(join(study, 'pole', name), 5 + i));
  writeFileSync(join(study, 'plan.json'), '{}');
  const repeats = inside('repeated');
  const repeated = [1, 2].map((n) => write(join(repeats, `repeat-${n}`), 6 + n));
  const training = join(home, 'tuned', 'small');
  mkdirSync(join(training, 'adapter'), { recursive: true });
  const about = {
    method: 'lora',
    base: { model: 'm' },
    dataset: { path: 'd' },
    config: {},
    outcome: { ended: 'steps', step: 1 },
  };
  writeFileSync(join(training, 'training.json'), JSON.stringify(about));

  it('can be latest, a number in the list, or the start of a name', () => {
    expect(findRun('latest', here)).toBe(repeated[1]);
    expect(findRun('1', here)).toBe(zebra);
    expect(findRun('3', here)).toBe(carts[1]);
    expect(findRun('ze', here)).toBe(zebra);
    expect(findRun('study-1/pole/c', here)).toBe(inStudy[1]);
    expect(findRun('cma', here)).toBe(inStudy[1]);
    expect(findRun('cart-2*', here)).toBe(carts[0]);
    expect(findRuns(['4'], here)).toEqual(inStudy.toSorted());
    expect(findRuns(['study', 'latest'], here)).toEqual([...inStudy.toSorted(), repeated[1]]);
    expect(findRuns(['repeated', '6'], here)).toEqual(repeated);
  });

  it('match training runs if a command accepts them', () => {
    const kinds = ['run', 'training'] as const;
    expect(findItem('small', here, kinds)).toEqual({ kind: 'training', path: training });
    expect(findItem('sm', here, kinds)).toEqual({ kind: 'training', path: training });
    expect(findItem('7', here, kinds)).toEqual({ kind: 'training', path: training });
    expect(findItem('ze', here, kinds)).toEqual({ kind: 'run', path: zebra });
    expect(() => findRun('small', here)).toThrow(/contains a training run, not an experiment/);
    expect(findPaths('*', here).toSorted()).toEqual([...carts, zebra, repeats, study].toSorted());
  });

  it('match an exact name before a number in the list', () => {
    const called = write(inside('3'), 9);
    expect(findRun('3', here)).toBe(called);
    rmSync(called, { recursive: true });
    expect(findRun('3', here)).toBe(carts[1]);
  });

  it('are rejected if they match nothing, or several items, which are listed', () => {
    expect(problemOf(() => findRun('cart', here))).toMatchObject({
      message: 'this name matches 2 runs or directories; choose one',
      alternatives: ['cart-2', 'cart-3'],
    });
    expect(problemOf(() => findRuns(['cart'], here)).alternatives).toEqual(['cart-2', 'cart-3']);
    expect(() => findRun('cart-*', here)).toThrow('this pattern matches 2 runs or directories; choose one');
    expect(problemOf(() => findRun('4', here))).toMatchObject({
      message: 'this is a directory; choose a run in it',
      alternatives: ['study-1/pole/cma-es-01', 'study-1/pole/random-01'],
    });
    expect(problemOf(() => findRun('zbra', here)).near).toBe('zebra');
    expect(problemOf(() => findRun('99', here)).message).toBe('no such run: 99');
    expect(() => findRun('latest', { cwd: home, runsDir: 'elsewhere' })).toThrow('no such run: latest');
    expect(problemOf(() => findRun('study-1/random', here)).alternatives).toEqual(['study-1/pole']);
  });
});
