/** The `model` section, which proposes policies: a language model, a baseline, or a portfolio or relay of several. */
import { z } from 'zod';
import { localSchema } from '../models/local/settings.js';
import {
  customModelSchema,
  moduleModelSchema,
  ollamaSchema,
  openaiSchema,
  replayedSchema,
} from '../models/settings.js';
import { type BaselineConfig, baselines, isBaselineName } from './baselines.js';
import { modelUnionOptions } from './providers.js';
import { type LegEnd, legShape, spansOf } from './relay.js';

export const schemasOf = <T extends readonly { readonly schema: z.ZodType }[]>(records: T) =>
  records.map(({ schema }) => schema) as { [K in keyof T]: T[K]['schema'] };

const weightShape = { weight: z.number().positive().default(1).describe('Relative share of candidates') };

type ExtendedSchema<Schema, More> =
  Schema extends z.ZodObject<infer Shape, infer Strict> ? z.ZodObject<Shape & More, Strict> : never;

const baselineSchemas = schemasOf(baselines);

/** Schema of a model's or baseline's section, extended with the keys of `extraShape`. */
const sectionSchema = <More extends z.ZodRawShape>(extraShape: More) => {
  const extendAll = <const T extends readonly z.ZodObject[]>(schemas: T) =>
    schemas.map((schema) => schema.extend(extraShape)) as unknown as {
      -readonly [K in keyof T]: ExtendedSchema<T[K], More>;
    };
  const models = extendAll([openaiSchema, ollamaSchema, localSchema, moduleModelSchema]);
  return z.discriminatedUnion('provider', [...models, ...extendAll(baselineSchemas)], modelUnionOptions);
};

const portfolioSchema = z.strictObject({
  provider: z
    .literal('portfolio')
    .describe('Several members that share one replay buffer: baselines, and at most one language model'),
  members: z
    .array(sectionSchema(weightShape))
    .min(2)
    .describe(
      'Sections like `model`, each with an optional `weight`; each candidate comes from a member drawn by weight',
    ),
});

const relayBaseSchema = z.strictObject({
  provider: z
    .literal('relay')
    .describe(
      'Several legs that propose one after another and share one replay buffer, for example a language model, then a search (short form: `{relay: […]}`)',
    ),
  relay: z
    .array(sectionSchema(legShape))
    .min(2)
    .describe(
      'Sections like `model`; all but the last need an end: `calls`, `evaluations` or `until`. A leg before a baseline lasts up to twice as long if all returns are equal',
    ),
});
/** In a file, the short form lacks the provider. */
const relaySchema = relayBaseSchema.meta({ required: ['relay'] });

export const modelSchema = z.discriminatedUnion(
  'provider',
  [
    openaiSchema,
    ollamaSchema,
    localSchema,
    ...baselineSchemas,
    replayedSchema,
    moduleModelSchema,
    customModelSchema,
    portfolioSchema,
    relaySchema,
  ],
  modelUnionOptions,
);

export type ModelConfig = z.output<typeof modelSchema>;
type CombinedConfig = z.output<typeof portfolioSchema> | z.output<typeof relaySchema>;
export type SingleModelConfig = Exclude<ModelConfig, CombinedConfig>;
type LanguageModelConfig = Extract<
  SingleModelConfig,
  { provider: 'openai' | 'ollama' | 'local' | 'module' | 'custom' }
>;

const isLanguageModel = (model: SingleModelConfig): model is LanguageModelConfig =>
  ['openai', 'ollama', 'local', 'module', 'custom'].includes(model.provider);

export const isBaseline = (model: SingleModelConfig): model is BaselineConfig =>
  isBaselineName(model.provider);

/** Config of the language model, which may be a member of a portfolio or relay; undefined for baselines and replays. */
export const languageModelOf = (model: ModelConfig): LanguageModelConfig | undefined =>
  membersOf(model)
    .map(({ config }) => config)
    .find(isLanguageModel);

export const languageMemberOf = (model: ModelConfig): MemberConfig | undefined =>
  membersOf(model).find(({ config }) => isLanguageModel(config));

/** For a relay, the iterations in which its language model proposes, as `spansOf` estimates; otherwise, all. */
export function modelIterations(
  model: ModelConfig,
  length: { readonly candidates: number; readonly iterations: number },
): { readonly first: number; readonly count: number } {
  const index = membersOf(model).findIndex(({ config }) => isLanguageModel(config));
  const span = model.provider === 'relay' ? spansOf(model.relay, length)[index] : undefined;
  return span ?? { first: 1, count: length.iterations };
}

interface MemberConfig {
  /** The provider, with a number if an earlier member has the same one: `gp-2`; for a leg: `leg 1 (ollama)`. */
  readonly name: string;
  readonly config: SingleModelConfig;
  readonly weight: number;
  /** Rules that end a leg of a relay. */
  readonly end: LegEnd;
  /** Field in the config, e.g. `model.members.1`. */
  readonly field: string;
}

/** The members of a portfolio or the legs of a relay; a single model counts as the only member. */
export function membersOf(model: ModelConfig): readonly MemberConfig[] {
  if (model.provider === 'relay')
    return model.relay.map(({ calls, evaluations, patience, until, ...config }, i) => ({
      name: `leg ${i + 1} (${config.provider})`,
      config: config as SingleModelConfig,
      weight: 1,
      end: { calls, evaluations, patience, until },
      field: `model.relay.${i}`,
    }));
  if (model.provider !== 'portfolio') {
    return [{ name: model.provider, config: model, weight: 1, end: {}, field: 'model' }];
  }
  const counts = new Map<string, number>();
  return model.members.map(({ weight: share, ...config }, i) => {
    const count = (counts.get(config.provider) ?? 0) + 1;
    counts.set(config.provider, count);
    const name = count === 1 ? config.provider : `${config.provider}-${count}`;
    return { name, config: config as SingleModelConfig, weight: share, end: {}, field: `model.members.${i}` };
  });
}

/** Changes a model's section, or the section of each member or leg. @param change also receives the member's index */
export function mapMembers(
  model: ModelConfig,
  change: <Model extends { readonly provider: string }>(section: Model, i?: number) => Model,
): ModelConfig {
  if (model.provider === 'portfolio')
    return { ...model, members: model.members.map((section, i) => change(section, i)) };
  return model.provider === 'relay'
    ? { ...model, relay: model.relay.map((section, i) => change(section, i)) }
    : change(model);
}
