/** The `model` section: a language model, a baseline, or a portfolio of several, which proposes policies. */
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
import { providerHints } from './providers.js';

export const schemasOf = <T extends readonly { readonly schema: z.ZodType }[]>(records: T) =>
  records.map(({ schema }) => schema) as { [K in keyof T]: T[K]['schema'] };

const weight = z.number().positive().default(1).describe('Relative frequency');

type Weighted<Schema> =
  Schema extends z.ZodObject<infer Shape, infer Strict>
    ? z.ZodObject<Shape & { weight: typeof weight }, Strict>
    : never;

const weighted = <const T extends readonly z.ZodObject[]>(schemas: T) =>
  schemas.map((schema) => schema.extend({ weight })) as unknown as {
    -readonly [K in keyof T]: Weighted<T[K]>;
  };

const searches = schemasOf(baselines);

const portfolioSchema = z.strictObject({
  provider: z
    .literal('portfolio')
    .describe('Several members that share one replay buffer: baselines, and at most one language model'),
  members: z
    .array(
      z.discriminatedUnion(
        'provider',
        [...weighted([openaiSchema, ollamaSchema, localSchema, moduleModelSchema]), ...weighted(searches)],
        providerHints,
      ),
    )
    .min(2)
    .describe(
      'Sections like `model`, each with an optional `weight`; each candidate comes from a member drawn by weight',
    ),
});

export const modelSchema = z.discriminatedUnion(
  'provider',
  [
    openaiSchema,
    ollamaSchema,
    localSchema,
    ...searches,
    replayedSchema,
    moduleModelSchema,
    customModelSchema,
    portfolioSchema,
  ],
  providerHints,
);

export type ModelConfig = z.output<typeof modelSchema>;
type PortfolioConfig = z.output<typeof portfolioSchema>;
export type SingleModelConfig = Exclude<ModelConfig, PortfolioConfig>;
type LanguageModelConfig = Extract<
  SingleModelConfig,
  { provider: 'openai' | 'ollama' | 'local' | 'module' | 'custom' }
>;

const isLanguageModel = (model: SingleModelConfig): model is LanguageModelConfig =>
  ['openai', 'ollama', 'local', 'module', 'custom'].includes(model.provider);

export const isBaseline = (model: SingleModelConfig): model is BaselineConfig =>
  isBaselineName(model.provider);

/** Config of the language model, which may be a portfolio member; undefined if there is none. */
export const languageModelOf = (model: ModelConfig): LanguageModelConfig | undefined =>
  membersOf(model)
    .map(({ config }) => config)
    .find(isLanguageModel);

export const languageMemberOf = (model: ModelConfig): MemberConfig | undefined =>
  membersOf(model).find(({ config }) => isLanguageModel(config));

interface MemberConfig {
  /** The provider, with a number if an earlier member has the same one: `gp-2`. */
  readonly name: string;
  readonly config: SingleModelConfig;
  readonly weight: number;
  /** Field in the config, e.g. `model.members.1`. */
  readonly field: string;
}

/** The members of a portfolio; a single model counts as the only member. */
export function membersOf(model: ModelConfig): readonly MemberConfig[] {
  if (model.provider !== 'portfolio') {
    return [{ name: model.provider, config: model, weight: 1, field: 'model' }];
  }
  const seen = new Map<string, number>();
  return model.members.map(({ weight: share, ...config }, i) => {
    const count = (seen.get(config.provider) ?? 0) + 1;
    seen.set(config.provider, count);
    const name = count === 1 ? config.provider : `${config.provider}-${count}`;
    return { name, config: config as SingleModelConfig, weight: share, field: `model.members.${i}` };
  });
}
