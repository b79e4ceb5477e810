import { describe, expect, it } from 'vitest';
import { arms, common, controls, proposersOf, tasks } from '../../scripts/comparisons/plan.js';
import { comparisonPicture, comparisonReport, type Row } from '../../scripts/comparisons/report.js';
import { budgetOf } from '../../src/config/critic.js';
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

  it('shows which arms hurt, help or make no difference', () => {
    expect(lineOf('critic |')).toMatch(/\*\*−0\.\d\d\*\*/);
    expect(lineOf('portfolio, bandit |')).toMatch(/\*\*\+0\.\d\d\*\*/);
    expect(lineOf('novelty, jitter |')).toMatch(/^\| novelty, jitter \| [+−]?0\.00 \[−/);
    expect(lineOf('novelty, asked again |')).toContain('| – |');
  });

  it('compares baselines with the same number of evaluations, and shows only models that were played', () => {
    expect(text).toContain('### Compared with each baseline: scripted, 60 evaluations');
    expect(
      text.match(/\| portfolio, bandit \| – \| – \| – \| – \| 0\.00 \[0\.00, 0\.00\] \|/),
    ).not.toBeNull();
    expect(text).not.toContain('embedded');
  });

  it('shows each task separately, and which cells lack tasks', () => {
    const some = [...rows, ...seeds.map((seed) => row('scripted', 'plain', 'CartPole', seed, 300))];
    const lines = comparisonReport(some).split('\n');
    expect(lines).toContain('| arm | CartPole | Nim |');
    const critics = lines.filter((line) => line.startsWith('| critic |'));
    expect(critics[0]).toMatch(/\]; 1 of 2 tasks \|$/);
    expect(critics.at(-1)).toMatch(/^\| critic \| – \| \*\*−0\.\d\d\*\* \[−0\.\d\d, −0\.\d\d\] \|$/);
  });

  it('says how many runs ended before their budget was used up', () => {
    expect(text).not.toContain('fewer');
    const [first, ...others] = rows;
    const counted = [{ ...first!, evaluations: 59 }, ...others.map((own) => ({ ...own, evaluations: 60 }))];
    expect(comparisonReport(counted)).toContain('1 tasks × 20 seeds (1 runs ended with fewer evaluations)');
  });

  it('draws an interval for each arm that was played', () => {
    expect(comparisonPicture(rows).match(/r="3.5"/g)).toHaveLength(3);
  });
});

describe('the plan of the comparisons', () => {
  const proposers = Object.entries(proposersOf('model.gguf'));

  it.each(proposers)(
    'gives each arm and baseline the same number of evaluations on every task: %s',
    (_name, proposer) => {
      const { critic, evaluations, iterations, model, overrides } = proposer;
      for (const task of Object.values(tasks)) {
        const all = [
          ...Object.values(arms).map((arm) => [
            ...common(evaluations, iterations),
            ...overrides,
            ...arm.overrides(model(task), critic),
          ]),
          ...controls.map((control) => [...common(evaluations, evaluations), `model.provider=${control}`]),
        ];
        const numbers = all.map((own) => {
          const { config } = loadConfig({ file: task.config, overrides: own });
          return budgetOf(config, config.warmup.policies);
        });
        expect(new Set(numbers)).toEqual(new Set([evaluations]));
      }
    },
  );
});
