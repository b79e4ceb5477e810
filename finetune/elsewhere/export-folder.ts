/** A folder with which a training runs elsewhere, by TRL: for models that outgrow this machine. */
import { chmodSync, closeSync, existsSync, mkdirSync, openSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { UserError } from '../../src/errors.js';
import {
  learnable,
  readStoredDataset,
  type StoredAnswer,
  type StoredDataset,
  type StoredPair,
} from '../dataset/stored-examples.js';
import { requireNewDirectory } from '../dataset/write-dataset.js';
import type { TrainConfig } from '../train/train-config.js';
import { accelerateConfig, type Machines } from './accelerate.js';
import { type HandOver, handOver, handOverFile, writeHandOver } from './hand-over.js';
import { instructions, requirements } from './instructions.js';
import { type Queue, slurmScript } from './slurm-script.js';
import { fillTemplate } from './templates.js';
import {
  type BaseTexts,
  checkTokens,
  messageRows,
  openBaseTexts,
  type RowKind,
  type TokenCheck,
  tokenRows,
} from './trl-rows.js';
import { places, type TrlTrainer, trlSettings } from './trl-settings.js';
import { yamlText } from './yaml-text.js';

export interface FolderExport {
  readonly config: TrainConfig;
  /** What the base model is called where it is trained; the config's path where nothing is said. */
  readonly base: string | undefined;
  readonly rows: RowKind;
  readonly machines: Machines;
  readonly queue: Queue;
}

export interface ExportedFolder {
  readonly trainer: TrlTrainer;
  readonly files: readonly string[];
  readonly examples: { readonly train: number; readonly validation: number };
  /** undefined where the base model's files aren't at hand. */
  readonly tokens: TokenCheck | undefined;
  readonly warnings: readonly string[];
  readonly lineage: HandOver;
}

/**
 * Writes the folder.
 * @throws UserError when the directory is in use, nothing is there to train on, or TRL can't do what the config says;
 *   nothing is written then
 */
export function exportFolder(job: FolderExport, out: string): ExportedFolder {
  const { config, machines, rows, queue } = job;
  requireNewDirectory(out);
  const dataset = readStoredDataset(config.dataset);
  const trainer = dataset.kind === 'imitation' ? 'sft' : 'dpo';
  if (trainer === 'dpo' && rows === 'tokens') {
    throw new UserError({
      field: '--rows',
      message: "TRL's DPO reads messages only, and this dataset holds pairs",
      value: rows,
      alternatives: ['messages'],
    });
  }
  const texts = baseTexts(job);
  const splits = splitsOf(dataset);
  const kept = [...splits.train.kept, ...splits.validation.kept];
  if (splits.train.kept.length === 0) {
    throw new UserError({
      field: 'dataset',
      message: 'no example of it has a weight above 0: there is nothing to imitate',
      value: config.dataset,
    });
  }
  const tokens = texts && checkTokens(kept, texts, rows);
  const warnings = warningsOf(splits, tokens, job, trainer);
  const base = job.base ?? config.model;
  const trlJob = {
    trainer,
    config,
    base,
    machines,
    longest: tokens?.longest,
    validates: splits.validation.kept.length > 0,
  } as const;
  const examples = { train: splits.train.kept.length, validation: splits.validation.kept.length };
  const facts = { rows, tokens, examples, seeds: queue.seeds, warnings };
  // All that can be refused is made before anything is written.
  const texted: Record<string, string> = {
    [`${trainer}.yaml`]: yamlText(trlSettings(trlJob)),
    [places.accelerate]: yamlText(accelerateConfig(machines)),
    'train.py': fillTemplate('train.py', {
      trainer,
      trainerClass: trainer === 'sft' ? 'SFTTrainer' : 'DPOTrainer',
    }),
    'slurm.sh': slurmScript(trainer, machines, queue, config.seed),
    ...(machines.nodes === 1 && { 'run.sh': fillTemplate('run.sh', { trainer }) }),
    'requirements.txt': requirements(machines),
    'README.md': instructions(trlJob, facts),
  };
  const lineage = handOver(config, trainer, rows, base, warnings);
  mkdirSync(join(out, places.data), { recursive: true });
  mkdirSync(join(out, 'lineage'));
  for (const [name, text] of Object.entries(texted)) writeFileSync(join(out, name), text);
  for (const name of ['slurm.sh', 'run.sh'].filter((script) => script in texted))
    chmodSync(join(out, name), 0o755);
  writeHandOver(out, lineage);
  const files = [...Object.keys(texted), handOverFile];
  for (const split of ['train', 'validation'] as const) {
    const { kept: shown } = splits[split];
    if (shown.length === 0) continue;
    const name = `${places.data}/${split}.jsonl`;
    writeRows(join(out, name), rowsOf(job, texts, shown));
    writeRows(
      join(out, 'lineage', `${split}.jsonl`),
      shown.map(({ weight, lineage: origin }) => ({ weight, lineage: origin })),
    );
    files.push(name, `lineage/${split}.jsonl`);
  }
  return { trainer, files, examples, tokens, warnings, lineage };
}

type Examples = readonly (StoredAnswer | StoredPair)[];
type Splits = Record<'train' | 'validation', { kept: Examples; leftOut: number; weighted: boolean }>;

function splitsOf(dataset: StoredDataset): Splits {
  const { train, validation }: { train: Examples; validation: Examples } = dataset;
  return { train: learnable(train), validation: learnable(validation) };
}

/** The base model's tokenizer; only where it is trained under another name may it be missing here. */
function baseTexts({ config, base, rows }: FolderExport): BaseTexts | undefined {
  if (existsSync(config.model) || base === undefined || rows === 'tokens') {
    return openBaseTexts(config.model, config.template);
  }
  return undefined;
}

function rowsOf({ config, rows }: FolderExport, texts: BaseTexts | undefined, examples: Examples) {
  if (rows === 'messages') return messageRows(examples, config.template);
  return tokenRows(
    examples.filter((example) => example.kind === 'imitation'),
    texts!,
  );
}

function warningsOf(
  { train, validation }: Splits,
  tokens: TokenCheck | undefined,
  { rows, config }: FolderExport,
  trainer: TrlTrainer,
): readonly string[] {
  const warnings: string[] = [];
  if (train.weighted) {
    warnings.push(
      `TRL's ${trainer.toUpperCase()} takes no weight of an example: all count the same, where ours would weigh them. lineage/train.jsonl keeps the weights.`,
    );
  }
  if (config.method.kind === 'lora' && config.method.quantization !== 'none') {
    warnings.push(
      `The base model is not quantised there (here: ${config.method.quantization}); serve the adapter without model.quantization.`,
    );
  }
  const leftOut = train.leftOut + validation.leftOut;
  if (leftOut > 0) {
    warnings.push(
      `${leftOut} examples with a weight of 0 or less are left out: imitating them would teach the opposite.`,
    );
  }
  if (tokens === undefined) {
    warnings.push(
      `There is no ${config.model} here, so it was not checked whether TRL makes the tokens of serving, and nothing limits the length.`,
    );
  } else {
    if (tokens.different > 0) {
      const remedy =
        trainer === 'sft' && rows === 'messages'
          ? ' Export with --rows tokens to train on those of serving.'
          : '';
      warnings.push(
        `Of ${tokens.different} answers TRL makes other tokens than serving (the chat template writes answers otherwise than it opens them, writes today's date, or a message spells a control token).${remedy}`,
      );
    }
    if (tokens.longest > tokens.contextTokens) {
      warnings.push(
        `The longest example has ${tokens.longest} tokens; the model can read ${tokens.contextTokens}.`,
      );
    }
  }
  return warnings;
}

/** Row by row: a file can be longer than a string. */
function writeRows(path: string, rows: readonly object[]): void {
  const file = openSync(path, 'w');
  try {
    for (const row of rows) writeFileSync(file, `${JSON.stringify(row)}\n`);
  } finally {
    closeSync(file);
  }
}
