/** Renders the current page of a training run from the files in its directory. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { type RecordedTraining, readTraining } from '../../../src/runs/training/trainings.js';
import { trainingFiles } from '../../../src/runs/training-files.js';
import { readOwnJson } from '../../../src/storage/files.js';
import { readJsonLines } from '../../../src/storage/json-lines.js';
import type { Page } from '../../../src/web/page.js';
import { datasetSchema } from '../../dataset/lineage.js';
import { paceOf } from '../../train/pace.js';
import type { TrainingStatus } from '../../train/page-frame.js';
import { secondsLeftOf } from '../../train/record.js';
import { trainConfigSchema } from '../../train/train-config.js';
import type { Metric } from '../../train/trainer.js';
import { supervisedPage } from '../../train/training-page.js';
import type { RlMetric } from '../events.js';
import { type NumericConfig, numericKind } from '../numeric/numeric-config.js';
import { numericPage } from '../numeric/numeric-page.js';
import type { NumericMetric } from '../numeric/train-numeric.js';
import { proposerKind } from '../proposer/proposer-config.js';
import { type LearningConfig, rlKind } from '../rl-config.js';
import { rlPage } from '../rl-page.js';

/** Fields of `training.json`, which is untrusted input. */
interface About {
  readonly config?: Readonly<Record<string, unknown>>;
  readonly dataset?: unknown;
}

/** Undefined if there are no metrics, or this version can't read the settings. @throws UserError for damaged files */
export function shownTraining(path: string): Page | undefined {
  const facts = readTraining(path);
  const { config = {}, dataset } = readOwnJson(join(path, trainingFiles.about)) as About;
  const lines = readJsonLines<unknown>(join(path, trainingFiles.metrics), { repair: false }) ?? [];
  if (lines.length === 0) return undefined;
  const command = facts.command ?? 'the command that started it';
  if (config.algorithm !== undefined && numericKind.schema.safeParse(config).success) {
    const metrics = lines as readonly NumericMetric[];
    const status = statusOf(facts, secondsLeftOf(metrics));
    return numericPage({ command, config: config as unknown as NumericConfig, metrics, status });
  }
  if (config.updates !== undefined) {
    const kind = config.tasks === undefined ? rlKind : proposerKind;
    if (!kind.schema.safeParse(config).success) return undefined;
    const metrics = lines as readonly RlMetric[];
    const status = statusOf(facts, secondsLeftOf(metrics));
    return rlPage({ command, config: config as unknown as LearningConfig, metrics, status });
  }
  const settings = trainConfigSchema.safeParse(config);
  const made = datasetSchema.safeParse(dataset);
  if (!settings.success || !made.success || settings.data.output === undefined) return undefined;
  const metrics = lines as readonly Metric[];
  return supervisedPage({
    ...{ command, dataset: made.data, metrics },
    config: { ...settings.data, output: settings.data.output },
    status: statusOf(facts, paceOf(metrics, settings.data).secondsLeft),
  });
}

function statusOf(facts: RecordedTraining, secondsLeft: number | undefined): TrainingStatus {
  const { note, path, status, steps } = facts;
  switch (status) {
    case 'running':
    case 'paused':
      return { kind: 'running', secondsLeft };
    case 'crashed':
    case 'interrupted':
      return { kind: status };
    case 'failed':
      return { kind: 'failed', message: note ?? 'no details recorded' };
    case 'completed': {
      const results = ['adapter', 'model', 'policy'].map((name) => join(path, name));
      const result = results.find((one) => existsSync(one)) ?? path;
      return { kind: steps.done < steps.of ? 'early' : 'complete', result };
    }
  }
}
