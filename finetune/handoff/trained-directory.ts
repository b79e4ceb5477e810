/** Recognises other trainers' output: finds the files of an adapter or a model, and checks adapters. */
import { existsSync, lstatSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { z } from 'zod';
import { UserError } from '../../src/base/errors.js';
import type { Adapter } from '../../src/models/local/graph/adapter.js';
import { toFloat32 } from '../../src/models/local/weights/quantization.js';
import { readTensorBytes } from '../../src/models/local/weights/safetensors.js';
import { readJson } from '../../src/storage/files.js';
import { jsonIn } from '../../src/storage/json-depth.js';
import type { StepLoss } from '../engine/checkpoint.js';
import { places } from './trl-settings.js';

export interface TrainedDirectory {
  readonly kind: 'adapter' | 'model';
  readonly directory: string;
  /** Names of the files to import, all directly in the directory. */
  readonly files: readonly string[];
}

const adapterFiles = ['adapter_config.json', 'adapter_model.safetensors'];

/** Files that accompany a model's weights; imported if they exist. */
const companions = [
  'config.json',
  'generation_config.json',
  'tokenizer.json',
  'tokenizer_config.json',
  'special_tokens_map.json',
  'added_tokens.json',
  'vocab.json',
  'merges.txt',
  'chat_template.jinja',
  'chat_template.json',
];

/** @throws UserError if neither the directory nor its `output` contains a complete adapter or model */
export function findTrained(directory: string): TrainedDirectory {
  if (!existsSync(directory)) {
    throw new UserError({ field: 'directory', message: 'there is no such directory', value: directory });
  }
  const searched = [directory, path.join(directory, places.output)];
  const found = searched.map(trainedAt).find(Boolean);
  if (found !== undefined) return found;
  const below = searched
    .filter((place) => existsSync(place))
    .flatMap((place) =>
      readdirSync(place, { withFileTypes: true })
        .filter((entry) => entry.isDirectory())
        .map(({ name }) => path.join(place, name)),
    )
    .filter((place) =>
      ['adapter_config.json', 'config.json'].some((name) => existsSync(path.join(place, name))),
    );
  const unfinished =
    below.length > 0 && below.every((place) => /^checkpoint-\d+$/.test(path.basename(place)));
  throw new UserError({
    field: 'directory',
    message: unfinished
      ? "this training run isn't finished: it has only checkpoints"
      : 'this directory has no adapter_config.json and no config.json',
    value: directory,
    ...(below.length > 0 && { alternatives: below }),
    remedy:
      below.length === 0
        ? 'choose the directory of an adapter or a model'
        : `import ${below.length === 1 ? 'that directory' : 'one of these directories'}`,
  });
}

function trainedAt(directory: string): TrainedDirectory | undefined {
  const has = (name: string) => existsSync(path.join(directory, name));
  if (has('adapter_config.json')) {
    if (has('adapter_model.safetensors')) return { kind: 'adapter', directory, files: adapterFiles };
    throw new UserError({
      field: 'directory',
      value: directory,
      message: 'this directory has no adapter_model.safetensors',
      remedy: 'if the adapter is in another format (adapter_model.bin), save it again with PEFT',
    });
  }
  if (!has('config.json')) return undefined;
  return { kind: 'model', directory, files: [...companions.filter(has), ...weightFiles(directory)] };
}

function weightFiles(directory: string): readonly string[] {
  if (existsSync(path.join(directory, 'model.safetensors'))) return ['model.safetensors'];
  const index = 'model.safetensors.index.json';
  const file = path.join(directory, index);
  const parsed = z.looseObject({ weight_map: z.record(z.string(), z.string()) }).safeParse(readJson(file));
  if (!parsed.success) {
    throw new UserError({
      field: 'directory',
      value: directory,
      message: 'this directory has no safetensors weights',
      alternatives: ['model.safetensors', `${index} with its shards`],
    });
  }
  const shards = [...new Set(Object.values(parsed.data.weight_map))];
  const wrong = shards.find(
    (shard) => !/^[\w][\w.-]*\.safetensors$/.test(shard) || !existsSync(path.join(directory, shard)),
  );
  if (wrong === undefined) return [index, ...shards];
  throw new UserError({
    file,
    field: 'weight_map',
    value: wrong,
    message: 'not a file in this directory',
    remedy: 'copy the whole directory again',
  });
}

/** @throws UserError if an adapter changes nothing; `openAdapter` detects other problems */
export function checkTrained({ directory, modules, decomposed }: Adapter): void {
  const changed = [...modules.values()].some(({ b }) =>
    toFloat32(readTensorBytes(b), b.dtype).some((value) => value !== 0),
  );
  if (changed || decomposed) return;
  throw new UserError({
    file: directory,
    message: 'all B factors of this adapter are 0, so it is untrained',
  });
}

export interface TrlOutcome {
  /** True if `train.py` recorded that it finished. */
  readonly finished: boolean;
  readonly step: number | undefined;
  readonly seed: number | undefined;
  /** Training loss of the last logged step. */
  readonly lastLoss: number | undefined;
  readonly best: StepLoss | undefined;
  readonly versions: Readonly<Record<string, string>>;
}

const finishedSchema = z.looseObject({
  seed: z.number().optional(),
  steps: z.number(),
  versions: z.record(z.string(), z.string()).default({}),
});

const stateSchema = z.looseObject({
  global_step: z.number(),
  log_history: z
    .array(z.looseObject({ step: z.number(), loss: z.number().optional(), eval_loss: z.number().optional() }))
    .default([]),
});

/** Reads `finished.json`, and `trainer_state.json` of the directory or, if missing, of its newest checkpoint. */
export function readOutcome(directory: string): TrlOutcome {
  const finished = parsed(finishedSchema, path.join(directory, 'finished.json'));
  const state = parsed(stateSchema, path.join(directory, stateFile(directory)));
  const log = state?.log_history ?? [];
  const best = log
    .flatMap(({ step, eval_loss: loss }) => (loss === undefined ? [] : [{ step, loss }]))
    .reduce<StepLoss | undefined>((least, one) => (least && least.loss <= one.loss ? least : one), undefined);
  return {
    finished: finished !== undefined,
    step: finished?.steps ?? state?.global_step,
    seed: finished?.seed,
    lastLoss: log.findLast(({ loss }) => loss !== undefined)?.loss,
    best,
    versions: finished?.versions ?? {},
  };
}

function stateFile(directory: string): string {
  const own = 'trainer_state.json';
  if (existsSync(path.join(directory, own))) return own;
  const newest = readdirSync(directory)
    .filter((name) => /^checkpoint-\d+$/.test(name))
    .toSorted((a, b) => Number(b.slice(11)) - Number(a.slice(11)))[0];
  return newest === undefined ? own : path.join(newest, own);
}

/** Maximum size in bytes, because the file is untrusted. Real files are far smaller. */
const longest = 64 * 2 ** 20;

/** Returns undefined for unreadable files, because they are only informative. */
function parsed<T extends z.ZodType>(schema: T, file: string): z.output<T> | undefined {
  if (!existsSync(file)) return undefined;
  const stat = lstatSync(file);
  if (!stat.isFile() || stat.size > longest) return undefined;
  return schema.safeParse(jsonIn(readFileSync(file, 'utf8'))).data;
}
