/** What a model's config says of its rotary position embedding. */
import { z } from 'zod';
import { UserError } from '../../../base/errors.js';
import { checkedValue } from '../../../storage/files.js';
import { ignoring, refuseUnknownKeys } from './config-keys.js';

/** Rotary position embedding (Su et al. 2021) and the scalings that stretch its wavelengths. */
export type Rope = { readonly theta: number } & (
  | { readonly scaling: 'none' }
  /** Positions divided by `factor`. */
  | { readonly scaling: 'linear'; readonly factor: number }
  /** Llama 3.1: long wavelengths are stretched by `factor`, short ones kept, those between interpolated. */
  | {
      readonly scaling: 'llama3';
      readonly factor: number;
      readonly lowFrequencyFactor: number;
      readonly highFrequencyFactor: number;
      /** Context in tokens that the model was first trained with. */
      readonly originalContext: number;
    }
);

const sectionSchema = z.looseObject({
  rope_theta: z.number().positive().nullish(),
  rope_type: z.string().nullish(),
  type: z.string().nullish(),
  factor: z.number().positive().nullish(),
  low_freq_factor: z.number().positive().nullish(),
  high_freq_factor: z.number().positive().nullish(),
  original_max_position_embeddings: z.int().positive().nullish(),
  partial_rotary_factor: z.number().nullish(),
});

/** The keys of config.json that are about it. */
export const ropeShape = {
  rope_theta: z.number().positive().nullish(),
  rope_scaling: z.record(z.string(), z.unknown()).nullish(),
  rope_parameters: z.record(z.string(), z.unknown()).nullish(),
  partial_rotary_factor: z.number().nullish(),
};

type RopeConfig = z.output<z.ZodObject<typeof ropeShape>> & { readonly max_position_embeddings: number };

const everyKind = ['rope_theta', 'rope_type', 'type', 'partial_rotary_factor'];

/** The keys that each kind reads beside those of every kind. */
const keysOf: Readonly<Record<Rope['scaling'], readonly string[]>> = {
  none: [],
  linear: ['factor'],
  llama3: ['factor', 'low_freq_factor', 'high_freq_factor', 'original_max_position_embeddings'],
};

/**
 * @param layerType `full_attention` or `sliding_attention`
 * @param file named in errors
 * @throws UserError naming what is missing, not understood, or can't be computed
 */
export function readRope(config: RopeConfig, layerType: string, file: string): Rope {
  const { given, field } = sectionOf(config, layerType, file);
  const section = checkedValue(sectionSchema, given, file, { section: field.split('.') });
  const kind = section.rope_type ?? section.type ?? 'default';
  const scaling = kind === 'default' ? 'none' : kind;
  if (scaling !== 'none' && scaling !== 'linear' && scaling !== 'llama3')
    throw unsupported(file, `${field}.rope_type`, kind, ['default', 'linear', 'llama3']);
  refuseUnknownKeys(given, { read: [...everyKind, ...keysOf[scaling]] }, file, field);
  const rotary = section.partial_rotary_factor ?? 1;
  if (rotary !== 1) throw unsupported(file, `${field}.partial_rotary_factor`, rotary, ['1']);
  const theta = section.rope_theta ?? config.rope_theta ?? 10_000;
  const need = (name: 'factor' | 'low_freq_factor' | 'high_freq_factor') =>
    section[name] ?? missing(file, `${field}.${name}`, kind);
  switch (scaling) {
    case 'none':
      return { theta, scaling };
    case 'linear':
      return { theta, scaling, factor: need('factor') };
    case 'llama3':
      return {
        theta,
        scaling,
        factor: need('factor'),
        lowFrequencyFactor: need('low_freq_factor'),
        highFrequencyFactor: need('high_freq_factor'),
        originalContext: section.original_max_position_embeddings ?? config.max_position_embeddings,
      };
  }
}

/** The fields of a layer: `rope_scaling`, or `rope_parameters`, which is flat or has a section a layer type. */
function sectionOf(
  { rope_scaling: old, rope_parameters: parameters }: RopeConfig,
  layerType: string,
  file: string,
): { given: Readonly<Record<string, unknown>>; field: string } {
  const isSet = (value: object | null | undefined) => value != null && Object.keys(value).length > 0;
  if (!isSet(parameters)) return { given: old ?? {}, field: 'rope_scaling' };
  if (isSet(old))
    throw new UserError({
      file,
      field: 'rope_scaling',
      value: old,
      message: 'rope_parameters is set, too, and only one of them can hold',
      remedy: ignoring('rope_scaling'),
    });
  const sections = Object.values(parameters!).some((value) => typeof value === 'object' && value !== null);
  if (!sections) return { given: parameters!, field: 'rope_parameters' };
  const field = `rope_parameters.${layerType}`;
  refuseUnknownKeys(parameters!, { read: ['full_attention', 'sliding_attention'] }, file, 'rope_parameters');
  const own = z.record(z.string(), z.unknown()).safeParse(parameters![layerType]);
  if (own.success) return { given: own.data, field };
  throw new UserError({ file, field, message: `is missing, and some layers have ${layerType}` });
}

function missing(file: string, field: string, kind: string): never {
  throw new UserError({ file, field, message: `is missing, and rope_type ${kind} needs it` });
}

/** The error of a value that the decoder can't compute. */
export const unsupported = (file: string, field: string, value: unknown, alternatives: readonly string[]) =>
  new UserError({ file, field, value, message: 'is not supported', alternatives });
