/** The configs of docs/tutorials/real-model.md, tested without the model. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { buildDataset } from '../../../finetune/dataset/dataset.js';
import { loadTrainConfig } from '../../../finetune/train/train-config.js';
import { packageRoot } from '../../../src/base/package.js';
import { loadConfig } from '../../../src/config/load.js';
import { runExperimentFrom } from '../../support/experiments.js';

const example = join(packageRoot(), 'examples', 'real-model');

it('the real-model example builds a dataset of winners from column prompts; the only alarm is that there are few examples', async () => {
  const { config } = loadConfig({ file: join(example, 'collect.yaml'), overrides: ['iterations=4'] });
  const { path } = await runExperimentFrom(config);
  const { alarms, train } = await buildDataset([{ path, name: path }], {
    recipe: 'improvement',
    winners: 4,
    validation: { kind: 'none' },
    seed: 0,
  });
  expect(alarms.map(({ kind }) => kind)).toEqual(['few']);
  const [{ prompt, completion }] = train as unknown as [
    { prompt: { content: string }[]; completion: string },
  ];
  const [scores, ...columns] = prompt[1]!.content.split('\n');
  expect(scores).toMatch(/^value: 99( \d+){3}$/);
  expect(columns.map((line) => line.replace(/( -?\d\.\d){4}$/, ' …'))).toEqual(
    completion.split(', ').map((part) => part.replace(/ -?\d\.\d$/, ' …')),
  );
});

it('the real-model example trains the model that its tasks use, and its scripts name its files', () => {
  const { model, dataset, output } = loadTrainConfig(join(example, 'train.yaml'));
  expect([model, dataset, output]).toEqual(
    ['model.gguf', 'dataset', 'tuned'].map((name) => join(example, 'work', name)),
  );
  const tasks = readdirSync(join(example, 'tasks'));
  expect(tasks).toHaveLength(4);
  for (const task of tasks) {
    const { config, notes } = loadConfig({ file: join(example, 'tasks', task) });
    expect(notes).toEqual([]);
    expect(config).toMatchObject({ model: { path: model, format: 'constrained' }, candidates: 5 });
  }
  const script = readFileSync(join(example, 'run.sh'), 'utf8');
  for (const name of ['collect.yaml', 'dataset', 'train.yaml', 'tasks', 'evaluation'])
    expect(script).toContain(name);
  const own = readFileSync(join(example, 'own-logs.sh'), 'utf8');
  const named = [...own.matchAll(/[\w-]*tasks\/[\w-]+/g)].map(([path]) => `${path}.yaml`);
  expect(named.filter((path) => existsSync(join(example, path)))).toHaveLength(5);
});
