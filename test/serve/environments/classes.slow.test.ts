/** Our classes for Gymnasium and Stable-Baselines3, checked by those libraries (pip install gymnasium stable-baselines3). */
import { join, resolve } from 'node:path';
import { expect, it } from 'vitest';
import { built } from '../../support/built.js';
import { hasPackages, python, said } from './python-programs.js';

const present = hasPackages('gymnasium', 'stable_baselines3');
if (!present)
  process.stderr.write(`Python's classes skipped: ${python} has no gymnasium and stable_baselines3\n`);

it.skipIf(!present)(
  'the Python classes pass the checks, match Gymnasium, train to the same weights and explain errors',
  async () => {
    const classes = resolve('src/serve/environments');
    const task = { classes, command: [process.execPath, built('src/cli.js')] };
    const printed = await said([join(import.meta.dirname, 'python', 'classes.py')], task);
    expect(JSON.parse(printed.trim().split('\n').at(-1) ?? '')).toEqual({
      few: 'ValueError: Invalid message: actions: has 1 action for 2 environments',
      range: 'ValueError: Invalid message: actions.1: is out of range for CartPole-v1; expected: 0–1',
      nan: expect.stringMatching(/^ValueError: Invalid JSON: .*numbers must be finite$/),
      many: expect.stringMatching(/^ValueError: .*seeds: must have 1 to 1024 seeds/),
      unknown: expect.stringMatching(
        /^RuntimeError: policyloop ended with exit code 2: .*CartPole has no version v9/,
      ),
      text: expect.stringMatching(/^ValueError: a text world has no numeric spaces/),
      option: expect.stringMatching(/exit code 2: .*size/s),
      early: expect.stringMatching(/^ValueError: reset the environments first/),
      late: expect.stringMatching(/^ValueError: the episode of environment 0 has ended/),
      closed: expect.stringMatching(/closed/),
    });
  },
  600_000,
);
