/** Answers to a run's question that come from another process rather than the run's own terminal. */
import type { Said } from '../../prompting/context/feedback.js';

export interface Answers {
  /** Delivers an answer; ignored if the question is no longer open. */
  give(question: string, said: Said): void;
  /** Resolves with the answer to a question. A later question replaces an earlier one. */
  of(question: string): Promise<Said>;
}

export function createAnswers(): Answers {
  let open: { readonly question: string; readonly take: (said: Said) => void } | undefined;
  return {
    give(question, said) {
      if (open?.question !== question) return;
      open.take(said);
      open = undefined;
    },
    of: (question) =>
      new Promise((take) => {
        open = { question, take };
      }),
  };
}
