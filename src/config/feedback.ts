/** The `feedback` section: a person or a vision model watches an episode and rates it or comments on it. */
import { z } from 'zod';
import { moduleModelSchema, ollamaSchema, openaiSchema } from '../models/settings.js';
import { languageModelOf, type ModelConfig, type SingleModelConfig } from './model.js';

const count = (minimum: number) => z.int().min(minimum);

export const feedbackSchema = z.strictObject({
  from: z
    .enum(['person', 'vision'])
    .describe(
      "Source of the feedback: a `person`, in the run's terminal or in `policyloop view`, or a `vision` model",
    ),
  every: count(1).default(10).describe('Ask every Nth iteration'),
  minutes: z
    .number()
    .positive()
    .optional()
    .describe('Minutes to wait for a person before the run continues without an answer (default: no limit)'),
  model: z
    .discriminatedUnion('provider', [openaiSchema, ollamaSchema, moduleModelSchema])
    .optional()
    .describe("Vision model; same keys as `model` (default: the run's model)")
    .meta({ like: 'model' }),
  frames: count(1)
    .max(32)
    .optional()
    .describe(
      'Maximum number of pictures, evenly spaced over the episode, to send to the model (default: 6)',
    ),
  prompts: z
    .string()
    .min(1)
    .optional()
    .describe(
      'Prompt set of the vision model: `feedback` (the default), `programs-feedback` (the default for programs), or the path of your own folder',
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

/** Config of the vision model; undefined if no model gives feedback. */
export const visionModelOf = ({
  feedback,
  model,
}: {
  readonly feedback?: FeedbackConfig | undefined;
  readonly model: ModelConfig;
}): SingleModelConfig | undefined =>
  feedback?.from === 'vision' ? (feedback.model ?? languageModelOf(model)) : undefined;
