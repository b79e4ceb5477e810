import { describe, expect, it } from 'vitest';
import { arms, common, controls, proposersOf, tasks } from '../../scripts/comparisons/plan.js';
import { comparisonPicture, comparisonReport, type Row } from '../../scripts/comparisons/report.js';
import { evaluationsOf } from '../../src/config/critic.js';
import { loadConfig } from '../../src/config/load.js';

const seeds = Array.from({ length: 20 }, (_, i) => i);
const row = (who: string, arm: string, task: string, seed: number, value: number): Row => ({
  ...{ with: who, arm, task, seed },
  return: value,
});
/** On Nim, whose returns are from −1 to 1: a critic costs 0.4, a portfolio brings as much, novelty is as good as nothing. */
const rows: readonly Row[] = seeds.flatMap((seed) => [
  row('scripted', 'plain', 'Nim', seed, 0.5),
  row('scripted', 'critic', 'Nim', seed, 0.1),
  row('scripted', 'portfolio-bandit', 'Nim', seed, 0.9),
  row('scripted', 'novelty-jitter', 'Nim', seed, seed % 2 === 0 ? 0.6 : 0.4),
  row('60', 'gp', 'Nim', seed, 0.9),
  row('12', 'gp', 'Nim', seed, -1),
]);

describe('the report of the comparisons', () => {
  const text = comparisonReport(rows);
  const lineOf = (start: string) => text.split('\n').find((line) => line.startsWith(`| ${start}`))!;

  it('tells what hurts, what helps, and what does neither', () => {
    expect(lineOf('critic |')).toMatch(/\*\*−0\.\d\d\*\*/);
    expect(lineOf('portfolio, bandit |')).toMatch(/\*\*\+0\.\d\d\*\*/);
    expect(lineOf('novelty, jitter |')).toMatch(/^\| novelty, jitter \| [+−]?0\.00 \[−/);
    expect(lineOf('novelty, asked again |')).toContain('| – |');
  });

  it('takes controls of as many evaluations, and shows played models alone', () => {
    expect(text).toContain('### Minus each control: scripted, 60 evaluations');
    expect(
      text.match(/\| portfolio, bandit \| – \| – \| – \| – \| 0\.00 \[0\.00, 0\.00\] \|/),
    ).not.toBeNull();
    expect(text).not.toContain('embedded');
  });

  it('tells each task by itself, and which cells lack some', () => {
    const some = [...rows, ...seeds.map((seed) => row('scripted', 'plain', 'CartPole', seed, 300))];
    const lines = comparisonReport(some).split('\n');
    expect(lines).toContain('| arm | CartPole | Nim |');
    const critics = lines.filter((line) => line.startsWith('| critic |'));
    expect(critics[0]).toMatch(/\]; 1 of 2 tasks \|$/);
    expect(critics.at(-1)).toMatch(/^\| critic \| – \| \*\*−0\.\d\d\*\* \[−0\.\d\d, −0\.\d\d\] \|$/);
  });

  it('draws an interval for each arm that was played', () => {
    expect(comparisonPicture(rows).match(/r="3.5"/g)).toHaveLength(3);
  });
});

describe('the plan of the comparisons', () => {
  const { scripted } = proposersOf(undefined);

  it.each(Object.keys(tasks))('%s: each arm and control has the same number of evaluations', (name) => {
    const task = tasks[name]!;
    const { evaluations, model, overrides } = scripted!;
    const numbers = [
      ...Object.values(arms).map((arm) => arm.overrides(model(task), evaluations, '{}')),
      ...controls.map((control) => [`model.provider=${control}`, `iterations=${evaluations - 4}`]),
    ].map((own) => {
      const { config } = loadConfig({
        file: task.config,
        overrides: [...common(evaluations), ...overrides, ...own],
      });
      return config.warmup.policies + evaluationsOf(config);
    });
    expect(new Set(numbers)).toEqual(new Set([evaluations]));
  });
});
