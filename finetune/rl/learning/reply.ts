/** Answers as a trainer needs them: by the tokens that were sampled. */
import type { Reply, Speaker } from '../../../src/agents/speaker.js';
import type { AnswerGrammar, ChatMessage } from '../../../src/models/language-model.js';
import type { Parameter } from '../../engine/training-session.js';

/** A reply by the token ids that were sampled. */
export interface SampledReply extends Reply {
  readonly promptIds: readonly number[];
  /** The token that ended it included. */
  readonly ids: readonly number[];
  /** Natural logarithms of the probabilities among the tokens that were allowed, at the temperature of the sampling. */
  readonly logp: readonly number[];
  /** Ids that each token was chosen from where a constraint left only some, else null: it may leave one only. */
  readonly allowed: readonly (readonly number[] | null)[];
  /** Whether the model ended it itself. */
  readonly ended: boolean;
}

/** Whether there was a choice, so that there is something to be learnt. */
export const wasChosen = (allowed: readonly number[] | null): boolean => allowed?.length !== 1;

/** Messages that the model answers. */
interface Prompt {
  readonly messages: readonly ChatMessage[];
  /** The form that the answer is held to. */
  readonly grammar?: AnswerGrammar | undefined;
  /** The seed of the sampling. */
  readonly seed: number;
}

export interface Sampler extends Speaker<SampledReply> {
  /**
   * To be called when parameters have changed: what was computed with the old ones is dropped. Those that are not the
   * model's, such as a value head, are left out.
   */
  refresh(parameters: readonly Parameter[]): void;
  /** One answer to each prompt, in their order; equal prompts are read once. */
  answer(prompts: readonly Prompt[]): Promise<readonly SampledReply[]>;
  close(): Promise<void>;
}
