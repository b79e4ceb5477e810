/** The `feedback` section: a person or a vision model watches an episode and rates it or comments on it. */
import { z } from 'zod';
import { moduleModelSchema, ollamaSchema, openaiSchema } from '../models/settings.js';
import { languageModelOf, type ModelConfig, type SingleModelConfig } from './model.js';

const count = (minimum: number) => z.int().min(minimum);

export const feedbackSchema = z.strictObject({
  from: z
    .enum(['person', 'vision'])
    .describe(
      'Who is asked: a `person`, in the terminal of the run or in `policyloop view`, or a model that reads pictures (`vision`)',
    ),
  every: count(1).default(10).describe('Iterations from one question to the next'),
  minutes: z
    .number()
    .positive()
    .optional()
    .describe(
      'How long a person is waited for; then the run goes on without an answer (default: without end)',
    ),
  model: z
    .discriminatedUnion('provider', [openaiSchema, ollamaSchema, moduleModelSchema])
    .optional()
    .describe(
      'The model that looks at the pictures; its keys are those of `model` (default: the model of the run)',
    )
    .meta({ like: 'model' }),
  frames: count(1)
    .max(32)
    .optional()
    .describe('Pictures of the episode that a model is sent, evenly spaced (default: 6)'),
  prompts: z
    .string()
    .min(1)
    .optional()
    .describe(
      'Prompt set of the model that looks: `feedback`, or the path of a folder of your own (default: `feedback`)',
    )
    .meta({ format: 'name-or-path' }),
});

export type FeedbackConfig = z.output<typeof feedbackSchema>;

export const framesOf = ({ frames = 6 }: Pick<FeedbackConfig, 'frames'>): number => frames;

interface Asking {
  readonly feedback?: FeedbackConfig | undefined;
  readonly iterations: number;
}

export const questionsOf = ({ feedback, iterations }: Asking): number =>
  feedback === undefined ? 0 : Math.floor(iterations / feedback.every);

/** Config of the model that looks at pictures; undefined if a person does, or nobody. */
export const visionModelOf = ({
  feedback,
  model,
}: {
  readonly feedback?: FeedbackConfig | undefined;
  readonly model: ModelConfig;
}): SingleModelConfig | undefined =>
  feedback?.from === 'vision' ? (feedback.model ?? languageModelOf(model)) : undefined;
