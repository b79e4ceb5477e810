/** Defines the config of an agent run. */
import { stringify } from 'yaml';
import { z } from 'zod';
import { settingsKind } from '../base/settings/schema.js';
import { parseSettings, type Settings, toSettings, withoutUnknownKeys } from '../base/settings/settings.js';
import { expandShortForms, nameSchema } from '../config/config.js';
import { openConfig } from '../config/file.js';
import { limitsSchema } from '../config/limits.js';
import { modelUnionOptions } from '../config/providers.js';
import { type EnvironmentConfig, environmentSchema } from '../environments/settings.js';
import { localSchema } from '../models/local/settings.js';
import { moduleModelSchema, ollamaSchema, openaiSchema, replayedSchema } from '../models/settings.js';
import { answerFormats } from './reading.js';
import { agentShape, fallbacks } from './settings.js';

const count = (minimum: number) => z.int().min(minimum);

const playerNames = ['model', 'expert', 'random', 'first'] as const;

const policySchema = z
  .strictObject({
    kind: z.literal('agent').default('agent').describe('A language model that plays'),
    ...agentShape,
    act: z
      .enum(answerFormats)
      .default('text')
      .describe(
        'Form of the action in a reply. `text`: the last action that the reply names. `json`: the action in a JSON object. `constrained` (only local models): tokens that lead to no possible action are masked',
      ),
    fallback: z
      .enum(fallbacks)
      .default('ask-again')
      .describe(
        'Handling of a reply that names no action: ask again, take a random action or the first one, or end the game',
      ),
  })
  .prefault({})
  .describe('Settings of the agent');

const modelSchema = z.discriminatedUnion(
  'provider',
  [openaiSchema, ollamaSchema, localSchema, replayedSchema, moduleModelSchema],
  modelUnionOptions,
);

const baseSchema = z.strictObject({
  $schema: z.string().optional().describe('Schema for editors'),
  name: nameSchema.optional().describe('Name of the run directory'),
  environment: z
    .union([environmentSchema.shape.id, environmentSchema.omit({ parallel: true })])
    .describe('Environment to play in: an id, or an id with options'),
  policy: policySchema,
  model: modelSchema.optional().describe('Model that plays; required only for `player: model`'),
  player: z
    .enum(playerNames)
    .default('model')
    .describe(
      'Player: `model`, `expert` (plays the winning commands), `random` (takes random possible actions) or `first` (always takes the first one)',
    ),
  episodes: count(1)
    .describe('Number of episodes')
    .meta({ examples: [20] }),
  parallel: count(1).default(8).describe('Maximum number of concurrent games'),
  maxSteps: count(1)
    .default(1000)
    .describe("Maximum number of turns per game; the environment's own limit also applies"),
  seed: count(0)
    .default(0)
    .describe('Seed of the games and of sampling; players with the same seed play the same games'),
  limits: limitsSchema.omit({ evaluations: true }).prefault({}).describe('Limits that end the agent run'),
});

type WrittenConfig = z.output<typeof baseSchema>;

export type PlayConfig = Omit<WrittenConfig, '$schema' | 'environment'> & {
  readonly environment: Omit<EnvironmentConfig, 'parallel'>;
};

export type PlayModelConfig = NonNullable<PlayConfig['model']>;

const schema = baseSchema.superRefine(({ model, player }, context) => {
  if (player === 'model' && model === undefined)
    context.addIssue({
      code: 'custom',
      path: ['model'],
      message: 'is required for player=model; set a model or another player, e.g. player=random',
    });
});

export const playKind = settingsKind<WrittenConfig>({
  schema,
  example: 'episodes=20 or player=random',
  expand: expandShortForms,
  longForm: (path, value) => (path.length === 1 && path[0] === 'environment' ? { id: value } : undefined),
});

export interface LoadedPlay {
  readonly config: PlayConfig;
  readonly notes: readonly string[];
  readonly locate: Settings['locate'];
}

/**
 * Loads the config of an agent run by its path or by the name of a bundled config.
 * @param asWritten for configs of run directories: leaves their absolute paths unchanged, and ignores keys that no
 * longer exist
 * @throws UserError listing the first problems
 */
export function loadPlayConfig(
  file: string,
  overrides: readonly string[] = [],
  cwd = '',
  asWritten = false,
): LoadedPlay {
  const opened = openConfig('agents', file, { cwd });
  const source = asWritten ? withoutUnknownKeys(opened, playKind) : opened;
  const settings = toSettings(playKind, source, overrides);
  const parsed = parseSettings(playKind, settings.content, settings.where);
  const { $schema: _, ...config } = settings.absolute(parsed, asWritten ? undefined : source.folder, cwd);
  const { environment } = config;
  return {
    config: {
      ...config,
      environment: typeof environment === 'string' ? { id: environment, options: {} } : environment,
    },
    notes: settings.notes,
    locate: settings.locate,
  };
}

/** Formats a config as YAML that `loadPlayConfig` can load. */
export const playYaml = (config: PlayConfig): string =>
  stringify(config, { aliasDuplicateObjects: false, lineWidth: 0 });
