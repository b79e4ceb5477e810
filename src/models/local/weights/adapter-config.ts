/** Reads PEFT's `adapter_config.json`: which modules a LoRA adapter changes, and by how much. */

import { z } from 'zod';
import { UserError } from '../../../base/errors.js';
import { checkedValue } from '../../../base/files/files.js';
import { TimeLimitError, withinTime } from '../../../base/time-limit.js';
import { harmlessAdapterKeys, ignoring, refuseUnknownKeys, withoutKeys } from './config-keys.js';

export interface LoraScaling {
  readonly rank: number;
  readonly alpha: number;
  /** Whether `alpha` is divided by √rank instead of the rank (Kalajdzievski 2023, arXiv 2312.03732). */
  readonly rankStabilized: boolean;
}

export function loraScale({ rank, alpha, rankStabilized }: LoraScaling): number {
  return alpha / (rankStabilized ? Math.sqrt(rank) : rank);
}

export interface AdapterConfig extends LoraScaling {
  /** Path or name of the model on which the adapter was trained, if the config states it. */
  readonly base: string | undefined;
  /** True if the adapter also sets the length of each row (DoRA, Liu et al. 2024, arXiv 2402.09353). */
  readonly decomposed: boolean;
  /** Scalings of the base's modules that the adapter changes, by path (`model.layers.0.self_attn.q_proj`). */
  scalings(modules: readonly string[]): ReadonlyMap<string, LoraScaling>;
}

const names = z.union([z.string(), z.array(z.string())]);
/** The bounds are well within the range of float32. */
const alpha = z.number().min(-1e30).max(1e30);
const ranks = z.record(z.string(), z.int().positive());

const schema = z.looseObject({
  peft_type: z.literal('LORA'),
  task_type: z.literal('CAUSAL_LM').nullish(),
  base_model_name_or_path: z.string().nullish(),
  r: z.int().positive(),
  lora_alpha: alpha,
  target_modules: names.nullish(),
  exclude_modules: names.nullish(),
  layers_to_transform: z.union([z.int(), z.array(z.int())]).nullish(),
  layers_pattern: names.nullish(),
  rank_pattern: ranks.nullish(),
  alpha_pattern: z.record(z.string(), alpha).nullish(),
  use_rslora: z.boolean().nullish(),
  use_dora: z.boolean().nullish(),
  init_lora_weights: z.union([z.boolean(), z.string()]).nullish(),
});
type Fields = z.output<typeof schema>;

/** Whether all targets are modules that GPT-2's files store transposed; `fan_in_fan_out` then adds no information. */
const isOfGpt2 = (targets: unknown): boolean =>
  Array.isArray(targets) && targets.every((name) => /(^|\.)c_(attn|proj|fc)$/.test(String(name)));

/** Parses `adapter_config.json`, ignoring `ignoredKeys`. @throws UserError naming unknown or unsupported keys */
export function parseAdapterConfig(
  raw: unknown,
  file: string,
  ignoredKeys: readonly string[] = [],
): AdapterConfig {
  const content = withoutKeys(raw, ignoredKeys);
  const fields = checkedValue(schema, content, file, { prefix: 'this kind of adapter is not supported: ' });
  refuseChangedBase(fields, file);
  const harmless = {
    ...harmlessAdapterKeys,
    ...(isOfGpt2(fields.target_modules) && {
      fan_in_fan_out: 'states how the matrices of the base model are stored',
    }),
  };
  refuseUnknownKeys(fields, { read: Object.keys(schema.shape), harmless }, file);
  if (fields.target_modules == null)
    throw new UserError({
      file,
      field: 'target_modules',
      message: 'is missing, so the changed modules are unknown',
      hint: 'list the names of the changed modules there, e.g. ["q_proj", "v_proj"]',
    });
  const scaling = { rank: fields.r, alpha: fields.lora_alpha, rankStabilized: fields.use_rslora ?? false };
  return {
    ...scaling,
    base: fields.base_model_name_or_path ?? undefined,
    decomposed: fields.use_dora ?? false,
    scalings(modules) {
      const targets = targetsOf(fields, modules, file);
      const ranks = byPattern(fields, 'rank_pattern', targets, file);
      const alphas = byPattern(fields, 'alpha_pattern', targets, file);
      return new Map(
        targets.map((module) => [
          module,
          { ...scaling, rank: ranks.get(module) ?? scaling.rank, alpha: alphas.get(module) ?? scaling.alpha },
        ]),
      );
    },
  };
}

/** Initialisations that leave the base unchanged, so they don't matter after training. */
const plainBeginnings = ['gaussian', 'eva', 'orthogonal', 'mica', 'true', 'false'];

