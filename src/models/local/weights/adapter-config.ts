/** Reads PEFT's `adapter_config.json`: the base model of a LoRA adapter, and the scale of its changes. */

import { z } from 'zod';
import { messageOf, UserError } from '../../../base/errors.js';
import { checkedValue } from '../../../base/files/files.js';
import { withTimeLimit } from '../../../base/time-limit.js';
import { harmlessAdapterKeys, ignoreHint, rejectUnknownKeys, withoutKeys } from './config-keys.js';

export interface LoraScaling {
  readonly rank: number;
  readonly alpha: number;
  /** True if `alpha` is divided by √rank instead of the rank (Kalajdzievski 2023, arXiv 2312.03732). */
  readonly rankStabilized: boolean;
}

export function loraScale({ rank, alpha, rankStabilized }: LoraScaling): number {
  return alpha / (rankStabilized ? Math.sqrt(rank) : rank);
}

export interface AdapterConfig {
  /** Path or name of the model on which the adapter was trained, if the config states it. */
  readonly base: string | undefined;
  readonly scaling: LoraScaling;
  /** Returns the alpha of a module, given its path, e.g. `model.layers.0.self_attn.q_proj`. */
  alphaOf(module: string): number;
}

/** The bounds are well within the range of float32. */
const alpha = z.number().min(-1e30).max(1e30);

const schema = z.looseObject({
  peft_type: z.literal('LORA'),
  task_type: z.literal('CAUSAL_LM').nullish(),
  base_model_name_or_path: z.string().nullish(),
  r: z.int().positive(),
  lora_alpha: alpha,
  alpha_pattern: z.record(z.string(), alpha).nullish(),
  use_rslora: z.boolean().nullish(),
  init_lora_weights: z.union([z.boolean(), z.string()]).nullish(),
});
type Fields = z.output<typeof schema>;

/** Keys for modules and ranks, which are read from the factors in `adapter_model.safetensors` instead. */
const selectors = 'target_modules exclude_modules layers_to_transform layers_pattern rank_pattern'.split(' ');

/** True if all targets are modules that GPT-2's files store transposed; `fan_in_fan_out` is then redundant. */
const targetsGpt2 = (targets: unknown): boolean =>
  Array.isArray(targets) && targets.every((name) => /(^|\.)c_(attn|proj|fc)$/.test(String(name)));

/** Parses `adapter_config.json`, ignoring `ignoredKeys`. @throws UserError naming unknown or unsupported keys */
export function parseAdapterConfig(
  raw: unknown,
  file: string,
  ignoredKeys: readonly string[] = [],
): AdapterConfig {
  const content = withoutKeys(raw, ignoredKeys);
  const fields = checkedValue(schema, content, file, { prefix: 'this kind of adapter is not supported: ' });
  rejectChangedBase(fields, file);
  const readKeys = [...Object.keys(schema.shape), ...selectors];
  if (targetsGpt2(fields.target_modules)) readKeys.push('fan_in_fan_out');
  rejectUnknownKeys(fields, { readKeys, harmlessKeys: harmlessAdapterKeys }, file);
  const scaling = { rank: fields.r, alpha: fields.lora_alpha, rankStabilized: fields.use_rslora ?? false };
  const patterns = Object.entries(fields.alpha_pattern ?? {});
  return {
    base: fields.base_model_name_or_path ?? undefined,
    scaling,
    alphaOf: (module) => patterns.find(([pattern]) => matches(pattern, module, file))?.[1] ?? scaling.alpha,
  };
}

/** Initialisations that leave the base unchanged, so they don't matter after training. */
const plainInitializations = ['gaussian', 'eva', 'orthogonal', 'mica', 'true', 'false'];

/** Rejects PiSSA, OLoRA, CorDA, LoftQ, LoRA-GA and unknown initialisations: they may change the base weights. */
function rejectChangedBase({ init_lora_weights: method }: Fields, file: string): void {
  if (method == null || plainInitializations.includes(String(method).toLowerCase())) return;
  throw new UserError({
    file,
    field: 'init_lora_weights',
    value: method,
    message: 'this initialisation may change the base weights, so the adapter may not fit the original model',
    alternatives: ['true', 'false', ...plainInitializations.slice(0, 4)],
    hint:
      'convert it to a plain LoRA with PEFT (save_pretrained with path_initial_model_for_weight_conversion), ' +
      `or use the changed weights as the model; ${ignoreHint('init_lora_weights')}`,
  });
}

/** True if a pattern of Python's `re`, from an untrusted file, matches the end of a module's path, as in PEFT. */
function matches(pattern: string, module: string, file: string): boolean {
  try {
    // Groups with (? other than (?: may differ between Python and JavaScript. The flag `u` rejects unknown escapes.
    if (/\(\?(?!:)/.test(pattern)) throw new SyntaxError('it has a group that starts with (?');
    return withTimeLimit(0.5, () => new RegExp(`^(?:.*\\.)?(?:${pattern})$`, 'u').test(module));
  } catch (error) {
    throw new UserError({
      file,
      field: 'alpha_pattern',
      value: pattern,
      message: `this regular expression can't be used: ${messageOf(error)}`,
      hint: 'use a simpler expression, or the names of modules',
    });
  }
}
