/** Settings of local models. Models in the package are named `package:…`, so that their names work anywhere. */
import { existsSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { z } from 'zod';
import { shownPath } from '../../base/context.js';
import { mapProblems, UserError } from '../../base/errors.js';
import { packageRoot } from '../../base/package.js';
import { describe } from '../settings.js';
import { hfModelPath, isHfReference } from './stores/hf-cache.js';
import { quantizations } from './weights/quantization.js';

const scheme = 'package:';

/** The embedded model: a small model that was trained to improve policies. */
export const embeddedModelPath = `${scheme}models/tiny-improver`;

export const isPackaged = (path: string): boolean => path.startsWith(scheme);

/** Runs `work`, which reads a model. Errors about `model.path` then name `field`, the key in another kind of config. */
export function withModelField<T>(field: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw mapProblems(error, (problem) => (problem.field === 'model.path' ? { ...problem, field } : problem));
  }
}

/**
 * Returns the directory or GGUF file of a model, an adapter or a training result.
 * @throws UserError if the package or the Hugging Face cache lacks the model, or an `hf:` reference is invalid
 */
export function modelDirectory(path: string, cwd?: string, field = 'model.path'): string {
  if (isHfReference(path)) return withModelField(field, () => hfModelPath(path));
  if (!isPackaged(path)) return resultDirectory(cwd === undefined ? path : resolve(cwd, path));
  const directory = join(packageRoot(), path.slice(scheme.length));
  if (existsSync(directory) && directory.startsWith(join(packageRoot(), '/'))) return directory;
  throw new UserError({
    field,
    message: `this installation of policyloop doesn't contain this model: there is no directory ${directory}`,
    value: path,
    hint: 'reinstall the package, or use the directory of a Hugging Face model',
  });
}

/** Returns the adapter or model in a training run's directory; returns a directory without such a result unchanged. */
function resultDirectory(directory: string): string {
  const has = (name: string) => existsSync(join(directory, name));
  if (!has('training.json') || has('config.json') || has('adapter_config.json')) return directory;
  const result = ['adapter', 'model'].find(has);
  return result === undefined ? directory : join(directory, result);
}

/** Returns a path for display, or a `package:` name for a model in the package unless `cwd` is the package's root. */
export function shownModelPath(directory: string, cwd: string): string {
  const innerPath = relative(packageRoot(), directory);
  return innerPath.startsWith('..') || cwd === packageRoot() ? shownPath(directory, cwd) : scheme + innerPath;
}

const count = (minimum: number) => z.int().min(minimum);

/** The runtime's execution providers that a config can request. */
export const devices = ['cpu', 'cuda', 'webgpu', 'dml', 'coreml'] as const;
export type Device = (typeof devices)[number];

export const deviceSchema = z.enum(['auto', ...devices]);

export const ignoreKeysSchema = describe(
  'Unknown keys in config.json, adapter_config.json or GGUF metadata that change nothing and can be ignored; dots address nested keys of JSON files',
  z.array(z.string().min(1)).optional(),
);

export const localSchema = z.strictObject({
  provider: z
    .literal('local')
    .describe('A Hugging Face model directory or GGUF file, run on this machine with onnxruntime'),
  path: describe(
    'Directory of a model in Hugging Face format (docs/reference/local-models.md lists the families) or of a training run, or a GGUF file; `hf:ORG/NAME[:FILE.gguf]` for the Hugging Face cache; `package:PATH` for this package (default: the embedded model)',
    z.string().default(embeddedModelPath),
    { format: 'path', aliases: ['name', 'model', 'file'] },
  ),
  adapter: describe('Directory of a LoRA adapter for the model, in PEFT format', z.string().optional(), {
    format: 'path',
  }),
  device: deviceSchema
    .default('auto')
    .describe('`auto` uses a GPU if one works (on Linux, only with CUDA), otherwise the CPU'),
  quantization: describe(
    'Precision of the weights. `none`: as stored; `int8` and `int4`: smaller, faster and a little less exact; `int4-block128`: the smallest and least exact; `float32`: unpacks a quantised GGUF file, which is then larger and slower, but exact',
    z.enum(quantizations).default('none'),
  ),
  threads: count(1).optional().describe('CPU threads (default: the number of idle physical cores)'),
  batch: describe(
    'Maximum number of calls answered in one batch, from several runs (`--jobs`) or agents; not with webgpu (default: 1; in agent runs, `parallel`)',
    count(1).max(64).optional(),
  ),
  contextTokens: count(16)
    .optional()
    .describe("Context length in tokens: prompt plus reply (default and maximum: the model's own)"),
  maxTokens: count(1).default(1024).describe('Maximum tokens per completion'),
  temperature: describe(
    "Sampling temperature; 0 always takes the most likely token (default: 1; for `format: text` and agents, usually the model's)",
    z.number().min(0).max(5).optional(),
  ),
  topP: z
    .number()
    .gt(0)
    .max(1)
    .optional()
    .describe(
      "Total probability of the tokens considered in nucleus sampling (default: 1; for `format: text` and agents, usually the model's)",
    ),
  topK: count(0)
    .optional()
    .describe(
      "Number of most likely tokens to choose from; 0: all (default: 0; for `format: text` and agents, usually the model's)",
    ),
  minP: describe(
    "Minimum probability of a token, as a fraction of the most likely token's (default: 0; for `format: text` and agents, usually the model's)",
    z.number().min(0).lt(1).optional(),
  ),
  repetitionPenalty: describe(
    "Penalty factor for tokens that have already occurred (default: 1, none; for `format: text` and agents, usually the model's)",
    z.number().positive().optional(),
  ),
  format: describe(
    '`auto`: only the parameters; other tokens are masked. `constrained`: the same with free text around them. `text`: nothing is masked (programs are always free text)',
    z.enum(['auto', 'text', 'constrained']).default('auto'),
  ),
  template: describe(
    "Variables for the model's chat template, e.g. `{enable_thinking: false}`",
    z.record(z.string(), z.unknown()).default({}),
  ),
  ignoreKeys: ignoreKeysSchema,
});

export type LocalConfig = z.output<typeof localSchema>;

/** True if models with this config in one program share a process that handles their calls in batches. */
export const sharesProcess = ({ batch = 1 }: Pick<LocalConfig, 'batch'>): boolean => batch > 1;
