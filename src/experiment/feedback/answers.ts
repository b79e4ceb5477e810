/** Answers to the question of a run that come from elsewhere than its own terminal. */
import type { Said } from '../../prompting/context/feedback.js';

export interface Answers {
  /** Takes an answer; one to another question than that which is open is left. */
  give(question: string, said: Said): void;
  /** The answer to a question, once there is one. A later question replaces it. */
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
