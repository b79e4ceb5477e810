/** Reads the rotary position embedding from a model's config. */
import { z } from 'zod';
import { UserError } from '../../../base/errors.js';
import { checkedValue } from '../../../base/files/files.js';
import { rejectUnknownKeys } from './config-keys.js';

/** Rotary position embedding (Su et al. 2021), with the scalings that stretch its wavelengths. */
export type Rope = { readonly theta: number } & (
  | { readonly scaling: 'none' }
  /** Positions are divided by `factor`. */
  | { readonly scaling: 'linear'; readonly factor: number }
  /** Frequency i is divided by `divisors[i]` (headDim / 2 divisors), which is how GGUF files store llama3 scaling. */
  | { readonly scaling: 'divided'; readonly divisors: readonly number[] }
  /** Llama 3.1 stretches long wavelengths by `factor`, keeps short ones, and interpolates in between. */
  | {
      readonly scaling: 'llama3';
      readonly factor: number;
      readonly lowFrequencyFactor: number;
      readonly highFrequencyFactor: number;
      /** Context length in the model's original training, in tokens. */
      readonly originalContext: number;
    }
  /**
   * YaRN keeps frequencies that complete at least `betaFast` rotations in the original context, divides those that
   * complete at most `betaSlow` by `factor`, and interpolates in between.
   */
  | {
      readonly scaling: 'yarn';
      readonly factor: number;
      readonly originalContext: number;
      readonly betaFast: number;
      readonly betaSlow: number;
      /** True if the ends of the interpolated range are rounded outwards to whole frequency indices. */
      readonly truncate: boolean;
      /** Factor by which cosines and sines are multiplied. */
      readonly attentionFactor: number;
    }
  /** LongRoPE divides frequency i by factor i of a list; `longFactors` is for sequences beyond the original context. */
  | {
      readonly scaling: 'longrope';
      readonly shortFactors: readonly number[];
      readonly longFactors: readonly number[];
      readonly originalContext: number;
      readonly attentionFactor: number;
    }
);

/** Returns the length above which a sequence uses longrope's longer wavelengths; undefined if there is none. */
export function longRopeStart(layers: readonly { readonly rope: Rope | undefined }[]): number | undefined {
  const found = layers.find(({ rope }) => rope?.scaling === 'longrope')?.rope;
  return found?.scaling === 'longrope' ? found.originalContext : undefined;
}

const sectionSchema = z.looseObject({
  rope_theta: z.number().positive().nullish(),
  rope_type: z.string().nullish(),
  type: z.string().nullish(),
  factor: z.number().positive().nullish(),
  low_freq_factor: z.number().positive().nullish(),
  high_freq_factor: z.number().positive().nullish(),
  original_max_position_embeddings: z.int().positive().nullish(),
  partial_rotary_factor: z.number().nullish(),
  attention_factor: z.number().positive().nullish(),
  beta_fast: z.number().positive().nullish(),
  beta_slow: z.number().positive().nullish(),
  mscale: z.number().nullish(),
  mscale_all_dim: z.number().nullish(),
  truncate: z.boolean().nullish(),
  short_factor: z.array(z.number().positive()).nullish(),
  long_factor: z.array(z.number().positive()).nullish(),
});
type Section = z.output<typeof sectionSchema>;

export const ropeShape = {
  rope_theta: z.number().positive().nullish(),
  rope_scaling: z.record(z.string(), z.unknown()).nullish(),
  rope_parameters: z.record(z.string(), z.unknown()).nullish(),
  partial_rotary_factor: z.number().nullish(),
};

type RopeConfig = z.output<z.ZodObject<typeof ropeShape>> & {
  readonly max_position_embeddings: number;
  /** Takes precedence over the key of the same name inside the rope section. */
  readonly original_max_position_embeddings?: number | null | undefined;
};

interface RopeFamily {
  readonly headDim: number;
  readonly theta: number;
  readonly allowsPartial: boolean;
  readonly kinds: readonly Kind[];
  readonly aliases?: Readonly<Record<string, Kind>>;
  /** More keys that the rope section may contain. */
  readonly keys?: readonly string[];
}

const commonKeys = ['rope_theta', 'rope_type', 'type', 'partial_rotary_factor'];

type Kind = Exclude<Rope['scaling'], 'divided'>;
/** Keys that each kind reads in addition to the common ones. */
const keysOf: Readonly<Record<Kind, readonly string[]>> = {
  none: [],
  linear: ['factor'],
  llama3: ['factor', 'low_freq_factor', 'high_freq_factor', 'original_max_position_embeddings'],
  yarn: [
    'factor',
    'original_max_position_embeddings',
    'attention_factor',
    'beta_fast',
    'beta_slow',
    'mscale',
    'mscale_all_dim',
    'truncate',
  ],
  longrope: ['factor', 'original_max_position_embeddings', 'attention_factor', 'short_factor', 'long_factor'],
};