/** Refuses PiSSA, OLoRA, CorDA, LoftQ, LoRA-GA and unknown initialisations: they may change the base weights. */
function refuseChangedBase({ init_lora_weights: given }: Fields, file: string): void {
  if (given == null || plainBeginnings.includes(String(given).toLowerCase())) return;
  throw new UserError({
    file,
    field: 'init_lora_weights',
    value: given,
    message: 'this initialisation may change the base weights, so the adapter may not fit the original model',
    alternatives: ['true', 'false', ...plainBeginnings.slice(0, 4)],
    hint:
      'convert it to a plain LoRA with PEFT (save_pretrained with path_initial_model_for_weight_conversion), ' +
      `or use the changed weights as the model; ${ignoring('init_lora_weights')}`,
  });
}

/** The modules that PEFT would change, as in `check_target_module_exists`. */
function targetsOf(fields: Fields, modules: readonly string[], file: string): readonly string[] {
  const named = fitting(fields, 'target_modules', modules, file);
  const excluded = fields.exclude_modules == null ? [] : fitting(fields, 'exclude_modules', modules, file);
  const layers = layersOf(fields, file);
  return modules.filter((module) => {
    const layer = /\.layers\.(\d+)\./.exec(module)?.[1];
    return (
      named.includes(module) &&
      !excluded.includes(module) &&
      (layers === undefined || (layer !== undefined && layers.includes(Number(layer))))
    );
  });
}

/** Indices of the layers that the adapter changes; undefined for all layers. */
function layersOf(fields: Fields, file: string): readonly number[] | undefined {
  const { layers_to_transform: layers, layers_pattern: pattern, target_modules: targets } = fields;
  const patterns = [pattern ?? []].flat();
  if (patterns.length > 0 && !patterns.includes('layers'))
    throw new UserError({
      file,
      field: 'layers_pattern',
      value: pattern,
      message: 'is not supported',
      alternatives: ['layers'],
    });
  const listed = layers == null ? [] : [layers].flat();
  if (listed.length === 0) return undefined;
  if (typeof targets === 'string')
    throw new UserError({
      file,
      field: 'layers_to_transform',
      value: layers,
      message: 'requires target_modules to be a list, but it is a string',
    });
  return listed;
}

/** The modules that a pattern matches, that `all-linear` includes, or whose path ends with a listed name. */
function fitting(
  fields: Fields,
  field: 'target_modules' | 'exclude_modules',
  modules: readonly string[],
  file: string,
): readonly string[] {
  const given = fields[field]!;
  if (Array.isArray(given))
    return modules.filter((module) => given.some((name) => `.${module}`.endsWith(`.${name}`)));
  if (field === 'target_modules' && given.toLowerCase() === 'all-linear') return modules;
  return matching(given, modules, field, file);
}

/** The value of the first pattern that matches the end of each module's path; modules without a match are omitted. */
function byPattern(
  fields: Fields,
  field: 'rank_pattern' | 'alpha_pattern',
  modules: readonly string[],
  file: string,
): ReadonlyMap<string, number> {
  const found = new Map<string, number>();
  for (const [pattern, value] of Object.entries(fields[field] ?? {}))
    for (const module of matching(`(?:.*\\.)?(?:${pattern})`, modules, field, file))
      if (!found.has(module)) found.set(module, value);
  return found;
}

/** Limits for a pattern, because it comes from an untrusted file. */
const most = { characters: 2000, seconds: 0.5 } as const;

/** Syntax in Python's `re` that JavaScript lacks or interprets differently. */
const pythonOnly =
  /\(\?(?![:=!]|<[=!]|P<[A-Za-z_])|\\(?![dDwWsSbBfnrtv]|x[0-9a-fA-F]{2}|[^A-Za-z0-9])[\s\S]?|\{,|\[\^?\]/;

/** The modules whose whole path matches a pattern of Python's `re`, as in `re.fullmatch`. */
function matching(
  pattern: string,
  modules: readonly string[],
  field: string,
  file: string,
): readonly string[] {
  const refuse = (reason: string): never => {
    throw new UserError({
      file,
      field,
      value: pattern,
      message: `this regular expression can't be used: ${reason}`,
      hint: 'use a simpler expression, or list the modules by name',
    });
  };
  if (pattern.length > most.characters) refuse(`it is longer than ${most.characters} characters`);
  // Paths are a single line of ASCII, so the flags a, m, s and u have no effect.
  const [start = '', flags = ''] = /^\(\?([aimsu]+)\)/.exec(pattern) ?? [];
  const source = pattern.slice(start.length);
  const [unknown] = pythonOnly.exec(source) ?? [];
  if (unknown === '(?') refuse('it has a kind of group that Python and JavaScript don’t share');
  if (unknown !== undefined) refuse(`${unknown} means something else in Python`);
  try {
    const whole = new RegExp(`^(?:${source.replaceAll('(?P<', '(?<')})$`, flags.includes('i') ? 'i' : '');
    return withinTime(most.seconds, () => modules.filter((module) => whole.test(module)));
  } catch (error) {
    if (error instanceof TimeLimitError) return refuse('matching it takes too long');
    if (error instanceof SyntaxError) return refuse('it isn’t valid in JavaScript');
    throw error;
  }
}
