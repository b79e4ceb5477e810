/** Exports a config for TRL: rows, a training script and a Slurm job, for models too large for this machine. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { UserError } from '../../../src/base/errors.js';
import { writeAtomic } from '../../../src/base/files/draft.js';
import { plural } from '../../../src/base/text/numbers.js';
import { requireOneLine } from '../../../src/base/text/one-line.js';
import { readConversations, readPairs } from '../../dataset/read-dataset.js';
import { requireNewDirectory, trlDpoRow, trlSftRow, writeRows } from '../../dataset/write-dataset.js';
import type { TrainConfig } from '../../train/train-config.js';
import { trlSettings } from './settings.js';
import { jobScript, trainingScript } from './texts.js';

export interface WrittenTrl {
  readonly trainer: 'sft' | 'dpo';
  readonly examples: { readonly train: number; readonly validation: number };
  /** Differences from training with `finetune train`. */
  readonly warnings: readonly string[];
}

/**
 * @param model the base model on the machine that trains: a path there, or a name on the Hub
 * @throws UserError, before writing anything, if the directory isn't empty, or TRL can't use the config or the dataset
 */
export function writeTrl(config: TrainConfig, model: string, out: string): WrittenTrl {
  requireNewDirectory(out);
  requireOneLine(model, '--model');
  const [train, validation] = [rowsOf(config, 'train'), rowsOf(config, 'validation')];
  const message = 'no example has a weight above 0';
  if (train.rows.length === 0) throw new UserError({ field: 'dataset', message, value: config.dataset });
  const trainer = config.objective.kind;
  const examples = { train: train.rows.length, validation: validation.rows.length };
  const script = trainingScript(trainer, model, trlSettings(config, trainer, examples));
  writeAtomic(out, (draft) => {
    mkdirSync(join(draft, 'data'), { recursive: true });
    for (const [split, { rows }] of Object.entries({ train, validation }))
      if (rows.length > 0) writeRows(join(draft, 'data', `${split}.jsonl`), rows);
    writeFileSync(join(draft, 'train.py'), script);
    writeFileSync(join(draft, 'job.sh'), jobScript);
  });
  const warnings = warningsOf(config, train.weights, train.excludedCount + validation.excludedCount);
  return { trainer, examples, warnings };
}

/** Excludes examples with a weight of 0 or less, because TRL ignores weights and would imitate them. */
function rowsOf({ dataset, objective, template }: TrainConfig, split: 'train' | 'validation') {
  const examples =
    objective.kind === 'dpo'
      ? readPairs(dataset, split).map((pair) => ({ weight: pair.weight, row: trlDpoRow(pair) }))
      : readConversations(dataset, split).map(({ messages: prompt, completion, weight }) => {
          return { weight, row: trlSftRow({ prompt, completion }) };
        });
  const includedExamples = examples.filter(({ weight }) => weight > 0);
  const variables = Object.keys(template).length > 0 && { chat_template_kwargs: template };
  return {
    rows: includedExamples.map(({ row }) => ({ ...row, ...variables })),
    weights: includedExamples.map(({ weight }) => weight),
    excludedCount: examples.length - includedExamples.length,
  };
}

function warningsOf(
  { limits, method, patience }: TrainConfig,
  weights: readonly number[],
  excludedCount: number,
): readonly string[] {
  const warnings = [
    weights.some((weight) => weight !== weights[0]) && "TRL ignores the examples' weights",
    excludedCount > 0 && `excluded ${plural(excludedCount, 'example')} with a weight of 0 or less`,
    method.kind === 'lora' &&
      method.quantization !== 'none' &&
      `train.py doesn't quantise the base model (method.quantization=${method.quantization}), so use the adapter without model.quantization`,
    patience !== undefined && 'train.py runs all epochs: it ignores patience',
    limits.minutes !== undefined && 'train.py ignores limits.minutes: set the time in job.sh',
  ];
  return warnings.filter((warning) => warning !== false);
}
