/** Replies in the form the trainer needs: as sampled tokens. */
import type { Reply, Speaker } from '../../../src/agents/speaker.js';
import type { AnswerGrammar, ChatMessage } from '../../../src/models/language-model.js';
import type { Parameter } from '../../engine/training-session.js';

/** A reply with the token ids that were sampled. */
export interface SampledReply extends Reply {
  readonly promptIds: readonly number[];
  /** Includes the end-of-sequence token. */
  readonly ids: readonly number[];
  /** Natural log-probabilities among the allowed tokens, at the sampling temperature. */
  readonly logp: readonly number[];
  /** For each token, the ids it was chosen from if a constraint applied (possibly only one), else null. */
  readonly allowed: readonly (readonly number[] | null)[];
  /** True if the model ended the reply itself. */
  readonly ended: boolean;
}

/** True if there was more than one possible token, so there is something to learn. */
export const wasChosen = (allowed: readonly number[] | null): boolean => allowed?.length !== 1;

/** Messages to answer. */
interface Prompt {
  readonly messages: readonly ChatMessage[];
  /** Constrains the form of the reply. */
  readonly grammar?: AnswerGrammar | undefined;
  readonly seed: number;
}

export interface Sampler extends Speaker<SampledReply> {
  /**
   * Call this after changing parameters; drops everything computed with the old ones. Ignores parameters that
   * aren't the model's, such as a value head.
   */
  refresh(parameters: readonly Parameter[]): void;
  /** Returns one reply per prompt, in order; identical prompts are read once. */
  answer(prompts: readonly Prompt[]): Promise<readonly SampledReply[]>;
  close(): Promise<void>;
}
