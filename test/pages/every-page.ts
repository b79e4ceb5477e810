/** A page of each kind, with names as long as people give them, written to files. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Arm } from '../../finetune/evaluate/arms.js';
import { evaluate } from '../../finetune/evaluate/evaluate.js';
import { readFigures } from '../../finetune/evaluate/evaluation.js';
import { evaluationPage } from '../../finetune/evaluate/page.js';
import type { TrainingEvent } from '../../finetune/train/events.js';
import { createEventMeter, TrainingRecord } from '../../finetune/train/record.js';
import { trainConfigSchema } from '../../finetune/train/train-config.js';
import { baselineArm } from '../../src/config/baselines.js';
import { parseConfig } from '../../src/config/load.js';
import { createSample } from '../../src/runs/training/samples.js';
import { readComparedRuns } from '../../src/studies/comparison/compared-runs.js';
import { comparisonPage } from '../../src/studies/comparison/page.js';
import { compareGroups } from '../../src/studies/comparison/run-comparison.js';
import { groupRuns } from '../../src/studies/comparison/run-groups.js';
import { sweepPage } from '../../src/studies/sweep/sweep-page.js';
import { pageHtml } from '../../src/web/page.js';
import { renderReport } from '../../src/web/report/run-report.js';
import { fileContext } from '../../src/web/study.js';
import { drawnResult, gridResult } from '../studies/sweep/sweeps.js';
import { tickingClock } from '../support/experiments.js';
import { writeRun } from '../support/written-runs.js';
import { frozenLake, runFixture } from '../web/report/run-fixture.js';

const long = 'a-very-long-model-name:32b-instruct-q4_K_M-日本語';
const seeds = [1, 2, 3, 4, 5, 6];

/** Names of the pages with the files that they stand in, below `place`. */
export async function everyPage(place: string): Promise<Readonly<Record<string, string>>> {
  const pages = {
    'a run of a linear policy': renderReport(runFixture({ iterations: 120, failureRate: 0.4 })),
    'a run of a Q-table': renderReport(
      runFixture({ task: frozenLake, iterations: 40, reason: long.repeat(9) }),
    ),
    'a comparison': comparison(join(place, 'compared')),
    'an evaluation': evaluation(join(place, 'evaluated')),
    'a sweep': pageHtml(
      sweepPage(
        gridResult((rate, size, seed) => rate * size + ((seed * 7) % 5)),
        fileContext,
      ),
    ),
    'a sweep of drawn values': pageHtml(sweepPage(drawnResult(), fileContext)),
    'a training that goes on': await training(join(place, 'training'), false),
    'a finished training': await training(join(place, 'trained'), true),
  };
  return Object.fromEntries(
    Object.entries(pages).map(([name, page]) => {
      const file = join(place, `${name.replaceAll(' ', '-')}.html`);
      writeFileSync(file, page);
      return [name, file];
    }),
  );
}

/** More groups than there are colours, on two tasks, with targets, tokens and costs: every column that there is. */
function comparison(place: string): string {
  const tasks = ['CartPole-v1', 'FrozenLake-v1'];
  const paths = tasks.flatMap((environment) =>
    Array.from({ length: 10 }, (_, group) =>
      seeds.map((seed) =>
        writeRun(join(place, `${environment}-${group}`, `repeat-${seed}`), {
          seed,
          confirmed: (environment === 'CartPole-v1' ? 100 : 0.1) * (1 + ((seed * 7 + group * 3) % 5)),
          scores: Array.from({ length: 40 }, (_, i) => ((seed + group + i * i) % 97) / 100),
          config: { environment, target: 0.5 },
          model: `openai/${long}-${group}`,
          tokens: 123_456,
          cost: 1.2345,
        }),
      ),
    ).flat(),
  );
  const { runs } = readComparedRuns(paths);
  const groups = groupRuns(runs, ['model']);
  const leftOut = [{ run: `buffers/${long}/repeat-7`, reason: 'crashed after 3 iterations' }];
  const facts = { by: ['model'], target: undefined, leftOut, nameOf: (path: string) => path };
  return pageHtml(comparisonPage(compareGroups(groups, facts), groups, fileContext));
}

function evaluation(place: string): string {
  const names = ['base', 'tuned', 'cma-es'] as const;
  const arms = names.map(
    (name): Arm => ({ ...baselineArm('random'), name, label: long, hash: 'abc'.repeat(9) }),
  );
  const config = parseConfig({ environment: 'CartPole-v1', model: { provider: 'random' } });
  const experiments = ['cartpole-of-a-very-long-name-numeric', 'pole', 'third', 'fourth'].map((name) => ({
    name,
    configs: Object.fromEntries(names.map((arm) => [arm, config])),
  }));
  const runs = experiments.flatMap(({ name: experiment }, e) =>
    names.flatMap((arm, a) =>
      seeds.map((seed, repeat) => {
        const path = join(experiment, `${arm}-${seed}`);
        writeRun(join(place, path), { seed, confirmed: 50 + ((seed * 13 + a * 29 + e * 7) % 40) });
        return { experiment, arm, repeat, path, figures: readFigures(join(place, path)) };
      }),
    ),
  );
  const evaluated = evaluate({ arms, experiments, seeds }, runs, { kind: 'stated', environments: [] });
  return pageHtml(evaluationPage(evaluated, fileContext));
}

async function training(output: string, isFinished: boolean): Promise<string> {
  mkdirSync(output, { recursive: true });
  const config = trainConfigSchema.parse({ model: `/models/${long}`, dataset: 'data', output });
  const about = {
    method: 'lora',
    base: { model: config.model },
    config,
    folder: output,
    command: `policyloop finetune train tune.yaml model=models/${long}`,
    outcome: { ended: 'running', step: 0 },
    dataset: {
      path: `/datasets/${long.repeat(3)}`,
      recipe: 'weighted',
      sources: [],
      changed: true,
      files: { 'train.jsonl': 'abc'.repeat(20) },
    },
  };
  const record = Object.assign(new TrainingRecord(output), { about });
  let milliseconds = 0;
  const measured = createEventMeter({
    now: tickingClock(),
    milliseconds: () => milliseconds,
    memory: () => 2 ** 31,
  });
  const totalSteps = 200;
  const split = { examples: 40, tokens: 4000 };
  const add = (event: TrainingEvent) => {
    milliseconds += 6000;
    record.add(measured(event));
  };
  add({ kind: 'start', step: 0, totalSteps, parameters: 9, training: split, validation: split });
  for (let step = 1; step <= (isFinished ? totalSteps : 90); step++) {
    const rest = { gradientNorm: 2, learningRate: 1e-4, tokens: 100 };
    add({ kind: 'step', step, totalSteps, loss: 2 / step, ...rest });
    if (step % 40 !== 0) continue;
    record.addSamples(step, [createSample([{ prompt: long.repeat(20), reply: long }], { score: step })]);
    add({ kind: 'validation', step, loss: 3 / step, best: true });
  }
  // What a reader sees while it goes on, before it ends.
  const followed = readFileSync(join(output, 'index.html'), 'utf8');
  await record.end({ outcome: { ended: isFinished ? 'complete' : 'interrupted', step: 90 } });
  return isFinished ? readFileSync(join(output, 'index.html'), 'utf8') : followed;
}
