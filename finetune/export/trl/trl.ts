/** Exports a training config for TRL: the rows, a training script and a Slurm job, for models too large for this machine. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { UserError } from '../../../src/base/errors.js';
import { writeWhole } from '../../../src/base/files/draft.js';
import { plural } from '../../../src/base/text/numbers.js';
import { requireOneLine } from '../../../src/base/text/one-line.js';
import { trlDpoRow, trlSftRow } from '../../dataset/export-rows.js';
import { readStoredDataset, type StoredExample } from '../../dataset/read-dataset.js';
import { requireNewDirectory, writeRows } from '../../dataset/write-dataset.js';
import type { TrainConfig } from '../../train/train-config.js';
import { trlSettings } from './settings.js';
import { jobScript, trainingScript } from './texts.js';

export interface WrittenTrl {
  readonly trainer: 'sft' | 'dpo';
  readonly examples: { readonly train: number; readonly validation: number };
  /** How training differs from `finetune train`. */
  readonly warnings: readonly string[];
}

/**
 * @param model the base model on the other machine: a path there, or a name on the Hub
 * @throws UserError, before writing anything, if the directory isn't new or empty, or TRL can't train this
 */
export function writeTrl(config: TrainConfig, model: string, out: string): WrittenTrl {
  requireNewDirectory(out);
  requireOneLine(model, '--model');
  const dataset = readStoredDataset(config.dataset);
  const trainer = dataset.kind === 'imitation' ? 'sft' : 'dpo';
  // TRL ignores weights, so it would imitate examples that should become less likely.
  const learnable = (examples: readonly StoredExample[]) => examples.filter(({ weight }) => weight > 0);
  const [train, validation] = [learnable(dataset.train), learnable(dataset.validation)];
  if (train.length === 0)
    throw new UserError({
      field: 'dataset',
      message: 'no example has a weight above 0',
      value: config.dataset,
    });
  const script = trainingScript(trainer, model, trlSettings(config, trainer, validation.length > 0));
  writeWhole(out, (draft) => {
    mkdirSync(join(draft, 'data'), { recursive: true });
    writeRows(join(draft, 'data', 'train.jsonl'), rowsOf(train, config));
    if (validation.length > 0) writeRows(join(draft, 'data', 'validation.jsonl'), rowsOf(validation, config));
    writeFileSync(join(draft, 'train.py'), script);
    writeFileSync(join(draft, 'job.sh'), jobScript);
  });
  const excluded = dataset.train.length + dataset.validation.length - train.length - validation.length;
  return {
    trainer,
    examples: { train: train.length, validation: validation.length },
    warnings: warningsOf(config, train, excluded),
  };
}

/** `{prompt, completion}` or `{prompt, chosen, rejected}`, with the variables of the chat template if there are any. */
function rowsOf(examples: readonly StoredExample[], { template }: TrainConfig): readonly object[] {
  const variables = Object.keys(template).length > 0 && { chat_template_kwargs: template };
  return examples.map((example) => ({
    ...(example.kind === 'imitation' ? trlSftRow(example) : trlDpoRow(example)),
    ...variables,
  }));
}

function warningsOf(
  { method, patience }: TrainConfig,
  train: readonly StoredExample[],
  excluded: number,
): readonly string[] {
  const warnings = [
    train.some(({ weight }) => weight !== train[0]!.weight) && "TRL ignores the examples' weights",
    excluded > 0 && `excluded ${plural(excluded, 'example')} with a weight of 0 or less`,
    method.kind === 'lora' &&
      method.quantization !== 'none' &&
      `train.py doesn't quantize the base model (method.quantization=${method.quantization}), so use the adapter without model.quantization`,
    patience !== undefined && 'train.py runs all epochs: it has no patience',
  ];
  return warnings.filter((warning) => warning !== false);
}
