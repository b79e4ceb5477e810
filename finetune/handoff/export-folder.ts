/** Exports a folder for training with TRL on another machine, for models that are too large for this one. */
import { chmodSync, existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { UserError } from '../../src/base/errors.js';
import { plural } from '../../src/format/numbers.js';
import { writeWhole } from '../../src/storage/draft.js';
import { readStoredDataset, type StoredExample } from '../dataset/read-dataset.js';
import { requireNewDirectory, writeRows } from '../dataset/write-dataset.js';
import type { TrainConfig } from '../train/train-config.js';
import { type HandOver, handOver, handOverFile } from './hand-over.js';
import {
  type FolderFacts,
  fillTemplate,
  instructions,
  type Queue,
  requirements,
  slurmScript,
  yamlText,
} from './texts.js';
import {
  type BaseTexts,
  checkTokens,
  messageRows,
  openBaseTexts,
  type RowKind,
  type TokenCheck,
  tokenRows,
} from './trl-rows.js';
import {
  accelerateConfig,
  type Machines,
  places,
  type TrlJob,
  type TrlTrainer,
  trlSettings,
} from './trl-settings.js';

interface FolderExport {
  readonly config: TrainConfig;
  /** Name of the base model on the other machine. Default: the config's path. */
  readonly base: string | undefined;
  readonly rows: RowKind;
  readonly machines: Machines;
  readonly queue: Queue;
}

interface ExportedFolder extends Pick<FolderFacts, 'examples' | 'tokens' | 'warnings'> {
  readonly trainer: TrlTrainer;
  readonly files: readonly string[];
  readonly lineage: HandOver;
}

/** @throws UserError, before writing anything, if the directory isn't new or empty, or TRL can't train this */
export function exportFolder(job: FolderExport, out: string): ExportedFolder {
  const { config, machines, rows, queue } = job;
  requireNewDirectory(out);
  const dataset = readStoredDataset(config.dataset);
  const trainer = dataset.kind === 'imitation' ? 'sft' : 'dpo';
  if (trainer === 'dpo' && rows === 'tokens') {
    throw new UserError({
      field: '--rows',
      message: 'for DPO, TRL accepts only messages',
      value: rows,
      alternatives: ['messages'],
    });
  }
  const base = openBase(job);
  const splits = { train: learnable(dataset.train), validation: learnable(dataset.validation) };
  const { train, validation } = splits;
  if (train.length === 0) {
    throw new UserError({
      field: 'dataset',
      message: 'no example has a weight above 0',
      value: config.dataset,
    });
  }
  const tokens = base && checkTokens([...train, ...validation], base, rows);
  const leftOut = dataset.train.length + dataset.validation.length - train.length - validation.length;
  const warnings = [...warningsOf(job, trainer, train, leftOut), ...tokenWarnings(job, trainer, tokens)];
  const examples = { train: train.length, validation: validation.length };
  const name = job.base ?? config.model;
  const trlJob: TrlJob = {
    trainer,
    config,
    base: name,
    machines,
    longest: tokens?.longest,
    validates: validation.length > 0,
  };
  // Do everything that can fail before writing any file.
  const texts = folderTexts(trlJob, { rows, tokens, examples, seeds: queue.seeds, warnings }, queue);
  const lineage = handOver(config, trainer, rows, name, warnings);
  const contents = { ...texts, [handOverFile]: `${JSON.stringify(lineage, null, 2)}\n` };
  const rowFiles = writeWhole(out, (draft) => {
    writeTexts(draft, contents);
    return (['train', 'validation'] as const).flatMap((split) =>
      writeSplit(draft, split, splits[split], rowsOf(job, base, splits[split])),
    );
  });
  return { trainer, files: [...Object.keys(contents), ...rowFiles], examples, tokens, warnings, lineage };
}

function writeTexts(folder: string, contents: Readonly<Record<string, string>>): void {
  mkdirSync(join(folder, places.data), { recursive: true });
  mkdirSync(join(folder, 'lineage'));
  for (const [file, content] of Object.entries(contents)) {
    writeFileSync(join(folder, file), content);
    if (file.endsWith('.sh')) chmodSync(join(folder, file), 0o755);
  }
}

/** Drops examples with a weight of 0 or less. TRL ignores weights, so it would learn from them. */
const learnable = (examples: readonly StoredExample[]) => examples.filter(({ weight }) => weight > 0);

/** Opens the base model's tokenizer. The model may be missing here if the rows are messages and `base` is given. */
function openBase({ config, base, rows }: FolderExport): BaseTexts | undefined {
  const needed = existsSync(config.model) || base === undefined || rows === 'tokens';
  return needed ? openBaseTexts(config.model, config.template, config.ignoreKeys) : undefined;
}

function folderTexts(job: TrlJob, facts: FolderFacts, queue: Queue): Readonly<Record<string, string>> {
  const { trainer, machines, config } = job;
  const trainerClass = trainer === 'sft' ? 'SFTTrainer' : 'DPOTrainer';
  return {
    [`${trainer}.yaml`]: yamlText(trlSettings(job)),
    [places.accelerate]: yamlText(accelerateConfig(machines)),
    'train.py': fillTemplate('train.py', { trainer, trainerClass }),
    'slurm.sh': slurmScript(trainer, machines, queue, config.seed),
    ...(machines.nodes === 1 && { 'run.sh': fillTemplate('run.sh', { trainer }) }),
    'requirements.txt': requirements(machines),
    'README.md': instructions(job, facts),
  };
}

function rowsOf(
  { config, rows }: FolderExport,
  base: BaseTexts | undefined,
  examples: readonly StoredExample[],
): readonly object[] {
  if (rows === 'messages') return messageRows(examples, config.template);
  return tokenRows(
    examples.filter((example) => example.kind === 'imitation'),
    base!,
  );
}

function writeSplit(
  out: string,
  split: 'train' | 'validation',
  examples: readonly StoredExample[],
  rows: readonly object[],
): readonly string[] {
  if (examples.length === 0) return [];
  const files = [`${places.data}/${split}.jsonl`, `lineage/${split}.jsonl`] as const;
  writeRows(join(out, files[0]), rows);
  writeRows(
    join(out, files[1]),
    examples.map(({ weight, lineage }) => ({ weight, lineage })),
  );
  return files;
}

function warningsOf(
  { config: { method } }: FolderExport,
  trainer: TrlTrainer,
  train: readonly StoredExample[],
  leftOut: number,
): readonly string[] {
  const weighted = train.some(({ weight }) => weight !== train[0]!.weight);
  const warnings = [
    weighted &&
      `TRL's ${trainer.toUpperCase()} ignores the examples' weights. They are recorded in lineage/train.jsonl.`,
    method.kind === 'lora' &&
      method.quantization !== 'none' &&
      `The base model isn't quantized on the other machine, although the config sets method.quantization=${method.quantization}; serve the adapter without model.quantization.`,
    leftOut > 0 && `Excluded: ${plural(leftOut, 'example')} with a weight of 0 or less.`,
  ];
  return warnings.filter((warning) => warning !== false);
}

function tokenWarnings(
  { rows, config }: FolderExport,
  trainer: TrlTrainer,
  tokens: TokenCheck | undefined,
): readonly string[] {
  if (tokens === undefined)
    return [
      `${config.model} doesn't exist here, so TRL's tokens weren't compared with those used in serving, and TRL gets no maximum length.`,
    ];
  const { different, longest, contextTokens } = tokens;
  const remedy = trainer === 'sft' && rows === 'messages' ? ' Export with --rows tokens to avoid this.' : '';
  const warnings = [
    different > 0 &&
      `For ${plural(different, 'answer')}, TRL's tokens differ from those used in serving (the chat template changes answers or inserts the date, or a message contains a control token).${remedy}`,
    longest > contextTokens &&
      `The longest example has ${longest} tokens, but the model's context has only ${contextTokens}.`,
  ];
  return warnings.filter((warning) => warning !== false);
}
