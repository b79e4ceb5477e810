/** Settings of local models. Models bundled with the package are named `package:…`, which is valid on every machine. */
import { existsSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { z } from 'zod';
import { shownPath } from '../../base/context.js';
import { UserError } from '../../base/errors.js';
import { packageRoot } from '../../base/package.js';
import { isReference, storedModelPath } from './stores/stored-models.js';
import { quantizations } from './weights/quantization.js';

const scheme = 'package:';

/** The embedded model: a small one that was trained to improve policies. */
export const embeddedModel = `${scheme}models/tiny-improver`;

export const isPackaged = (path: string): boolean => path.startsWith(scheme);

/**
 * The directory of a model or adapter: inside the package for `package:…`, otherwise relative to `cwd`; for a training
 * directory, the adapter or model in it.
 * @throws UserError if the package has no such directory
 */
export function modelDirectory(path: string, cwd?: string, field = 'model.path'): string {
  if (isReference(path)) return storedModelPath(path);
  if (!isPackaged(path)) return resultIn(cwd === undefined ? path : resolve(cwd, path));
  const directory = join(packageRoot(), path.slice(scheme.length));
  if (existsSync(directory) && directory.startsWith(join(packageRoot(), '/'))) return directory;
  throw new UserError({
    field,
    message: `this installation of policyloop holds no such model: there is no directory ${directory}`,
    value: path,
    remedy: 'install the package again, or name the directory of a Hugging Face model',
  });
}

/** The adapter or model inside a training directory; any other directory is returned unchanged. */
function resultIn(directory: string): string {
  const has = (name: string) => existsSync(join(directory, name));
  if (!has('training.json') || has('config.json') || has('adapter_config.json')) return directory;
  const result = ['adapter', 'model'].find(has);
  return result === undefined ? directory : join(directory, result);
}

/** A model's directory for display; those in the package by their name there. */
export function shownModel(directory: string, cwd: string): string {
  const inPackage = relative(packageRoot(), directory);
  return inPackage.startsWith('..') || cwd === packageRoot() ? shownPath(directory, cwd) : scheme + inPackage;
}

const count = (minimum: number) => z.int().min(minimum);

/** Execution providers of the runtime that can be requested. */
export const devices = ['cpu', 'cuda', 'webgpu', 'dml', 'coreml'] as const;
export type Device = (typeof devices)[number];

export const deviceSchema = z.enum(['auto', ...devices]);

/** Optional rather than empty by default, so that runs of earlier versions can be resumed. */
export const ignoreKeysSchema = z
  .array(z.string().min(1))
  .optional()
  .describe(
    "Keys of the model's config.json and the adapter's adapter_config.json that are not understood and change nothing; a dot leads to keys of keys",
  );

export const localSchema = z.strictObject({
  provider: z.literal('local').describe('A Hugging Face model directory, run here on onnxruntime'),
  path: z
    .string()
    .default(embeddedModel)
    .describe(
      'Directory of a Hugging Face model (docs/local-models.md lists the families) with safetensors weights, or a GGUF file; `ollama:NAME:TAG` and `hf:ORG/NAME[:FILE.gguf]` stand for models of those stores, `package:` and a path stands for one in the package (default: the embedded model)',
    )
    .meta({ format: 'path' }),
  adapter: z
    .string()
    .optional()
    .describe('Directory of a LoRA or DoRA adapter of that model, as PEFT and the fine-tuner write it')
    .meta({ format: 'path' }),
  device: deviceSchema
    .default('auto')
    .describe('Where the model runs; `auto` takes a GPU where one can be used, else the processor'),
  quantization: z
    .enum(quantizations)
    .default('none')
    .describe(
      'Weights in 8 or 4 bits: smaller and faster, a little less exact. Made once, then kept. `int4-block128` is the fastest and the least exact. `float32` unpacks a quantised GGUF file: larger and slower, exact. `float16` is for GPUs: half the memory, nearly exact',
    ),
  threads: count(1).optional().describe('Processor threads (default: the physical cores that are free)'),
  batch: count(1)
    .max(64)
    .optional()
    .describe(
      'Calls of several runs (`--jobs`) or agents that are answered in one batch by one copy of the model, on the processor (default: one after the other)',
    ),
  contextTokens: count(16)
    .optional()
    .describe("Longest prompt and answer together (default: the model's own)"),
  maxTokens: count(1).default(1024).describe('Longest completion in tokens'),
  temperature: z
    .number()
    .min(0)
    .max(5)
    .optional()
    .describe("Sampling temperature, 0 for the likeliest token always (default: the model's, else 1)"),
  topP: z.number().gt(0).max(1).optional().describe("Nucleus sampling (default: the model's, else 1)"),
  topK: count(0).optional().describe("Only the k likeliest tokens, 0 for all (default: the model's, else 0)"),
  minP: z
    .number()
    .min(0)
    .lt(1)
    .optional()
    .describe("Only tokens this fraction as likely as the likeliest (default: the model's, else 0)"),
  repetitionPenalty: z
    .number()
    .positive()
    .optional()
    .describe("Above 1: tokens that occurred become less likely (default: the model's, else 1)"),
  heatAfterRepeat: z
    .number()
    .min(0)
    .max(4)
    .optional()
    .describe(
      'A reply that repeats known parameters is asked again at a higher temperature: by this share of it for each try (default of new runs: 0.5)',
    ),
  stop: z.array(z.string().min(1)).default([]).describe('Texts at which a completion ends'),
  format: z
    .enum(['auto', 'text', 'constrained'])
    .default('auto')
    .describe(
      '`auto`: the answer is the parameters and nothing else, and every answer is valid, since tokens that would break the format are masked. `constrained`: the same, with free text before and after the parameters. `text`: nothing is masked',
    ),
  template: z
    .record(z.string(), z.unknown())
    .default({})
    .describe("Variables for the model's chat template, e.g. `{enable_thinking: false}`"),
  ignoreKeys: ignoreKeysSchema,
});

export type LocalConfig = z.output<typeof localSchema>;

/** Whether models of this config within one program share a process, which answers their calls in one batch. */
export const sharesProcess = ({ batch = 1 }: Pick<LocalConfig, 'batch'>): boolean => batch > 1;
