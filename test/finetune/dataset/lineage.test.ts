import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { execute as datasetCommand } from '../../../finetune/commands/dataset.js';
import {
  contentHash,
  datasetLineage,
  lineageFile,
  readLineage,
  trainedEnvironments,
  trainingLineage,
  writeLineage,
} from '../../../finetune/dataset/lineage.js';
import { recordingContext, temporaryDirectory } from '../../support/experiments.js';
import { played } from './runs.js';

const place = temporaryDirectory();
const path = (...parts: readonly string[]) => join(place, ...parts);

/** A directory with content that can be hashed. */
function weights(name: string, content = name): string {
  mkdirSync(path(name), { recursive: true });
  writeFileSync(path(name, 'model.safetensors'), content);
  return path(name);
}

beforeAll(async () => {
  await played({ seed: 1 }, { root: path('buffers'), name: 'a' });
  await played({ seed: 2, environment: 'MountainCarContinuous-v0' }, { root: path('buffers'), name: 'b' });
  await datasetCommand(
    {
      runs: ['buffers/*'],
      runsDir: 'buffers',
      recipe: 'weighted',
      out: path('data'),
      validation: 'MountainCarContinuous-v0',
      format: 'jsonl',
      seed: 0,
      json: true,
    },
    recordingContext(place).context,
  );
});

const outcome = { ended: 'complete', step: 3, best: { step: 2, loss: 1.5 } };
const trained = (model: string, changes: Partial<Parameters<typeof trainingLineage>[0]> = {}) =>
  trainingLineage({
    method: 'lora',
    model,
    dataset: datasetLineage(path('data')),
    config: { epochs: 3, model },
    outcome,
    ...changes,
  });

describe('the lineage of a trained model', () => {
  it('records base, dataset, config and outcome, and reads back as written', () => {
    const lineage = trained(weights('base'));
    writeLineage(path('tuned'), lineage);
    expect(readLineage(path('tuned'))).toEqual(lineage);
    expect(lineage).toMatchObject({
      method: 'lora',
      base: { model: path('base'), hash: contentHash(path('base')), lineage: null },
      dataset: { recipe: 'weighted', changed: false },
      config: { epochs: 3 },
      outcome,
    });
    expect(lineage.dataset.sources?.map(({ environment, split }) => [environment, split])).toEqual([
      ['CartPole-v1', 'train'],
      ['MountainCarContinuous-v0', 'validation'],
    ]);
  });

  it('lists the environments that the weights were trained on, but no validation environments', () => {
    const first = trained(weights('base'));
    expect(trainedEnvironments(first)).toEqual(['CartPole-v1']);
    const other = { environment: 'Acrobot-v1', split: 'train' } as const;
    const sources = first.dataset.sources!.map((source) => ({ ...source, ...other }));
    writeLineage(weights('middle'), { ...first, dataset: { ...first.dataset, sources } });
    expect(trainedEnvironments(trained(path('middle')))).toEqual(['Acrobot-v1', 'CartPole-v1']);
    // Random weights have forgotten what their directory's model had learned.
    expect(trainedEnvironments(trained(path('middle'), { method: 'scratch' }))).toEqual(['CartPole-v1']);
  });

  it('leaves the environments unknown if the dataset has no manifest', () => {
    mkdirSync(path('rows'));
    writeFileSync(path('rows', 'train.jsonl'), '{}\n');
    const lineage = trained(weights('base'), { dataset: datasetLineage(path('rows')) });
    expect(lineage.dataset).toMatchObject({ recipe: null, sources: null, changed: false });
    expect(trainedEnvironments(lineage)).toBeUndefined();
  });

  it('shows whether rows were edited after the dataset was made', () => {
    mkdirSync(path('edited'));
    for (const name of ['manifest.json', 'train.jsonl', 'validation.jsonl']) {
      writeFileSync(path('edited', name), readFileSync(path('data', name)));
    }
    expect(datasetLineage(path('edited')).changed).toBe(false);
    writeFileSync(path('edited', 'train.jsonl'), '{}\n');
    expect(datasetLineage(path('edited')).changed).toBe(true);
  });

  it('is rejected if damaged, with an error that names the file', () => {
    expect(readLineage(weights('none'))).toBeUndefined();
    writeFileSync(join(weights('broken'), lineageFile), '{');
    expect(() => readLineage(path('broken'))).toThrow(/training\.json: not valid JSON/);
    writeFileSync(path('broken', lineageFile), JSON.stringify({ ...trained(path('base')), dataset: 3 }));
    expect(() => readLineage(path('broken'))).toThrow(/training\.json: dataset: damaged: /);
  });
});

describe('contentHash', () => {
  it('depends on the weights, not on the lineage next to them', () => {
    const before = contentHash(weights('one', 'abc'));
    expect(contentHash(weights('two', 'abc'))).toBe(before);
    expect(contentHash(weights('three', 'abd'))).not.toBe(before);
    writeLineage(path('one'), trained(path('base')));
    mkdirSync(path('one', '.policyloop'));
    expect(contentHash(path('one'))).toBe(before);
  });
});