/** Reads the rotation for a layer type. @throws UserError naming a missing, unknown or unsupported key */
export function readRope(config: RopeConfig, layerType: string, family: RopeFamily, file: string): Rope {
  const { rawSection, field } = sectionOf(config, layerType, file);
  const section = checkedValue(sectionSchema, rawSection, file, { section: field.split('.') });
  const ropeType = section.rope_type ?? section.type ?? 'default';
  const scaling = family.aliases?.[ropeType] ?? (ropeType === 'default' ? 'none' : ropeType);
  const kind = family.kinds.find((one) => one === scaling);
  if (kind === undefined) {
    const possible = family.kinds.map((one) => (one === 'none' ? 'default' : one));
    throw valueError(file, `${field}.rope_type`, ropeType, possible);
  }
  const readKeys = [...commonKeys, ...keysOf[kind], ...(family.keys ?? [])];
  rejectUnknownKeys(rawSection, { readKeys }, file, field);
  const rotaryFactor = section.partial_rotary_factor ?? 1;
  if (rotaryFactor !== 1 && !family.allowsPartial)
    throw valueError(file, `${field}.partial_rotary_factor`, rotaryFactor, ['1']);
  const requireKey = (name: 'factor' | 'low_freq_factor' | 'high_freq_factor') =>
    section[name] ?? rejectMissing(file, `${field}.${name}`, ropeType);
  const originalContext =
    config.original_max_position_embeddings ??
    section.original_max_position_embeddings ??
    config.max_position_embeddings;
  const contextFactor = () =>
    originalContext === config.max_position_embeddings
      ? requireKey('factor')
      : config.max_position_embeddings / originalContext;
  const theta = section.rope_theta ?? config.rope_theta ?? family.theta;
  switch (kind) {
    case 'none':
      return { theta, scaling: kind };
    case 'linear':
      return { theta, scaling: kind, factor: requireKey('factor') };
    case 'llama3':
      return {
        theta,
        scaling: kind,
        factor: requireKey('factor'),
        lowFrequencyFactor: requireKey('low_freq_factor'),
        highFrequencyFactor: requireKey('high_freq_factor'),
        originalContext,
      };
    case 'yarn':
      return { theta, ...readYarn(section, originalContext, section.factor ?? contextFactor()) };
    case 'longrope': {
      const width = rotaryWidth(config, family.headDim, layerType, file);
      const requireFactors = (name: 'short_factor' | 'long_factor') => {
        const list = section[name] ?? rejectMissing(file, `${field}.${name}`, ropeType);
        if (list.length === width / 2) return list;
        throw valueError(file, `${field}.${name}`, `${list.length} numbers`, [
          `a list of ${width / 2} numbers`,
        ]);
      };
      const factor = section.factor ?? config.max_position_embeddings / originalContext;
      const defaultFactor = factor <= 1 ? 1 : Math.sqrt(1 + Math.log(factor) / Math.log(originalContext));
      return {
        theta,
        scaling: kind,
        shortFactors: requireFactors('short_factor'),
        longFactors: requireFactors('long_factor'),
        originalContext,
        attentionFactor: section.attention_factor ?? defaultFactor,
      };
    }
  }
}

function readYarn(section: Section, originalContext: number, factor: number) {
  const magnitude = (scale: number) => (factor <= 1 ? 1 : 0.1 * scale * Math.log(factor) + 1);
  const { mscale, mscale_all_dim: mscaleAll } = section;
  const defaultFactor = mscale && mscaleAll ? magnitude(mscale) / magnitude(mscaleAll) : magnitude(1);
  return {
    scaling: 'yarn',
    factor,
    originalContext,
    betaFast: section.beta_fast ?? 32,
    betaSlow: section.beta_slow ?? 1,
    truncate: section.truncate ?? true,
    attentionFactor: section.attention_factor ?? defaultFactor,
  } as const;
}

export function rotaryWidth(config: RopeConfig, headDim: number, layerType: string, file: string): number {
  const { rawSection, field } = sectionOf(config, layerType, file);
  const share = rawSection.partial_rotary_factor ?? config.partial_rotary_factor ?? 1;
  const width = typeof share === 'number' ? Math.floor(headDim * share) : 0;
  if (width > 0 && width <= headDim && width % 2 === 0) return width;
  throw valueError(file, `${field}.partial_rotary_factor`, share, [
    'a fraction that gives an even number of dimensions',
  ]);
}

/** Finds the rope fields of a layer: `rope_scaling`, or `rope_parameters`, which may have a section per layer type. */
function sectionOf(
  { rope_scaling: legacy, rope_parameters: parameters }: RopeConfig,
  layerType: string,
  file: string,
): { rawSection: Readonly<Record<string, unknown>>; field: string } {
  const isSet = (value: object | null | undefined) => value != null && Object.keys(value).length > 0;
  if (!isSet(parameters)) return { rawSection: legacy ?? {}, field: 'rope_scaling' };
  if (isSet(legacy)) throw valueError(file, 'rope_scaling', legacy, ['null, because rope_parameters is set']);
  const hasSections = Object.values(parameters!).some(
    (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
  );
  if (!hasSections) return { rawSection: parameters!, field: 'rope_parameters' };
  const field = `rope_parameters.${layerType}`;
  const readKeys = ['full_attention', 'sliding_attention'];
  rejectUnknownKeys(parameters!, { readKeys }, file, 'rope_parameters');
  const section = z.record(z.string(), z.unknown()).safeParse(parameters![layerType]);
  if (section.success) return { rawSection: section.data, field };
  throw new UserError({ file, field, message: `is missing, but some layers have the type ${layerType}` });
}

function rejectMissing(file: string, field: string, kind: string): never {
  throw new UserError({ file, field, message: `is missing, but rope_type ${kind} requires it` });
}

export const valueError = (file: string, field: string, value: unknown, alternatives: readonly string[]) =>
  new UserError({ file, field, value, message: 'is not supported', alternatives });
